"""Something that changes goes in; what changes comes out as it happens, each with a mark from which to go on.

What blocks is done in threads; between two looks nothing is held.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from anyio import to_thread

from headrace.errors import HeadraceError
from headrace.jobs.figures import as_dict
from headrace.jobs.folder import JobFolder
from headrace.jobs.jobs import Jobs, Unknown
from headrace.jobs.logs import Follower
from headrace.jobs.model import Job
from headrace.server.services.mistakes import NotThere
from headrace.server.services.views import JobView, Views
from headrace.views.definition import FeedBatch

__all__ = [
    "Happening",
    "Mark",
    "changes_of",
    "follow_changes",
    "follow_events",
    "follow_figures",
    "follow_log",
    "follow_parts",
]

LOOK_EVERY = 0.5
LOOK_AT_VIEWS_EVERY = 0.25
MOST_CHANGES = 1000
"""How many changes are told at once: a batch of more comes in parts, so that nobody waits for all of it."""
_MARK = re.compile("([0-9]{1,15})(?::([0-9]{1,15}))?")
_PLACE = re.compile("[0-9]{1,18}(-[0-9]{1,20}){2}")
"""The place of a follower of a log."""


@dataclass(frozen=True, slots=True)
class Happening:
    """Something that happened; ``mark`` is where to go on after it."""

    kind: str
    mark: str
    value: Any


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in the changes of a view: behind a batch, or behind so many changes of one; without a batch the start.

    >>> str(Mark(7)), str(Mark(7, 1000)), Mark.read("7:1000")
    ('7', '7:1000', Mark(batch=7, done=1000))
    """

    batch: int | None = None
    done: int | None = None

    @classmethod
    def read(cls, text: str) -> "Mark":
        """Return the place that a text names; raise HeadraceError if it names none."""
        found = _MARK.fullmatch(text)
        if found is None:
            raise HeadraceError("changes cannot be followed from there", hint="Send the id of an event as it came.")
        return cls(int(found[1]), None if found[2] is None else int(found[2]))

    def __str__(self) -> str:
        return f"{self.batch}" if self.done is None else f"{self.batch}:{self.done}"

    @property
    def after(self) -> int | None:
        """The last batch of which nothing more is wanted."""
        return self.batch if self.batch is None or self.done is None else self.batch - 1


async def follow_figures(jobs: Jobs, job: Job, after: str | None = None) -> AsyncIterator[Happening]:
    """Yield the figures of a job: those of the last minutes after a mark, then each new one; until the job is gone."""
    seen = _instant(after)
    if seen is not None:
        for point in (await to_thread.run_sync(jobs.history, job)).points:
            if point.at > seen:
                seen = point.at
                yield Happening("figures", point.at.isoformat(), {"at": point.at, "outputs": point.outputs})
    while True:
        try:
            job = await to_thread.run_sync(jobs.show, job.id)
        except Unknown:
            return
        heartbeat = await to_thread.run_sync(jobs.heartbeat, job)
        if heartbeat is not None and (seen is None or heartbeat.at > seen):
            seen = heartbeat.at
            figures = await to_thread.run_sync(jobs.figures, job)
            outputs = {each.name: as_dict(each) for each in figures}
            yield Happening("figures", seen.isoformat(), {"at": seen, "outputs": outputs})
        await asyncio.sleep(LOOK_EVERY)


async def follow_log(folder: JobFolder, lines: int, after: str | None = None) -> AsyncIterator[Happening]:
    """Yield the last lines of a log, or those after a mark, then new ones as they are written."""
    place = after if after is not None and _PLACE.fullmatch(after) else None  # what is too long is in no file
    first = place is None
    begin = partial(Follower.from_last, lines=lines) if place is None else partial(Follower.from_place, place=place)
    follower = await to_thread.run_sync(begin, folder.log_path)
    while True:
        found: Sequence[str] = await to_thread.run_sync(follower.read)
        if first:
            found, first = found[-lines:] if lines else [], False
        if found:
            yield Happening("lines", follower.place(), {"lines": list(found)})
        await asyncio.sleep(LOOK_EVERY)


async def follow_events(jobs: Jobs, job: Job, after: int = 0) -> AsyncIterator[Happening]:
    """Yield the moves of a job from state to state, after an event, until it is gone."""
    while True:
        try:
            events = await to_thread.run_sync(partial(jobs.events, job.id, after=after))
        except Unknown:
            return
        for event in events:
            after = event.id
            error = None if event.error is None else event.error.as_dict()
            value = {"at": event.at, "state": str(event.state), "reason": event.reason, "error": error}
            yield Happening("state", str(event.id), value)
        await asyncio.sleep(LOOK_EVERY)


async def follow_changes(views: Views, view: JobView, after: int | None) -> AsyncGenerator[FeedBatch, None]:
    """Yield what each batch changes of a view after a position; a view that is not there yet is waited for."""
    position = after
    version: object = None
    while True:
        try:
            now = await to_thread.run_sync(views.version, view)
            if now is None or now != version:
                version = now
                batches = await to_thread.run_sync(views.changes, view, position)
                for batch in batches:
                    position = batch.batch
                    yield batch
                if batches:
                    version = None  # there may be more than was read at once
        except HeadraceError as error:
            if not (error.passing or isinstance(error, NotThere)):
                raise
        await asyncio.sleep(LOOK_AT_VIEWS_EVERY)


async def follow_parts(views: Views, view: JobView, columns: Sequence[str], mark: Mark) -> AsyncIterator[Happening]:
    """Yield what each batch changes of a view after a mark, large ones in several parts, each with its own mark."""
    async with aclosing(follow_changes(views, view, mark.after)) as batches:
        async for batch in batches:
            done = mark.done or 0 if batch.batch == mark.batch else 0
            parts = _parts_of(columns, batch, done)
            while (part := await to_thread.run_sync(next, parts, None)) is not None:
                yield part


def _parts_of(columns: Sequence[str], batch: FeedBatch, done: int) -> Iterator[Happening]:
    """Yield the changes of a batch behind the first so many; ``more`` says that another part of it follows."""
    changes = changes_of(columns, batch)
    for start in range(done, max(len(changes), 1), MOST_CHANGES):
        end = start + MOST_CHANGES
        more = end < len(changes)
        mark = Mark(batch.batch, end if more else None)
        value = {"batch": batch.batch, "at": batch.at, "changes": changes[start:end], "more": more}
        yield Happening("changes", str(mark), value)


def changes_of(columns: Sequence[str], batch: FeedBatch) -> list[Mapping[str, Any]]:
    """Return the changes of a batch, what went before what came."""
    several = (("delete", batch.delta.deleted), ("insert", batch.delta.inserted))
    return [{"change": change, "row": dict(zip(columns, row, strict=True))} for change, rows in several for row in rows]


def _instant(text: str | None) -> datetime | None:
    try:
        found = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return found if found.tzinfo is not None else None
