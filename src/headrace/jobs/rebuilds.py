"""The wish to rebuild a job beside itself goes in; a hidden job that builds, and how far it is, come out."""

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.orm import Session

from headrace.catalog.imports import Import, OtherView
from headrace.connectors.files.options import FilesSource
from headrace.errors import HeadraceError
from headrace.jobs.beside import divided
from headrace.jobs.commands import Noted, applied_once, earlier
from headrace.jobs.decisions import Wanted
from headrace.jobs.figures import from_dict
from headrace.jobs.folder import JobFolder
from headrace.jobs.handover import resumed
from headrace.jobs.model import Event, Job, Version
from headrace.jobs.queue import Capacity, Claim, check_fits
from headrace.jobs.readers import InUse, check_unchanged, views_read
from headrace.jobs.rebuilding import REBUILT, UNDER_WAY, Phase, stands_still
from headrace.jobs.reports import Report
from headrace.jobs.states import FINAL, State
from headrace.jobs.store import JobStore, add_event, change, job_of
from headrace.jobs.submission import new_row, version_row
from headrace.jobs.texts import local_state, planned
from headrace.plan.beginning import beginning, begins, check_instant, sources_of
from headrace.records.job_tables import JobRow

__all__ = [
    "Rebuild",
    "builder_of",
    "cancel",
    "check_alone",
    "check_settled",
    "forgotten_with",
    "keeps_place",
    "kept_still",
    "rebuild",
    "rebuild_of",
]


@dataclass(frozen=True, slots=True)
class Rebuild:
    """A rebuild, for people; ``behind`` is how many messages of Kafka its builder has still to read."""

    phase: Phase
    state: State
    reason: str
    error: Report | None
    asked_at: datetime
    behind: int | None
    rows_in: int


def rebuild(
    store: JobStore,
    job: Job,
    command_id: str,
    now: datetime,
    capacity: Capacity,
    *,
    version: Version | None = None,
    from_time: datetime | None = None,
    sources: Sequence[str] = (),
    by: str | None = None,
    noted: Noted | None = None,
) -> Job:
    """Start to build a job anew beside itself, as another version if one is given; return the job as it is."""
    arguments = [job.id, None if version is None else [version.text, version.variables], from_time, list(sources)]
    known = earlier(store, command_id, "rebuild", arguments)
    if known is not None:
        return known
    current = store.version(job.id, job.version)
    wanted = version or current
    local_state(current.state, job.name)
    plan = planned(wanted)
    division = divided(plan, plan if version is None else planned(current))
    pending = None
    if from_time is not None:
        at = check_instant(from_time, now)
        pending = {"kind": "fresh", "begin": beginning(at, begins(division.built, at, sources)).as_dict()}
    builder_id = secrets.token_hex(6)
    claim = Claim(_name(job), job.cores, job.memory)
    check_fits(Claim(_name(job), 2 * job.cores, 2 * job.memory), capacity)
    root = f"{current.state.partition(REBUILT)[0]}{REBUILT}{builder_id}"
    to_the_end = any(isinstance(each.options, FilesSource | OtherView) for each in sources_of(division.built))

    def apply(session: Session) -> Job:
        found = job_of(session.get_one(JobRow, job.id))
        check_alone(session, found)
        _check_unread(session, found)
        if version is not None:
            check_unchanged(session, version.imports)
            check_settled(session, version.imports)
        if found.pending is not None or found.version != job.version:
            raise HeadraceError(f'job "{found.name}" is about to change', hint="Try again when it has started.")
        if (last := builder_of(session, found)) is not None:  # one that has failed, or is swapped: it makes room
            name = f"{last.name}#{last.id}"
            change(session, last, {"deleted_at": now, "name": name})
        row = new_row(builder_id, claim, job.master, job.owner, now)
        row.pending = pending
        row.rebuild = {"of": job.id, "phase": str(Phase.BUILDING), "to_the_end": to_the_end}
        if division.kept:
            row.rebuild |= {"only": [each.name for each in division.built], "kept": list(division.kept)}
        session.add(row)
        session.flush()
        built = replace(wanted, job_id=builder_id, number=1, state=root, created_at=now, created_by=by)
        session.add(version_row(built))
        add_event(session, Event(0, found.id, now, found.state, "is rebuilt beside itself", None))
        return found

    return applied_once(store, command_id, "rebuild", arguments, now, apply, noted)


def cancel(store: JobStore, job: Job, command_id: str, now: datetime, noted: Noted | None = None) -> Job:
    """Give up a rebuild; the job goes on as it was. One that has failed is forgotten."""

    def apply(session: Session) -> Job:
        found = job_of(session.get_one(JobRow, job.id))
        builder = builder_of(session, found)
        if builder is None or Phase(str((builder.rebuild or {})["phase"])) not in {*UNDER_WAY, Phase.FAILED}:
            raise HeadraceError(f'job "{found.name}" is not being rebuilt')
        facts = dict(builder.rebuild or {})
        at_rest = builder.state in FINAL
        wanted = builder.wanted if at_rest and builder.wanted is not Wanted.RESTART else Wanted.STOP
        change(session, builder, {"rebuild": {**facts, "phase": str(Phase.CANCELLED)}, "wanted": str(wanted)})
        if facts["phase"] in UNDER_WAY:
            change(session, found, resumed(found, facts))
            add_event(session, Event(0, found.id, now, found.state, "its rebuild is given up", None))
        return job_of(session.get_one(JobRow, found.id, populate_existing=True))

    return applied_once(store, command_id, "cancel rebuild", [job.id], now, apply, noted)


def rebuild_of(store: JobStore, job: Job, folder: Path) -> Rebuild | None:
    """Return how far the rebuild of a job is, None if there is none."""
    with store.reading() as session:
        builder = builder_of(session, job)
    if builder is None:
        return None
    heartbeat = JobFolder(folder / builder.id).heartbeat()
    outputs = [] if heartbeat is None else [from_dict(each) for each in heartbeat.outputs]
    behind = [each.behind for each in outputs if each.behind is not None]
    return Rebuild(
        phase=Phase(str((builder.rebuild or {})["phase"])),
        state=builder.state,
        reason=builder.reason,
        error=builder.error,
        asked_at=builder.submitted_at,
        behind=max(behind, default=None),
        rows_in=sum(each.rows_in for each in outputs),
    )


def builder_of(session: Session, job: Job) -> Job | None:
    """Return the hidden job that builds another, or has built it last."""
    row = session.scalars(select(JobRow).where(JobRow.name == _name(job), JobRow.deleted_at.is_(None))).first()
    return None if row is None else job_of(row)


def check_alone(session: Session, job: Job) -> None:
    """Raise if a job is being rebuilt: its state will be replaced."""
    builder = builder_of(session, job)
    if builder is not None and (builder.rebuild or {}).get("phase") in UNDER_WAY:
        raise HeadraceError(
            f'job "{job.name}" is being rebuilt', hint="Wait until that is done, or give it up: rebuild --cancel."
        )


def check_settled(session: Session, imports: Iterable[Import]) -> None:
    """Raise if a view that is to be read is of a job that is being rebuilt: soon it will be another."""
    for job in sorted({each.job for each in imports if each.kind == "view"}):
        row = session.scalars(select(JobRow).where(JobRow.name == job, JobRow.deleted_at.is_(None))).first()
        if row is not None:
            check_alone(session, job_of(row))


def _check_unread(session: Session, job: Job) -> None:
    """Raise if others follow a view of a job: they would go on with one that is no more."""
    if views := views_read(session, job):
        raise InUse(
            f'views of job "{job.name}" are read by {", ".join(sorted(views))}',
            views,
            detail="They follow the changes of the view as it is, and those of a rebuilt one are others.",
            hint="Restart the job fresh, and then them.",
        )


def kept_still(session: Session, job: Job) -> None:
    """Note that a job that is stopped while its rebuild takes over is to stay so."""
    builder = builder_of(session, job)
    if builder is not None and (builder.rebuild or {}).get("resume"):
        change(session, builder, {"rebuild": {**(builder.rebuild or {}), "resume": False}})


def keeps_place(session: Session, job: Job) -> bool:
    """Say whether a job that somebody starts keeps its place in the queue: its rebuild has stopped it for a while."""
    builder = builder_of(session, job)
    return builder is not None and stands_still(builder.rebuild or {})


def forgotten_with(session: Session, job: Job, now: datetime) -> None:
    """Let the builder of a job go with it."""
    builder = builder_of(session, job)
    if builder is not None:
        change(session, builder, {"deleted_at": now, "name": f"{builder.name}#{builder.id}"})


def _name(job: Job) -> str:
    return f"{job.name}#rebuild"
