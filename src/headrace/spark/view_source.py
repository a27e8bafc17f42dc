"""Another job's view goes in; a DataFrame of its changes, or of its rows as they stand, comes out.

A batch of the reader covers whole batches of the view; its offset is the position in the view's feed.
"""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition

from headrace.catalog.imports import OtherView
from headrace.catalog.objects import Table
from headrace.catalog.view_options import ViewOptions
from headrace.errors import HeadraceError
from headrace.spark.counting import MARK
from headrace.spark.records import quoted
from headrace.views.definition import Row, ViewDefinition, ViewStore
from headrace.views.open import open_store
from headrace.views.positions import NOTHING, Position, between, built_anew, definition_of, latest
from headrace.views.reading_arrow import arrow_table

__all__ = ["FORMAT", "MISTAKE", "ViewSource", "columns_of_view", "view_changes", "view_rows"]

FORMAT = "headrace_view"
MISTAKE = "headrace-mistake:"
"""Stands before a mistake as JSON in what Spark says, since only text comes through."""
WEIGHT = "__weight"
CHUNK = 10_000
PATIENCE = 60.0
"""How many seconds a start waits for a view that its job has yet to make."""
_OPTION = "secret_view"
"""The option that says where a view is; Spark stars out the values of options that are called secret."""
_PLACE = ("store", "path", "url", "password", "schema", "prefix")


class ViewSource(DataSource):
    """A view in its store, read by Python."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return FORMAT

    def reader(self, schema: Any) -> "RowsReader":
        """Return what reads the rows as they stand."""
        return RowsReader(json.loads(self.options[_OPTION]))

    def streamReader(self, schema: Any) -> "ChangesReader":
        """Return what reads the changes."""
        return ChangesReader(json.loads(self.options[_OPTION]))


class Between(InputPartition):
    """The changes from one position to another."""

    def __init__(self, start: dict[str, Any], end: dict[str, Any]) -> None:
        super().__init__(None)
        self.start, self.end = start, end


class RowsReader(DataSourceReader):
    """Reads a view as it stands."""

    def __init__(self, place: dict[str, Any]) -> None:
        self.place = place

    def read(self, partition: Any) -> Iterator[Any]:
        """Give all rows as of one batch."""
        with _reported(), _opened(self.place) as store:
            definition = None if store is None else definition_of(store, self.place["view"])
            if store is None or definition is None:
                return
            with store.snapshot(definition.name) as seen:
                yield from _batches(definition, ((row, 1) for row in seen.rows), weighted=False)


class ChangesReader(DataSourceStreamReader):
    """Reads a view from position to position."""

    def __init__(self, place: dict[str, Any]) -> None:
        self.place = place

    def initialOffset(self) -> dict[str, Any]:
        """Return where a reader begins that has read nothing."""
        return asdict(NOTHING)

    def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:
        """Return how far the view can be read now."""
        with _reported(), _opened(self.place) as store:
            position = Position(**start)
            if store is None and position != NOTHING:
                raise built_anew(self.place["view"])
            return start if store is None else asdict(latest(store, self.place["view"], position))

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """Return the one part that a batch is read in."""
        return [] if start == end else [Between(start, end)]

    def read(self, partition: Any) -> Iterator[Any]:
        """Give the rows that came and went, with their weights."""
        with _reported(), _opened(self.place) as store:
            definition = None if store is None else definition_of(store, self.place["view"])
            if store is None or definition is None:
                raise built_anew(self.place["view"])
            rows = between(store, definition.name, Position(**partition.start), Position(**partition.end))
            yield from _batches(definition, rows, weighted=True)


def view_changes(spark: SparkSession, table: Table) -> DataFrame:
    """Return what comes and goes in another job's view, each row with its weight as the last column."""
    schema = ", ".join([*_schema(spark, table), f"{WEIGHT} BIGINT"])
    frame = spark.readStream.format(_registered(spark)).option(_OPTION, _text(table)).schema(schema).load()
    mark = F.concat(F.lit(f"{MARK}{table.name.lower()}#"), F.spark_partition_id().cast("string"))
    return frame.select(*_names(table), WEIGHT).filter(mark != F.lit(""))  # keeps all, and lets them be counted


def view_rows(spark: SparkSession, table: Table) -> DataFrame:
    """Return the rows of another job's view, read anew by each batch."""
    schema = ", ".join(_schema(spark, table))
    frame = spark.read.format(_registered(spark)).option(_OPTION, _text(table)).schema(schema).load()
    return frame.select(*_names(table))


def columns_of_view(table: Table, *, last: bool = True) -> ViewDefinition | None:
    """Return another job's view as its store has it, None if that job has not made it yet; the last look raises."""
    options = table.options
    assert isinstance(options, OtherView)
    found = None
    with _opened(_place(options)) as store:
        found = None if store is None else definition_of(store, options.view)
    if found is None and not last:
        return None
    if found is None:
        raise HeadraceError(
            f'view "{table.name}" is not there yet',
            hint="Its job makes it with its first start; this one goes on as soon as it is there.",
            passing=True,
        )
    known = {each.name.lower() for each in found.columns}
    missing = [column.name for column in table.columns if column.name.lower() not in known]
    if missing:
        raise HeadraceError(f'view "{table.name}" has no column "{missing[0]}" any more', hint="Upgrade this job.")
    return found


def _schema(spark: SparkSession, table: Table) -> list[str]:
    options = table.options
    assert isinstance(options, OtherView)
    if options.kept.store == "sqlite" and not str(spark.sparkContext.master).startswith("local"):
        raise HeadraceError(
            f'view "{table.name}" cannot be read by a cluster',
            detail="It is in an SQLite file of the server's machine, which other machines do not see.",
            hint="Keep it in Postgres or Redis: WITH (store = 'postgres', …).",
        )
    until = time.monotonic() + PATIENCE
    while (definition := columns_of_view(table, last=time.monotonic() > until)) is None:
        time.sleep(0.5)
    return [f"{quoted(each.name)} {each.type}" for each in definition.columns]


def _names(table: Table) -> list[str]:
    return [quoted(column.name) for column in table.columns]


def _registered(spark: SparkSession) -> str:
    spark.dataSource.register(ViewSource)
    return FORMAT


def _place(options: OtherView) -> dict[str, Any]:
    return {"view": options.view, **{name: getattr(options.kept, name) for name in _PLACE}}


def _text(table: Table) -> str:
    assert isinstance(table.options, OtherView)
    return json.dumps(_place(table.options))


@contextmanager
def _opened(place: dict[str, Any]) -> Iterator[ViewStore | None]:
    """Give the store of a view; None if it is a file that is not there."""
    kept = ViewOptions(**{name: place[name] for name in _PLACE if place[name] is not None})
    store: Any
    if kept.store == "sqlite":
        from headrace.views.sqlite import SqliteViewStore

        path = Path(kept.path or "")
        if not path.is_file():
            yield None
            return
        store = SqliteViewStore(path, read_only=True)
    else:
        store = open_store(kept, Path(), Path())
    try:
        yield store
    finally:
        close = getattr(store, "close", None)
        if close is not None:
            close()


@contextmanager
def _reported() -> Iterator[None]:
    """Let a mistake through Spark, which passes on nothing but text."""
    try:
        yield
    except HeadraceError as error:
        facts = {"message": error.message, "detail": error.detail, "hint": error.hint, "passing": error.passing}
        raise RuntimeError(f"{MISTAKE}{json.dumps(facts)}") from error


def _batches(definition: ViewDefinition, rows: Iterator[tuple[Row, int]], *, weighted: bool) -> Iterator[Any]:
    """Give rows as Arrow has them, some thousand at once."""
    import pyarrow as pa

    while chunk := list(islice(rows, CHUNK)):
        table = arrow_table(definition, [row for row, _ in chunk])
        if weighted:
            table = table.append_column(WEIGHT, pa.array([weight for _, weight in chunk], pa.int64()))
        yield from table.to_batches()
