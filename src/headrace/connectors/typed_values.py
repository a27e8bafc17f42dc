"""A value of a known Spark type goes in, its text comes out, and back without loss."""

import base64
import json
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

from headrace.connectors.spark_types import SparkType
from headrace.errors import HeadraceError
from headrace.values import json_text, json_value

__all__ = ["from_json", "from_text", "json_of", "key_text", "text_of"]

Decode = Callable[[Any], Any]


def text_of(value: Any) -> str:
    """Return a value that is not NULL as text: a string as it stands, nested values as JSON, times as ISO 8601.

    >>> text_of("a"), text_of(True), text_of([1, None]), text_of(Decimal("1.50"))
    ('a', 'true', '[1, null]', '1.50')
    """
    if isinstance(value, str):
        return value
    plain = json_value(value)
    return plain if isinstance(plain, str) else json_text(plain)


def json_of(value: Any) -> str:
    """Return a value as JSON text."""
    return json_text(json_value(value))


def key_text(values: tuple[Any, ...]) -> str:
    """Return the values of a key as one text; no two keys have the same.

    The values have colons between; in them ``%`` and ``:`` are written as in a URL, and NULL is ``%N``. A key of one
    value keeps its colons.

    >>> key_text(("a:b",)), key_text(("a:b", 1, None))
    ('a:b', 'a%3Ab:1:%N')
    """
    single = len(values) == 1
    return ":".join("%N" if value is None else _escaped(value, single) for value in values)


def _escaped(value: Any, single: bool) -> str:
    text = text_of(value + 0.0 if isinstance(value, float) else value)  # 0.0 and -0.0 are the same key
    text = text.replace("%", "%25")
    return text if single else text.replace(":", "%3A")


def from_text(kind: SparkType) -> Decode:
    """Return the function that reads what ``text_of`` wrote of a type."""
    if kind.name == "string":
        return str
    inner = from_json(kind)
    if kind.nested:
        return lambda text: inner(json.loads(text, parse_float=Decimal))
    if kind.name in _WHOLE:
        return int
    if kind.name == "boolean":
        return lambda text: {"true": True, "false": False}[text.lower()]
    return inner


def from_json(kind: SparkType) -> Decode:
    """Return the function that reads a value of a type from its JSON, numbers with a point being Decimals."""
    read = _nested(kind) if kind.nested else _READERS.get(kind.name)
    if read is None:
        raise HeadraceError(
            f"a column of type {kind.name} cannot be kept in a store",
            hint="Leave it out of the query, or convert it with CAST or to_json.",
        )
    return lambda value: None if value is None else read(value)


def _nested(kind: SparkType) -> Decode:
    if kind.name == "array":
        element = from_json(kind.fields[0][1])
        return lambda value: [element(each) for each in value]
    if kind.name == "struct":
        readers = [(name, from_json(inner)) for name, inner in kind.fields]
        return lambda value: {name: read(value.get(name)) for name, read in readers}
    key, item = from_text(kind.fields[0][1]), from_json(kind.fields[1][1])
    return lambda value: {key(name): item(each) for name, each in value.items()}


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


_WHOLE = frozenset({"tinyint", "smallint", "int", "bigint"})
_READERS: Mapping[str, Decode] = {
    **dict.fromkeys(_WHOLE, int),
    "float": float,
    "double": float,
    "decimal": lambda value: value if isinstance(value, Decimal) else Decimal(value),
    "string": str,
    "boolean": bool,
    "binary": base64.b64decode,
    "date": date.fromisoformat,
    "timestamp": _instant,
    "timestamp_ntz": datetime.fromisoformat,
    "time": time.fromisoformat,
    "interval": str,
    "void": str,
}
