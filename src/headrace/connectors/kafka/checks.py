"""Options of a Kafka stream, table or sink that do not go together go in; an error comes out."""

import re
from collections.abc import Sequence

from sqlglot import exp

from headrace.connectors.formats import check_format
from headrace.connectors.kafka.options import (
    PREFIX,
    KafkaConnection,
    KafkaReading,
    KafkaSink,
    KafkaSource,
    KafkaTable,
)
from headrace.connectors.kafka.start import parse_start
from headrace.connectors.options import closest
from headrace.errors import HeadraceError, Span

__all__ = ["check_reading", "check_sink", "check_sink_columns"]

Columns = Sequence[tuple[str, exp.DataType]]

OURS = {
    "bootstrap.servers": "bootstrap_servers",
    "group.id": "group",
    "auto.offset.reset": "start",
    "security.protocol": "security_protocol",
    "transaction.timeout.ms": "transaction_timeout",
    "compression.type": "compression",
}
"""Properties that have an option of their own."""
FIXED = (
    "enable.auto.commit",
    "key.deserializer",
    "value.deserializer",
    "key.serializer",
    "value.serializer",
    "interceptor.classes",
    "transactional.id",
    "enable.idempotence",
    "acks",
)


def check_reading(options: KafkaReading, columns: Sequence[str], primary_key: Sequence[str]) -> None:
    """Raise what is wrong with the options of a stream or table of these columns."""
    _check_connection(options)
    pattern = options.topic_pattern if isinstance(options, KafkaSource) else None
    if bool(options.topic) == (pattern is not None):
        raise HeadraceError(
            "a Kafka stream needs a topic" if pattern is None else "topic and topic_pattern do not go together",
            hint="Add topic = 'name', or topic_pattern = 'name-.*'." if pattern is None else "Keep one of them.",
        )
    if pattern is not None:
        try:
            re.compile(pattern)
        except re.error as error:
            raise HeadraceError(f"topic_pattern is not a regular expression: {error}") from error
    if isinstance(options, KafkaSource):
        start = parse_start(options.start)
        if start.offsets and len(options.topic) != 1:
            raise HeadraceError(
                "offsets to start at need exactly one topic", hint="Start at an instant, or use a stream per topic."
            )
    if options.format == "avro" and (options.schema_registry is None) == (options.avro_schema is None):
        raise HeadraceError(
            "format avro needs schema_registry or avro_schema"
            if options.avro_schema is None
            else "schema_registry and avro_schema do not go together",
            detail="Messages either name their schema in a registry, or all have the one of a file.",
            hint="Write schema_registry = 'http://host:8081', or avro_schema = 'file.avsc'.",
        )
    if options.format == "upsert" and not (options.key or primary_key):
        raise HeadraceError(
            "format upsert needs to know the key",
            hint="Declare PRIMARY KEY (column, …) on a table, or add key = 'column' to a stream.",
        )
    if isinstance(options, KafkaTable) and not primary_key:
        raise HeadraceError(
            "a table of a Kafka topic needs a primary key",
            detail="Of each key the last message counts.",
            hint="Add PRIMARY KEY (column, …) after the columns.",
        )
    for name in options.key:
        _check_known(name, columns, "key")


def check_sink(options: KafkaSink) -> None:
    """Raise what is wrong with the options of a sink."""
    _check_connection(options)
    if (options.topic is None) == (options.topic_column is None):
        raise HeadraceError(
            "a Kafka sink needs a topic" if options.topic is None else "topic and topic_column do not go together",
            hint="Add topic = 'name', or topic_column = 'column'." if options.topic is None else "Keep one of them.",
        )
    if options.partition_column is not None and options.partitioner == "round-robin":
        raise HeadraceError("partition_column and partitioner do not go together", hint="Keep one of them.")
    if options.format == "avro" and options.schema_registry is None:
        raise HeadraceError(
            "a sink of format avro needs a schema registry", hint="Add schema_registry = 'http://host:8081'."
        )
    if options.format == "avro" and options.topic is None:
        raise HeadraceError("a sink of format avro needs one topic", hint="Use topic instead of topic_column.")


def check_sink_columns(options: KafkaSink, columns: Columns, span: Span) -> None:
    """Raise at the span if the columns of a query cannot be written as the options ask."""
    names = [name for name, _ in columns]
    for option in ("topic_column", "partition_column"):
        name = getattr(options, option)
        if name is not None:
            _check_known(name, names, option, span)
    for option in ("key", "headers"):
        for name in getattr(options, option):
            _check_known(name, names, option, span)
    aside = aside_columns(options)
    value = [(name, kind) for name, kind in columns if name.lower() not in aside]
    if not value:
        raise HeadraceError("no column is left for the message", hint="Select one more.", span=span)
    check_format(options.format, value, span, writing=True)


def aside_columns(options: KafkaSink) -> frozenset[str]:
    """Return the columns that are not part of the message's value, in lower case."""
    several = (options.topic_column, options.partition_column, *options.headers)
    return frozenset(name.lower() for name in several if name is not None)


def _check_known(name: str, columns: Sequence[str], option: str, span: Span | None = None) -> None:
    if name.lower() in {each.lower() for each in columns}:
        return
    meant = closest(name, columns)
    raise HeadraceError(
        f'option {option} names an unknown column "{name}"',
        detail=f"The columns: {', '.join(columns)}.",
        hint=f'Did you mean "{meant}"?' if meant is not None else None,
        span=span,
    )


def _check_connection(options: KafkaConnection) -> None:
    for name in options.properties:
        bare = name[len(PREFIX) :].lower()
        if bare in OURS or bare in FIXED or not bare:
            raise HeadraceError(
                f'property "{name}" cannot be set',
                detail="Headrace sets it, and a right answer depends on it." if bare in FIXED else None,
                hint=f"Use the option {OURS[bare]}." if bare in OURS else "Leave it out.",
            )
    if options.security_protocol.startswith("sasl"):
        given = options.sasl_password is not None or options.sasl_password_file is not None
        if "kafka.sasl.jaas.config" not in options.properties and not (options.sasl_username and given):
            raise HeadraceError(
                f"security_protocol = '{options.security_protocol}' needs sasl_username and a password",
                hint="Add sasl_username and sasl_password = '${NAME}' or sasl_password_file.",
            )
