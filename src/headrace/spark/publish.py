"""One function per kind of output: a batch goes in, rows reach their destination."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame

from headrace.connectors.files import sink as files
from headrace.connectors.files.options import FilesSink
from headrace.spark.collect import published
from headrace.spark.storage import Folder
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


def into_files(options: FilesSink, folder: Folder, run: str) -> Publish:
    """Return a function that writes a batch as files, exactly once."""

    def publish(frame: DataFrame, batch: int) -> None:
        files.write_batch(frame, options, folder, run, batch)

    return publish


@dataclass(slots=True)
class Guard:
    """Keeps what a publishing function raised, so that it is reported as it was; counts rows."""

    publish: Publish
    error: BaseException | None = None
    rows: int = 0

    def __call__(self, frame: DataFrame, batch: int) -> None:
        """Publish a batch."""
        try:
            self.rows += self.publish(frame, batch) or 0
        except BaseException as error:
            self.error = error
            raise
