"""An Avro schema goes in; a function from a row, as Spark and Arrow give it, to bytes comes out."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from io import BytesIO
from typing import Any, TypeAlias

from fastavro import parse_schema, schemaless_writer

from headrace.connectors.kafka.avro_reader import Schema

__all__ = ["Writer", "writer_of"]

Writer: TypeAlias = Callable[[bytes, Mapping[str, Any]], bytes]
Change: TypeAlias = Callable[[Any], Any]


def writer_of(schema: Schema) -> Writer:
    """Return the function from a header and a row to the header and the row's bytes.

    >>> write = writer_of({"type": "record", "name": "Click", "fields": [{"name": "n", "type": "int"}]})
    >>> write(b"-", {"n": 42})
    b'-T'
    """
    parsed = parse_schema(schema)
    change = _change(parsed, {})

    def write(header: bytes, row: Mapping[str, Any]) -> bytes:
        out = BytesIO()
        out.write(header)
        value = row if change is None else change(row)
        schemaless_writer(out, parsed, value, strict_allow_default=True, disable_tuple_notation=True)
        return out.getvalue()

    return write


def _change(schema: Any, records: dict[str, Change]) -> Change | None:
    """Return what makes a value one that fastavro takes, or None when it does so as it is."""
    if isinstance(schema, list):
        changes = [change for branch in schema if (change := _change(branch, records))]
        # Where several could apply it is not known which branch is meant; fastavro then judges the value as it is.
        return _unless_null(changes[0]) if len(changes) == 1 else None
    if isinstance(schema, str):
        return records.get(schema)
    if schema["type"] in {"record", "error"}:
        return _record(schema, records)
    if schema["type"] == "array":
        return _array(_change(schema["items"], records))
    if schema["type"] == "map":
        return _map(_change(schema["values"], records))
    if str(schema.get("logicalType")).startswith("timestamp-"):
        return _zoned
    return None


def _unless_null(change: Change) -> Change:
    return lambda value: None if value is None else change(value)


def _record(schema: Mapping[str, Any], records: dict[str, Change]) -> Change:
    changes: list[tuple[str, Change]] = []

    def change(value: Any) -> Any:
        row = value.asDict() if hasattr(value, "asDict") else value
        if not changes or not isinstance(row, Mapping):
            return row
        return {**row, **{name: each(row[name]) for name, each in changes if name in row}}

    records[schema["name"]] = change  # before the fields, which may be of this very type
    changes += [
        (field["name"], each) for field in schema["fields"] if (each := _change(field["type"], records)) is not None
    ]
    return change


def _array(item: Change | None) -> Change | None:
    return None if item is None else lambda values: [item(value) for value in values]


def _map(item: Change | None) -> Change:
    def change(value: Any) -> Any:
        pairs = dict(value)  # Arrow gives a map as a list of pairs
        return pairs if item is None else {key: item(each) for key, each in pairs.items()}

    return change


def _zoned(value: Any) -> Any:
    """Return an instant in UTC; without a zone it is on the clock of this process, as PySpark has it."""
    return value.astimezone(UTC) if isinstance(value, datetime) and value.tzinfo is None else value
