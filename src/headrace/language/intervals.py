"""Interval expressions go in, timedeltas come out, and back again."""

import re
from datetime import timedelta
from fractions import Fraction

from sqlglot import exp

from headrace.errors import HeadraceError, Span
from headrace.language.mistakes import did_you_mean

__all__ = ["format_duration", "format_interval", "interval"]

_UNITS = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": 86_400_000_000,
    "WEEK": 604_800_000_000,
}
_SHORT = {"US": "MICROSECOND", "MS": "MILLISECOND", "S": "SECOND", "M": "MINUTE", "H": "HOUR", "D": "DAY"}
_CALENDAR = ("MONTH", "QUARTER", "YEAR")
_WRITTEN = ("DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND")
_AMOUNT = re.compile(r"\s*([+-]?\s*\d+(?:\.\d*)?|[+-]?\s*\.\d+)\s*([A-Za-z]+)\s*")
_HINT = "Write an interval such as INTERVAL 5 SECONDS or INTERVAL '1 minute'."


def interval(expression: exp.Expr, span: Span) -> timedelta:
    """Return the duration that an interval expression means; months and years are an error.

    >>> from sqlglot import parse_one
    >>> from headrace.errors import Source
    >>> interval(parse_one("INTERVAL '90' SECOND"), Span(Source("a", ""), 0, 0))
    datetime.timedelta(seconds=90)
    """
    return _duration(_microseconds(expression, span), span)


def format_interval(duration: timedelta) -> str:
    """Return the SQL that means a duration.

    >>> format_interval(timedelta(minutes=1, seconds=30))
    'INTERVAL 1 MINUTE 30 SECONDS'
    """
    parts = []
    left = abs(duration) // timedelta(microseconds=1)
    sign = "-" if duration < timedelta(0) else ""
    for unit in _WRITTEN:
        count, left = divmod(left, _UNITS[unit])
        if count:
            parts.append(f"{count} {unit}{'' if count == 1 else 'S'}")
    return f"{sign}INTERVAL {' '.join(parts) or '0 SECONDS'}"


def format_duration(duration: timedelta) -> str:
    """Return a duration for people to read.

    >>> format_duration(timedelta(hours=1, milliseconds=250))
    '1 hour 250 milliseconds'
    """
    return format_interval(duration).replace("INTERVAL ", "").lower()


def _microseconds(expression: exp.Expr, span: Span) -> Fraction:
    match expression:
        case exp.Paren():
            return _microseconds(expression.this, span)
        case exp.Neg():
            return -_microseconds(expression.this, span)
        case exp.Add():
            return _microseconds(expression.left, span) + _microseconds(expression.right, span)
        case exp.Sub():
            return _microseconds(expression.left, span) - _microseconds(expression.right, span)
        case exp.Interval():
            return _interval(expression, span)
    raise HeadraceError("expected an interval", hint=_HINT, span=span)


def _interval(expression: exp.Interval, span: Span) -> Fraction:
    value, unit = expression.this, expression.args.get("unit")
    sign = 1
    while isinstance(value, exp.Neg | exp.Paren):
        sign = -sign if isinstance(value, exp.Neg) else sign
        value = value.this
    if not isinstance(value, exp.Literal):
        raise HeadraceError("an interval here must be a constant", hint=_HINT, span=span)
    if isinstance(unit, exp.IntervalSpan):
        return sign * _clock(value.name, unit, span)
    if unit is None:
        return sign * _phrases(value.name, span)
    return sign * _amount(value.name, unit.name, span)


def _phrases(text: str, span: Span) -> Fraction:
    """Read a string such as ``1 minute 30 seconds``."""
    total, position = Fraction(0), 0
    text = re.sub(r"^\s*interval\s+", "", text, flags=re.IGNORECASE)
    while found := _AMOUNT.match(text, position):
        total += _amount(found[1], found[2], span)
        position = found.end()
    if position == 0 or position < len(text):
        raise HeadraceError(f"{text!r} is no interval", hint=_HINT, span=span)
    return total


def _amount(text: str, unit: str, span: Span) -> Fraction:
    name = unit.upper()
    name = _SHORT.get(name, name)
    singular = name if name in _UNITS else name.removesuffix("S")
    if singular in _CALENDAR:
        raise HeadraceError(
            f"an interval in {unit.lower()} has no fixed length",
            detail="Months and years differ in length.",
            hint="Write it in days, hours, minutes or seconds.",
            span=span,
        )
    if singular not in _UNITS:
        units = f"Units are {', '.join(_UNITS)}."
        raise HeadraceError(f"unknown unit {unit}", hint=did_you_mean(name, _UNITS, units), span=span)
    try:
        return Fraction(re.sub(r"\s+", "", text)) * _UNITS[singular]
    except ValueError:
        raise HeadraceError(f"{text!r} is no number", hint=_HINT, span=span) from None


def _clock(text: str, unit: exp.IntervalSpan, span: Span) -> Fraction:
    """Read a string such as ``1 02:03:04`` with its ``DAY TO SECOND``."""
    first, last = unit.this.name.upper(), unit.expression.name.upper()
    names = ["DAY", "HOUR", "MINUTE", "SECOND"]
    if first in _CALENDAR:
        return _amount("0", first, span)
    if first not in names or last not in names or names.index(first) >= names.index(last):
        return _bad(text, span)
    wanted = names[names.index(first) : names.index(last) + 1]
    pattern = r"\s*([+-]?)" + "".join(
        r"(\d+)" + ("" if name == last else r"\s+" if name == "DAY" else ":") for name in wanted
    )
    pattern += r"(\.\d+)?\s*" if last == "SECOND" else r"()\s*"
    found = re.fullmatch(pattern, text)
    if found is None:
        return _bad(text, span)
    sign, *numbers, fraction = found.groups()
    total = sum((Fraction(n) * _UNITS[name] for n, name in zip(numbers, wanted, strict=True)), Fraction(0))
    total += Fraction(fraction or "0") * _UNITS["SECOND"]
    return -total if sign == "-" else total


def _bad(text: str, span: Span) -> Fraction:
    raise HeadraceError(f"{text!r} is no interval", hint=_HINT, span=span)


def _duration(microseconds: Fraction, span: Span) -> timedelta:
    if microseconds.denominator != 1:
        raise HeadraceError("an interval is a whole number of microseconds", span=span)
    try:
        return timedelta(microseconds=int(microseconds))
    except OverflowError:
        raise HeadraceError("the interval is too long", span=span) from None
