"""Batches of rows go in, files come out: each batch's files are there exactly once, whatever crashed."""

from typing import Any, Protocol

from pyspark.sql import DataFrame

from headrace.connectors.expressions import WHOLE_JSON
from headrace.connectors.files.options import FilesSink


class Folder(Protocol):
    """What the sink needs of a folder."""

    path: str

    def __truediv__(self, name: str) -> Any: ...
    def make(self) -> Any: ...  # noqa: D102
    def delete(self) -> None: ...  # noqa: D102
    def files(self) -> list[str]: ...  # noqa: D102
    def remove(self, name: str) -> None: ...  # noqa: D102
    def move(self, name: str, target: Any, new_name: str) -> None: ...  # noqa: D102


_STAGING = "_headrace_staging-"
"""Begins the names of folders in which batches are written aside, one for each: others may write here too."""


def write_batch(frame: DataFrame, options: FilesSink, folder: Folder, run: str, batch: int) -> None:
    """Write a batch's rows as files whose names begin with the run and the batch.

    The files are written aside and moved in when complete. A batch that is written again after a crash
    first takes away what it left before, so its rows are never there twice.
    """
    prefix = f"{run}-{batch:08d}-"
    staging = folder / f"{_STAGING}{prefix}".rstrip("-")
    staging.delete()
    writer = frame.write.format(options.format)
    if options.format == "csv":
        writer = writer.option("header", str(options.header).lower()).option("sep", options.delimiter)
    if options.format == "json":
        writer = writer.options(**WHOLE_JSON)
    if options.compression is not None:
        writer = writer.option("compression", options.compression)
    if options.partition_by:
        writer = writer.partitionBy(*options.partition_by)
    writer.save(staging.path)
    for old in folder.files():
        if old.rsplit("/", 1)[-1].startswith(prefix) and not old.startswith(_STAGING):
            folder.remove(old)
    for number, new in enumerate(name for name in staging.files() if _is_data(name)):
        parent, _, name = new.rpartition("/")
        ending = "." + name.partition(".")[2]
        target = folder / parent if parent else folder
        staging.move(new, target, f"{prefix}{number:05d}{ending}")
    staging.delete()


def forget_run(folder: Folder, run: str) -> None:
    """Take away all that a run wrote."""
    for name in folder.files():
        first, last = name.partition("/")[0], name.rpartition("/")[2]
        if first.startswith(f"{_STAGING}{run}-"):
            (folder / first).delete()
        elif last.startswith(f"{run}-"):
            folder.remove(name)


def _is_data(name: str) -> bool:
    """Say whether a file holds rows: Spark's markers and checksums do not."""
    last = name.rsplit("/", 1)[-1]
    return not last.startswith(("_", "."))
