"""Avro inside Spark: the options of a stream or sink go in, a vectorised function comes out."""

import json
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F

from headrace.connectors.kafka.avro import decode_batch, decode_confluent, decode_plain, encode
from headrace.connectors.kafka.options import KafkaReading
from headrace.connectors.kafka.registry import Registry
from headrace.errors import HeadraceError

__all__ = ["decoder", "encoder", "registry_of"]


@cache
def _registry(url: str, username: str | None, password: str | None) -> Registry:
    """Return the registry's client of this process, which remembers schemas."""
    return Registry(url, username, password)


def registry_of(options: Any) -> Registry:
    """Return the client of the registry that options name."""
    return _registry(options.schema_registry, options.schema_registry_username, options.schema_registry_password)


def decoder(options: KafkaReading, base: Path) -> Callable[[Column], Column]:
    """Return a function that turns Avro messages into JSON text, or a reason why not."""
    account = (options.schema_registry, options.schema_registry_username, options.schema_registry_password)
    schema = None if options.avro_schema is None else _read_schema(base / options.avro_schema)

    def decode(values: pa.Array) -> pa.Array:
        one = (
            partial(decode_confluent, registry=_registry(*account))
            if schema is None
            else partial(decode_plain, schema=schema)
        )
        texts, reasons = decode_batch(values.to_pylist(), one)
        return pa.StructArray.from_arrays(
            [pa.array(texts, pa.string()), pa.array(reasons, pa.string())], ["text", "reason"]
        )

    return _vectorised(decode, "text STRING, reason STRING")


def _vectorised(function: Callable[[pa.Array], pa.Array], returns: str) -> Callable[[Column], Column]:
    made: Callable[[Column], Column] = F.arrow_udf(function, returns)  # type: ignore[attr-defined]
    return made


def _read_schema(file: Path) -> Any:
    try:
        return json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise HeadraceError(
            f'the Avro schema "{file.name}" cannot be read',
            detail=f"{error}.",
            hint="The option avro_schema names a file of JSON, relative to the application file.",
        ) from error


def encoder(schema_id: int, schema: Any) -> Callable[[Column], Column]:
    """Return a function that turns rows, as one struct, into Avro messages that name their schema."""

    def write(rows: pa.Array) -> pa.Array:
        return pa.array([encode(schema_id, schema, row) for row in rows.to_pylist()], pa.binary())

    return _vectorised(write, "BINARY")
