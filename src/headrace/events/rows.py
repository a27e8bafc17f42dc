"""Columns and a JSON object go in, a row of Python values of the columns' types comes out, and back."""

import json
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from headrace.connectors.spark_types import SparkType, parse_type
from headrace.connectors.typed_values import from_json
from headrace.errors import HeadraceError
from headrace.language.dialect import Headrace
from headrace.language.statements import ColumnDefinition
from headrace.values import json_text, json_value, to_json_line

__all__ = ["Unreadable", "key_bytes", "parsed", "reader", "value_bytes"]

_WHOLE = frozenset({"tinyint", "smallint", "int", "bigint"})
_NUMBERS = frozenset({"decimal", "float", "double"})

Read = Callable[[Any], Any]


class Unreadable(Exception):
    """A record that does not fit its columns, and why."""


def parsed(text: bytes | None) -> dict[str, Any]:
    """Return the JSON object of a message, numbers with a point being Decimals."""
    try:
        found = json.loads(text or b"", parse_float=Decimal)
    except (ValueError, RecursionError) as error:
        raise Unreadable("it is not JSON") from error
    if not isinstance(found, dict):
        raise Unreadable("it is not a JSON object")
    return found


def reader(columns: Sequence[ColumnDefinition], needed: Sequence[str] = ()) -> Callable[[Mapping[str, Any]], Any]:
    """Return the function that makes a row of a JSON object; other fields are left out, missing ones are None.

    It raises Unreadable for a value of another type, and where a column that is needed has none.
    """
    reads = [(column.name, _read(column)) for column in columns]
    must = {*needed, *(column.name for column in columns if not column.nullable)}

    def read(record: Mapping[str, Any]) -> dict[str, Any]:
        row = {}
        for name, convert in reads:
            value = record.get(name)
            if value is None and name in must:
                raise Unreadable(f'it has no "{name}"')
            try:
                row[name] = None if value is None else convert(value)
            except (ValueError, TypeError, ArithmeticError, KeyError, AttributeError) as error:
                raise Unreadable(f'its "{name}" cannot be {json.dumps(str(value)[:40])}') from error
        return row

    return read


def _read(column: ColumnDefinition) -> Read:
    if column.type is None:
        return _as_is
    try:
        kind = parse_type(str(column.type.sql(dialect=Headrace)))
        convert = from_json(kind)
    except HeadraceError:
        return _as_is
    accepts = _accepted(kind)
    return convert if accepts is None else _only(accepts, convert)


def _accepted(kind: SparkType) -> tuple[type, ...] | None:
    if kind.name in _WHOLE:
        return (int,)
    if kind.name in _NUMBERS:
        return (int, Decimal)
    if kind.name == "boolean":
        return (bool,)
    return None if kind.nested else (str,)


def _only(accepted: tuple[type, ...], convert: Read) -> Read:
    def read(value: Any) -> Any:
        if not isinstance(value, accepted) or (isinstance(value, bool) and bool not in accepted):
            raise TypeError
        return convert(value)

    return read


def _as_is(value: Any) -> Any:
    return value


def value_bytes(row: Mapping[str, Any]) -> bytes:
    """Return a row as the value of a message."""
    return to_json_line(row).encode()


def key_bytes(row: Mapping[str, Any], names: Sequence[str]) -> bytes:
    """Return the key of a message as every writer of Headrace writes it: one column as it stands, several as JSON.

    >>> key_bytes({"account": "a", "number": 1}, ["account", "number"])
    b'{"account":"a","number":1}'
    """
    values = [json_value(row[name]) for name in names]
    if len(names) == 1:
        return (values[0] if isinstance(values[0], str) else json_text(values[0])).encode()
    pairs = (f"{json_text(name)}:{json_text(value)}" for name, value in zip(names, values, strict=True))
    return ("{" + ",".join(pairs) + "}").encode()
