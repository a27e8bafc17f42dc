"""Connectors by name and role, and the WITH clauses of streams, tables and sinks."""

import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from headrace.connectors.console.options import ConsoleSink
from headrace.connectors.datagen.options import DatagenSource
from headrace.connectors.files.options import FilesSink, FilesSource, FilesTable
from headrace.connectors.formats import FORMATS
from headrace.connectors.memory.options import MemorySource
from headrace.connectors.noop.options import NoopSink
from headrace.connectors.options import option_fields
from headrace.connectors.registry import (
    CONNECTORS,
    Connector,
    Role,
    SinkOptions,
    StreamOptions,
    TableOptions,
    connector_named,
    sink_options,
    source_options,
    table_options,
)
from headrace.connectors.socket.options import SocketSource
from headrace.errors import HeadraceError, Source, Span
from headrace.language.statements import CreateSink, CreateStream, CreateTable, Option

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

WithClause = Callable[[str], tuple[tuple[Option, ...], Span]]
NOWHERE = Span(Source("app.sql", "x"), 0, 1)
READERS: dict[str, Callable[[tuple[Option, ...], str, Span], object]] = {
    "stream": source_options,
    "table": table_options,
    "sink": sink_options,
}


def failure(with_clause: WithClause, statement: str, clause: str) -> HeadraceError:
    options, place = with_clause(clause)
    with pytest.raises(HeadraceError) as caught:
        READERS[statement](options, f'{statement} "events"', place)
    return caught.value


@pytest.mark.parametrize(
    ("clause", "common", "connector"),
    [
        (
            "connector = 'files', path = 'in', format = 'csv', delimiter = ';', late = 'keep'",
            StreamOptions(connector="files", late="keep"),
            FilesSource(path="in", format="csv", delimiter=";"),
        ),
        (
            "connector = 'files', path = 'in', max_files_per_batch = 5, max_bytes_per_batch = 10",
            StreamOptions(connector="files"),
            FilesSource(path="in", max_files_per_batch=5, max_bytes_per_batch=10),
        ),
        ("connector = 'memory'", StreamOptions(connector="memory"), MemorySource()),
        (
            "connector = 'datagen', rows = 5, start = '2024-01-01T00:00:00Z', n = 'value'",
            StreamOptions(connector="datagen"),
            DatagenSource(rows=5, start=datetime(2024, 1, 1, tzinfo=UTC), expressions={"n": "value"}),
        ),
        ("connector = 'socket', port = 99", StreamOptions(connector="socket"), SocketSource(port=99)),
    ],
)
def test_streams(with_clause: WithClause, clause: str, common: StreamOptions, connector: "DataclassInstance") -> None:
    options, place = with_clause(clause)
    assert source_options(options, 'stream "events"', place) == (common, connector)


@pytest.mark.parametrize(
    ("clause", "common", "connector"),
    [
        (
            "connector = 'files', path = 'out', partition_by = 'a,b', guarantee = 'exactly-once'",
            SinkOptions(connector="files", guarantee="exactly-once"),
            FilesSink(path="out", partition_by=("a", "b")),
        ),
        (
            "connector = 'console', rows = 5, guarantee = 'at-most-once'",
            SinkOptions(connector="console", guarantee="at-most-once"),
            ConsoleSink(rows=5),
        ),
        ("connector = 'noop'", SinkOptions(connector="noop"), NoopSink()),
    ],
)
def test_sinks(with_clause: WithClause, clause: str, common: SinkOptions, connector: "DataclassInstance") -> None:
    options, place = with_clause(clause)
    assert sink_options(options, 'sink "events"', place) == (common, connector)


def test_tables(with_clause: WithClause) -> None:
    options, place = with_clause("connector = 'files', path = 'in.csv', format = 'csv', header = false")
    assert table_options(options, 'table "events"', place) == (
        TableOptions(connector="files"),
        FilesTable(path="in.csv", format="csv", header=False),
    )


def test_a_statement_without_a_connector(with_clause: WithClause) -> None:
    error = failure(with_clause, "stream", "path = 'in'")
    assert error.message == 'missing option "connector" for stream "events"'
    assert error.hint == "Add connector = 'files' to the WITH clause."
    assert error.span is not None
    assert error.span.text == "events"


def test_an_unknown_connector(with_clause: WithClause) -> None:
    error = failure(with_clause, "stream", "connector = 'filse', path = 'in'")
    assert error.message == 'unknown connector "filse"'
    assert error.detail == "Connectors that can be read: files, kafka, memory, datagen, socket."
    assert error.hint == 'Did you mean "files"?'
    assert error.span is not None
    assert error.span.text == "'filse'"


def test_a_connector_like_no_other(with_clause: WithClause) -> None:
    assert failure(with_clause, "stream", "connector = 'zzz'").hint == "Choose one of these."


@pytest.mark.parametrize(
    ("statement", "name", "message", "detail"),
    [
        (
            "stream",
            "console",
            "connector console cannot be read",
            "Connectors that can be read: files, kafka, memory, datagen, socket.",
        ),
        (
            "table",
            "socket",
            "connector socket cannot be a table",
            "Connectors that can be a table: files, kafka, memory.",
        ),
        (
            "sink",
            "datagen",
            "connector datagen cannot be written",
            "Connectors that can be written: files, kafka, postgres, sqlite, redis, memory, console, noop.",
        ),
    ],
)
def test_a_connector_without_the_role(
    with_clause: WithClause, statement: str, name: str, message: str, detail: str
) -> None:
    error = failure(with_clause, statement, f"connector = '{name}'")
    assert (error.message, error.detail, error.hint) == (message, detail, "Choose one of these.")
    assert error.span is not None
    assert error.span.text == f"'{name}'"


def test_an_unknown_option_names_the_connector(with_clause: WithClause) -> None:
    error = failure(with_clause, "stream", "connector = 'files', patth = 'in'")
    assert error.message == 'unknown option "patth" for connector files'
    assert error.hint == 'Did you mean "path"?'
    assert error.span is not None
    assert error.span.text == "patth"


def test_common_options_of_one_statement_are_unknown_to_another(with_clause: WithClause) -> None:
    error = failure(with_clause, "table", "connector = 'memory', late = 'keep'")
    assert error.message == 'unknown option "late" for connector memory'


def test_a_bad_common_option(with_clause: WithClause) -> None:
    error = failure(with_clause, "stream", "connector = 'memory', late = 'kep'")
    assert error.message == "option \"late\" cannot be 'kep'"
    assert error.hint == "Did you mean 'keep'?"


def test_a_column_that_datagen_does_not_have(with_clause: WithClause) -> None:
    options, place = with_clause("connector = 'datagen', rows_per_secnd = 5")
    with pytest.raises(HeadraceError) as caught:
        source_options(options, 'stream "events"', place, columns=["price"])
    assert caught.value.message == 'unknown option "rows_per_secnd" for connector datagen'
    assert caught.value.hint == 'Did you mean "rows_per_second"?'


def test_a_guarantee_that_the_connector_cannot_keep(with_clause: WithClause) -> None:
    error = failure(with_clause, "sink", "connector = 'console', guarantee = 'exactly-once'")
    assert error.message == "connector console cannot promise exactly-once"
    assert error.detail == "The most that it promises is at-most-once."
    assert error.hint == "Leave guarantee out, or choose a connector that can: files, kafka, postgres, sqlite, redis."
    assert error.span is not None
    assert error.span.text == "'exactly-once'"


def test_zstd_is_for_parquet_alone(with_clause: WithClause) -> None:
    error = failure(with_clause, "sink", "connector = 'files', path = 'out', compression = 'zstd'")
    assert error.message == "compression = 'zstd' does not go with format = 'json'"


@pytest.mark.parametrize("delimiter", ["\\", '"', "\n", "\r"])
def test_delimiters_that_would_break_csv(with_clause: WithClause, delimiter: str) -> None:
    error = failure(
        with_clause, "stream", f"connector = 'files', path = 'a', format = 'csv', delimiter = '{delimiter}'"
    )
    assert error.message.startswith('option "delimiter" cannot be')


@pytest.mark.parametrize("connector", CONNECTORS, ids=lambda each: each.name)
def test_a_connector_is_whole(connector: Connector) -> None:
    kinds = [each for each in (connector.source, connector.table, connector.sink) if each is not None]
    assert kinds
    assert (connector.guarantee is not None) == (connector.sink is not None)
    assert set(connector.formats) <= {each.name for each in FORMATS}
    for kind in kinds:
        for facts in option_fields(kind):
            assert facts.doc.endswith(".")
            assert facts.needs is None or hasattr(kind, facts.needs.option)
    for role in Role:
        if connector.takes(role):
            assert connector_named(connector.name.upper(), role, NOWHERE) is connector


@pytest.mark.parametrize("connector", CONNECTORS, ids=lambda each: each.name)
def test_the_example_is_right(connector: Connector) -> None:
    from headrace.language import parse

    used = set()
    for statement in parse(Source(f"{connector.name}.sql", connector.example_sql)):
        match statement:
            case CreateStream(name=name, columns=columns, options=options):
                names = [column.name for column in columns]
                used.add(source_options(options, "stream", name.span, columns=names)[0].connector)
            case CreateTable(name=name, options=options):
                used.add(table_options(options, "table", name.span)[0].connector)
            case CreateSink(name=name, options=options):
                used.add(sink_options(options, "sink", name.span)[0].connector)
    assert connector.name in used


def test_reading_options_needs_no_spark() -> None:
    script = "import sys, headrace.connectors.registry; assert 'pyspark' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)
