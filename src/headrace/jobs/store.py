"""The tables of jobs: rows go in and out as the words of `model`; every change checks that nobody was quicker."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import CursorResult, delete, or_, select, update
from sqlalchemy.orm import Session

from headrace.catalog.imports import Import
from headrace.jobs import states
from headrace.jobs.decisions import Move, Wanted
from headrace.jobs.model import Event, Job, Savepoint, Version
from headrace.jobs.reports import Report
from headrace.jobs.states import FINAL, State
from headrace.records.database import Database, take_turns
from headrace.records.job_tables import CommandRow, EventRow, JobRow, SavepointRow, VersionRow

__all__ = ["JobStore", "add_event", "change", "job_of", "savepoint_of", "version_of"]


class JobStore:
    """What the server remembers of jobs."""

    def __init__(self, database: Database) -> None:
        self.database = database

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """Give a session that only reads, and waits for no writer."""
        with self.database.reading() as session:
            yield session

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """Give a session whose changes are kept together; nobody else changes jobs meanwhile."""
        with self.database.transaction() as session:
            take_turns(session, "jobs")
            yield session

    def active(self) -> list[Job]:
        """Return the jobs about which something may be to be done, in the order in which they came."""
        busy = or_(
            JobRow.state.not_in([str(each) for each in FINAL]),
            JobRow.wanted == str(Wanted.RESTART),
            JobRow.savepoint.is_not(None),
            JobRow.deleted_at.is_not(None),
            JobRow.rebuild.is_not(None),
        )
        with self.reading() as session:
            rows = session.scalars(select(JobRow).where(busy).order_by(JobRow.queued_at, JobRow.id))
            return [job_of(row) for row in rows]

    def all(self) -> list[Job]:
        """Return every job."""
        with self.reading() as session:
            return [job_of(row) for row in session.scalars(select(JobRow).order_by(JobRow.queued_at, JobRow.id))]

    def get(self, job_id: str) -> Job | None:
        """Return a job."""
        with self.reading() as session:
            row = session.get(JobRow, job_id)
            return None if row is None else job_of(row)

    def version(self, job_id: str, number: int) -> Version:
        """Return a version of a job."""
        with self.reading() as session:
            return version_of(session.get_one(VersionRow, (job_id, number)))

    def savepoint(self, savepoint_id: str) -> Savepoint | None:
        """Return a savepoint."""
        with self.reading() as session:
            row = session.get(SavepointRow, savepoint_id)
            return None if row is None else savepoint_of(row)

    def savepoint_ids(self) -> set[str]:
        """Return the ids of all savepoints, also of those that are to be taken."""
        with self.reading() as session:
            return set(session.scalars(select(SavepointRow.id)))

    def move(self, job: Job, wish: Move, now: datetime, also: Mapping[str, Any] | None = None) -> Job | None:
        """Move a job and return it as it is then, None if it has changed since it was read; ``also`` is noted too."""
        to = states.move(job.state, wish.to)
        values: dict[str, Any] = {
            **(also or {}),
            "state": str(to),
            "reason": wish.reason,
            "since": now,
            "launch_at": wish.launch_at,
        }
        if wish.error is not None:
            values["error"] = wish.error.as_dict()
        if wish.attempt is not None:
            values["attempt"] = wish.attempt
        if wish.restarts is not None:
            values["restarts"] = [each.astimezone(UTC).isoformat() for each in wish.restarts]
        if wish.waits is not None:
            values["waits"] = wish.waits
        if wish.wanted is not None:
            values["wanted"] = str(wish.wanted)
        if to is State.RUNNING:
            values["ran_version"] = job.version
        if to is State.RESTARTING:
            values["restart_count"] = job.restart_count + 1
        if to is State.SUBMITTED:
            values["error"] = None
        return self.change(job, values, Event(0, job.id, now, to, wish.reason, wish.error))

    def change(self, job: Job, values: dict[str, Any], event: Event | None = None) -> Job | None:
        """Change a job and return it as it is then, None if it has changed since it was read."""
        with self.writing() as session:
            if not change(session, job, values):
                return None
            if event is not None:
                add_event(session, event)
            return job_of(session.get_one(JobRow, job.id, populate_existing=True))

    def settle_savepoint(self, job: Job, manifest: dict[str, Any] | None, error: Report | None) -> None:
        """Note that a savepoint was taken, or why it was not."""
        with self.writing() as session:
            row = session.get(SavepointRow, job.savepoint)
            if row is not None:
                row.status = "ready" if error is None else "failed"
                row.manifest, row.error = manifest, None if error is None else error.as_dict()
            current = session.get(JobRow, job.id)
            if current is not None and current.savepoint == job.savepoint:
                current.savepoint = None
                current.revision += 1
                if error is not None:
                    current.error = error.as_dict()

    def purge(self, job: Job) -> None:
        """Remove a deleted job for good."""
        with self.writing() as session:
            session.execute(delete(JobRow).where(JobRow.id == job.id, JobRow.deleted_at.is_not(None)))

    def tidy(self, now: datetime, keep: timedelta = timedelta(days=30)) -> None:
        """Forget commands and events that nobody asks for any more."""
        with self.writing() as session:
            session.execute(delete(CommandRow).where(CommandRow.at < now - keep))
            session.execute(delete(EventRow).where(EventRow.at < now - keep))


def change(session: Session, job: Job, values: dict[str, Any]) -> bool:
    """Change a job unless it has changed since it was read; say whether it was."""
    statement = (
        update(JobRow)
        .where(JobRow.id == job.id, JobRow.revision == job.revision)
        .values(**values, revision=job.revision + 1)
        .execution_options(synchronize_session=False)
    )
    result = session.execute(statement)
    assert isinstance(result, CursorResult)
    return bool(result.rowcount == 1)


def add_event(session: Session, event: Event) -> None:
    """Note what happened to a job."""
    error = None if event.error is None else event.error.as_dict()
    session.add(EventRow(job_id=event.job_id, at=event.at, state=str(event.state), reason=event.reason, error=error))


def job_of(row: JobRow) -> Job:
    """Return the job of a row."""
    return Job(
        id=row.id,
        name=row.name,
        owner=row.owner,
        state=State(row.state),
        wanted=Wanted(row.wanted),
        reason=row.reason,
        error=Report.from_dict(row.error),
        version=row.version,
        ran_version=row.ran_version,
        attempt=row.attempt,
        restarts=tuple(datetime.fromisoformat(each) for each in row.restarts),
        restart_count=row.restart_count,
        waits=row.waits,
        launch_at=row.launch_at,
        since=row.since,
        submitted_at=row.submitted_at,
        queued_at=row.queued_at,
        cores=row.cores,
        memory=row.memory,
        master=row.master,
        savepoint=row.savepoint,
        pending=row.pending,
        deleted_at=row.deleted_at,
        revision=row.revision,
        rebuild=row.rebuild,
    )


def version_of(row: VersionRow) -> Version:
    """Return the version of a row."""
    return Version(
        job_id=row.job_id,
        number=row.number,
        text=row.text,
        directory=row.directory,
        file=row.file,
        state=row.state,
        created_at=row.created_at,
        created_by=row.created_by,
        variables=row.variables,
        provides=tuple(row.provides),
        uses=tuple(row.uses),
        imports=tuple(map(Import.from_dict, row.imports or ())),
    )


def savepoint_of(row: SavepointRow) -> Savepoint:
    """Return the savepoint of a row."""
    error = Report.from_dict(row.error)
    return Savepoint(row.id, row.job_id, row.version, row.status, row.created_at, row.created_by, row.manifest, error)


def events_of(rows: Sequence[EventRow]) -> list[Event]:
    """Return the events of rows."""
    return [
        Event(row.id, row.job_id, row.at, State(row.state), row.reason, Report.from_dict(row.error)) for row in rows
    ]
