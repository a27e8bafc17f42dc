"""One function per kind of output: a batch goes in, rows reach their destination."""

from collections import Counter as Counted
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Event
from typing import Any
from weakref import ref

from pyspark.sql import DataFrame

from headrace.connectors.files import sink as files
from headrace.connectors.files.options import FilesSink
from headrace.spark.changes import as_changes
from headrace.spark.collect import collect, published
from headrace.spark.counting import Counter
from headrace.spark.maintained import WEIGHT
from headrace.spark.progress import Progress
from headrace.spark.state_names import StateNames
from headrace.spark.storage import Folder
from headrace.spark.together import Taker, Together
from headrace.views.definition import Delta, Reflects, Row, ViewStore
from headrace.views.store import Change, Store

Publish = Callable[[DataFrame, int], int | None]
"""Takes a batch; returns how many rows came or went, if it knows."""
Notice = Callable[[str, int, Sequence[Change]], None]


def into_store(store: Store, name: str, notice: Notice | None = None) -> Publish:
    """Return a function that keeps a batch in a store and tells what it changed."""

    def publish(frame: DataFrame, batch: int) -> int:
        rows = list(published(frame))  # also when the store knows the batch: state is kept by computing it
        changes = store.apply(batch, rows)
        if notice is not None and changes:
            notice(name, batch, changes)
        return len(changes)

    return publish


def into_view(taker: Taker, store: ViewStore, name: str, key: tuple[str, ...]) -> Publish:
    """Return a function that keeps a view whose rows replace each other by key."""

    def publish(frame: DataFrame, batch: int) -> int:
        deleted: list[Row] = []
        inserted: list[Row] = []
        for each in published(frame):
            row = tuple(each.row.values())
            old = store.get(name, [each.row[column] for column in key])
            new = [row] if each.keep else []
            if old != new:
                deleted += old
                inserted += new
        taker.take(batch, {name: Delta(deleted, inserted)}, Reflects())
        return len(deleted) + len(inserted)

    return publish


def into_whole_view(taker: Taker, store: ViewStore, name: str, query: str) -> Publish:
    """Return a function that keeps a view which is published as a whole by each start."""

    def publish(frame: DataFrame, batch: int) -> int:
        delta = difference(list(store.rows(name)), [tuple(row.values()) for row in collect(frame)])
        last = store.last_batch(query)
        if delta.deleted or delta.inserted or last is None:
            taker.take(0 if last is None else last + 1, {name: delta}, Reflects())
        return len(delta.deleted) + len(delta.inserted)

    return publish


def into_table(taker: Taker, name: str) -> Publish:
    """Return a function that writes the rows of a sink's table which never change."""

    def publish(frame: DataFrame, batch: int) -> int:
        rows = [tuple(row.values()) for row in collect(frame)]
        taker.take(batch, {name: Delta(inserted=rows)}, Reflects())
        return len(rows)

    return publish


def difference(old: Sequence[Row], new: Sequence[Row]) -> Delta:
    """Return what makes one bag of rows of another.

    >>> difference([(1,), (2,)], [(2,), (2,)])
    Delta(deleted=[(1,)], inserted=[(2,)])
    """
    left = {repr(row): row for row in (*old, *new)}
    counts = Counted(map(repr, new))
    counts.subtract(map(repr, old))
    return Delta(
        [left[text] for text, count in counts.items() for _ in range(max(-count, 0))],
        [left[text] for text, count in counts.items() for _ in range(max(count, 0))],
    )


def into_files(options: FilesSink, folder: Folder, run: str) -> Publish:
    """Return a function that writes a batch as files, exactly once."""

    def publish(frame: DataFrame, batch: int) -> None:
        rows = as_changes(frame) if WEIGHT in frame.columns else frame
        files.write_batch(rows, options, folder, run, batch)

    return publish


def into_nothing() -> Publish:
    """Return a function that computes a batch and throws it away."""

    def publish(frame: DataFrame, batch: int) -> None:
        frame.write.format("noop").mode("overwrite").save()

    return publish


@dataclass(slots=True, weakref_slot=True)
class Guard:
    """Publishes the batches of one query: counts their rows, and keeps what was raised as it was."""

    publish: Publish
    progress: Progress
    state_names: StateNames | None = None
    query: Any = None
    started: Event = field(default_factory=Event)
    error: BaseException | None = None
    counter: Counter = field(default_factory=Counter)

    def begin(self, query: Any) -> None:
        """Say which query the batches are of; the first may be there before it is known."""
        self.query = query
        if isinstance(self.publish, Together):
            self.publish.begin(query)
        self.started.set()

    def __call__(self, frame: DataFrame, batch: int) -> None:
        """Publish a batch."""
        try:
            self.started.wait()
            changed = self.publish(frame, batch)
            plan = self.query._jsq.streamingQuery().lastExecution().executedPlan()
            if self.state_names is not None and not self.progress.state_names:
                self.progress.state_names = self.state_names.of(plan)
            counts = self.counter.read(plan)
            self.progress.count(counts)
            self.progress.rows_out += counts.given if changed is None else changed
        except BaseException as error:
            self.error = error
            raise

    def batches(self) -> Callable[[DataFrame, int], None]:
        """Return what Spark calls with each batch.

        Spark keeps it as long as it keeps the query, and this guard keeps the query: if it held the guard, neither
        would ever leave memory.
        """
        known = ref(self)

        def publish(frame: DataFrame, batch: int) -> None:
            guard = known()
            if guard is None:
                raise RuntimeError("nobody takes the batches of this query any more")
            guard(frame, batch)

        return publish
