"""A value of a nested type goes in as Python has it and comes out as JSON text, and back by its type."""

import base64
import json
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from sqlglot import exp

from headrace.plan.types import Type
from headrace.values import JsonValue, json_text, json_value

__all__ = ["from_json", "to_json"]


def to_json(value: Any, kind: exp.DataType | None) -> str:
    """Return a value as JSON text; equal values give equal text, so the entries of a map are sorted."""
    return json_text(_down(value, kind))


def from_json(text: str, kind: exp.DataType | None) -> Any:
    """Return the value that JSON text was made of."""
    return _up(json.loads(text, parse_float=Decimal), kind)


def _down(value: Any, kind: exp.DataType | None) -> JsonValue:
    if value is None:
        return None
    match kind.this if kind is not None else None:
        case Type.STRUCT if kind is not None:
            values = [value.get(name) for name, _ in _fields(kind)] if isinstance(value, Mapping) else value
            return {name: _down(item, type_) for (name, type_), item in zip(_fields(kind), values, strict=True)}
        case Type.ARRAY if kind is not None:
            return [_down(item, kind.expressions[0]) for item in value]
        case Type.MAP if kind is not None:
            pairs = value.items() if isinstance(value, Mapping) else value
            key_type, item_type = kind.expressions
            named = {_name(_down(key, key_type)): _down(item, item_type) for key, item in pairs}
            return {name: named[name] for name in sorted(named)}
        case Type.FLOAT | Type.DOUBLE:
            return json_value(value + 0.0)  # -0.0 and 0.0 are one value
        case _:
            return json_value(timedelta_text(value) if isinstance(value, timedelta) else value)


def _up(value: Any, kind: exp.DataType | None) -> Any:
    if value is None:
        return None
    match kind.this if kind is not None else None:
        case Type.STRUCT if kind is not None:
            return {name: _up(value.get(name), type_) for name, type_ in _fields(kind)}
        case Type.ARRAY if kind is not None:
            return [_up(item, kind.expressions[0]) for item in value]
        case Type.MAP if kind is not None:
            return _map(value, *kind.expressions)
        case Type.FLOAT | Type.DOUBLE:
            return float(value)
        case Type.DECIMAL:
            return Decimal(value)
        case Type.DATE:
            return date.fromisoformat(value)
        case Type.TIMESTAMP | Type.TIMESTAMPTZ | Type.TIMESTAMPLTZ | Type.TIMESTAMPNTZ:
            return datetime.fromisoformat(value)
        case Type.TIME:
            return time.fromisoformat(value)
        case Type.BINARY:
            return base64.b64decode(value)
        case Type.VARIANT | None:
            return _plain(value)
        case _:
            return _duration(value) if isinstance(value, dict) else value


def _map(value: Mapping[str, Any], key_type: exp.DataType, item_type: exp.DataType) -> Any:
    """Return a dict, or pairs where the keys cannot be those of a dict."""
    is_text = key_type.this not in _JSON_KEYS
    pairs = [
        (_up(name if is_text else json.loads(name, parse_float=Decimal), key_type), _up(item, item_type))
        for name, item in value.items()
    ]
    return pairs if key_type.this in _NESTED else dict(pairs)


def _name(key: JsonValue) -> str:
    return key if isinstance(key, str) else json_text(key)


def _plain(value: Any) -> Any:
    """Return JSON without a type as Python's own parser gives it."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _fields(kind: exp.DataType) -> list[tuple[str, exp.DataType]]:
    return [(each.name, each.args["kind"]) for each in kind.expressions]


def timedelta_text(value: timedelta) -> dict[str, int]:
    """Return a duration as JSON that is told apart from Spark's text for one."""
    return {"microseconds": value // timedelta(microseconds=1)}


def _duration(value: Mapping[str, int]) -> timedelta:
    return timedelta(microseconds=value["microseconds"])


_NESTED = {Type.STRUCT, Type.ARRAY, Type.MAP}
_JSON_KEYS = {
    *_NESTED,
    Type.TINYINT,
    Type.SMALLINT,
    Type.INT,
    Type.BIGINT,
    Type.DECIMAL,
    Type.BOOLEAN,
}
