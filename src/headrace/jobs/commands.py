"""A command with an id goes in; its effect happens at most once, and whoever repeats it gets the first outcome."""

import hashlib
import json
from collections.abc import Callable
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from headrace.errors import HeadraceError
from headrace.jobs.model import Job
from headrace.jobs.store import JobStore
from headrace.records.job_tables import CommandRow

__all__ = ["Noted", "applied_once", "earlier", "outcome_of"]

Noted = Callable[[Session, Job], None]
"""What else is to be kept together with a command that is applied: an entry of the audit log, an owner."""


def earlier(store: JobStore, command_id: str, kind: str, arguments: Any) -> Job | None:
    """Return the outcome of a command that was applied before, None if it was not."""
    with store.reading() as session:
        return _known(session, command_id, kind, arguments)


def outcome_of(store: JobStore, command_id: str, kind: str) -> Job | None:
    """Return the outcome of a command of a kind, whatever it was applied to, None if there was none."""
    with store.reading() as session:
        row = session.get(CommandRow, command_id)
        return None if row is None or row.kind != kind else Job.from_dict(row.outcome)


def applied_once(
    store: JobStore,
    command_id: str,
    kind: str,
    arguments: Any,
    now: datetime,
    apply: Callable[[Session], Job],
    noted: Noted | None = None,
) -> Job:
    """Apply a command and note it in the same transaction; one that is refused is not noted, and may be repeated.

    What ``noted`` writes is there if and only if the command was applied, and once.
    """
    if not command_id or len(command_id) > 100:
        raise HeadraceError("a command needs an id of 1 to 100 characters", hint="Use a new random one for each.")
    with store.writing() as session:
        known = _known(session, command_id, kind, arguments)
        if known is not None:
            return known
        job = apply(session)
        digest = _digest(arguments)
        session.add(CommandRow(id=command_id, kind=kind, digest=digest, outcome=job.as_dict(), at=now))
        if noted is not None:
            noted(session, job)
        return job


def _known(session: Session, command_id: str, kind: str, arguments: Any) -> Job | None:
    row = session.get(CommandRow, command_id)
    if row is None:
        return None
    if (row.kind, row.digest) != (kind, _digest(arguments)):
        raise HeadraceError(
            f'the id "{command_id}" was used for another command',
            detail=f"It was: {row.kind}.",
            hint="Use a new random id for each command.",
        )
    return Job.from_dict(row.outcome)


def _digest(arguments: Any) -> str:
    return hashlib.sha256(json.dumps(arguments, sort_keys=True, default=str).encode()).hexdigest()
