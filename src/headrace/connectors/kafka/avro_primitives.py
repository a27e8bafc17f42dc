"""Bytes and a position go in; the JSON text of a plain Avro value and the position after it come out."""

from base64 import b64encode
from collections.abc import Callable
from json.encoder import encode_basestring as quoted
from math import isnan
from struct import Struct
from typing import TypeAlias

__all__ = ["PRIMITIVES", "Misfit", "Reader", "quoted", "read_chunk", "read_fixed", "read_fixed_bytes", "read_integer"]

Reader: TypeAlias = Callable[[bytes, int], tuple[str, int]]
BytesReader: TypeAlias = Callable[[bytes, int], tuple[bytes, int]]


class Misfit(Exception):
    """The bytes are no value of the schema."""


def read_integer(data: bytes, at: int) -> tuple[int, int]:
    """Return a number of at most 64 bits, written seven bits to a byte with the sign in the lowest bit."""
    byte = data[at]
    number = byte & 0x7F
    shift = 0
    while byte > 0x7F:
        at += 1
        shift += 7
        if shift > 63:
            raise Misfit("a number has more than 64 bits")
        byte = data[at]
        number |= (byte & 0x7F) << shift
    if number >> 64:
        raise Misfit("a number has more than 64 bits")
    return (number >> 1) ^ -(number & 1), at + 1


def read_chunk(data: bytes, at: int) -> tuple[bytes, int]:
    """Return bytes whose number stands before them."""
    byte = data[at]
    if byte > 0x7F or byte & 1:
        length, at = read_integer(data, at)
    else:  # nearly always; this saves a call
        length, at = byte >> 1, at + 1
    if not 0 <= length <= len(data) - at:
        raise Misfit(f"{length} bytes are announced where {len(data) - at} are left")
    return data[at : at + length], at + length


def _read_null(data: bytes, at: int) -> tuple[str, int]:
    return "null", at


def _read_boolean(data: bytes, at: int) -> tuple[str, int]:
    byte = data[at]
    if byte > 1:
        raise Misfit(f"byte 0x{byte:02x} is no boolean")
    return "true" if byte else "false", at + 1


def _read_int(data: bytes, at: int) -> tuple[str, int]:
    number, at = read_integer(data, at)
    if not -0x80000000 <= number <= 0x7FFFFFFF:
        raise Misfit(f"{number} is no int")
    return str(number), at


def _read_long(data: bytes, at: int) -> tuple[str, int]:
    number, at = read_integer(data, at)
    return str(number), at


def _real(layout: str) -> Reader:
    numbers = Struct(layout)
    unpack, size = numbers.unpack_from, numbers.size

    def read(data: bytes, at: int) -> tuple[str, int]:
        (number,) = unpack(data, at)
        if number - number == 0:
            return repr(number), at + size
        return '"NaN"' if isnan(number) else '"Infinity"' if number > 0 else '"-Infinity"', at + size

    return read


def _read_string(data: bytes, at: int) -> tuple[str, int]:
    text, at = read_chunk(data, at)
    return quoted(text.decode()), at


def _read_bytes(data: bytes, at: int) -> tuple[str, int]:
    value, at = read_chunk(data, at)
    return f'"{b64encode(value).decode()}"', at


PRIMITIVES: dict[str, Reader] = {
    "null": _read_null,
    "boolean": _read_boolean,
    "int": _read_int,
    "long": _read_long,
    "float": _real("<f"),
    "double": _real("<d"),
    "bytes": _read_bytes,
    "string": _read_string,
}


def read_fixed_bytes(size: int) -> BytesReader:
    """Return the function that reads just so many bytes."""
    if size < 0:
        raise ValueError(f"fixed of {size} bytes")

    def read(data: bytes, at: int) -> tuple[bytes, int]:
        if size > len(data) - at:
            raise Misfit(f"{size} bytes are announced where {len(data) - at} are left")
        return data[at : at + size], at + size

    return read


def read_fixed(size: int) -> Reader:
    """Return the function that reads just so many bytes as base64 text."""
    chunk = read_fixed_bytes(size)

    def read(data: bytes, at: int) -> tuple[str, int]:
        value, at = chunk(data, at)
        return f'"{b64encode(value).decode()}"', at

    return read
