"""A SELECT over views goes in, in Headrace's words; the same in SQLite's, and the types of its columns, come out."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.optimizer.qualify import qualify
from sqlglot.schema import MappingSchema

from headrace.errors import PlanError, Source, Span
from headrace.language.dialect import Headrace
from headrace.language.expressions import MatchRecognize, WindowTable
from headrace.language.spans import span_of
from headrace.plan.scope import did_you_mean
from headrace.plan.types import TIMESTAMP, Type, type_name
from headrace.views.definition import Row, ViewDefinition
from headrace.views.query_text import name_columns, single_query, tables_in
from headrace.views.sqlite_functions import pattern_mistake
from headrace.views.sqlite_rewrite import rewritten, type_in
from headrace.views.sqlite_values import codec
from headrace.views.value_types import parsed_type

__all__ = ["ViewQuery", "plan_view_query"]


@dataclass(frozen=True, slots=True)
class ViewQuery:
    """A query for SQLite, the names of its columns, and their types where they are known."""

    sql: str
    columns: tuple[str, ...]
    types: tuple[str | None, ...]

    def values(self, rows: Sequence[Row]) -> list[Row]:
        """Return the rows with Python's values where a column has a type."""
        if not any(self.types):
            return list(rows)
        converts = [_lenient(each) for each in self.types]
        return [
            tuple(value if value is None else convert(value) for value, convert in zip(row, converts, strict=True))
            for row in rows
        ]


def plan_view_query(sql: str, views: Sequence[ViewDefinition], now: datetime) -> ViewQuery:
    """Return what SQLite is asked; raise HeadraceError where the query is not one over these views."""
    source = Source("query", sql)
    tree = single_query(source)
    known = {view.name.lower(): view for view in views}
    _check_names(tree, known, source)
    _check_patterns(tree, source)
    _alias_tables(tree)
    spelled = {column.name.lower(): column.name for view in views for column in view.columns}
    spelled |= name_columns(tree)
    typed = _typed(tree.transform(_with_type), known, source)
    final = rewritten(typed, source, now)
    selects = final.selects if isinstance(final, exp.Query) else []
    names = tuple(spelled.get(each.alias_or_name.lower(), each.alias_or_name) for each in selects)
    try:
        text = final.sql(dialect="sqlite", unsupported_level=ErrorLevel.RAISE)
    except SqlglotError as error:
        raise PlanError(f"SQLite cannot answer this query: {_first_line(error)}") from error
    return ViewQuery(text, names, tuple(_type_text(each) for each in selects))


def _check_names(tree: exp.Expr, known: dict[str, ViewDefinition], source: Source) -> None:
    refused = tree.find(WindowTable, MatchRecognize, exp.Version, exp.Lateral, exp.TableSample, exp.Pivot)
    if refused is not None:
        raise PlanError(
            "only views, joins and subqueries can stand in FROM here",
            hint="Put windows and patterns into the application, and ask for their result.",
            span=span_of(refused, source),
        )
    for name, table in tables_in(tree):
        if name.lower() not in known:
            hint = did_you_mean(name, [view.name for view in known.values()])
            raise PlanError(
                f'unknown view "{name}"', hint=hint or "There are no views yet.", span=span_of(table, source)
            )


def _check_patterns(tree: exp.Expr, source: Source) -> None:
    """Raise where a pattern is written that cannot be matched here; of one that is computed SQLite tells less."""
    for node in tree.find_all(exp.RegexpLike):
        pattern = node.expression
        reason = pattern_mistake(pattern.this) if isinstance(pattern, exp.Literal) else None
        if reason is not None:
            raise PlanError(
                f"this pattern cannot be matched: {reason}",
                hint="Patterns here have no look-around and no back-references.",
                span=span_of(pattern, source),
            )


def _alias_tables(tree: exp.Expr) -> None:
    """Give each table an alias, its own name if it has none: sqlglot would parse that name again."""
    for _, table in tables_in(tree):
        if not table.alias:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name, quoted=True)))


def _with_type(node: exp.Expr) -> exp.Expr:
    """Return a function of times, or one that stands for another, as a node whose type is known."""
    if not isinstance(node, exp.Anonymous):
        return node
    match node.name.lower():
        case "now":
            return exp.CurrentTimestamp()
        case "current_date":
            return exp.Cast(this=exp.CurrentTimestamp(), to=exp.DataType.build("date"))
        case "date_trunc" if not isinstance(node.parent, exp.Cast):
            return exp.Cast(this=node.copy(), to=TIMESTAMP.copy())
        case "to_date" | "date" if len(node.expressions) == 1:
            return exp.Cast(this=node.expressions[0], to=exp.DataType.build("date"))
        case "nvl" | "ifnull" if len(node.expressions) == 2:
            return exp.Coalesce(this=node.expressions[0], expressions=node.expressions[1:])
    return node


def _typed(tree: exp.Expr, known: dict[str, ViewDefinition], source: Source) -> exp.Expr:
    columns = {
        name: {
            column.name.lower(): parsed_type(column.type) or exp.DataType.build("unknown") for column in view.columns
        }
        for name, view in known.items()
    }
    schema = MappingSchema(dialect=Headrace)
    for name, types in columns.items():
        schema.add_table(exp.table_(name, quoted=True), types, dialect=Headrace, match_depth=False)
    try:
        qualified = qualify(tree, schema=schema, dialect=Headrace, allow_partial_qualification=True)
        return annotate_types(qualified, schema=schema, dialect=Headrace)
    except SqlglotError as error:
        raise _resolution_error(error, tree, known, source) from error


def _resolution_error(
    error: SqlglotError, tree: exp.Expr, known: dict[str, ViewDefinition], source: Source
) -> PlanError:
    """Return sqlglot's complaint about a column in our own words."""
    message = _first_line(error)
    found = re.search(r"[Cc]olumn '?\"?([^'\"]+)'?\"? could not be resolved", message)
    if found is None:
        ambiguous = re.search(r"[Cc]olumn '?\"?([^'\"]+)'?\"? is ambiguous|[Aa]mbiguous", message)
        return PlanError("a column is ambiguous in this query" if ambiguous else message[:1].lower() + message[1:])
    name = found[1].rpartition(".")[2]
    used = {table.name.lower() for table in tree.find_all(exp.Table)}
    columns = [each.name for key in used if key in known for each in known[key].columns]
    span: Span | None = next(
        (span_of(each, source) for each in tree.find_all(exp.Column) if each.name.lower() == name.lower()), None
    )
    return PlanError(f'unknown column "{name}"', hint=did_you_mean(name, columns), span=span)


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0].partition(". Line:")[0].strip()


def _type_text(node: exp.Expr) -> str | None:
    kind = type_in(node)
    if kind is None or kind.this in {Type.UNKNOWN, Type.NULL}:
        return None
    if kind.this in {Type.TINYINT, Type.SMALLINT, Type.INT, Type.BIGINT, Type.TEXT, Type.VARCHAR, Type.CHAR}:
        return None  # as SQLite gives them
    return type_name(kind)


def _lenient(type_text: str | None) -> Any:
    """Return a conversion that leaves what does not have the form of its type as SQLite gives it."""
    decode = codec(type_text).decode if type_text is not None else None
    if decode is None:
        return lambda value: value

    def convert(value: Any) -> Any:
        try:
            return decode(value) if not isinstance(value, float) or type_text in {"DOUBLE", "FLOAT"} else value
        except (ValueError, TypeError, ArithmeticError):
            return value

    return convert
