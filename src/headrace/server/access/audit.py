"""What was done goes in and stays; pages of it, newest first, come out."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from sqlalchemy import ColumnElement, delete, select
from sqlalchemy.orm import Session

from headrace.errors import HeadraceError
from headrace.records.access_tables import AuditRow
from headrace.server.access.decisions import SYSTEM, Target, Who
from headrace.server.access.roles import ObjectKind

__all__ = [
    "LEAST_KEPT",
    "AuditEntry",
    "AuditFilter",
    "AuditPage",
    "Detail",
    "Outcome",
    "audit_page",
    "plain_text",
    "prune",
    "record",
]

Detail = str | int | bool | list[str] | None
MOST_ENTRIES = 500
LEAST_KEPT = timedelta(days=30)
"""What is younger than this the database itself refuses to remove."""
_LONGEST_TEXT = 1000
_LAST = 2**63 - 1
_SECRET = re.compile("passw|secret|hash|csrf|cookie|^token$", re.IGNORECASE)


class Outcome(StrEnum):
    """What became of a wish."""

    DONE = "done"
    REFUSED = "refused"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """Who did what to which object, and when; ``token_id`` is public and says by which token."""

    id: int
    at: datetime
    actor_id: int | None
    actor_name: str
    token_id: str | None
    address: str | None
    action: str
    target_kind: str
    target_name: str
    outcome: Outcome
    details: Mapping[str, Detail]


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which entries are wanted: those that fit all that is given; ``action`` also stands for all that begin with it."""

    actor: str | None = None
    action: str | None = None
    target_kind: ObjectKind | None = None
    target_name: str | None = None
    outcome: Outcome | None = None
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class AuditPage:
    """Some entries, newest first; ``next`` is the ``before`` of the page after it, if there is one."""

    entries: tuple[AuditEntry, ...]
    next: int | None


def record(
    session: Session,
    at: datetime,
    by: Who,
    action: str,
    target: Target,
    details: Mapping[str, Detail] | None = None,
    *,
    outcome: Outcome = Outcome.DONE,
    address: str | None = None,
) -> None:
    """Add an entry in the transaction of the change itself; ``action`` is ``kind.verb``, such as ``job.stop``.

    Secrets have no place in the details; a key that sounds like one is a mistake of the program.
    """
    given = dict(details or {})
    for key in given:
        if _SECRET.search(key):
            raise ValueError(f'"{key}" has no place in the audit log')
    session.add(
        AuditRow(
            at=at,
            actor_id=None if by.id == SYSTEM.id else by.id,
            actor_name=by.name,
            token_id=by.token,
            address=None if address is None else plain_text(address)[:64],
            action=action,
            target_kind=target.kind.value,
            target_name=plain_text(target.name)[:255],
            outcome=outcome.value,
            details={key: _kept(value) for key, value in given.items()},
        )
    )


def prune(session: Session, now: datetime, kept: timedelta) -> int:
    """Remove entries that are older than they need be kept; return how many. That it was done is noted, too."""
    before = now - max(kept, LEAST_KEPT)
    gone = session.execute(delete(AuditRow).where(AuditRow.at < before).returning(AuditRow.id)).all()
    if gone:
        details: dict[str, Detail] = {"entries": len(gone), "before": before.isoformat()}
        record(session, now, SYSTEM, "audit.prune", Target(ObjectKind.SYSTEM), details)
    return len(gone)


def audit_page(
    session: Session, wanted: AuditFilter | None = None, *, limit: int = 100, before: int | None = None
) -> AuditPage:
    """Return a page of the audit log: entries older than the one numbered ``before``, or the newest."""
    if not 1 <= limit <= MOST_ENTRIES:
        raise HeadraceError(f"a page has from 1 to {MOST_ENTRIES} entries, not {limit}")
    conditions = _conditions(wanted or AuditFilter())
    if before is not None:
        conditions.append(AuditRow.id < max(0, min(before, _LAST)))
    query = select(AuditRow).where(*conditions).order_by(AuditRow.id.desc()).limit(limit + 1)
    rows = session.scalars(query).all()
    entries = tuple(_entry(row) for row in rows[:limit])
    return AuditPage(entries, entries[-1].id if len(rows) > limit else None)


def plain_text(text: str) -> str:
    """Return a text that every database can keep and every terminal can show.

    >>> plain_text("a" + chr(0) + "b")
    'a?b'
    """
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def _kept(value: Detail) -> Detail:
    if isinstance(value, list):
        return [plain_text(each)[:_LONGEST_TEXT] for each in value]
    return plain_text(value)[:_LONGEST_TEXT] if isinstance(value, str) else value


def _conditions(wanted: AuditFilter) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = []
    if wanted.actor is not None:
        found.append(AuditRow.actor_name == plain_text(wanted.actor.lower()))
    if wanted.action is not None:
        action = plain_text(wanted.action)
        found.append((AuditRow.action == action) | AuditRow.action.startswith(f"{action}.", autoescape=True))
    if wanted.target_kind is not None:
        found.append(AuditRow.target_kind == wanted.target_kind.value)
    if wanted.target_name is not None:
        found.append(AuditRow.target_name == plain_text(wanted.target_name))
    if wanted.outcome is not None:
        found.append(AuditRow.outcome == wanted.outcome.value)
    if wanted.since is not None:
        found.append(AuditRow.at >= wanted.since)
    if wanted.until is not None:
        found.append(AuditRow.at < wanted.until)
    return found


def _entry(row: AuditRow) -> AuditEntry:
    return AuditEntry(
        id=row.id,
        at=row.at,
        actor_id=row.actor_id,
        actor_name=row.actor_name,
        token_id=row.token_id,
        address=row.address,
        action=row.action,
        target_kind=row.target_kind,
        target_name=row.target_name,
        outcome=Outcome(row.outcome),
        details=row.details,
    )
