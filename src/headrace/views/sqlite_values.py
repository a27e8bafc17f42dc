"""A column's type goes in; how SQLite keeps its values, and the way there and back, come out.

What SQLite keeps is chosen so that SQL over it makes sense: numbers are numbers, times are text of one width in UTC,
decimals are exact text under a collation that compares them by size, NaN is the text that sorts above every number.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Context, Decimal, Inexact
from functools import cache
from typing import Any

from sqlglot import exp

from headrace.errors import HeadraceError
from headrace.plan.types import Type
from headrace.views.definition import Row, ViewColumn
from headrace.views.sqlite_nested import from_json, to_json
from headrace.views.value_types import parsed_type

__all__ = ["DECIMAL_COLLATION", "NAN", "Codec", "codec", "decoded", "encoded", "encoded_key", "instant_text"]

NAN = "NaN"
DECIMAL_COLLATION = "headrace_decimal"
CHUNK = 1000
"""How many rows are turned into columns at once; more leave the processor's cache."""

Convert = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Codec:
    """How a column is declared, and how its values that are not NULL go in and out; None means as they are."""

    declared: str
    encode: Convert | None = None
    decode: Convert | None = None


def encoded(rows: Sequence[Row], codecs: Sequence[Codec]) -> Sequence[Row]:
    """Return rows as SQLite keeps them."""
    return _converted(rows, [each.encode for each in codecs])


def decoded(rows: Sequence[Row], codecs: Sequence[Codec | None]) -> Sequence[Row]:
    """Return rows as Python has them, from what SQLite keeps."""
    return _converted(rows, [each.decode if each is not None else None for each in codecs])


def encoded_key(values: Iterable[Any], columns: Sequence[ViewColumn]) -> Row:
    """Return the values of key columns as SQLite keeps them; raise HeadraceError where one has another type."""
    result = []
    for value, column in zip(values, columns, strict=False):
        encode = codec(column.type).encode
        try:
            result.append(value if value is None or encode is None else encode(value))
        except (AttributeError, TypeError, ValueError, ArithmeticError) as error:
            raise HeadraceError(f'{value!r} is not a value of the key column "{column.name}" {column.type}') from error
    return tuple(result)


def _converted(rows: Sequence[Row], converts: Sequence[Convert | None]) -> Sequence[Row]:
    """Convert column by column, and only the columns that need it."""
    if not rows or all(convert is None for convert in converts):
        return rows
    result: list[Row] = []
    for start in range(0, len(rows), CHUNK):
        columns: list[Sequence[Any]] = list(zip(*rows[start : start + CHUNK], strict=True))
        for index, convert in enumerate(converts):
            if convert is not None:
                columns[index] = [None if value is None else convert(value) for value in columns[index]]
        result.extend(zip(*columns, strict=True))
    return result


@cache
def codec(type_text: str) -> Codec:
    """Return how values of a type are kept.

    >>> codec("decimal(10,2)").encode(Decimal("1.5")), codec("boolean").decode(1), codec("bigint").declared
    ('1.50', True, 'INTEGER')
    """
    kind = parsed_type(type_text)
    if kind is None:
        return Codec("TEXT", lambda value: to_json(value, None), lambda text: from_json(text, None))
    return _codec_of(kind)


def _codec_of(kind: exp.DataType) -> Codec:
    match kind.this:
        case Type.TINYINT | Type.SMALLINT | Type.INT | Type.BIGINT:
            return Codec("INTEGER")
        case Type.FLOAT | Type.DOUBLE:
            return Codec("REAL", _double_in, _double_out)
        case Type.BOOLEAN:
            return Codec("INTEGER", int, bool)
        case Type.DECIMAL:
            return Codec(f"TEXT COLLATE {DECIMAL_COLLATION}", _decimal_in(_scale(kind)), Decimal)
        case Type.TEXT | Type.VARCHAR | Type.CHAR:
            return Codec("TEXT")
        case Type.BINARY:
            return Codec("BLOB", bytes)
        case Type.DATE:
            return Codec("TEXT", date.isoformat, date.fromisoformat)
        case Type.TIMESTAMP | Type.TIMESTAMPTZ | Type.TIMESTAMPLTZ:
            return Codec("TEXT", instant_text, _instant)
        case Type.TIMESTAMPNTZ:
            return Codec("TEXT", lambda value: value.isoformat(" ", "microseconds"), datetime.fromisoformat)
        case Type.TIME:
            return Codec("TEXT", lambda value: value.isoformat("microseconds"), time.fromisoformat)
        case Type.INTERVAL:
            return Codec("BLOB", _interval_in, _interval_out)
        case Type.STRUCT | Type.ARRAY | Type.MAP | Type.VARIANT:
            return Codec("TEXT", lambda value: to_json(value, kind), lambda text: from_json(text, kind))
        case Type.NULL:
            return Codec("BLOB")
        case _ if isinstance(kind.this, exp.Interval):
            return Codec("BLOB", _interval_in, _interval_out)
        case _:
            return Codec("TEXT", lambda value: to_json(value, None), lambda text: from_json(text, None))


def _scale(kind: exp.DataType) -> int:
    return int(kind.expressions[1].name) if len(kind.expressions) > 1 else 0


def _double_in(value: float) -> float | str:
    return value + 0.0 if value == value else NAN  # noqa: PLR0124  (SQLite would make NULL of NaN, and loses -0.0)


def _double_out(value: float | str) -> float:
    return float(value)


_EXACT = Context(prec=76, traps=[Inexact])


def _decimal_in(scale: int) -> Convert:
    step = Decimal(1).scaleb(-scale)
    quantize = _EXACT.quantize

    def text(value: Decimal | int | str) -> str:
        number = value if isinstance(value, Decimal) else Decimal(value)
        try:
            return format(quantize(number, step), "f")
        except ArithmeticError:
            return format(number, "f")  # more digits than the type has: no row is equal to it

    return text


def instant_text(value: datetime) -> str:
    """Return an instant as text of one width, in UTC; without a zone it is taken to be in UTC.

    >>> instant_text(datetime(2024, 1, 1, 10, tzinfo=UTC))
    '2024-01-01 10:00:00.000000'
    """
    if value.tzinfo is not None and value.tzinfo is not UTC:
        value = value.astimezone(UTC)
    return value.isoformat(" ", "microseconds")[:26]


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text + "+00:00")


def _interval_in(value: timedelta | str) -> int | str:
    """Return an interval as Spark's text if it is that already, else as microseconds."""
    return value // timedelta(microseconds=1) if isinstance(value, timedelta) else value


def _interval_out(value: int | str) -> timedelta | str:
    return timedelta(microseconds=value) if isinstance(value, int) else value
