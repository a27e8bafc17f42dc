"""The builders of rebuilds go in, round by round; each is brought one step further, and may be left at any moment.

What a step does is one change of the database, so it is done or not; what is done to files before it may be repeated.
"""

import logging
import os
import shutil
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from headrace.jobs.clock import Clock
from headrace.jobs.decisions import Wanted
from headrace.jobs.figures import Figures, from_dict
from headrace.jobs.folder import Heartbeat
from headrace.jobs.hands import Hands
from headrace.jobs.model import Event, Job
from headrace.jobs.readers import views_read
from headrace.jobs.rebuilding import (
    REBUILT,
    Chase,
    Pair,
    Phase,
    Step,
    decide_rebuild,
    furthest,
    reached,
    stands_still,
)
from headrace.jobs.reports import Report
from headrace.jobs.states import FINAL, State, move
from headrace.jobs.store import JobStore, add_event, change, version_of
from headrace.jobs.submission import version_row
from headrace.jobs.texts import local_state
from headrace.records.job_tables import VersionRow

__all__ = ["Handover", "resumed"]

SETTLING = timedelta(seconds=2)
"""A builder that finds nothing to read so long after the job has stopped has read what that had."""
STANDS_STILL = timedelta(minutes=2)
"""A job does not stand still for longer than this: it goes on, and its builder too."""
AGAIN_AFTER = timedelta(minutes=10)
"""So long after that the builder may take over again."""

_log = logging.getLogger("headrace.jobs")


class Handover:
    """Brings rebuilds to their end; what it remembers between rounds may be forgotten."""

    def __init__(self, store: JobStore, hands: Hands, clock: Clock) -> None:
        self._store, self._hands, self._clock = store, hands, clock
        self._chases: dict[str, Chase] = {}
        self._still: dict[str, timedelta] = {}
        """Since when the job of a builder was seen standing still."""
        self._again: dict[str, timedelta] = {}
        """Before when a builder does not take over."""

    def step(self, builder: Job) -> Job | None:
        """Look at a rebuild, and do what is next; if that is to swap, which may take long, return the job for that."""
        facts = builder.rebuild or {}
        job = self._store.get(str(facts.get("of")))
        job = None if job is None or job.deleted_at is not None else job
        phase = Phase(facts["phase"])
        pair = Pair(
            phase,
            builder.state,
            builder.wanted,
            None if job is None else job.state,
            Wanted.STOP if job is None else job.wanted,
            job is not None and builder.state is State.RUNNING and self._caught_up(builder, job, phase),
            job is not None and self._overdue(builder, job, phase),
        )
        step = decide_rebuild(pair)
        if step is Step.WAIT:
            return None
        _log.info("job %s: %s", builder.name, step)
        if step is Step.SWAP:
            return job
        with suppress(_Quicker), self._store.writing() as session:
            self._do(session, step, builder, job)
        return None

    def swap(self, builder: Job, job: Job) -> None:
        """Give a job the state of its builder; neither runs, and nobody may start one of them before this has ended."""
        self._carry_over(builder, job)
        with suppress(_Quicker), self._store.writing() as session:
            self._swap(session, builder, job, dict(builder.rebuild or {}))

    # --- how far it is ------------------------------------------------------------------------------------------

    def _caught_up(self, builder: Job, job: Job, phase: Phase) -> bool:
        heartbeat = self._heartbeat(builder)
        if heartbeat is None or heartbeat.phase != "running":
            return False
        mine = _figures(heartbeat)
        to_the_end = bool((builder.rebuild or {}).get("to_the_end"))
        theirs = self._heartbeat(job)
        if phase is Phase.BUILDING and job.state not in FINAL and (theirs is None or theirs.phase != "running"):
            return False  # it is on its way, and nobody knows yet how far it had read
        goal = furthest(_figures(theirs))
        if phase is Phase.HANDING_OVER:
            settled = not to_the_end or heartbeat.at > job.since + SETTLING
            return settled and reached(mine, goal, to_the_end=to_the_end)
        passed = self._clock.passed()
        if passed < self._again.get(builder.id, passed):
            return False
        chase = self._chases.get(builder.id) or Chase(passed, goal)
        arrived = reached(mine, chase.goal, to_the_end=to_the_end)
        near, self._chases[builder.id] = chase.go_on(arrived, passed, goal)
        return near

    def _overdue(self, builder: Job, job: Job, phase: Phase) -> bool:
        """Say whether a job that is to go on has stood still for too long; time counts from when that is first seen."""
        still = phase is Phase.HANDING_OVER and stands_still(builder.rebuild or {}) and job.state in FINAL
        if not still:
            self._still.pop(builder.id, None)
            return False
        passed = self._clock.passed()
        return passed - self._still.setdefault(builder.id, passed) > STANDS_STILL

    def _heartbeat(self, job: Job) -> Heartbeat | None:
        found = self._hands.folder(job.id).heartbeat()
        return found if found is not None and found.attempt == job.attempt else None

    # --- steps ----------------------------------------------------------------------------------------------------

    def _do(self, session: Session, step: Step, builder: Job, job: Job | None) -> None:
        """Do a step, unless somebody was quicker: then the next round decides anew."""
        facts = dict(builder.rebuild or {})
        now = self._clock.now()
        if step is Step.STOP_AND_WAIT:
            change(session, builder, {"wanted": str(Wanted.STOP)})
        elif step is Step.REMOVE:
            change(session, builder, {"deleted_at": now, "name": f"{builder.name}#{builder.id}"})
            for kept in (self._chases, self._still, self._again):
                kept.pop(builder.id, None)
        elif job is None:
            raise AssertionError(f"{step} needs a job")
        elif step is Step.HAND_OVER and (read := views_read(session, job)):
            why = Report(
                f"views of the job are read by {', '.join(sorted(read))}",
                detail="They follow the changes of the view as it is, and those of a rebuilt one are others.",
            )
            self._fail(session, builder, job, facts, why)
        elif step is Step.HAND_OVER:
            facts |= {"phase": Phase.HANDING_OVER, "resume": job.wanted is not Wanted.STOP}
            if change(session, builder, {"rebuild": facts}):
                _must(change(session, job, {"wanted": str(Wanted.STOP)}))
        elif step is Step.TAKE_BACK:
            self._take_back(session, builder, job, facts)
        elif step is Step.STOP_BUILDER:
            facts |= {"phase": Phase.SWAPPING}
            change(session, builder, {"rebuild": facts, "wanted": str(Wanted.STOP)})
        elif step is Step.FAIL:
            self._fail(session, builder, job, facts, builder.error or Report(builder.reason))

    def _take_back(self, session: Session, builder: Job, job: Job, facts: dict[str, Any]) -> None:
        """Let the builder build on; the job goes on as it was, unless somebody has seen to that."""
        noted = {**facts, "phase": Phase.BUILDING, "resume": False}
        wanted = Wanted.RESTART if builder.wanted is Wanted.STOP else builder.wanted
        self._chases.pop(builder.id, None)
        if change(session, builder, {"rebuild": noted, "wanted": str(wanted)}) and job.wanted is Wanted.STOP:
            _must(change(session, job, resumed(job, facts)))
            self._again[builder.id] = self._clock.passed() + AGAIN_AFTER
            reason = "goes on as it was: its rebuild did not come to the end of what there is to read"
            add_event(session, Event(0, job.id, self._clock.now(), job.state, reason, None))

    def _fail(self, session: Session, builder: Job, job: Job, facts: dict[str, Any], why: Report) -> None:
        """Give a rebuild up for a reason; the job goes on as it was."""
        noted = {**facts, "phase": Phase.FAILED}
        values = {"rebuild": noted, "wanted": str(Wanted.STOP), "error": why.as_dict()}
        if change(session, builder, values):
            _must(change(session, job, resumed(job, facts)))
            now = self._clock.now()
            add_event(session, Event(0, job.id, now, job.state, f"its rebuild failed: {why.message}", why))

    def _swap(self, session: Session, builder: Job, job: Job, facts: dict[str, Any]) -> None:
        """Let the job be what the builder was, as a new version: from this moment readers see what that has built."""
        now = self._clock.now()
        before = version_of(session.get_one(VersionRow, (job.id, job.version)))
        built = version_of(session.get_one(VersionRow, (builder.id, builder.version)))
        number = 1 + max(session.scalars(select(VersionRow.number).where(VersionRow.job_id == job.id)))
        if not change(session, builder, {"rebuild": {**facts, "phase": Phase.SWAPPED, "old": before.state}}):
            return
        session.add(version_row(replace(built, job_id=job.id, number=number)))
        values: dict[str, Any] = {"version": number, "ran_version": number, "pending": None}
        reason = "has the rebuilt state"
        state = job.state
        if facts.get("resume"):
            state = move(job.state, State.SUBMITTED)
            place = min(job.queued_at, builder.queued_at)
            values |= {"state": str(state), "wanted": str(Wanted.RUN), "since": now, "queued_at": place}
            values |= {"restarts": [], "waits": 0, "launch_at": None, "error": None, "reason": reason}
        _must(change(session, job, values))
        add_event(session, Event(0, job.id, now, state, reason, None))

    # --- files ----------------------------------------------------------------------------------------------------

    def _carry_over(self, builder: Job, job: Job) -> None:
        """Copy what keeps its state to where the job will have its own; neither of the two runs now."""
        for stopped in (builder, job):
            self._hands.end_remains(stopped)
        folders = (builder.rebuild or {}).get("kept", ())
        old = local_state(self._store.version(job.id, job.version).state, job.application)
        new = local_state(self._store.version(builder.id, builder.version).state, builder.application)
        for folder in folders:
            if (old / folder).is_dir():
                partial = new / f".{folder}.carried"
                for each in (partial, new / folder):  # of a server that died here
                    shutil.rmtree(each, ignore_errors=True)
                shutil.copytree(old / folder, partial)
                os.rename(partial, new / folder)

    def remove_state(self, builder: Job) -> None:
        """Delete the state that nobody needs once a builder goes: that of the job before, or the builder's own."""
        facts = builder.rebuild or {}
        swapped = facts.get("phase") == Phase.SWAPPED
        root = str(facts["old"]) if swapped else self._store.version(builder.id, builder.version).state
        job = self._store.get(str(facts["of"]))
        if job is not None and self._store.version(job.id, job.version).state == root:
            return  # it has gone back to it, on a savepoint
        shutil.rmtree(local_state(root, builder.application), ignore_errors=True)
        if REBUILT in root:
            shutil.rmtree(root.removeprefix("file://"), ignore_errors=True)


def resumed(job: Job, facts: dict[str, Any]) -> dict[str, Any]:
    """Return what lets a job go on that was stopped for a rebuild; one that was not is left as it is."""
    if not facts.get("resume") or job.wanted is not Wanted.STOP:
        return {}
    return {"wanted": str(Wanted.RESTART if job.state in FINAL or job.state is State.STOPPING else Wanted.RUN)}


def _figures(heartbeat: Heartbeat | None) -> list[Figures]:
    return [] if heartbeat is None else [from_dict(each) for each in heartbeat.outputs]


class _Quicker(Exception):
    """Somebody changed one of the two jobs meanwhile: nothing is done, and the next round decides anew."""


def _must(changed: bool) -> None:
    if not changed:
        raise _Quicker
