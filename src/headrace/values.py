"""The Python values of a row go in; JSON values, one line of JSON text, or a sort key come out."""

import base64
import json
import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, TypeAlias

__all__ = ["JsonValue", "json_text", "json_value", "sort_key", "to_json_line"]

# A Decimal is a number whose digits matter.
JsonValue: TypeAlias = "bool | int | float | Decimal | str | list[JsonValue] | dict[str, JsonValue] | None"

# Valid inside JSON strings, but they end a line for some readers or cannot be encoded at all.
_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_encoded = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def to_json_line(row: Mapping[str, Any]) -> str:
    """Return a row as one line of JSON, its columns as keys in their order.

    >>> to_json_line({"page": "/a", "at": datetime(2024, 1, 1, 10, tzinfo=UTC), "price": Decimal("1.50")})
    '{"page": "/a", "at": "2024-01-01T10:00:00Z", "price": 1.50}'
    """
    return json_text(_members(row.items()))


def json_text(value: JsonValue) -> str:
    """Return a JSON value as one line of text; a Decimal keeps its digits, which ``json.dumps`` cannot do."""
    if isinstance(value, str):
        return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", _encoded(value))
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, list):
        return "[" + ", ".join(map(json_text, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json_text(key)}: {json_text(item)}" for key, item in value.items()) + "}"
    return _encoded(value)


def json_value(value: Any) -> JsonValue:
    """Return what JSON can say of a value: text for times and bytes, objects for structs and maps.

    A Decimal stays one, because a float would lose digits; ``json_text`` writes it as a number.
    A list of pairs is a map, as Spark gives it when its keys are not strings.

    >>> json_value([(1, float("nan")), (2, b"ab")])
    {'1': 'NaN', '2': 'YWI='}
    """
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (float, Decimal)):
        return value if math.isfinite(value) else _not_finite(value)
    if isinstance(value, datetime):
        return _instant(value)
    if isinstance(value, time):
        return value.isoformat(_precision(value.microsecond))
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, timedelta):
        return _duration(value)
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, Mapping):
        return _members(value.items())
    if isinstance(value, (list, tuple)):
        return _members(value) if _is_map(value) else [json_value(item) for item in value]
    raise TypeError(f"a row cannot hold {type(value).__name__}: {value!r}")


def sort_key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return a key that puts rows of any values in one order, column by column.

    NULL comes first, numbers go by size with NaN last, text by code point, times by time.

    >>> rows = [{"n": 2}, {"n": None}, {"n": 1.5}]
    >>> sorted(rows, key=sort_key)
    [{'n': None}, {'n': 1.5}, {'n': 2}]
    """
    return tuple(_value_key(value) for value in row.values())


def _value_key(value: Any) -> tuple[Any, ...]:
    """Return a tuple that starts with the rank of the value's type, so that types never meet."""
    if value is None:
        return (0,)
    if isinstance(value, bool):
        return (1, value)
    if isinstance(value, (int, float, Decimal)):
        # The text settles what is equal as a number but prints differently: 1 and 1.0, 0.0 and -0.0.
        return (2, 1, 0, repr(value)) if math.isnan(value) else (2, 0, value, repr(value))
    if isinstance(value, str):
        return (3, value)
    if isinstance(value, datetime):
        zoned = value.tzinfo is not None
        return (5, value if zoned else value.replace(tzinfo=UTC), zoned)
    if isinstance(value, date):
        return (4, value)
    if isinstance(value, time):
        return (6, value)
    if isinstance(value, timedelta):
        return (7, value)
    if isinstance(value, (bytes, bytearray)):
        return (8, bytes(value))
    if isinstance(value, Mapping):
        return (10, *((name, _value_key(item)) for name, item in _named(value.items())))
    if isinstance(value, (list, tuple)):
        if _is_map(value):
            return (10, *sorted((name, _value_key(item)) for name, item in _named(value)))
        return (9, *map(_value_key, value))
    raise TypeError(f"a row cannot hold {type(value).__name__}: {value!r}")


def _is_map(items: list[Any] | tuple[Any, ...]) -> bool:
    return bool(items) and all(isinstance(item, tuple) and len(item) == 2 for item in items)


def _members(pairs: Iterable[tuple[Any, Any]]) -> dict[str, JsonValue]:
    return {name: json_value(item) for name, item in _named(pairs)}


def _named(pairs: Iterable[tuple[Any, Any]]) -> Iterable[tuple[str, Any]]:
    for key, item in pairs:
        name = json_value(key)
        yield (name if isinstance(name, str) else json_text(name)), item


def _not_finite(value: float | Decimal) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _precision(microsecond: int) -> str:
    if microsecond == 0:
        return "seconds"
    return "microseconds" if microsecond % 1000 else "milliseconds"


def _instant(value: datetime) -> str:
    if value.tzinfo is None:  # TIMESTAMP_NTZ: a wall clock somewhere
        return value.isoformat(timespec=_precision(value.microsecond))
    in_utc = value.astimezone(UTC).replace(tzinfo=None)
    return in_utc.isoformat(timespec=_precision(in_utc.microsecond)) + "Z"


def _duration(value: timedelta) -> str:
    """Return an interval as ISO-8601 has it.

    >>> _duration(timedelta(days=1, minutes=2, milliseconds=1500)), _duration(timedelta(seconds=-90))
    ('P1DT2M1.500S', '-PT1M30S')
    """
    if value < timedelta(0):
        return "-" + _duration(-value)
    minutes, seconds = divmod(value.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    fraction = ""
    if value.microseconds:
        digits = f"{value.microseconds:06}"
        fraction = "." + (digits if value.microseconds % 1000 else digits[:3])
    days = f"{value.days}D" if value.days else ""
    clock = (f"{hours}H" if hours else "") + (f"{minutes}M" if minutes else "")
    if seconds or fraction or not (days or clock):
        clock += f"{seconds}{fraction}S"
    return f"P{days}" + (f"T{clock}" if clock else "")
