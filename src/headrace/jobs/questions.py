"""A job's name goes in; the job as it is, and all that is known of it, come out."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from headrace.catalog.imports import Import
from headrace.errors import HeadraceError
from headrace.jobs import rebuilds
from headrace.jobs.clock import Clock, system_clock
from headrace.jobs.figures import Figures, History, from_dict
from headrace.jobs.folder import Heartbeat, JobFolder
from headrace.jobs.logs import Follower, tail
from headrace.jobs.model import Event, Job, Page, Savepoint, Version
from headrace.jobs.queue import Capacity
from headrace.jobs.readers import readers
from headrace.jobs.states import State
from headrace.jobs.store import JobStore, events_of, job_of, savepoint_of, version_of
from headrace.jobs.texts import feeds, planned
from headrace.plan.beginning import SourceBegins, begins, check_instant
from headrace.plan.scope import did_you_mean
from headrace.records.database import Database
from headrace.records.job_tables import EventRow, JobRow, SavepointRow, VersionRow

__all__ = ["JobQuestions", "Unknown"]


class Unknown(HeadraceError):
    """There is no such job, version or savepoint."""


@dataclass
class JobQuestions:
    """What can be asked of the jobs of a server; ``folder`` holds a folder for each."""

    database: Database
    folder: Path
    capacity: Capacity
    clock: Clock = field(default_factory=system_clock)
    store: JobStore = field(init=False)

    def __post_init__(self) -> None:
        self.folder = self.folder.resolve()
        self.store = JobStore(self.database)

    def page(
        self,
        *,
        states: Sequence[State] | None = None,
        name_contains: str | None = None,
        owner: str | None = None,
        after: str | None = None,
        limit: int = 50,
    ) -> Page:
        """Return some jobs by name; ``after`` is where the page before ended."""
        seen = JobRow.deleted_at.is_(None) & JobRow.rebuild.is_(None)
        query = select(JobRow).where(seen).order_by(JobRow.name).limit(limit + 1)
        if states is not None:
            query = query.where(JobRow.state.in_([str(each) for each in states]))
        if name_contains:
            query = query.where(JobRow.name.icontains(name_contains, autoescape=True))
        if owner is not None:
            query = query.where(JobRow.owner == owner)
        if after is not None:
            query = query.where(JobRow.name > after)
        with self.store.reading() as session:
            found = tuple(job_of(row) for row in session.scalars(query))
        return Page(found[:limit], found[limit - 1].name if len(found) > limit else None)

    def show(self, job: str) -> Job:
        """Return a job by its name or id; raise Unknown if there is none."""
        with self.store.reading() as session:
            return self._found(session, job)

    def versions(self, job: str) -> tuple[Version, ...]:
        """Return the versions of a job, the newest first."""
        with self.store.reading() as session:
            found = self._found(session, job)
            query = select(VersionRow).where(VersionRow.job_id == found.id).order_by(VersionRow.number.desc())
            return tuple(version_of(row) for row in session.scalars(query))

    def savepoints(self, job: str) -> tuple[Savepoint, ...]:
        """Return the savepoints of a job, the newest first."""
        with self.store.reading() as session:
            found = self._found(session, job)
            query = select(SavepointRow).where(SavepointRow.job_id == found.id)
            query = query.order_by(SavepointRow.created_at.desc(), SavepointRow.id)
            return tuple(savepoint_of(row) for row in session.scalars(query))

    def events(self, job: str | None = None, *, after: int = 0, limit: int = 200) -> tuple[Event, ...]:
        """Return what happened to a job, or to all, since an event."""
        with self.store.reading() as session:
            query = select(EventRow).where(EventRow.id > after).order_by(EventRow.id).limit(limit)
            if job is not None:
                query = query.where(EventRow.job_id == self._found(session, job).id)
            return tuple(events_of(list(session.scalars(query))))

    def users(self, job: str) -> dict[str, list[str]]:
        """Return the jobs that read what a job writes, each with what that is."""
        with self.store.reading() as session:
            return self._users(session, self._found(session, job))

    def readers(self, job: str) -> dict[str, tuple[Import, ...]]:
        """Return the jobs that read a job by name, each with what it reads."""
        with self.store.reading() as session:
            return readers(session, self._found(session, job))

    def heartbeat(self, job: Job) -> Heartbeat | None:
        """Return the last sign of life of a job's newest driver."""
        found = self.folder_of(job).heartbeat()
        return found if found is not None and found.attempt == job.attempt else None

    def figures(self, job: Job) -> list[Figures]:
        """Return the latest figures of each output of a job."""
        heartbeat = self.heartbeat(job)
        return [] if heartbeat is None else [from_dict(each) for each in heartbeat.outputs]

    def history(self, job: Job) -> History:
        """Return the figures of the last minutes, for small charts."""
        return self.folder_of(job).history()

    def log(self, job: Job, lines: int = 200) -> Sequence[str]:
        """Return the last lines of a job's log."""
        return tail(self.folder_of(job).log_path, lines)

    def follow_log(self, job: Job) -> Follower:
        """Return what gives the lines that are yet to come."""
        return Follower.from_end(self.folder_of(job).log_path)

    def folder_of(self, job: Job) -> JobFolder:
        """Return the folder of a job."""
        return JobFolder(self.folder / job.id)

    def begins(self, job: str, from_time: datetime, sources: Sequence[str] = ()) -> tuple[SourceBegins, ...]:
        """Return where each source of a job would begin; nothing is changed."""
        with self.store.reading() as session:
            found = self._found(session, job)
            plan = planned(version_of(session.get_one(VersionRow, (found.id, found.version))))
        return begins(plan.outputs, check_instant(from_time, self.clock.now()), sources)

    def rebuild_of(self, job: Job) -> rebuilds.Rebuild | None:
        """Return how far the rebuild of a job is, None if there is none."""
        return rebuilds.rebuild_of(self.store, job, self.folder)

    def named_like(self, session: Session, name: str) -> str | None:
        """Return the job of a name without regard to case, as access lists know names."""
        return session.scalar(select(JobRow.name).where(func.lower(JobRow.name) == name.lower()).limit(1))

    # --- inside ---------------------------------------------------------------------------------------------

    def _found(self, session: Session, job: str) -> Job:
        """Return a job by its id, or else by its name: no name can be another's id."""
        seen = JobRow.deleted_at.is_(None) & JobRow.rebuild.is_(None)
        row = session.scalars(select(JobRow).where(JobRow.id == job, seen)).first()
        if row is None:
            row = session.scalars(select(JobRow).where(JobRow.name == job, seen)).first()
        if row is None:
            known = list(session.scalars(select(JobRow.name).where(seen)))
            raise Unknown(f'unknown job "{job}"', hint=did_you_mean(job, known))
        return job_of(row)

    def _users(self, session: Session, job: Job) -> dict[str, list[str]]:
        mine = session.get_one(VersionRow, (job.id, job.version)).provides
        query = select(JobRow.name, VersionRow.uses).join(
            VersionRow, (VersionRow.job_id == JobRow.id) & (VersionRow.number == JobRow.version)
        )
        seen = JobRow.deleted_at.is_(None) & JobRow.rebuild.is_(None)
        others = session.execute(query.where(JobRow.id != job.id, seen))
        found = {name: [each for each in mine if any(feeds(each, used) for used in uses)] for name, uses in others}
        for name, imports in readers(session, job).items():
            found[name] = found.get(name, []) + [each.name for each in imports]
        return {name: things for name, things in found.items() if things}
