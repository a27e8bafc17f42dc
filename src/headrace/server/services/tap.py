"""A stream, table or sink goes in; the rows that came last, and those that come, come out."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Protocol

from anyio import to_thread

from headrace.connectors.files.options import FilesSink, FilesSource, FilesTable
from headrace.connectors.kafka.options import KafkaReading, KafkaSink
from headrace.errors import HeadraceError
from headrace.server.services.catalog import CatalogObject
from headrace.server.services.file_tap import FileTap
from headrace.server.services.tapped import Tapped
from headrace.server.services.topic_tap import TopicTap

__all__ = ["Tap", "followed", "open_tap", "tapping"]

LOOK_EVERY = 0.5

_WHY_NOT = {
    "kafka": "A column names the topic of each row, so it is not known where all of them are",
    "datagen": "Its rows are made anew by each job that reads it, and are nowhere else",
    "memory": "Its rows come from the program that runs the application",
    "socket": "What is read from a socket is gone for everybody else",
    "console": "The job's page shows its last rows",
    "noop": "It keeps nothing",
}


class Tap(Protocol):
    """A look at rows beside the job that reads or writes them, of which that job notices nothing."""

    def recent(self, limit: int = 50) -> list[Tapped]:
        """Return about the last so many, oldest first."""

    def new(self) -> Iterator[Tapped]:
        """Yield what has come since the last look, a sample if it is much."""

    def at(self, source: str, partition: int, position: int) -> Tapped | None:
        """Return the record at a place that EVIDENCE() noted; None if it is gone, or is none of these."""

    def close(self) -> None:
        """End the connections."""


def open_tap(thing: CatalogObject) -> Tap:
    """Open a look into a stream, table or sink; raise HeadraceError with the reason where there is none."""
    base = Path(thing.planned.version.directory)
    match getattr(thing.source, "options", None):
        case KafkaReading(topic=topics) as options:  # without topics it has a pattern
            return TopicTap(options, topics, base)
        case KafkaSink(topic=str(topic)) as options:
            return TopicTap(options, [topic], base)
        case FilesSource() | FilesTable() | FilesSink() as options:
            return FileTap(options, base, [name for name, _ in thing.columns])
        case _:
            raise HeadraceError(
                f'{thing.kind} "{thing.name}" cannot be tapped',
                detail=f"{_WHY_NOT.get(thing.connector, 'There is no place where it could be read beside a job')}.",
                hint=f"Keep its rows: CREATE MATERIALIZED VIEW {thing.name}_rows AS SELECT * FROM {thing.name}.",
            )


async def followed(thing: CatalogObject, first: int) -> AsyncGenerator[list[Tapped], None]:
    """Give about the last so many rows, then those that come: a sample when they are many."""
    tap = await to_thread.run_sync(open_tap, thing)
    inside = threading.Lock()  # who leaves does not wait for a look that is under way, and closing it then would crash

    def look(rows: Callable[[], Iterable[Tapped]]) -> list[Tapped]:
        with inside:
            return list(rows())

    def close() -> None:
        with inside:
            tap.close()

    try:
        found = await to_thread.run_sync(look, partial(tap.recent, first))
        while True:
            if found:
                yield found
            await asyncio.sleep(LOOK_EVERY)
            found = await to_thread.run_sync(look, tap.new)
    finally:
        await to_thread.run_sync(close)


@contextmanager
def tapping(thing: CatalogObject) -> Iterator[Tap]:
    """Look into a stream, table or sink for a while."""
    tap = open_tap(thing)
    try:
        yield tap
    finally:
        tap.close()
