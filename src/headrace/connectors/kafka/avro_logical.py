"""An Avro schema with a logical type goes in; the function that reads its values as JSON text comes out."""

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID

from headrace.connectors.kafka.avro_primitives import Misfit, Reader, read_chunk, read_fixed_bytes, read_integer

__all__ = ["InvalidSchema", "logical_reader"]

LARGEST_PRECISION = 1_000
"""Digits of a decimal; more than any reader of JSON numbers takes."""


class InvalidSchema(Exception):
    """The schema is none, or none that can be read safely."""


_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - the zone is only a letter at the end of the text
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_DAY = 86_400_000_000


def _date(data: bytes, at: int) -> tuple[str, int]:
    days, at = read_integer(data, at)
    try:
        return f'"{date.fromordinal(days + _EPOCH_DAY).isoformat()}"', at
    except (ValueError, OverflowError):
        raise Misfit(f"date {days} is outside the years 1 to 9999") from None


def _time(factor: int) -> Reader:
    def read(data: bytes, at: int) -> tuple[str, int]:
        ticks, at = read_integer(data, at)
        if not 0 <= ticks * factor < _DAY:
            raise Misfit(f"time {ticks} is outside the day")
        return f'"{(_EPOCH + timedelta(microseconds=ticks * factor)).time().isoformat("microseconds")}"', at

    return read


def _instant(factor: int, divisor: int, ending: str) -> Reader:
    def read(data: bytes, at: int) -> tuple[str, int]:
        ticks, at = read_integer(data, at)
        try:
            instant = _EPOCH + timedelta(microseconds=ticks * factor // divisor)
        except OverflowError:
            raise Misfit(f"timestamp {ticks} is outside the years 1 to 9999") from None
        return f'"{instant.isoformat()}{ending}"', at

    return read


_TIMES: dict[tuple[str, str], Reader] = {
    ("int", "date"): _date,
    ("int", "time-millis"): _time(1_000),
    ("long", "time-micros"): _time(1),
    ("long", "timestamp-millis"): _instant(1_000, 1, "Z"),
    ("long", "timestamp-micros"): _instant(1, 1, "Z"),
    ("long", "timestamp-nanos"): _instant(1, 1_000, "Z"),
    ("long", "local-timestamp-millis"): _instant(1_000, 1, ""),
    ("long", "local-timestamp-micros"): _instant(1, 1, ""),
    ("long", "local-timestamp-nanos"): _instant(1, 1_000, ""),
}


def logical_reader(schema: Mapping[str, Any]) -> Reader | None:
    """Return how a logical type is read; None for none, and for those that the specification says to ignore."""
    kind, logical = schema["type"], schema.get("logicalType")
    if not isinstance(logical, str):
        return None
    if logical == "decimal" and kind in {"bytes", "fixed"}:
        return _decimal(schema)
    if logical == "uuid" and kind == "fixed" and schema["size"] == 16:
        return _uuid
    return _TIMES.get((kind, logical))


def _uuid(data: bytes, at: int) -> tuple[str, int]:
    if len(data) - at < 16:
        raise Misfit("the bytes end too early")
    return f'"{UUID(bytes=data[at : at + 16])}"', at + 16


def _decimal(schema: Mapping[str, Any]) -> Reader | None:
    precision, scale = schema.get("precision"), schema.get("scale", 0)
    if not (isinstance(precision, int) and isinstance(scale, int) and 0 <= scale <= precision and precision > 0):
        return None
    if precision > LARGEST_PRECISION:
        raise InvalidSchema(f"has a decimal of {precision} digits, and {LARGEST_PRECISION} are the most")
    limit = 10**precision
    chunk = read_chunk if schema["type"] == "bytes" else read_fixed_bytes(schema["size"])

    def read(data: bytes, at: int) -> tuple[str, int]:
        value, at = chunk(data, at)
        unscaled = int.from_bytes(value, "big", signed=True)
        if not -limit < unscaled < limit:  # before its digits are made, whose cost grows with the square
            raise Misfit(f"a decimal has more than {precision} digits")
        return _decimal_text(unscaled, scale), at

    return read


def _decimal_text(unscaled: int, scale: int) -> str:
    """Return a decimal with all its digits.

    >>> _decimal_text(-5, 2), _decimal_text(1200, 2), _decimal_text(7, 0)
    ('-0.05', '12.00', '7')
    """
    if scale == 0:
        return str(unscaled)
    digits = str(abs(unscaled)).rjust(scale + 1, "0")
    return f"{'-' if unscaled < 0 else ''}{digits[:-scale]}.{digits[-scale:]}"
