"""Lengths of time as people write them: text goes in, a duration comes out, and back."""

import re
from datetime import timedelta
from fractions import Fraction

__all__ = ["duration_text", "parse_duration"]

_UNITS = {
    "us": 1,
    "microsecond": 1,
    "ms": 1_000,
    "millisecond": 1_000,
    "s": 1_000_000,
    "sec": 1_000_000,
    "second": 1_000_000,
    "min": 60_000_000,
    "minute": 60_000_000,
    "h": 3_600_000_000,
    "hour": 3_600_000_000,
    "d": 86_400_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
_NUMBER = r"[0-9]{1,18}(?:\.[0-9]{1,18})?"
_DURATION = re.compile(rf"(?:{_NUMBER}\s*[a-z]+\s*)+", re.IGNORECASE)
_DURATION_PART = re.compile(rf"({_NUMBER})\s*([a-z]+)", re.IGNORECASE)
_ISO_DURATION = re.compile(
    rf"P(?=.)(?:({_NUMBER})W)?(?:({_NUMBER})D)?(?:T(?=.)(?:({_NUMBER})H)?(?:({_NUMBER})M)?(?:({_NUMBER})S)?)?",
    re.IGNORECASE,
)
_ISO_UNITS = ("week", "day", "hour", "minute", "second")


def parse_duration(text: str) -> timedelta | None:
    """Return the length of time that a text names, or None when it names none.

    >>> parse_duration("1 minute 30 seconds"), parse_duration("500 ms"), parse_duration("PT5S")
    (datetime.timedelta(seconds=90), datetime.timedelta(microseconds=500000), datetime.timedelta(seconds=5))
    >>> parse_duration("soon") is None
    True
    """
    text = text.strip()
    if iso := _ISO_DURATION.fullmatch(text):
        parts = [(number, unit) for number, unit in zip(iso.groups(), _ISO_UNITS, strict=True) if number]
    elif _DURATION.fullmatch(text):
        parts = _DURATION_PART.findall(text)
    else:
        return None
    microseconds = Fraction(0)
    for number, unit in parts:
        word = unit.lower()
        factor = _UNITS.get(word) or (_UNITS.get(word[:-1]) if len(word) > 3 and word.endswith("s") else None)
        if factor is None:
            return None
        microseconds += Fraction(number) * factor
    if microseconds.denominator != 1:
        return None
    try:
        return timedelta(microseconds=microseconds.numerator)
    except OverflowError:
        return None


def duration_text(duration: timedelta) -> str:
    """Return a length of time (not negative) in the words that `parse_duration` reads.

    >>> duration_text(timedelta(minutes=1, milliseconds=1500))
    '1 minute 1 second 500 milliseconds'
    """
    left = duration // timedelta(microseconds=1)
    parts = []
    for unit in ("day", "hour", "minute", "second", "millisecond", "microsecond"):
        count, left = divmod(left, _UNITS[unit])
        if count:
            parts.append(f"{count} {unit}{'' if count == 1 else 's'}")
    return " ".join(parts) or "0 seconds"
