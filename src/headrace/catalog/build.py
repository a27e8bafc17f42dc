"""A CREATE statement goes in, the object it describes comes out, its options read and checked."""

import re

from headrace.catalog.objects import Function, Sink, Stream, Table
from headrace.connectors.durations import parse_duration
from headrace.connectors.formats import check_format
from headrace.connectors.kafka.checks import check_reading, check_sink
from headrace.connectors.kafka.metadata import CHANGES, called
from headrace.connectors.kafka.options import KafkaReading, KafkaSink, KafkaSource
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
            from headrace.connectors.options import closest

            raise PlanError(
                f'the watermark is on an unknown column "{stream.watermark.column}"',
                hint=closest(stream.watermark.column, [c.name for c in stream.columns]),
                span=stream.watermark.span,
            )
    if common.late != "drop":
        raise PlanError(
            f"late = '{common.late}' is not supported yet",
            hint="Leave it out: rows behind the watermark are dropped and counted.",
            span=next((o.value_span for o in statement.options if o.name == "late"), statement.name.span),
        )
    _check_metadata(stream)
    if isinstance(options, KafkaSource):
        check_reading(options, [column.name for column in stream.stored], ())
    _check_format(options, stream.stored, statement)
    return stream


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
    chosen = getattr(options, "format", None)
    if chosen is not None:
        typed = [(column.name, column.type) for column in columns if column.type is not None]
        check_format(chosen, typed, statement.name.span)
