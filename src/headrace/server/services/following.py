"""Something that changes goes in; what changes comes out as it happens, each with a mark from which to go on.

What blocks is done in threads; between two looks nothing is held.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
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

__all__ = ["Happening", "changes_of", "follow_changes", "follow_events", "follow_figures", "follow_log"]

LOOK_EVERY = 0.5
LOOK_AT_VIEWS_EVERY = 0.25


@dataclass(frozen=True, slots=True)
class Happening:
    """Something that happened; ``mark`` is where to go on after it."""

    kind: str
    mark: str
    value: Any


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
    first = after is None
    begin = partial(Follower.from_place, place=after) if after is not None else partial(Follower.from_last, lines=lines)
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


async def follow_changes(views: Views, view: JobView, after: int | None) -> AsyncIterator[FeedBatch]:
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
