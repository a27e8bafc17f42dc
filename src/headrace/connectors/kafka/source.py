"""The options of a Kafka stream or table go in, a DataFrame of its messages comes out.

Its columns: ``__text`` (what is to be parsed), ``__broken`` (why it cannot be, if so), ``__raw`` (the message as text),
``__position``, ``__ingested_at``, ``__kafka_*`` and ``__change``.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from headrace.connectors.expressions import once
from headrace.connectors.kafka.options import KafkaReading, KafkaSource
from headrace.connectors.kafka.start import Start, parse_start

__all__ = ["as_records", "read_stream", "read_table"]

EARLIEST = -2


def read_stream(
    spark: SparkSession, options: KafkaSource, properties: Mapping[str, str], partitions: Mapping[str, int]
) -> DataFrame:
    """Return the messages of a stream as Spark gives them; ``partitions`` of its topics are known."""
    reader = spark.readStream.format("kafka").options(**_reading(options, properties))
    if options.topic_pattern is not None:
        reader = reader.option("subscribePattern", options.topic_pattern)
    else:
        reader = reader.option("subscribe", ",".join(options.topic))
    for name, value in starting(parse_start(options.start), partitions).items():
        reader = reader.option(name, value)
    if options.max_rows_per_batch is not None:
        reader = reader.option("maxOffsetsPerTrigger", str(options.max_rows_per_batch))
    return reader.load()


def read_table(spark: SparkSession, options: KafkaReading, properties: Mapping[str, str]) -> DataFrame:
    """Return the messages that topics hold now."""
    reader = spark.read.format("kafka").options(**_reading(options, properties))
    return reader.option("subscribe", ",".join(options.topic)).load()


def _reading(options: KafkaReading, properties: Mapping[str, str]) -> dict[str, str]:
    given = {"isolation.level": "read_committed", **properties}
    return {
        **{f"kafka.{name}": value for name, value in given.items()},
        "includeHeaders": "true",
        "failOnDataLoss": str(not options.allow_data_loss).lower(),
    }


def starting(start: Start, partitions: Mapping[str, int]) -> dict[str, str]:
    """Return Spark's options for a start; a partition that is not named is read from its beginning."""
    if start.end is not None:
        return {"startingOffsets": start.end}
    if start.instant is not None:
        millis = int(start.instant.timestamp() * 1000)
        return {"startingTimestamp": str(millis), "startingOffsetsByTimestampStrategy": "latest"}
    named = dict(start.offsets)
    (topic,) = partitions
    wanted = {str(number): named.get(number, EARLIEST) for number in range(partitions[topic])}
    return {"startingOffsets": json.dumps({topic: wanted})}


def as_records(frame: DataFrame, options: KafkaReading, key: tuple[str, ...], base: Path) -> DataFrame:
    """Return messages with what is to be parsed of them, as their format says; ``key`` are the key's columns."""
    frame = frame.select(
        F.col("value").alias("__value"),
        F.col("key").alias("__kafka_key"),
        F.col("headers").alias("__kafka_headers"),
        F.col("topic").alias("__kafka_topic"),
        F.col("partition").alias("__kafka_partition"),
        F.col("offset").alias("__kafka_offset"),
        F.col("timestamp").alias("__kafka_timestamp"),
        F.col("timestamp").alias("__ingested_at"),
        F.concat_ws("/", "topic", "partition", "offset").alias("__position"),
        F.lit(None).cast("string").alias("__change"),
    )
    text = F.col("__value").cast("string")
    nothing = F.lit(None).cast("string")
    match options.format:
        case "avro":
            from headrace.connectors.kafka.avro_functions import decoder

            decoded = decoder(options, base)(F.col("__value"))
            frame = frame.withColumn("__decoded", decoded)
            broken = F.coalesce(_no_value(), F.col("__decoded.reason"))
            return _with(frame, F.col("__decoded.text"), broken, F.base64("__value")).drop("__decoded", "__value")
        case "raw":
            return _with(frame, nothing, _no_value(), F.base64("__value"))
        case "upsert":
            gone = F.col("__value").isNull()
            frame = frame.withColumn("__change", F.when(gone, F.lit("delete")).otherwise(F.lit("upsert")))
            frame = _with(frame, F.coalesce(text, _key_object(key)), nothing, text)
        case "debezium-json":
            frame = _debezium(frame.filter("__value IS NOT NULL"), text)
        case _:
            frame = _with(frame, text, _no_value(), text)
    return frame.drop("__value")


def _with(frame: DataFrame, text: Column, broken: Column, raw: Column) -> DataFrame:
    return frame.select("*", text.alias("__text"), broken.alias("__broken"), raw.alias("__raw"))


def _no_value() -> Column:
    return F.when(F.col("__value").isNull(), F.lit("the message has no value"))


def _key_object(key: tuple[str, ...]) -> Column:
    """Return the key of a message as a JSON object: a key of one column stands there by itself."""
    text = F.col("__kafka_key").cast("string")
    if len(key) != 1:
        return text
    name = json.dumps(key[0])
    is_object = text.startswith("{")
    as_value = F.to_json(F.struct(text.alias(key[0])))
    is_number = text.rlike(r"^-?[0-9]+(\.[0-9]+)?$") & ~text.rlike(r"^-?0[0-9]")
    return F.when(is_object, text).when(is_number, F.concat(F.lit(f"{{{name}:"), text, F.lit("}"))).otherwise(as_value)


def _debezium(frame: DataFrame, text: Column) -> DataFrame:
    """Return the row after each change, before it for a delete, and which change it was."""
    envelope = F.coalesce(F.get_json_object(text, "$.payload"), text)
    frame = frame.withColumn("__envelope", once(F.from_json(envelope, "op STRING, before STRING, after STRING")))
    operation = F.col("__envelope.op")
    change = F.expr(
        "CASE __envelope.op WHEN 'c' THEN 'insert' WHEN 'r' THEN 'insert' WHEN 'u' THEN 'update' "
        "WHEN 'd' THEN 'delete' END"
    )
    row = F.when(operation == "d", F.col("__envelope.before")).otherwise(F.col("__envelope.after"))
    broken = (
        F.when(operation.isNull(), F.lit("not a change as Debezium writes it"))
        .when(change.isNull(), F.concat(F.lit('a change of kind "'), operation, F.lit('" is not known')))
        .when(row.isNull(), F.lit("the change holds no row: the database does not log it (REPLICA IDENTITY FULL)"))
    )
    return _with(frame.withColumn("__change", change), row, broken, text).drop("__envelope")
