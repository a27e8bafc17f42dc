"""A connection goes in; it knows decimals, instants and patterns as Spark has them, where SQLite alone does not."""

import math
import sqlite3
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import lru_cache
from typing import Any

import re2

from headrace.views.sqlite_values import DECIMAL_COLLATION, instant_text

__all__ = ["date_text", "instant", "pattern_mistake", "register"]

LONGEST_TEXT = 100_000_000
_CONTEXT = Context(prec=38)
_EXACT = Context(prec=200)
_ROUNDING = Context(prec=200, rounding=ROUND_HALF_UP)


def register(connection: sqlite3.Connection) -> None:
    """Make the functions known that queries over views are rewritten to."""
    connection.create_collation(DECIMAL_COLLATION, _compare)
    for name, arguments, function in _FUNCTIONS:
        connection.create_function(name, arguments, function, deterministic=True)
    connection.create_window_function("headrace_decimal_sum", 1, DecimalSum)
    connection.create_window_function("headrace_decimal_avg", 1, DecimalAverage)
    connection.execute("PRAGMA case_sensitive_like = ON")


def _compare(left: str, right: str) -> int:
    try:
        first, second = Decimal(left), Decimal(right)
        return (first > second) - (first < second)
    except ArithmeticError:
        return (left > right) - (left < right)


class DecimalSum:
    """The exact sum of decimals as text, NULL of none."""

    def __init__(self) -> None:
        self.total, self.count = Decimal(0), 0

    def step(self, value: Any) -> None:
        """Add a value."""
        if value is not None:
            self.total, self.count = _EXACT.add(self.total, _number(value)), self.count + 1

    def inverse(self, value: Any) -> None:
        """Take a value out again, as a window moves on."""
        if value is not None:
            self.total, self.count = _EXACT.subtract(self.total, _number(value)), self.count - 1

    def value(self) -> Any:
        """Return the sum so far."""
        return format(self.total, "f") if self.count else None

    def finalize(self) -> Any:
        """Return the sum."""
        return self.value()


class DecimalAverage(DecimalSum):
    """The average of decimals, exact but for its last step, as a double."""

    def value(self) -> Any:
        """Return the average so far."""
        return float(_CONTEXT.divide(self.total, Decimal(self.count))) if self.count else None


def _number(value: Any) -> Decimal:
    return Decimal(str(value))  # a literal 0.1 comes as a double, and means the decimal


def _binary(operation: Callable[[Decimal, Decimal], Decimal]) -> Callable[[Any, Any], str | None]:
    def apply(left: Any, right: Any) -> str | None:
        if left is None or right is None:
            return None
        try:
            return format(operation(_number(left), _number(right)), "f")
        except ArithmeticError:
            return None  # as SQLite has it, a division by zero is NULL

    return apply


def _decimal(value: Any, scale: int) -> str | None:
    try:
        step = Decimal(1).scaleb(-scale)
        return None if value is None else format(_ROUNDING.quantize(_number(value), step), "f")
    except ArithmeticError:
        return None


def _remainder(left: Any, right: Any) -> float | None:
    """Return the remainder of doubles; SQLite's own operator cuts both to integers first."""
    try:
        return None if left is None or right is None else math.fmod(left, right)
    except (ValueError, TypeError):
        return None


def instant(value: Any) -> str | None:
    """Return an instant as views keep it, from text of any usual form; NULL if it is none.

    >>> instant("2024-01-01T10:00:00+02:00"), instant("2024-01-01"), instant("soon")
    ('2024-01-01 08:00:00.000000', '2024-01-01 00:00:00.000000', None)
    """
    if isinstance(value, str):
        try:
            return instant_text(datetime.fromisoformat(value.strip()))
        except (ValueError, OverflowError):
            return None
    return None


def date_text(value: Any) -> str | None:
    """Return the day of an instant or of text of a usual form; NULL if it is none."""
    text = instant(value)
    return None if text is None else text[:10]


def _shifted(value: Any, microseconds: int) -> str | None:
    text = instant(value)
    if text is None:
        return None
    try:
        return instant_text(datetime.fromisoformat(text) + timedelta(microseconds=microseconds))
    except OverflowError:
        return None


_PARTS = ("year", "month", "day", "hour", "minute", "second")


def _truncated(unit: Any, value: Any) -> str | None:
    text = instant(value)
    name = str(unit).lower()
    if text is None:
        return None
    moment = datetime.fromisoformat(text)
    if name == "week":
        moment, name = moment - timedelta(days=moment.weekday()), "day"
    if name == "quarter":
        moment, name = moment.replace(month=moment.month - (moment.month - 1) % 3, day=1), "month"
    if name not in _PARTS:
        return None
    first: dict[str, Any] = {"month": 1, "day": 1, "hour": 0, "minute": 0, "second": 0}
    zeroed = {part: first[part] for part in _PARTS[_PARTS.index(name) + 1 :]}
    return instant_text(moment.replace(microsecond=0, **zeroed))


def _part(name: str) -> Callable[[Any], int | None]:
    def part(value: Any) -> int | None:
        text = instant(value)
        return None if text is None else int(getattr(datetime.fromisoformat(text), name))

    return part


def _seconds(value: Any) -> int | None:
    text = instant(value)
    return None if text is None else int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() // 1)


def _days_between(end: Any, start: Any) -> int | None:
    last, first = date_text(end), date_text(start)
    return None if last is None or first is None else (date.fromisoformat(last) - date.fromisoformat(first)).days


def _quiet() -> Any:
    options = re2.Options()
    options.log_errors = False  # who asks is told
    return options


_PATTERN_OPTIONS = _quiet()


@lru_cache(maxsize=128)
def _pattern(text: str) -> Any:
    return re2.compile(text, _PATTERN_OPTIONS)


def pattern_mistake(text: str) -> str | None:
    """Return why a pattern cannot be matched, None if it can.

    >>> pattern_mistake("a+(b|c)"), pattern_mistake("(?=a)")
    (None, 'invalid perl operator: (?=')
    """
    try:
        _pattern(text)
    except re2.error as error:
        return error.args[0].decode() if isinstance(error.args[0], bytes) else str(error.args[0])
    return None


def _matches(pattern: Any, text: Any) -> bool | None:
    """Say whether a pattern occurs in a text, in time that grows with the text alone: nobody holds up the others."""
    return None if pattern is None or text is None else _pattern(str(pattern)).search(str(text)) is not None


def _joined(*values: Any) -> str | None:
    if None in values:
        return None
    texts = list(map(str, values))
    if sum(map(len, texts)) > LONGEST_TEXT:
        raise ValueError("a text is too long")
    return "".join(texts)


_FUNCTIONS: tuple[tuple[str, int, Callable[..., Any]], ...] = (
    ("headrace_decimal", 2, _decimal),
    ("headrace_decimal_add", 2, _binary(_EXACT.add)),
    ("headrace_decimal_sub", 2, _binary(_EXACT.subtract)),
    ("headrace_decimal_mul", 2, _binary(_EXACT.multiply)),
    ("headrace_decimal_div", 2, _binary(_CONTEXT.divide)),
    ("headrace_decimal_mod", 2, _binary(_EXACT.remainder)),
    ("headrace_mod", 2, _remainder),
    ("headrace_instant", 1, instant),
    ("headrace_date", 1, date_text),
    ("headrace_shift", 2, _shifted),
    ("date_trunc", 2, _truncated),
    *((name, 1, _part(name)) for name in _PARTS),
    ("unix_timestamp", 1, _seconds),
    ("datediff", 2, _days_between),
    ("regexp", 2, _matches),
    ("concat", -1, _joined),
)
