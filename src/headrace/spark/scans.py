"""A stream goes in; a DataFrame of its rows, parsed, timed and under a watermark, comes out."""

from dataclasses import fields, replace

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType
from sqlglot import exp

from headrace.catalog.imports import OtherView
from headrace.catalog.objects import Stream, Table
from headrace.connectors.datagen import source as datagen
from headrace.connectors.datagen.options import INSTANT_COLUMN, DatagenSource
from headrace.connectors.files import source as files
from headrace.connectors.files.options import FilesSource, FilesTable
from headrace.connectors.kafka import source as topics_source
from headrace.connectors.kafka.client import client_properties
from headrace.connectors.kafka.metadata import called, with_columns
from headrace.connectors.kafka.options import KafkaReading, KafkaSource, KafkaTable
from headrace.connectors.socket import source as sockets
from headrace.connectors.socket.options import SocketSource
from headrace.errors import HeadraceError
from headrace.language.dialect import Headrace
from headrace.language.statements import ColumnDefinition
from headrace.plan.slots import EVIDENCE
from headrace.spark import kafka, records
from headrace.spark.counting import MARK
from headrace.spark.heartbeats import idle_after
from headrace.spark.place import Place
from headrace.spark.records import CORRUPT, quoted
from headrace.spark.session import check_operators
from headrace.spark.view_source import view_rows

CHANGE = "_change"
"""A column of JSON lines that are written into a table: `delete` removes the row of the key."""
OBSERVED = "observe:"
"""Stands before the name that the application gives to what it measures."""
PART = "__part"
"""Hidden column of rows that are written exactly once: the partition of a topic that a row came from."""
ENDING = "__ending"
"""Hidden time of rows that have none; it moves once, when the input has ended."""
_JSON_TEXT = frozenset({"json", "avro", "upsert", "debezium-json"})
"""Formats of Kafka whose messages are parsed as JSON, by then."""


def scan(
    spark: SparkSession,
    stream: Stream,
    place: Place,
    *,
    timed: bool,
    ending: bool = False,
    part: str | None = None,
    traced: bool = False,
) -> DataFrame:
    """Return the rows of a stream that fit its columns; the others are counted.

    A query that remembers nothing needs no watermark, and is faster without. With ``ending``, a stream that has none
    still tells when it has ended. With ``part``, a hidden column names the topic's partition that a row came from; the
    name begins with it. With ``traced``, another says where it stands.
    """
    frame = _records(spark, stream, place, keep_raw=False, traced=traced)
    if traced:
        frame = frame.withColumn(EVIDENCE, _evidence(frame, stream))
    frame = _computed(frame, stream)
    if place.real_time:
        frame = _observed(frame, stream, place)
    columns = [F.col(quoted(column.name)) for column in stream.columns]
    if part is not None:
        columns.append(F.concat_ws("/", F.lit(part), "__kafka_topic", "__kafka_partition").alias(PART))
    if traced:
        columns.append(F.col(EVIDENCE))
    rows = _measured(frame.filter(_alive(frame, stream)).select(*columns), stream, place)
    if stream.watermark is None and ending:
        return _ending(spark, rows, stream, place)
    return _watermarked(spark, rows, stream, place) if timed else rows


def _evidence(frame: DataFrame, stream: Stream) -> Column:
    """Return where a record stands: topic, partition and offset, or file, the block it was read in, and the line."""
    if "__kafka_offset" in frame.columns:
        parts = [F.col("__kafka_topic"), F.col("__kafka_partition"), F.col("__kafka_offset")]
    elif "__file" in frame.columns:  # fed by a program: the name of the file begins with the number of its batch
        parts = [F.lit(stream.name), F.regexp_extract("__file", "^[0-9]+", 0), _line(frame)]
    elif "__block" in frame.columns:
        parts = [F.url_decode(F.regexp_replace("__position", "^file:/+", "/")), F.col("__block"), _line(frame)]
    else:
        parts = [F.lit(stream.name), F.lit(None), F.lit(None)]
    source, partition, position = parts
    return F.struct(
        source.cast("string").alias("source"),
        partition.cast("bigint").alias("partition"),
        position.cast("bigint").alias("position"),
    )


def _line(frame: DataFrame) -> Column:
    """Return the number of a line within the block of its file, which is the file itself unless that is large."""
    return Column(frame.sparkSession._jvm.org.headrace.rows.RowIndex.ofBlock()) + 1  # type: ignore[union-attr]


def dead(spark: SparkSession, source: Stream | Table, place: Place) -> DataFrame:
    """Return the records of a stream or a keyed table that do not fit its columns, with the reason."""
    stream = _as_stream(source, place) if isinstance(source, Table) else source
    frame = _computed(_records(spark, stream, place, keep_raw=True), stream)
    frame = frame.filter(_verdict(frame, stream))
    required = required_columns(stream)
    kind = _format(stream, place)
    if kind in _JSON_TEXT:
        text = "__text" if "__text" in frame.columns else "__raw"
        reason = records.json_reason(spark, stream.stored, required, _written_as(stream, place), text)
    else:
        reason = records.columns_reason(_corrupt(frame, stream), required)
    if "__broken" in frame.columns:
        reason = F.coalesce(F.col("__broken"), reason)
    raw = F.make_valid_utf8(F.col("__raw"))
    return frame.select(raw.alias("raw"), reason.alias("reason"), F.col("__position").alias("position"))


def _written_as(stream: Stream, place: Place) -> dict[str, str]:
    """Return how the records of a stream are written, as Spark calls it."""
    if stream.name.lower() in place.fed:
        return {}
    match stream.options:
        case FilesSource() as options:
            return files.format_options(options)
        case KafkaSource() as options:
            return _text_options(options)
        case _:
            return {}


def _observed(frame: DataFrame, stream: Stream, place: Place) -> DataFrame:
    """Return records that are counted on their way: in real-time mode there is no batch to count afterwards."""
    place.observers += 1
    name = f"{MARK}{stream.name.lower()}#{place.observers}"
    return frame.observe(
        name, F.count(F.lit(1)).alias("rows"), F.count_if(F.expr(_verdict(frame, stream))).alias("dead")
    )


def _measured(rows: DataFrame, stream: Stream, place: Place) -> DataFrame:
    """Return rows that are measured on their way as the application says, if no other query does it."""
    for each in [each for each in place.observations if each.stream == stream.name.lower()]:
        place.observations.remove(each)
        rows = rows.observe(OBSERVED + each.name, *[F.expr(one.sql).alias(one.name) for one in each.measures])
    return rows


def _alive(frame: DataFrame, stream: Stream) -> Column:
    """Return the condition that throws dead records out, marked so that what it throws out can be counted.

    It is not deterministic, so that Spark does not push a query's own conditions below it: whether a
    record is dead must not depend on the query. Its second part is looked at for dead records only.
    """
    mark = F.concat(F.lit(f"{MARK}{stream.name.lower()}#"), F.spark_partition_id().cast("string"))
    return ~(F.expr(_verdict(frame, stream)) & (mark != F.lit("")))


def _verdict(frame: DataFrame, stream: Stream) -> str:
    """Return the condition under which a record is dead: it does not parse, or misses what it must have."""
    missing = [f"{quoted(name)} IS NULL" for name in required_columns(stream)]
    return " OR ".join([_corrupt(frame, stream), *missing])


def _corrupt(frame: DataFrame, stream: Stream) -> str:
    """Return the condition under which a record does not parse; Spark's readers give its text then.

    They would parse only the columns that a query uses, and whether a record is dead would depend on the
    query; so the condition has a part that is never true and looks at every column that a record can fail
    by. It is nearly free: the first column that is not NULL decides. Any JSON value can be a STRING, so
    those columns are left out. A stream with `verify = 'used'` has only the columns of the query judged.
    """
    if not isinstance(frame.schema[CORRUPT].dataType, StringType):
        return CORRUPT
    if getattr(stream.options, "verify", "all") == "used":
        return f"({CORRUPT} IS NOT NULL)"
    every = getattr(stream.options, "format", "") == "csv"
    columns = [c for c in stream.stored if every or records.type_text(c) != "STRING"]
    never = f"coalesce(length({CORRUPT}), 0) < 0"
    unread = " AND ".join([*(f"{quoted(c.name)} IS NULL" for c in columns), never])
    return f"({CORRUPT} IS NOT NULL OR ({unread}))"


def required_columns(stream: Stream) -> tuple[str, ...]:
    """Return the columns that a row must have: those declared NOT NULL, and its event time."""
    names = [column.name for column in stream.columns if not column.nullable]
    if stream.watermark is not None and stream.watermark.column not in names:
        names.append(stream.watermark.column)
    return tuple(names)


def read_table(spark: SparkSession, table: Table, place: Place) -> DataFrame:
    """Return the rows of a table as they stand."""
    if isinstance(table.options, OtherView):
        return view_rows(spark, table)
    schema = records.schema_text(table.columns)
    options = None if table.name.lower() in place.fed else table.options
    if isinstance(options, KafkaTable):
        return _kafka_table(spark, table, options, place)
    json = getattr(options, "format", "json") == "json"
    if table.primary_key and json:
        schema += f", {CHANGE} STRING"
    if isinstance(options, FilesTable):
        path = files.resolve_path(options.path, place.base)
        files.check_readable(path, table.span, now=True)
        rows = files.read_table(spark, options, path, schema)
    else:
        rows = spark.read.schema(schema).json(place.feed(table.name).make().path)
    return _last_written(spark, rows, table) if table.primary_key else rows


def _last_written(spark: SparkSession, rows: DataFrame, table: Table) -> DataFrame:
    """Return the last row of each key that files hold, as a table that follows them would."""
    check_operators(spark)
    columns = [quoted(column.name) for column in table.columns]
    key = [quoted(name) for name in table.primary_key]
    removed = F.lower(CHANGE) == "delete" if CHANGE in rows.columns else F.lit(False)
    written = rows.select(
        *columns,
        F.coalesce(removed, F.lit(False)).alias("__removed"),
        F.struct(
            "_metadata.file_modification_time", "_metadata.file_path", "_metadata.file_block_start", row_index(spark)
        ).alias("__order"),
    ).filter(" AND ".join(f"{name} IS NOT NULL" for name in key))
    last = F.max_by(F.struct("__removed", *columns), F.col("__order"))
    kept = written.groupBy(*[F.col(name).alias(f"__key_{i}") for i, name in enumerate(key)]).agg(last.alias("__last"))
    return kept.filter("NOT __last.__removed").select(*[f"__last.{name}" for name in columns])


def row_index(spark: SparkSession) -> Column:
    """Return the number of a row within its task."""
    return Column(spark._jvm.org.headrace.rows.RowIndex.column())  # type: ignore[union-attr]


def table_writes(spark: SparkSession, table: Table, place: Place) -> DataFrame:
    """Return what is written into a keyed table, as a stream: its columns, `__removed`, and the order of writing.

    A record that does not fit the columns, or misses the key, is dead as it would be in a stream.
    """
    stream = _as_stream(table, place)
    frame = _records(spark, stream, place, keep_raw=False)
    removed = F.lit(False)
    if "__change" in frame.columns:
        removed = F.coalesce(F.col("__change") == "delete", removed)
    elif CHANGE in frame.columns:
        removed = F.coalesce(F.lower(CHANGE) == "delete", removed)
    frame = frame.filter(_alive(frame, stream))
    order = _written_order(frame)
    row = row_index(spark)
    columns = [F.col(quoted(column.name)) for column in table.columns]
    places = [F.col(name).alias(f"__order_{i}") for i, name in enumerate(order)]
    return frame.select(*columns, removed.alias("__removed"), *places, row.alias("__order_row"))


def _written_order(frame: DataFrame) -> tuple[str, ...]:
    """Return the columns that say in which order records were written, rows of one file or partition aside."""
    if "__kafka_offset" in frame.columns:
        return ("__kafka_offset", "__kafka_timestamp")
    return ("__file", "__block") if "__file" in frame.columns else ("__ingested_at", "__position", "__block")


def _as_stream(table: Table, place: Place) -> Stream:
    """Return the stream of what is written into a table; only in JSON can a line say that it removes a row."""
    key = {name.lower() for name in table.primary_key}
    columns = tuple(replace(c, nullable=c.nullable and c.name.lower() not in key) for c in table.columns)
    options = table.options
    fed = table.name.lower() in place.fed
    if isinstance(options, FilesTable):
        chosen = {each.name: getattr(options, each.name) for each in fields(options)}
        options = FilesSource(**chosen)
    elif isinstance(options, KafkaTable):
        chosen = {each.name: getattr(options, each.name) for each in fields(options)}
        options = KafkaSource(**{**chosen, "key": options.key or table.primary_key})
    if fed or (not isinstance(options, KafkaSource) and getattr(options, "format", "json") == "json"):
        columns += (ColumnDefinition(CHANGE, exp.DataType.build("STRING"), True, None, table.span),)
    return Stream(table.name, columns, None, table.connector, None, options, table.span)


def _format(stream: Stream, place: Place) -> str:
    if stream.name.lower() in place.fed:
        return "json"
    return str(getattr(stream.options, "format", "text"))


def _records(spark: SparkSession, stream: Stream, place: Place, *, keep_raw: bool, traced: bool = False) -> DataFrame:
    """Return the stored columns, whether the record is corrupt, and the hidden columns.

    JSON is read as lines, so that a record means the same wherever it comes from; only ``verify = 'used'`` leaves files
    to Spark's own reader.
    """
    options = stream.options
    if stream.name.lower() in place.fed:
        return records.parse_json(_fed_lines(spark, stream, place), stream.stored, {})
    match options:
        case FilesSource():
            frame = _files(spark, stream, options, place, keep_raw, traced)
        case DatagenSource():
            frame = _generated(spark, stream, options, place)
        case KafkaSource():
            frame = _messages(spark, stream, options, place)
        case SocketSource():
            frame = records.parse_text(sockets.read_lines(spark, options), stream.stored)
        case _:
            frame = records.parse_json(_fed_lines(spark, stream, place), stream.stored, {})
    if "__received_at" not in frame.columns:  # the batch's own time, which a batch that is run again keeps
        frame = frame.withColumn("__received_at", F.current_timestamp())
    return frame


def _fed_lines(spark: SparkSession, stream: Stream, place: Place) -> DataFrame:
    """Return the lines that a program feeds; the name of each file says when its rows were received."""
    folder = place.feed(stream.name).make()
    received = "timestamp_micros(CAST(regexp_extract(_metadata.file_name, '-([0-9]+)', 1) AS BIGINT))"
    return (
        spark.readStream.schema("value STRING")
        .text(folder.path)
        .selectExpr(
            "value AS __raw",
            "'fed' AS __position",
            "_metadata.file_name AS __file",
            "_metadata.file_block_start AS __block",
            f"{received} AS __ingested_at",
            f"{received} AS __received_at",
        )
    )


def _files(
    spark: SparkSession, stream: Stream, options: FilesSource, place: Place, keep_raw: bool, traced: bool
) -> DataFrame:
    path = files.resolve_path(options.path, place.base)
    files.check_readable(path, stream.span, now=place.bounded)
    since = place.begins_at(stream.name)
    placed = keep_raw or _uses_ingestion_time(stream) or stream.common is None or traced
    if options.format == "text":
        return records.parse_text(files.read_lines(spark, options, path, placed=placed, since=since), stream.stored)
    if options.format == "json":
        if keep_raw or options.verify == "all":
            lines = files.read_lines(spark, options, path, placed=placed, since=since)
            return records.parse_json(lines, stream.stored, files.format_options(options))
        schema = records.schema_text(stream.stored, f"{CORRUPT} STRING")
        return files.read_columns(spark, options, path, schema, placed=placed, since=since)
    if options.format == "csv":
        schema = records.schema_text(stream.stored, f"{CORRUPT} STRING")
        frame = files.read_columns(spark, options, path, schema, placed=True, since=since)
        written = F.to_csv(F.struct(*[F.col(quoted(column.name)) for column in stream.stored]))
        return frame.withColumn("__raw", F.coalesce(F.col(CORRUPT), written))
    schema = records.schema_text(stream.stored)
    frame = files.read_columns(spark, options, path, schema, placed=True, since=since)
    written = F.to_json(F.struct(*[F.col(quoted(column.name)) for column in stream.stored]))
    return frame.withColumn("__raw", written).withColumn(CORRUPT, F.lit(False))


def _messages(spark: SparkSession, stream: Stream, options: KafkaSource, place: Place) -> DataFrame:
    topics = kafka.topics_to_read(spark, options, place.base, stream.span)
    place.partitions[stream.name.lower()] = topics
    properties = client_properties(options, place.base)
    begins_at = place.begins_at(stream.name)
    if begins_at is not None:
        options = replace(options, start=begins_at.isoformat())
    messages = topics_source.read_stream(spark, options, properties, topics)
    messages = topics_source.as_records(messages, options, options.key, place.base)
    return records.parse_messages(messages, stream.stored, options.format, _text_options(options))


def _text_options(options: KafkaReading) -> dict[str, str]:
    given = {} if options.timestamp_format is None else {"timestampFormat": options.timestamp_format}
    return {**given, "sep": options.delimiter} if options.format == "csv" else given


def _kafka_table(spark: SparkSession, table: Table, options: KafkaTable, place: Place) -> DataFrame:
    """Return the last row of each key that is not deleted."""
    kafka.topics_to_read(spark, options, place.base, table.span)
    messages = topics_source.read_table(spark, options, client_properties(options, place.base))
    messages = topics_source.as_records(messages, options, options.key or table.primary_key, place.base)
    rows = records.parse_messages(messages, table.columns, options.format, _text_options(options))
    rows = rows.filter(f"NOT {CORRUPT}")
    columns = [quoted(column.name) for column in table.columns]
    last = F.max_by(F.struct("__change", *columns), F.struct("__kafka_offset", "__kafka_timestamp"))
    key = [F.col(quoted(name)) for name in table.primary_key]
    kept = rows.groupBy(*[each.alias(f"__key_{i}") for i, each in enumerate(key)]).agg(last.alias("__last"))
    return kept.filter("__last.__change != 'delete'").select(*[f"__last.{name}" for name in columns])


def _uses_ingestion_time(stream: Stream) -> bool:
    return any(_is_call(column.computed, "ingestion_time") for column in stream.columns)


def _is_call(tree: exp.Expr | None, name: str) -> bool:
    return isinstance(tree, exp.Anonymous) and str(tree.name).lower() == name


def _generated(spark: SparkSession, stream: Stream, options: DatagenSource, place: Place) -> DataFrame:
    if place.bounded and options.rows is None:
        raise HeadraceError(
            f'stream "{stream.name}" never ends',
            detail="A generator without an end cannot be read to its end.",
            hint="Add the option rows, for example rows = 1000, or run without --once.",
            span=stream.span,
        )
    frame = datagen.read_rows(spark, options, bounded=place.bounded, started_at=place.started_at)
    chosen = []
    for column in stream.stored:
        sql = options.expressions.get(column.name, options.expressions.get(column.name.lower()))
        value = F.lit(None) if sql is None else F.expr(datagen.repeatable(sql, column.name))
        chosen.append(value.cast(records.type_text(column)).alias(column.name))
    return frame.select(
        *chosen,
        F.lit(False).alias(CORRUPT),
        F.lit(None).cast("string").alias("__raw"),
        F.lit("generated").alias("__position"),
        F.col(INSTANT_COLUMN).alias("__ingested_at"),
    )


def _computed(frame: DataFrame, stream: Stream) -> DataFrame:
    asked = {each for column in stream.columns if column.computed is not None for each in called(column.computed)}
    for each in asked:
        if each.column not in frame.columns:  # the stream is fed by a program, whose rows are no messages
            frame = frame.withColumn(each.column, F.lit(None).cast(each.type))
    for column in stream.columns:
        if column.computed is not None:
            value = _computed_value(column.computed)
            if column.type is not None:
                value = value.cast(records.type_text(column))
            frame = frame.withColumn(column.name, value)
    return frame


def _computed_value(tree: exp.Expr) -> Column:
    if _is_call(tree, "proctime"):
        return F.col("__received_at")
    if _is_call(tree, "ingestion_time"):
        return F.col("__ingested_at")
    return F.expr(with_columns(tree).sql(dialect=Headrace))


def _watermarked(spark: SparkSession, rows: DataFrame, stream: Stream, place: Place) -> DataFrame:
    """Return rows under their watermark, which follows every row of the stream, whatever a query keeps of it.

    Control rows join the stream before the watermark and leave it after: they move it when no row does.
    The last filter is a barrier. Spark would push a query's own conditions below the watermark, which would
    then follow only the rows that the query keeps; it pushes nothing through a condition that is not
    deterministic.
    """
    watermark = stream.watermark
    if watermark is None:
        return rows
    delay = f"{int(watermark.delay.total_seconds() * 1000)} milliseconds"
    time = quoted(watermark.column)
    united = rows.withColumn("__beat", F.lit(False))
    if place.controlled or idle_after(stream) is not None:
        united = united.unionByName(_beats(spark, rows, stream, place, watermark.column))
    return (
        united.withWatermark(watermark.column, delay)
        .filter(f"NOT (__beat AND {time} IS NOT NULL AND spark_partition_id() >= 0)")
        .drop("__beat")
    )


def _ending(spark: SparkSession, rows: DataFrame, stream: Stream, place: Place) -> DataFrame:
    """Return rows that have no time of their own, under a watermark that stands still until the input has ended."""
    timed = rows.withColumn(ENDING, F.timestamp_seconds(F.lit(0)))
    united = timed.withColumn("__beat", F.lit(False)).unionByName(_beats(spark, timed, stream, place, ENDING))
    marked = united.withWatermark(ENDING, "0 seconds")
    return marked.filter(f"NOT (__beat AND {ENDING} IS NOT NULL AND spark_partition_id() >= 0)").drop("__beat", ENDING)


def _beats(spark: SparkSession, rows: DataFrame, stream: Stream, place: Place, time: str) -> DataFrame:
    """Return the control rows of a stream: an event time and nothing else."""
    folder = place.control(stream.name).make()
    lines = spark.readStream.schema("value STRING").text(folder.path)
    beats = lines.selectExpr("CAST(value AS TIMESTAMP) AS at")
    columns = [
        (F.col("at") if field.name == time else F.lit(None).cast(field.dataType)).alias(field.name)
        for field in rows.schema.fields
    ]
    return beats.select(*columns, F.lit(True).alias("__beat"))
