"""A job goes in; the rows that it did not use, or how many they are, and those that it only shows come out."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from headrace.errors import HeadraceError
from headrace.jobs.last_rows import LastRow
from headrace.plan.late import POSITION, REASON, WATERMARK
from headrace.plan.steps import LateRows, ReadDead, Scan, Step, walk
from headrace.server.access.access import Access
from headrace.server.access.decisions import Who
from headrace.server.access.roles import Action
from headrace.server.services.catalog import stream_target
from headrace.server.services.job_reading import JobReading
from headrace.server.services.plans import Planned, Plans
from headrace.server.services.views import JobView, Views

__all__ = ["LateCount", "RejectedRow", "RejectedRows", "ShownRows"]


_TOLD = ((REASON, "reason"), (POSITION, "position"))
"""Columns that say why a row was rejected, and where it stood: of a late row, of a dead record."""


@dataclass(frozen=True, slots=True)
class LateCount:
    """How many rows that came behind the watermark an output could not take, since its driver started."""

    output: str
    rows: int
    watermark_at: datetime | None


@dataclass(frozen=True, slots=True)
class RejectedRow:
    """A dead record or a late row, as a view over ``STREAM.dead`` or ``STREAM.late`` keeps it."""

    stream: str
    reason: str
    record: str
    position: str
    at: datetime | None


@dataclass(frozen=True, slots=True)
class RejectedRows:
    """What a job did not use; ``unkept`` has the streams whose dead records are counted, but kept by no view.

    ``forgotten`` has the streams whose late rows no view keeps.
    """

    late: tuple[LateCount, ...]
    late_rows: tuple[RejectedRow, ...]
    dead: tuple[RejectedRow, ...]
    unkept: tuple[tuple[str, int], ...] = ()
    forgotten: tuple[str, ...] = ()


class ShownRows:
    """Rows of jobs that are in no view: rejected ones, and those of outputs that are only shown."""

    def __init__(self, jobs: JobReading, plans: Plans, views: Views, access: Access) -> None:
        self._jobs, self._plans, self._views, self._access = jobs, plans, views, access

    def rejected(self, who: Who, name: str, limit: int = 200) -> RejectedRows:
        """Return what a job did not use: dead records and late rows, as far as they are kept, or their number."""
        job = self._jobs.show(who, name, Action.READ_ROWS)
        planned = self._plans.of(job)
        figures = self._jobs.jobs.figures(job)
        late = tuple(LateCount(each.name, each.late, each.watermark_at) for each in figures)
        kept = {stream.lower() for stream, _ in _views_of(planned, ReadDead)}
        known = {stream.lower() for stream, _ in _views_of(planned, LateRows)}
        timed = [each.name for each in planned.plan.streams.values() if each.watermark is not None]
        counted: dict[str, int] = {}
        for each in figures:
            for stream, count in each.dead_of.items():
                counted[stream] = max(count, counted.get(stream, 0))
        unkept = tuple((stream, n) for stream, n in sorted(counted.items()) if n and stream.lower() not in kept)
        return RejectedRows(
            late,
            tuple(self._kept(who, planned, LateRows, limit)),
            tuple(self._kept(who, planned, ReadDead, limit)),
            unkept,
            tuple(each for each in timed if each.lower() not in known),
        )

    def shown(self, who: Who, name: str) -> Sequence[LastRow]:
        """Return the last rows of a job's bare SELECTs, and of console sinks that one may read, the newest first."""
        job = self._jobs.show(who, name, Action.READ_ROWS)
        found = self._jobs.jobs.folder_of(job).last_rows()[::-1]
        outputs = {each.name: each for each in self._plans.of(job).plan.outputs}
        bare = {name for name, each in outputs.items() if each.sink is None}
        sinks = {name: each.sink.name for name, each in outputs.items() if each.sink is not None}
        written = {row.output: sinks.get(row.output, row.output) for row in found if row.output not in bare}
        targets = [stream_target(each, job.name) for each in set(written.values())]
        readable = {each.name for each in self._access.permitted(who, Action.READ_ROWS, targets)}
        return [row for row in found if row.output in bare or written[row.output] in readable]

    def _kept(self, who: Who, planned: Planned, kind: type[Step], limit: int) -> Iterator[RejectedRow]:
        for stream, view in _views_of(planned, kind):
            if not self._views.may_read(who, view):
                continue  # they are of a view, and who may not read that does not read them here
            try:
                page = self._views.rows(view, limit=limit)
            except HeadraceError:  # the view is not there yet
                continue
            names = [each.name for each in page.definition.columns]
            for row in page.rows:
                yield _shown(stream, dict(zip(names, row, strict=True)), page.reflects.at)


def _shown(stream: str, facts: dict[str, Any], at: datetime | None) -> RejectedRow:
    """Return a row of a view that keeps what was rejected, as far as the view has its columns."""
    reason, position = (str(facts.pop(late if late in facts else dead, "")) for late, dead in _TOLD)
    facts.pop(WATERMARK, None)  # the reason has it
    record = facts["raw"] if set(facts) == {"raw"} else json.dumps(facts, default=str, ensure_ascii=False)
    return RejectedRow(stream, reason, str(record), position, at)


def _views_of(planned: Planned, kind: type[Step]) -> Iterator[tuple[str, JobView]]:
    """Give the materialised views that keep what was rejected in one way, each with the stream that it is of."""
    for output in planned.plan.outputs:
        if output.view is not None:
            for step in walk(output.relation.step):
                if isinstance(step, kind):
                    yield _stream_of(step), JobView(planned, output)
                    break


def _stream_of(step: Step) -> str:
    return next(each.stream.name for each in walk(step) if isinstance(each, (ReadDead, Scan)))
