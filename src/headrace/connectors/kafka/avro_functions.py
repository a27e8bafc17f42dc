"""Avro inside Spark: the options of a stream or sink go in, a vectorised function comes out."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F

from headrace.connectors.kafka.avro import decode_batch, decode_confluent, decode_plain, encode
from headrace.connectors.kafka.avro_messages import read_schema, registry_at
from headrace.connectors.kafka.options import KafkaReading

__all__ = ["decoder", "encoder"]


def decoder(options: KafkaReading, base: Path) -> Callable[[Column], Column]:
    """Return a function that turns Avro messages into JSON text, or a reason why not."""
    account = (options.schema_registry, options.schema_registry_username, options.schema_registry_password)
    schema = None if options.avro_schema is None else read_schema(base / options.avro_schema)

    def decode(values: pa.Array) -> pa.Array:
        one = (
            partial(decode_confluent, registry=registry_at(*account))
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


def encoder(schema_id: int, schema: Any) -> Callable[[Column], Column]:
    """Return a function that turns rows, as one struct, into Avro messages that name their schema."""

    def write(rows: pa.Array) -> pa.Array:
        return pa.array([encode(schema_id, schema, row) for row in rows.to_pylist()], pa.binary())

    return _vectorised(write, "BINARY")
