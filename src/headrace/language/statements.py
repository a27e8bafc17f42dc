# ruff: noqa: RUF009 - _place() makes a field, not a default value
"""The statements of the language, as frozen values; parsing makes them, everything later reads them.

Expressions and queries inside are sqlglot trees. Spans say where a thing stands in the user's
text and never take part in comparison, so a statement equals what its formatted text parses to.
"""

from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum

from sqlglot import exp

from headrace.errors import Span

OptionValue = str | int | float | bool


def _place() -> Span:
    return field(compare=False, repr=False)  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Name:
    """A name as the user wrote it; parts joined by dots, as in ``clicks.late``."""

    text: str
    span: Span = _place()


@dataclass(frozen=True, slots=True)
class Option:
    """One ``name = value`` of a WITH clause."""

    name: str
    value: OptionValue
    span: Span = _place()
    value_span: Span = _place()


@dataclass(frozen=True, slots=True)
class ColumnDefinition:
    """One column of a stream or table; a computed one has an expression and may lack a type."""

    name: str
    type: exp.DataType | None
    nullable: bool
    computed: exp.Expression | None
    span: Span = _place()
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class Watermark:
    """``WATERMARK FOR column AS column - delay [IDLE AFTER interval]``."""

    column: str
    delay: timedelta
    idle_after: timedelta | None
    span: Span = _place()


class Emit(Enum):
    """When a query publishes its rows."""

    ON_WINDOW_CLOSE = "ON WINDOW CLOSE"
    CHANGES = "CHANGES"


@dataclass(frozen=True, slots=True)
class Query:
    """A SELECT, a set operation or a WITH, and how its answer is published."""

    tree: exp.Expression
    emit: Emit | None
    span: Span = _place()


@dataclass(frozen=True, slots=True)
class CreateStream:
    """``CREATE STREAM``: rows that arrive for ever."""

    name: Name
    columns: tuple[ColumnDefinition, ...]
    watermark: Watermark | None
    primary_key: tuple[str, ...]
    options: tuple[Option, ...]
    if_not_exists: bool
    span: Span = _place()


@dataclass(frozen=True, slots=True)
class CreateTable:
    """``CREATE TABLE``: rows that are looked up, as they stand or by version."""

    name: Name
    columns: tuple[ColumnDefinition, ...]
    watermark: Watermark | None
    primary_key: tuple[str, ...]
    options: tuple[Option, ...]
    if_not_exists: bool
    span: Span = _place()


@dataclass(frozen=True, slots=True)
class CreateView:
    """``CREATE [MATERIALIZED] VIEW``: a query with a name."""

    name: Name
    columns: tuple[str, ...]
    query: Query
    materialized: bool
    options: tuple[Option, ...]
    if_not_exists: bool
    span: Span = _place()


@dataclass(frozen=True, slots=True)
class CreateSink:
    """``CREATE SINK``: where rows go; without a query it is fed by INSERT INTO."""

    name: Name
    columns: tuple[ColumnDefinition, ...]
    options: tuple[Option, ...]
    query: Query | None
    if_not_exists: bool
    span: Span = _place()
    primary_key: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CreateFunction:
    """``CREATE FUNCTION name(...) RETURNS type LANGUAGE PYTHON AS 'module:function'``."""

    name: Name
    parameters: tuple[ColumnDefinition, ...]
    returns: exp.DataType
    language: str
    body: str
    options: tuple[Option, ...]
    if_not_exists: bool
    span: Span = _place()
    body_span: Span = _place()


@dataclass(frozen=True, slots=True)
class InsertInto:
    """``INSERT INTO sink [(columns)] query``."""

    target: Name
    columns: tuple[str, ...]
    query: Query
    span: Span = _place()


@dataclass(frozen=True, slots=True)
class SelectRows:
    """A bare query: its rows are printed."""

    query: Query
    span: Span = _place()


@dataclass(frozen=True, slots=True)
class Observe:
    """``OBSERVE name AS SELECT aggregates FROM stream``: figures of each batch."""

    name: Name
    query: Query
    span: Span = _place()


@dataclass(frozen=True, slots=True)
class SetOption:
    """``SET name = value``."""

    name: str
    value: OptionValue
    span: Span = _place()
    value_span: Span = _place()


@dataclass(frozen=True, slots=True)
class Explain:
    """``EXPLAIN statement``."""

    statement: "Statement"
    span: Span = _place()


@dataclass(frozen=True, slots=True)
class Show:
    """``SHOW STREAMS | TABLES | VIEWS | SINKS | FUNCTIONS | OPTIONS``."""

    kind: str
    span: Span = _place()


@dataclass(frozen=True, slots=True)
class Describe:
    """``DESCRIBE name``."""

    name: Name
    span: Span = _place()


@dataclass(frozen=True, slots=True)
class Drop:
    """``DROP STREAM | TABLE | VIEW | MATERIALIZED VIEW | SINK | FUNCTION [IF EXISTS] name``."""

    kind: str
    name: Name
    if_exists: bool
    span: Span = _place()


Statement = (
    CreateStream
    | CreateTable
    | CreateView
    | CreateSink
    | CreateFunction
    | InsertInto
    | SelectRows
    | Observe
    | SetOption
    | Explain
    | Show
    | Describe
    | Drop
)
