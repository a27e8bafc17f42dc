"""A CREATE statement goes in, the object it describes comes out, its options read and checked."""

import re

from headrace.catalog.objects import Function, Sink, Stream, Table
from headrace.connectors.formats import check_format
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
    _check_format(options, stream.stored, statement)
    return stream


def table_of(statement: CreateTable) -> Table:
    """Return the table that a statement creates."""
    common, options = table_options(statement.options, f'table "{statement.name.text}"', statement.name.span)
    for column in statement.columns:
        if column.computed is not None:
            raise PlanError("computed columns of a table are not supported yet", span=column.span)
    _check_format(options, statement.columns, statement)
    return Table(
        statement.name.text,
        statement.columns,
        statement.primary_key,
        common.connector,
        options,
        statement.name.span,
    )


def sink_of(statement: CreateSink) -> Sink:
    """Return the sink that a statement creates."""
    common, options = sink_options(statement.options, f'sink "{statement.name.text}"', statement.name.span)
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
