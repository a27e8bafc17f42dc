"""An Avro schema goes in; a function from bytes to JSON text comes out.

A schema becomes one small function per type, each from the bytes and a position to the JSON text of a value and the
position after it. fastavro is not used for reading, because it trusts its input: it overruns the C stack on deep
nesting, counts to 2^62 in an array of nulls, rounds decimals and takes a negative branch of a union from the end.
Writing the text at once is also faster than making values first.
"""

from collections.abc import Mapping
from struct import error as StructError
from typing import Any, TypeAlias

from headrace.connectors.kafka.avro_logical import InvalidSchema, logical_reader
from headrace.connectors.kafka.avro_primitives import (
    PRIMITIVES,
    Misfit,
    Reader,
    quoted,
    read_chunk,
    read_fixed,
    read_integer,
)

__all__ = ["InvalidSchema", "Misfit", "Reader", "Schema", "reader_of", "split_name"]

Schema: TypeAlias = "dict[str, Any] | list[Any] | str"

LONGEST_REASON = 160


# What reading bytes that do not fit can raise: a position after the end, a cut number, text that is not UTF-8.
_MISFITS = (Misfit, IndexError, StructError, UnicodeDecodeError)


def reader_of(schema: Schema) -> Reader:
    """Return the function that reads a record of the schema.

    The function raises Misfit, or RecursionError when the bytes nest hundreds of levels deep.

    >>> read = reader_of({"type": "record", "name": "Click", "fields": [{"name": "n", "type": "int"}]})
    >>> read(bytes([84]), 0)
    ('{"n":42}', 1)
    """
    if not isinstance(schema, dict) or schema.get("type") not in {"record", "error"}:
        kind = "a union" if isinstance(schema, list) else schema.get("type") if isinstance(schema, dict) else schema
        raise InvalidSchema(f"is {kind}, not a record")
    try:
        return _compile(schema, "", {})
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as problem:
        raise InvalidSchema(f"is not valid Avro: {type(problem).__name__} {problem}"[:LONGEST_REASON]) from problem


def split_name(schema: Mapping[str, Any], namespace: str) -> tuple[str, str]:
    """Return the namespace and the full name of a named type inside a namespace.

    >>> split_name({"name": "Click"}, "shop"), split_name({"name": "web.Click"}, "shop")
    (('shop', 'shop.Click'), ('web', 'web.Click'))
    """
    name = schema["name"]
    if "." in name:
        return name.rpartition(".")[0], name
    space = schema.get("namespace", namespace) or ""
    return space, f"{space}.{name}" if space else name


def _compile(schema: Schema, namespace: str, names: dict[str, Reader]) -> Reader:
    if isinstance(schema, list):
        return _union([_compile(branch, namespace, names) for branch in schema], schema)
    if isinstance(schema, str):
        return PRIMITIVES.get(schema) or _named(schema, namespace, names)
    kind = schema["type"]
    if not isinstance(kind, str):
        return _compile(kind, namespace, names)
    if kind == "array":
        return _array(_compile(schema["items"], namespace, names))
    if kind == "map":
        return _map(_compile(schema["values"], namespace, names))
    if kind in {"record", "error"}:
        return _record(schema, namespace, names)
    if kind in {"enum", "fixed"}:
        _, full = split_name(schema, namespace)
        return names.setdefault(
            full, _enum(schema) if kind == "enum" else logical_reader(schema) or read_fixed(schema["size"])
        )
    return logical_reader(schema) or _compile(kind, namespace, names)


def _named(name: str, namespace: str, names: dict[str, Reader]) -> Reader:
    # As in Java's Avro, a name that the namespace does not have is looked up without one.
    full = name if "." in name or not namespace else f"{namespace}.{name}"
    found = names.get(full) or names.get(name)
    if found is None:
        raise InvalidSchema(f"uses type {name}, which it does not define")
    return found


def _enum(schema: Mapping[str, Any]) -> Reader:
    symbols = [quoted(symbol) for symbol in schema["symbols"]]

    def read(data: bytes, at: int) -> tuple[str, int]:
        index, at = read_integer(data, at)
        if not 0 <= index < len(symbols):
            raise Misfit(f"there is no symbol {index}")
        return symbols[index], at

    return read


def _union(branches: list[Reader], schema: list[Any]) -> Reader:
    null = schema.index("null") if "null" in schema else -1
    if len(branches) == 2 and null >= 0:
        return _optional(branches[1 - null], null)

    def read(data: bytes, at: int) -> tuple[str, int]:
        index, at = read_integer(data, at)
        if not 0 <= index < len(branches):
            raise Misfit(f"there is no branch {index} in a union")
        return branches[index](data, at)

    return read


def _optional(value: Reader, null: int) -> Reader:
    absent, present = (0, 2) if null == 0 else (2, 0)

    def read(data: bytes, at: int) -> tuple[str, int]:
        byte = data[at]
        if byte == present:
            return value(data, at + 1)
        if byte == absent:
            return "null", at + 1
        index, at = read_integer(data, at)
        if index not in {0, 1}:
            raise Misfit(f"there is no branch {index} in a union")
        return ("null", at) if index == null else value(data, at)

    return read


def _block(data: bytes, at: int) -> tuple[int, int]:
    count, at = read_integer(data, at)
    if count < 0:  # then the length of the block in bytes stands in between, for readers that skip it
        count = -count
        _, at = read_integer(data, at)
    if count > len(data) - at:
        raise Misfit(f"{count} items are announced where {len(data) - at} bytes are left")
    return count, at


def _array(item: Reader) -> Reader:
    def read(data: bytes, at: int) -> tuple[str, int]:
        items: list[str] = []
        count, at = _block(data, at)
        while count:
            start = at
            for _ in range(count):
                text, at = item(data, at)
                items.append(text)
            if at - start < count:  # else arrays of arrays of nulls could fill the memory from a few bytes
                raise Misfit("an array has items that take no bytes")
            count, at = _block(data, at)
        return f"[{','.join(items)}]", at

    return read


def _map(value: Reader) -> Reader:
    def read(data: bytes, at: int) -> tuple[str, int]:
        items: dict[str, str] = {}  # the last one of equal keys counts, and JSON readers differ on that
        count, at = _block(data, at)
        while count:
            for _ in range(count):
                key, at = read_chunk(data, at)
                items[quoted(key.decode())], at = value(data, at)
            count, at = _block(data, at)
        return "{" + ",".join([f"{key}:{text}" for key, text in items.items()]) + "}", at

    return read


def _record(schema: Mapping[str, Any], namespace: str, names: dict[str, Reader]) -> Reader:
    space, full = split_name(schema, namespace)
    fields: list[tuple[str, Reader]] = []

    def read(data: bytes, at: int) -> tuple[str, int]:
        parts = []
        prefix = ""
        try:
            for prefix, value in fields:
                text, at = value(data, at)
                parts.append(prefix + text)
        except _MISFITS as problem:
            raise Misfit(_reason(prefix, problem)) from None
        return "{" + ",".join(parts) + "}", at

    names[full] = read  # before the fields, which may be of this very type
    fields += [(quoted(field["name"]) + ":", _compile(field["type"], space, names)) for field in schema["fields"]]
    return read


def _reason(prefix: str, problem: Exception) -> str:
    if isinstance(problem, UnicodeDecodeError):
        reason = "text is not UTF-8"
    elif isinstance(problem, Misfit):
        reason = str(problem)
    else:
        reason = "the bytes end too early"
    return f"{prefix[1:-2]}: {reason}" if len(reason) < LONGEST_REASON else reason
