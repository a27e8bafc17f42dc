"""What an application names: streams, tables, sinks, functions, with their options resolved."""

from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from headrace.errors import Span
from headrace.language.statements import ColumnDefinition, Watermark


@dataclass(frozen=True, slots=True)
class Stream:
    """Rows that arrive for ever: how they look, where they come from, how their time is read."""

    name: str
    columns: tuple[ColumnDefinition, ...]
    watermark: Watermark | None
    connector: str
    common: Any = field(repr=False)
    options: Any = field(repr=False)
    span: Span = field(compare=False, repr=False)

    @property
    def stored(self) -> tuple[ColumnDefinition, ...]:
        """The columns that the records carry; the others are computed."""
        return tuple(column for column in self.columns if column.computed is None)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows by key as they were last written, or rows that are looked up as they stand."""

    name: str
    columns: tuple[ColumnDefinition, ...]
    primary_key: tuple[str, ...]
    connector: str
    options: Any = field(repr=False)
    span: Span = field(compare=False, repr=False)
    common: Any = field(repr=False, default=None)

    @property
    def live(self) -> bool:
        """Whether what is written into the table changes the answers that read it."""
        return (bool(self.primary_key) or self.connector == "view") and getattr(self.common, "refresh", None) is None


@dataclass(frozen=True, slots=True)
class Sink:
    """Where rows go."""

    name: str
    columns: tuple[ColumnDefinition, ...]
    connector: str
    common: Any = field(repr=False)
    options: Any = field(repr=False)
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Function:
    """A function in Python: where it is found, what it takes and gives."""

    name: str
    parameters: tuple[ColumnDefinition, ...]
    returns: exp.DataType
    module: str
    attribute: str
    span: Span = field(compare=False, repr=False)
