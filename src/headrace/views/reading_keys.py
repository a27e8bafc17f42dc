"""The texts of a key, as given on a command line, go in; values of the key columns' types come out."""

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from headrace.errors import HeadraceError
from headrace.plan.types import Type
from headrace.views.definition import ViewColumn, ViewDefinition
from headrace.views.value_types import parsed_type

__all__ = ["key_columns", "key_from_text"]


def key_columns(view: ViewDefinition) -> list[ViewColumn]:
    """Return the columns that identify a row of a view."""
    by_name = {each.name.lower(): each for each in view.columns}
    return [by_name[each.lower()] for each in view.key]


def key_from_text(view: ViewDefinition, texts: Sequence[str]) -> tuple[Any, ...]:
    """Return the values that texts mean for the first key columns; NULL, in capitals, is NULL.

    >>> view = ViewDefinition("v", (ViewColumn("day", "date"), ViewColumn("n", "int")), key=("n", "day"))
    >>> key_from_text(view, ["7", "2024-01-31"])
    (7, datetime.date(2024, 1, 31))
    """
    columns = key_columns(view)
    if not columns:
        raise HeadraceError(f'view "{view.name}" has no key', hint="Ask for its rows by a query, or give it a key.")
    if len(texts) > len(columns):
        raise HeadraceError(
            f"{len(texts)} values were given for a key of {len(columns)}",
            detail=f'The key of view "{view.name}" is ({", ".join(view.key)}).',
        )
    return tuple(_value(text, column) for text, column in zip(texts, columns, strict=False))


def _value(text: str, column: ViewColumn) -> Any:
    if text == "NULL":
        return None
    kind = parsed_type(column.type)
    convert, example = _CONVERTS.get(kind.this if kind is not None else None, (str, ""))
    try:
        return convert(text.strip() if convert is not str else text)
    except (ValueError, ArithmeticError, KeyError) as error:
        raise HeadraceError(
            f'"{text}" is not a value of the key column "{column.name}", which is {column.type.upper()}',
            hint=f"Write it as {example}.",
        ) from error


def _instant(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def _boolean(text: str) -> bool:
    return {"true": True, "false": False}[text.lower()]


_INTEGER = (int, "42")
_DOUBLE = (float, "0.5")
_TIME = (_instant, "2024-01-31T10:00:00Z")
_CONVERTS: dict[Any, tuple[Callable[[str], Any], str]] = {
    Type.TINYINT: _INTEGER,
    Type.SMALLINT: _INTEGER,
    Type.INT: _INTEGER,
    Type.BIGINT: _INTEGER,
    Type.FLOAT: _DOUBLE,
    Type.DOUBLE: _DOUBLE,
    Type.DECIMAL: (Decimal, "9.99"),
    Type.BOOLEAN: (_boolean, "true or false"),
    Type.DATE: (date.fromisoformat, "2024-01-31"),
    Type.TIMESTAMP: _TIME,
    Type.TIMESTAMPTZ: _TIME,
    Type.TIMESTAMPLTZ: _TIME,
    Type.TIMESTAMPNTZ: (datetime.fromisoformat, "2024-01-31T10:00:00"),
    Type.BINARY: (bytes.fromhex, "ab01, in hexadecimal"),
}
