"""Avro records go in, JSON texts or reasons come out; rows go in, Avro records come out."""

from collections.abc import Callable, Iterable, Mapping
from struct import Struct
from typing import Any, TypeVar

from fastavro.schema import SchemaParseException, UnknownType

from headrace.connectors.kafka.avro_columns import schema_of
from headrace.connectors.kafka.avro_reader import InvalidSchema, Misfit, Reader, Schema, reader_of
from headrace.connectors.kafka.avro_writer import Writer, writer_of
from headrace.connectors.kafka.registry import Registry, UnknownSchema, UnreadableSchema

__all__ = ["AvroError", "decode_batch", "decode_confluent", "decode_plain", "encode", "schema_of"]

MOST_SCHEMAS = 1_000
"""How many schemas that were given as objects are kept ready."""

_HEADER = Struct(">BI")
_Made = TypeVar("_Made")

_registered: dict[tuple[str, int], Reader] = {}
# By the identity of the schema, which is kept so that no other object gets the same.
_readers: dict[int, tuple[Schema, Reader]] = {}
_writers: dict[int, tuple[Schema, Writer]] = {}


class AvroError(Exception):
    """A record that is no good, and why in a few words; the other records do not suffer."""


def decode_confluent(value: bytes, registry: Registry) -> str:
    """Return the JSON text of a record that begins with the id of its schema, as Confluent's serialisers write it.

    Raises AvroError for the record, and lets a RegistryError through, which is the fault of no record.
    """
    if len(value) < 5:
        if value and value[0]:
            raise _no_header(value)
        raise AvroError("not in Confluent wire format: shorter than 5 bytes")
    magic, id = _HEADER.unpack_from(value)
    if magic:
        raise _no_header(value)
    read = _registered.get((registry.identity, id)) or _registered_reader(registry, id)
    return _decoded(read, value, 5, f"schema {id}")


def decode_plain(value: bytes, schema: Schema) -> str:
    """Return the JSON text of a record without a header; it is fast when the schema is always the same object.

    >>> clicks = {"type": "record", "name": "Click", "fields": [{"name": "n", "type": "int"}]}
    >>> decode_plain(bytes([84]), clicks)
    '{"n":42}'
    >>> decode_plain(bytes([84, 1, 2]), clicks)
    Traceback (most recent call last):
    headrace.connectors.kafka.avro.AvroError: does not fit the schema: 2 bytes are left after the record
    """
    return _decoded(_kept(_readers, schema, _reader), value, 0, "the schema")


def decode_batch(
    values: Iterable[bytes | None], decode: Callable[[bytes], str]
) -> tuple[list[str | None], list[str | None]]:
    """Return the JSON texts of the values and the reasons why there is none, each None where there is the other."""
    texts: list[str | None] = []
    reasons: list[str | None] = []
    for value in values:
        text = reason = None
        if value is not None:
            try:
                text = decode(value)
            except AvroError as problem:
                reason = str(problem)
        texts.append(text)
        reasons.append(reason)
    return texts, reasons


def encode(schema_id: int | None, schema: Schema, row: Mapping[str, Any]) -> bytes:
    r"""Return a row as an Avro record, after the header with the schema's id when there is one.

    It is fast when the schema is always the same object. A datetime without a zone is on the clock of this process.

    >>> encode(17, {"type": "record", "name": "Click", "fields": [{"name": "n", "type": "int"}]}, {"n": 42})
    b'\x00\x00\x00\x00\x11T'
    """
    try:
        write = _kept(_writers, schema, writer_of)
    except (SchemaParseException, UnknownType, KeyError, TypeError) as problem:
        raise AvroError(f"the schema is not valid Avro: {problem}") from problem
    try:
        return write(b"" if schema_id is None else _HEADER.pack(0, schema_id), row)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as problem:
        raise AvroError(f"the row does not fit the schema: {problem}") from problem


def _no_header(value: bytes) -> AvroError:
    return AvroError(f"not in Confluent wire format: the first byte is 0x{value[0]:02x}, not 0x00")


def _decoded(read: Reader, value: bytes, start: int, schema: str) -> str:
    try:
        text, end = read(value, start)
    except Misfit as problem:
        raise AvroError(f"does not fit {schema}: {problem}") from None
    except RecursionError:
        raise AvroError(f"does not fit {schema}: nested too deeply") from None
    except InvalidSchema as problem:
        raise AvroError(f"{schema} {problem}") from None
    if end != len(value):
        raise AvroError(f"does not fit {schema}: {_bytes_are(len(value) - end)} left after the record")
    return text


def _bytes_are(count: int) -> str:
    return "1 byte is" if count == 1 else f"{count} bytes are"


def _registered_reader(registry: Registry, id: int) -> Reader:
    try:
        schema = registry.schema(id)
    except (UnknownSchema, UnreadableSchema) as problem:
        raise AvroError(str(problem)) from None
    read = _registered[registry.identity, id] = _reader(schema)
    return read


def _reader(schema: Schema) -> Reader:
    """Return the reader of a schema, or one that finds fault with it every time: the schema will not change."""
    try:
        return reader_of(schema)
    except InvalidSchema as problem:
        fault = str(problem)

    def read(data: bytes, at: int) -> tuple[str, int]:
        raise InvalidSchema(fault)

    return read


def _kept(made: dict[int, tuple[Schema, _Made]], schema: Schema, make: Callable[[Schema], _Made]) -> _Made:
    found = made.get(id(schema))
    if found is None:
        if len(made) >= MOST_SCHEMAS:
            made.clear()
        found = made[id(schema)] = (schema, make(schema))
    return found[1]
