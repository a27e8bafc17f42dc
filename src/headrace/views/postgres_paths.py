"""A typed query that reaches into nested columns goes in; the same over their JSON comes out."""

from collections.abc import Sequence
from typing import cast

from sqlglot import exp

from headrace.connectors.postgres.types import TYPES, postgres_type
from headrace.connectors.spark_types import SparkType, parse_type
from headrace.errors import HeadraceError
from headrace.language.dialect import Headrace

__all__ = ["with_json_paths"]

Path = tuple[exp.Expr, SparkType, tuple[str, ...]]
"""The column that an expression starts from, the type that it gives, and the way between."""


def with_json_paths(tree: exp.Query) -> exp.Query:
    """Return the query with ``a.b``, ``a[0]`` and ``a['k']`` written as PostgreSQL reads JSON."""
    return cast("exp.Query", tree.transform(_step))


def _step(node: exp.Expr) -> exp.Expr:
    if not isinstance(node, (exp.Dot, exp.Bracket)):
        return node
    found = _path(node)
    if found is None:
        return node
    column, kind, keys = found
    arguments = [column.copy(), *(exp.Literal.string(key) for key in keys)]
    if kind.nested or kind.name not in TYPES:
        return exp.Anonymous(this="jsonb_extract_path", expressions=arguments)
    text = exp.Anonymous(this="jsonb_extract_path_text", expressions=arguments)
    return exp.cast(text, postgres_type(kind), dialect="postgres")


def _path(node: exp.Expr) -> Path | None:
    if isinstance(node, exp.Column):
        kind = _kind(node)
        return None if kind is None or not kind.nested else (node, kind, ())
    if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Identifier):
        found = _path(node.this)
        return None if found is None else _into(found, node.expression.name)
    if isinstance(node, exp.Bracket) and len(node.expressions) == 1 and isinstance(node.expressions[0], exp.Literal):
        found = _path(node.this)
        return None if found is None else _into(found, node.expressions[0].name)
    return None


def _into(found: Path, name: str) -> Path | None:
    column, kind, keys = found
    if kind.name == "struct":
        own = _field(kind.fields, name)
        return None if own is None else (column, own[1], (*keys, own[0]))
    return (column, kind.fields[-1][1], (*keys, name)) if kind.nested else None


def _field(fields: Sequence[tuple[str, SparkType]], name: str) -> tuple[str, SparkType] | None:
    return next((each for each in fields if each[0].lower() == name.lower()), None)


def _kind(column: exp.Column) -> SparkType | None:
    if not isinstance(column.type, exp.DataType):
        return None
    try:
        return parse_type(column.type.sql(dialect=Headrace))
    except HeadraceError:
        return None
