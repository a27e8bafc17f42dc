"""Rows go in, messages come out: topic, partition, key, value and headers, written as the sink promises."""

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, StringType, TimestampType

from headrace.connectors.expressions import WHOLE_JSON
from headrace.connectors.kafka.checks import aside_columns
from headrace.connectors.kafka.options import KafkaSink

__all__ = ["Writer", "as_messages", "producer_properties"]

_HEADERS = "ARRAY<STRUCT<key: STRING, value: BINARY>>"


def producer_properties(options: KafkaSink, properties: Mapping[str, str]) -> dict[str, str]:
    """Return the properties of a sink's producers."""
    ours = {
        "acks": "all",
        "enable.idempotence": "true",
        "linger.ms": "5",
        "batch.size": "131072",
        "compression.type": options.compression,
    }
    if options.partitioner == "round-robin":
        ours["partitioner.class"] = "org.apache.kafka.clients.producer.RoundRobinPartitioner"
    return {**ours, **properties}


def as_messages(
    frame: DataFrame,
    options: KafkaSink,
    *,
    identity: Column | None = None,
    keep: Column | None = None,
    part: Column | None = None,
) -> DataFrame:
    """Return rows as messages: columns topic, partition, key, value, headers, and part if there is one.

    ``identity`` is what identifies a row that changes; ``keep`` is false where it is gone, and its message then
    has no value. ``part`` names the part of the batch that a row is in. The frame's hidden columns begin with `__`.
    """
    columns = [name for name in frame.columns if not name.startswith("__")]
    aside = aside_columns(options)
    value = _value(frame, [name for name in columns if name.lower() not in aside], options)
    if keep is not None:
        value = F.when(keep, value)
    key = _key(frame, columns, options)
    if key is None:
        key = F.lit(None).cast("binary") if identity is None else identity.cast("binary")
    topic = F.lit(options.topic) if options.topic_column is None else _named(frame, options.topic_column)
    partition = F.lit(None) if options.partition_column is None else _named(frame, options.partition_column)
    return frame.select(
        topic.cast("string").alias("topic"),
        partition.cast("int").alias("partition"),
        key.alias("key"),
        value.cast("binary").alias("value"),
        _headers(frame, options).alias("headers"),
        *([part.alias("part")] if part is not None else []),
    )


def _named(frame: DataFrame, name: str) -> Column:
    """Return a column of the frame by the name that an option gives it."""
    actual = next(each for each in frame.columns if each.lower() == name.lower())
    return F.col("`" + actual.replace("`", "``") + "`")


def _key(frame: DataFrame, columns: list[str], options: KafkaSink) -> Column | None:
    if not options.key:
        return None
    if len(options.key) == 1:
        kind = frame.schema[next(n for n in columns if n.lower() == options.key[0].lower())].dataType
        column = _named(frame, options.key[0])
        return column if isinstance(kind, BinaryType) else _text(column, kind).cast("binary")
    return F.to_json(F.struct(*[_named(frame, name) for name in options.key]), WHOLE_JSON).cast("binary")


def _text(column: Column, kind: Any) -> Column:
    """Return a single value as text: as it stands where it is plain, else as JSON."""
    if isinstance(kind, StringType) or kind.typeName() not in ("struct", "array", "map", "variant"):
        return column.cast("string")
    return F.to_json(column, WHOLE_JSON)


def _value(frame: DataFrame, names: list[str], options: KafkaSink) -> Column:
    columns = [_named(frame, name).alias(name) for name in names]
    match options.format:
        case "text" | "raw":
            return columns[0].cast("binary")
        case "csv":
            return F.to_csv(F.struct(*columns), {"sep": options.delimiter}).cast("binary")
        case "avro":
            from headrace.connectors.kafka.avro import schema_of
            from headrace.connectors.kafka.avro_functions import encoder
            from headrace.connectors.kafka.avro_messages import registry_of

            kinds = [(name, frame.schema[name].dataType.simpleString()) for name in names]
            topic = str(options.topic)
            schema = schema_of("".join(c if c.isalnum() else "_" for c in topic), kinds)
            number = registry_of(options).register(f"{topic}-value", schema)
            return encoder(number, schema)(F.struct(*columns))
        case _:
            plain = [_instant_text(_named(frame, name), frame.schema[name].dataType).alias(name) for name in names]
            return F.to_json(F.struct(*plain), WHOLE_JSON).cast("binary")


def _instant_text(column: Column, kind: Any) -> Column:
    """Return an instant as text whose fraction is as long as it needs to be; other values as they are."""
    if isinstance(kind, TimestampType):
        return F.concat(F.replace(column.cast("string"), F.lit(" "), F.lit("T")), F.lit("Z"))
    return column


def _headers(frame: DataFrame, options: KafkaSink) -> Column:
    if not options.headers:
        return F.lit(None).cast(_HEADERS)
    pairs = [
        F.struct(F.lit(name).alias("key"), _named(frame, name).cast("string").cast("binary").alias("value"))
        for name in options.headers
    ]
    return F.array(*pairs).cast(_HEADERS)


class Writer:
    """Writes batches of messages with one guarantee.

    ``name`` is the sink's own among all that write to these brokers, and stays the same from run to run; ``marker`` is
    the topic under whose name the numbers of written batches are kept.
    """

    def __init__(self, properties: Mapping[str, str], name: str, marker: str, *, local: bool) -> None:
        self.properties = dict(properties)
        self.name = name
        self.marker = marker
        self.local = local

    def exactly_once(self, messages: DataFrame, batch: int) -> int:
        """Write a batch unless it is written already; return how many partitions it has."""
        return int(
            _java(messages).writeExactlyOnce(messages._jdf, self.properties, self.name, self.marker, batch, self.local)
        )

    def at_most_once(self, messages: DataFrame) -> None:
        """Write a batch that was never begun before."""
        _java(messages).writeAtMostOnce(
            messages._jdf, {**self.properties, "retries": "0", "enable.idempotence": "false"}
        )

    def at_least_once(self, messages: DataFrame) -> None:
        """Write a batch; one that is begun again is written again."""
        options = {f"kafka.{name}": value for name, value in self.properties.items()}
        messages.write.format("kafka").options(**options).option("includeHeaders", "true").save()

    def recover(self, messages: DataFrame, parts: Sequence[str]) -> None:
        """End the transactions that a crash left open, so that readers need not wait for them to time out."""
        _java(messages).recover(self.properties, self.name, self.marker, list(parts), self.local)

    def close(self, frame: DataFrame) -> None:
        """Let go of the producers that are kept between batches."""
        _java(frame).close(self.name)


def _java(frame: DataFrame) -> Any:
    jvm: Any = frame.sparkSession._jvm
    return jvm.org.headrace.kafka.KafkaSink
