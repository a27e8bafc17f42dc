"""A SELECT over views, in Headrace's SQL, goes in; the same for PostgreSQL comes out, over known views alone.

What a user writes here reaches a database that may hold more than views. So nothing passes but names that were looked
up and functions that are known: every table is replaced by the columns of its view, the names of WITH get a prefix that
no table has, and a function that the dialect does not know is refused.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from sqlglot import ErrorLevel, exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.optimizer.qualify import qualify
from sqlglot.schema import MappingSchema

from headrace.errors import PlanError, Source
from headrace.language.dialect import Headrace
from headrace.language.expressions import MatchRecognize, WindowTable
from headrace.language.parser import parse
from headrace.language.spans import span_of
from headrace.language.statements import SelectRows
from headrace.plan.scope import did_you_mean
from headrace.plan.types import Type
from headrace.views.definition import Row, ViewDefinition
from headrace.views.postgres_paths import with_json_paths
from headrace.views.postgres_schema import table_name
from headrace.views.query_text import name_columns
from headrace.views.value_types import parsed_type

__all__ = ["PostgresQuery", "translated"]

Views = Mapping[str, ViewDefinition]
"""The views of a store by their names in lower case."""

_PREFIX = "with_"
_PLAIN_FUNCTIONS = frozenset({"btrim", "degrees", "mod", "octet_length", "radians"})
_TABLE_PARTS = {"this", "alias", "joins"}
_WHOLE = frozenset({Type.TINYINT, Type.SMALLINT, Type.INT, Type.BIGINT})
_HINT = "A query over views is one SELECT, which may start with WITH."


@dataclass(frozen=True, slots=True)
class PostgresQuery:
    """A query as PostgreSQL takes it, the names of its columns, and how their values become Spark's."""

    text: str
    columns: tuple[str, ...]
    converts: tuple[Callable[[Any], Any], ...]

    def rows(self, found: Iterable[Sequence[Any]]) -> list[Row]:
        """Return the rows of the answer with the values that Spark would give."""
        return [
            tuple(None if value is None else convert(value) for value, convert in zip(row, self.converts, strict=True))
            for row in found
        ]


def translated(text: str, views: Views, schema: str) -> PostgresQuery:
    """Return a query for PostgreSQL, or raise if it is not one over these views."""
    source = Source("query", text)
    tree = _parsed(source)
    _check(tree, views, source)
    spelled = {column.name.lower(): column.name for view in views.values() for column in view.columns}
    spelled |= name_columns(tree)
    typed = _typed(tree, views, source)
    names = tuple(spelled.get(each.alias_or_name.lower(), each.alias_or_name) for each in typed.selects)
    converts = tuple(_convert(each.type) for each in typed.selects)
    final = _over_tables(with_json_paths(typed), views, schema)
    try:
        return PostgresQuery(
            final.sql(dialect="postgres", identify=True, comments=False, unsupported_level=ErrorLevel.RAISE),
            names,
            converts,
        )
    except SqlglotError as error:
        raise PlanError(f"PostgreSQL cannot answer this query: {_first_line(error)}") from None


def _parsed(source: Source) -> exp.Query:
    statements = parse(source)
    if len(statements) != 1:
        raise PlanError("expected one query" if statements else "the query is empty", hint=_HINT)
    (statement,) = statements
    if not isinstance(statement, SelectRows) or not isinstance(statement.query.tree, exp.Query):
        raise PlanError("only a SELECT can be asked of views", hint=_HINT, span=statement.span)
    if statement.query.emit is not None:
        raise PlanError("EMIT has no meaning for rows that are there", hint="Leave it out.", span=statement.span)
    return statement.query.tree.copy()


def _check(tree: exp.Query, views: Views, source: Source) -> None:
    """Raise if a query reads anything but views, or calls a function that is not known to be harmless."""
    refused = tree.find(WindowTable, MatchRecognize, exp.Lateral, exp.Lock, exp.Pivot)
    if refused is not None:
        raise PlanError(
            "only views, joins and subqueries can stand in FROM here",
            hint="Put windows and patterns into the application, and ask for their result.",
            span=span_of(refused, source),
        )
    for table in tree.find_all(exp.Table):
        extra = {name for name, value in table.args.items() if value} - _TABLE_PARTS
        if isinstance(table.this, exp.Identifier) and not extra and _of_with(table):
            continue
        name = ".".join(part.name for part in table.parts)
        if name.lower() not in views or extra or not isinstance(table.this, exp.Identifier):
            hint = did_you_mean(name, [view.name for view in views.values()])
            raise PlanError(f'unknown view "{name}"', hint=hint, span=span_of(table, source))
    for call in tree.find_all(exp.Anonymous, exp.AnonymousAggFunc, exp.ParameterizedAgg):
        if str(call.this).lower() not in _PLAIN_FUNCTIONS:
            raise PlanError(
                f"{call.this} is not known to queries over views",
                detail="They are answered by PostgreSQL, which has its own functions.",
                hint="Compute it in the application, as a column of the view.",
                span=span_of(call, source),
            )


def _of_with(table: exp.Table) -> bool:
    """Say whether a table is one that a WITH around it names."""
    name = table.name.lower()
    node: exp.Expr | None = table
    while node is not None:
        within = node.args.get("with_")
        if within is not None and any(each.alias.lower() == name for each in within.expressions):
            return True
        node = node.parent
    return False


def _typed(tree: exp.Query, views: Views, source: Source) -> exp.Query:
    """Return the query with every column of one table and every expression of one type."""
    schema = MappingSchema(dialect=Headrace)
    for name, view in views.items():
        types = {each.name.lower(): parsed_type(each.type) or exp.DataType.build("unknown") for each in view.columns}
        schema.add_table(exp.table_(name, quoted=True), types, dialect=Headrace, match_depth=False)
    try:
        qualified = qualify(tree.copy(), schema=schema, dialect=Headrace, allow_partial_qualification=True)
        return annotate_types(qualified, schema=schema, dialect=Headrace)
    except SqlglotError as error:
        raise _unresolved(_first_line(error), tree, views, source) from None


def _unresolved(message: str, tree: exp.Query, views: Views, source: Source) -> PlanError:
    found = re.search(r"[Cc]olumn '?\"?([^'\"]+)'?\"? could not be resolved", message)
    if found is None:
        ambiguous = "mbiguous" in message
        return PlanError("a column is ambiguous in this query" if ambiguous else message[:1].lower() + message[1:])
    name = found[1].rpartition(".")[2]
    used = {table.name.lower() for table in tree.find_all(exp.Table)} & set(views)
    known = [column.name for each in sorted(used) for column in views[each].columns]
    places = [span_of(each, source) for each in tree.find_all(exp.Column) if each.name.lower() == name.lower()]
    return PlanError(f'unknown column "{name}"', hint=did_you_mean(name, known), span=places[0] if places else None)


def _over_tables(tree: exp.Query, views: Views, schema: str) -> exp.Query:
    """Return the query over the tables of its views, each as its own columns alone."""
    for table in list(tree.find_all(exp.Table)):
        if _of_with(table):
            if not table.alias:
                table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name, quoted=True)))
            table.set("this", exp.to_identifier(_PREFIX + table.name, quoted=True))
            continue
        view = views[table.name.lower()]
        columns = [
            exp.alias_(exp.column(exp.to_identifier(each.name, quoted=True)), each.name.lower(), quoted=True)
            for each in view.columns
        ]
        kept = exp.Table(
            this=exp.to_identifier(table_name(view.name), quoted=True), db=exp.to_identifier(schema, quoted=True)
        )
        alias = table.args.get("alias") or exp.TableAlias(this=exp.to_identifier(table.name, quoted=True))
        inner = exp.Select(expressions=columns).from_(kept, copy=False)
        table.replace(exp.Subquery(this=inner, alias=alias.copy(), joins=table.args.get("joins")))
    for cte in tree.find_all(exp.CTE):
        cte.args["alias"].set("this", exp.to_identifier(_PREFIX + cte.alias, quoted=True))
    return tree


def _convert(kind: exp.DataType | None) -> Callable[[Any], Any]:
    """Return what makes a value of PostgreSQL one of Spark's: its sums and averages are of wider types."""
    if kind is not None and kind.this in _WHOLE:
        return lambda value: int(value) if isinstance(value, Decimal) else value
    if kind is not None and kind.this in {Type.DOUBLE, Type.FLOAT}:
        return lambda value: float(value) if isinstance(value, (Decimal, int)) else value
    return lambda value: value.astimezone(UTC) if isinstance(value, datetime) and value.tzinfo is not None else value


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0].partition(". Line:")[0].strip()
