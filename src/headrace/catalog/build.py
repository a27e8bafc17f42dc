"""A CREATE statement goes in, the object it describes comes out, its options read and checked."""

import re

from sqlglot import exp

from headrace.catalog.objects import Function, Sink, Stream, Table
from headrace.catalog.reserved import check_column_name, check_not_change
from headrace.connectors.durations import parse_duration
from headrace.connectors.formats import check_format
from headrace.connectors.kafka.checks import check_reading, check_sink
from headrace.connectors.kafka.metadata import CHANGES, called
from headrace.connectors.kafka.options import KafkaReading, KafkaSink, KafkaSource
from headrace.connectors.memory.options import MemorySource, MemoryTable
from headrace.connectors.options import closest
from headrace.connectors.registry import sink_options, source_options, table_options
from headrace.errors import PlanError
from headrace.language.statements import (
    ColumnDefinition,
    CreateFunction,
    CreateSink,
    CreateStream,
    CreateTable,
)

_REFERENCE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")


def stream_of(statement: CreateStream) -> Stream:
    """Return the stream that a statement creates."""
    common, options = source_options(
        statement.options,
        f'stream "{statement.name.text}"',
        statement.name.span,
        columns=[column.name for column in statement.columns],
    )
    stream = Stream(
        statement.name.text,
        statement.columns,
        statement.watermark,
        common.connector,
        common,
        options,
        statement.name.span,
    )
    for column in stream.columns:
        check_column_name(column.name, column.span)
    if not stream.columns:
        raise PlanError(
            f'stream "{stream.name}" has no columns',
            hint="Declare them: CREATE STREAM name (column TYPE, …) WITH (…).",
            span=statement.name.span,
        )
    if not stream.stored and common.connector != "datagen":
        raise PlanError(f'stream "{stream.name}" has only computed columns', span=statement.name.span)
    if stream.watermark is not None:
        known = {column.name.lower() for column in stream.columns}
        if stream.watermark.column.lower() not in known:
            raise PlanError(
                f'the watermark is on an unknown column "{stream.watermark.column}"',
                hint=closest(stream.watermark.column, [c.name for c in stream.columns]),
                span=stream.watermark.span,
            )
    _check_late(stream, statement)
    _check_metadata(stream)
    if isinstance(options, KafkaSource):
        check_reading(options, [column.name for column in stream.stored], ())
    _check_format(options, stream.stored, statement)
    return stream


def _check_late(stream: Stream, statement: CreateStream) -> None:
    """Refuse to do something with late rows where there are none, or what no release does yet."""
    late = stream.common.late
    span = next((each.value_span for each in statement.options if each.name == "late"), statement.name.span)
    if late == "accept":
        raise PlanError(
            "late = 'accept' is not supported yet",
            hint="Leave it out: rows that a query can no longer take are dropped and counted. Or keep them: 'keep'.",
            span=span,
        )
    if late == "keep" and stream.watermark is None:
        raise PlanError(
            f'stream "{stream.name}" has no watermark, so no row of it is late',
            hint="Declare one: WATERMARK FOR at AS at - INTERVAL 5 SECONDS.",
            span=span,
        )


def _check_metadata(stream: Stream) -> None:
    """Refuse what a computed column asks of a message that such a stream's records do not have."""
    for column in stream.columns:
        for asked in called(column.computed) if column.computed is not None else ():
            if not isinstance(stream.options, KafkaSource):
                raise PlanError(
                    f"{asked.function}() is known of Kafka messages alone",
                    detail=f'Stream "{stream.name}" comes from {stream.connector}.',
                    span=column.span,
                )
            if asked.function == "change_kind" and stream.options.format not in CHANGES:
                raise PlanError(
                    f"format {stream.options.format} does not say what changed",
                    hint="change_kind() goes with format = 'upsert' or 'debezium-json'.",
                    span=column.span,
                )


def table_of(statement: CreateTable) -> Table:
    """Return the table that a statement creates."""
    common, options = table_options(statement.options, f'table "{statement.name.text}"', statement.name.span)
    for column in statement.columns:
        if column.computed is not None:
            raise PlanError("computed columns of a table are not supported yet", span=column.span)
        check_column_name(column.name, column.span)
        if statement.primary_key and getattr(options, "format", "json") == "json":
            check_not_change(column.name, "a table with a primary key", column.span)
    if isinstance(options, KafkaReading):
        check_reading(options, [column.name for column in statement.columns], statement.primary_key)
    _check_format(options, statement.columns, statement)
    _check_refresh(common.refresh, statement)
    return Table(
        statement.name.text,
        statement.columns,
        statement.primary_key,
        common.connector,
        options,
        statement.name.span,
        common,
    )


def _check_refresh(refresh: str | None, statement: CreateTable) -> None:
    if refresh is None or refresh.lower() == "never" or parse_duration(refresh) is not None:
        return
    raise PlanError(
        f"refresh '{refresh}' is not a length of time",
        hint="Write refresh = '10 minutes', or refresh = 'never'.",
        span=next((o.value_span for o in statement.options if o.name == "refresh"), statement.name.span),
    )


def sink_of(statement: CreateSink) -> Sink:
    """Return the sink that a statement creates."""
    common, options = sink_options(statement.options, f'sink "{statement.name.text}"', statement.name.span)
    for column in statement.columns:
        check_column_name(column.name, column.span)
    if isinstance(options, KafkaSink):
        check_sink(options)
    return Sink(statement.name.text, statement.columns, common.connector, common, options, statement.name.span)


def function_of(statement: CreateFunction) -> Function:
    """Return the function that a statement creates."""
    if statement.language.upper() != "PYTHON":
        raise PlanError(
            f"language {statement.language} is not known",
            hint="Write LANGUAGE PYTHON.",
            span=statement.span,
        )
    if not _REFERENCE.fullmatch(statement.body):
        raise PlanError(
            f"'{statement.body}' does not name a function",
            hint="Write AS 'module:function' for a function in module.py beside the application.",
            span=statement.body_span,
        )
    module, _, attribute = statement.body.partition(":")
    return Function(
        statement.name.text, statement.parameters, statement.returns, module, attribute, statement.body_span
    )


def _check_format(
    options: object, columns: tuple[ColumnDefinition, ...], statement: CreateStream | CreateTable
) -> None:
    _check_lengths(columns)
    chosen = "json" if isinstance(options, MemorySource | MemoryTable) else getattr(options, "format", None)
    if chosen is not None:
        typed = [(column.name, column.type) for column in columns if column.type is not None]
        check_format(chosen, typed, statement.name.span)


def _check_lengths(columns: tuple[ColumnDefinition, ...]) -> None:
    """Refuse texts of a certain length: Spark reads none, and would not hold a record to it."""
    for column in columns:
        kinds = () if column.type is None else column.type.find_all(exp.DataType)
        found = next((each for each in kinds if each.this in {exp.DType.VARCHAR, exp.DType.CHAR}), None)
        if found is not None:
            raise PlanError(
                f'column "{column.name}" cannot be {found.sql("spark")}',
                detail="Columns that are read hold texts of any length.",
                hint="Declare it STRING, and test the length where it matters: WHERE length(…) <= n.",
                span=column.span,
            )
