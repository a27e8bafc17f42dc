"""The options of a stream or sink of Avro messages go in; what decodes one message, without Spark, comes out."""

import json
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

from headrace.connectors.kafka.avro import decode_confluent, decode_plain
from headrace.connectors.kafka.options import KafkaMessages, KafkaReading
from headrace.connectors.kafka.registry import Registry
from headrace.errors import HeadraceError

__all__ = ["message_decoder", "read_schema", "registry_at", "registry_of"]


@cache
def registry_at(url: str, username: str | None, password: str | None) -> Registry:
    """Return the registry's client of this process, which remembers schemas."""
    return Registry(url, username, password)


def registry_of(options: Any) -> Registry:
    """Return the client of the registry that options name."""
    return registry_at(options.schema_registry, options.schema_registry_username, options.schema_registry_password)


def message_decoder(options: KafkaMessages, base: Path) -> Callable[[bytes], str]:
    """Return what gives the JSON text of a message, or raises AvroError with the reason why there is none."""
    if isinstance(options, KafkaReading) and options.avro_schema is not None:
        return partial(decode_plain, schema=read_schema(base / options.avro_schema))
    return partial(decode_confluent, registry=registry_of(options))


def read_schema(file: Path) -> Any:
    """Return the schema that a file holds."""
    try:
        return json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise HeadraceError(
            f'the Avro schema "{file.name}" cannot be read',
            detail=f"{error}.",
            hint="The option avro_schema names a file of JSON, relative to the application file.",
        ) from error
