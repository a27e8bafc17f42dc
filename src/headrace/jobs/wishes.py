"""What people want of a job's state goes in, in the transaction of their command; what is noted of it comes out."""

import secrets
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from headrace.errors import HeadraceError
from headrace.jobs import rebuilds
from headrace.jobs.model import Job, Version
from headrace.jobs.offers import Offers, broken_by
from headrace.jobs.questions import Unknown
from headrace.jobs.readers import InUse, readers
from headrace.jobs.savepoints import views_outside
from headrace.jobs.store import version_of
from headrace.jobs.texts import is_local, planned
from headrace.plan.beginning import beginning, begins, check_instant
from headrace.records.job_tables import SavepointRow, VersionRow

__all__ = ["check_not_changing", "check_readers", "from_nothing", "from_savepoint", "state_version", "wanted_savepoint"]


def state_version(session: Session, job: Job) -> Version:
    """Return the version that the state of a job is of: not the one that has yet to be applied to it.

    One that is being applied counts: a savepoint is taken when that is done.
    """
    number = job.version if job.is_changing else int((job.pending or {}).get("from", job.version))
    return version_of(session.get_one(VersionRow, (job.id, number)))


def wanted_savepoint(session: Session, job: Job, now: datetime, by: str | None) -> str:
    """Note that a savepoint is to be taken, and return its id; one that is to be taken already is that one."""
    if job.savepoint is not None:
        return job.savepoint
    version = state_version(session, job)
    if not is_local(version.state):
        raise HeadraceError(
            f'no savepoint can be taken of "{job.name}"',
            detail=f"Its state is at {version.state}, where only Spark can reach it.",
            hint="Stop it without a savepoint, and copy the state with the tools of that store.",
        )
    savepoint = secrets.token_hex(6)
    session.add(
        SavepointRow(
            id=savepoint, job_id=job.id, version=version.number, status="wanted", created_at=now, created_by=by
        )
    )
    return savepoint


def from_savepoint(session: Session, job: Job, savepoint: str) -> dict[str, Any]:
    """Return what lets a job start on a savepoint, with the version that this was taken of."""
    check_not_changing(job)
    row = session.get(SavepointRow, savepoint)
    if row is None or row.job_id != job.id:
        raise Unknown(f'job "{job.name}" has no savepoint "{savepoint}"')
    if row.status == "failed":
        raise HeadraceError(f'savepoint "{savepoint}" could not be taken', hint="Choose another.")
    version = version_of(session.get_one(VersionRow, (job.id, row.version)))
    before = state_version(session, job)
    if version.number != job.version:
        check_readers(session, job, before, version)
        rebuilds.check_settled(session, version.imports)
    taken = (row.manifest or {}).get("attempt")
    ran_since = taken is not None and job.attempt > int(taken)
    views = views_outside(version)
    if ran_since and views:
        raise HeadraceError(
            f'savepoint "{savepoint}" does not hold all views of "{job.name}"',
            detail=f"{', '.join(views)} went on since in a store outside of it, and cannot be put back.",
            hint="Start with fresh state instead, which builds every view anew.",
        )
    pending = {"kind": "restore", "savepoint": savepoint, "ran_since": ran_since, "from": before.number}
    return {"version": row.version, "pending": pending}


def from_nothing(
    session: Session, job: Job, from_time: datetime | None, sources: Sequence[str], now: datetime
) -> dict[str, Any]:
    """Return what lets a job start fresh, its sources at a time if one is given; raise if they or the state cannot."""
    check_not_changing(job)
    version = version_of(session.get_one(VersionRow, (job.id, job.version)))
    if not is_local(version.state):
        raise HeadraceError(
            f'job "{job.name}" cannot be started fresh',
            detail=f"Its state is at {version.state}, where only Spark can reach it.",
            hint="Stop it, delete the state with the tools of that store, and restart it.",
        )
    pending: dict[str, Any] = {"kind": "fresh", "from": state_version(session, job).number}
    if from_time is not None:
        at = check_instant(from_time, now)
        pending["begin"] = beginning(at, begins(planned(version).outputs, at, sources)).as_dict()
    return {"pending": pending}


def check_not_changing(job: Job) -> None:
    """Raise if the state of a job is just being changed: what else is to be done to it depends on how that ends."""
    if job.is_changing:
        raise HeadraceError(
            f'the state of job "{job.name}" is just being changed', hint="Try again when that is done, in a moment."
        )


def check_readers(session: Session, job: Job, before: Version, after: Version) -> None:
    """Raise if other jobs read by name what a new version would not have, or have otherwise."""
    read = readers(session, job)
    if not read:
        return
    then, now = (Offers(job.name, each, planned(each)) for each in (before, after))
    broken = {
        name: why
        for name, imports in read.items()
        if (why := next(filter(None, (broken_by(each, then, now) for each in imports)), None)) is not None
    }
    if broken:
        raise InUse(
            f'job "{job.name}" is read by {", ".join(sorted(broken))}, who could not go on',
            broken,
            detail=f"{'; '.join(dict.fromkeys(broken.values()))}.",
            hint="Let them read something else first, or give what changes another name.",
        )
