"""Entries, owners and restrictions of objects go in; the access lists that decisions read come out."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import ColumnElement, delete, select
from sqlalchemy.orm import Session

from headrace.errors import HeadraceError
from headrace.records.access_tables import AccessEntryRow, GroupRow, ObjectAccessRow, UserRow
from headrace.records.base import Clock
from headrace.records.database import Database
from headrace.server.access.access import Access, entry_of, kept_name
from headrace.server.access.audit import Detail, record
from headrace.server.access.decisions import Effect, Entry, Target, Who
from headrace.server.access.mistakes import NotFound
from headrace.server.access.people import group_named, user_named
from headrace.server.access.roles import LISTED, Action, ObjectKind, Role, rule_of

__all__ = ["AccessLists", "ListedEntry", "ObjectAccess", "claim", "forget"]

_LONGEST_NAME, _MOST_STARS = 255, 4
_JOB = ObjectKind.JOB
_SHARED = {ObjectKind.APPLICATION, ObjectKind.JOB}
"""What an owner may share; what is in them is shared with them."""


@dataclass(frozen=True, slots=True)
class ListedEntry:
    """An entry with the number by which it is removed."""

    id: int
    entry: Entry
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ObjectAccess:
    """Who owns an object, whether it is restricted, and the entries that are about it."""

    owner: str | None
    restricted: bool
    entries: tuple[ListedEntry, ...]


class AccessLists:
    """The access lists of applications, jobs, streams and views. Each function raises Forbidden if ``by`` may not."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database, self._clock = database, clock
        self._access = Access(database, clock)

    def add(
        self,
        by: Who,
        effect: Effect,
        kind: ObjectKind,
        pattern: str,
        rights: Role | frozenset[Action],
        *,
        user: str | None = None,
        group: str | None = None,
    ) -> ListedEntry:
        """Allow or deny a role or some actions to a user or a group, on one object or on all that fit a pattern.

        Who owns an application or a job may allow others on it a role, no higher than his own; the rest needs an admin.
        """
        _check_entry(kind, pattern, rights)
        if (user is None) == (group is None):
            raise HeadraceError("an entry names either a user or a group")
        target = Target(kind, kept_name(pattern))
        shares = effect is Effect.ALLOW and isinstance(rights, Role) and rights <= by.effective_role
        with self._changing(by, target, shares=shares) as session:
            member = user_named(session, user) if user is not None else None
            team = group_named(session, group) if group is not None else None
            row = AccessEntryRow(
                kind=kind.value,
                pattern=target.name,
                effect=effect.value,
                user_id=None if member is None else member.id,
                group_id=None if team is None else team.id,
                role=rights.value if isinstance(rights, Role) else None,
                actions=None if isinstance(rights, Role) else sorted(action.value for action in rights),
                created_at=self._clock(),
            )
            session.add(row)
            session.flush()
            listed = ListedEntry(row.id, entry_of(row, _name_of(member, team)), row.created_at)
            record(session, self._clock(), by, "access.add", target, _details(listed))
            return listed

    def remove(self, by: Who, entry_id: int) -> None:
        """Remove an entry."""
        with self._database.reading() as session:
            target, effect = _target_of(session, entry_id)
        with self._changing(by, target, shares=effect is Effect.ALLOW) as session:
            for listed in _listed(session, AccessEntryRow.id == entry_id):
                session.execute(delete(AccessEntryRow).where(AccessEntryRow.id == entry_id))
                record(session, self._clock(), by, "access.remove", target, _details(listed))

    def all(self, by: Who, kind: ObjectKind) -> list[ListedEntry]:
        """Return all entries about objects of a kind."""
        self._access.require(by, Action.MANAGE_ACCESS, Target(kind))
        with self._database.reading() as session:
            return _listed(session, AccessEntryRow.kind == kind.value)

    def of(self, by: Who, target: Target) -> ObjectAccess:
        """Return what is stored about one object, patterns that fit it included."""
        if not self._may_share(by, target):
            self._access.require(by, Action.MANAGE_ACCESS, target)
        with self._database.reading() as session:
            row = session.get(ObjectAccessRow, (target.kind.value, _checked_name(target.name)))
            owner = session.get(UserRow, row.owner_id) if row is not None and row.owner_id is not None else None
            entries = _listed(session, AccessEntryRow.kind == target.kind.value)
        about = tuple(each for each in entries if each.entry.names(target))
        return ObjectAccess(None if owner is None else owner.name, row is not None and row.restricted, about)

    @contextmanager
    def _changing(self, by: Who, target: Target, *, shares: bool) -> Iterator[Session]:
        """Give the transaction of a change: to an owner who shares one object, and to admins."""
        shared = shares and self._may_share(by, target)
        action, about = (Action.SHARE, _whole(target)) if shared else (Action.MANAGE_ACCESS, target)
        with self._access.changing(by, action, about) as session:
            yield session

    def _may_share(self, by: Who, target: Target) -> bool:
        """Say whether somebody may share an object; names of views and streams are not unique, so those not."""
        one = target.kind in _SHARED and not any(letter in target.name for letter in "*?")
        return one and bool(self._access.may(by, Action.SHARE, _whole(target)))

    def restrict(self, by: Who, target: Target, restricted: bool) -> None:
        """Let only those whom its list names reach an object, or let roles decide again."""
        with self._access.changing(by, Action.MANAGE_ACCESS, target) as session:
            _object(session, target).restricted = restricted
            record(session, self._clock(), by, "access.restrict", target, {"restricted": restricted})

    def set_owner(self, by: Who, target: Target, user: str | None) -> None:
        """Make an object a user's, or nobody's."""
        with self._access.changing(by, Action.MANAGE_ACCESS, target) as session:
            owner = None if user is None else user_named(session, user)
            _object(session, target).owner_id = None if owner is None else owner.id
            details = {"owner": None if owner is None else owner.name}
            record(session, self._clock(), by, "access.set_owner", target, details)


def claim(session: Session, by: Who, target: Target) -> None:
    """Make a new object that of its maker, in the transaction that makes it; one that has an owner keeps it."""
    row = _object(session, target)
    if row.owner_id is None:
        row.owner_id = by.id


def forget(session: Session, target: Target) -> None:
    """Forget the owner of an object that is deleted, and to whom it was allowed.

    What is denied and that it is restricted stays: who makes one of that name anew must not thereby open it.
    """
    row = session.get(ObjectAccessRow, (target.kind.value, _checked_name(target.name)))
    if row is not None:
        row.owner_id = None
    exact = (AccessEntryRow.kind == target.kind.value) & (AccessEntryRow.pattern == kept_name(target.name))
    session.execute(delete(AccessEntryRow).where(exact, AccessEntryRow.effect == Effect.ALLOW.value))


def _object(session: Session, target: Target) -> ObjectAccessRow:
    if target.kind not in LISTED:
        raise ValueError(f"{target} has no access list")
    name = _checked_name(target.name)
    row = session.get(ObjectAccessRow, (target.kind.value, name))
    if row is None:
        row = ObjectAccessRow(kind=target.kind.value, name=name, restricted=False)
        session.add(row)
    return row


def _check_entry(kind: ObjectKind, pattern: str, rights: Role | frozenset[Action]) -> None:
    _checked_name(pattern)
    if kind not in LISTED:
        raise HeadraceError(
            f"there are no access lists on a {kind}", hint=f"There are on: {', '.join(sorted(LISTED))}."
        )
    if pattern.count("*") > _MOST_STARS:
        raise HeadraceError(f"a pattern has at most {_MOST_STARS} stars")
    if isinstance(rights, Role):
        return
    if not rights:
        raise HeadraceError("an entry needs a role or at least one action")
    for action in sorted(rights):
        rule = rule_of(action)
        if rule.role is Role.ADMIN or not rule.kinds & LISTED:
            raise HeadraceError(f"{action} cannot be given or denied by an access list")


def _checked_name(name: str) -> str:
    if not 1 <= len(kept_name(name)) <= _LONGEST_NAME or not name.isprintable():
        raise HeadraceError(f"the name of an object has from 1 to {_LONGEST_NAME} characters that can be printed")
    return kept_name(name)


def _listed(session: Session, condition: ColumnElement[bool]) -> list[ListedEntry]:
    rows = session.execute(
        select(AccessEntryRow, UserRow.name, GroupRow.name)
        .outerjoin(UserRow, UserRow.id == AccessEntryRow.user_id)
        .outerjoin(GroupRow, GroupRow.id == AccessEntryRow.group_id)
        .where(condition)
        .order_by(AccessEntryRow.id)
    )
    return [ListedEntry(row.id, entry_of(row, user or group), row.created_at) for row, user, group in rows]


def _name_of(user: UserRow | None, group: GroupRow | None) -> str:
    named = user or group
    assert named is not None, "an entry names one of them"
    return named.name


def _whole(target: Target) -> Target:
    """Return an object with what it is in: a job is in the application of its name."""
    return replace(target, within=Target(ObjectKind.APPLICATION, target.name)) if target.kind is _JOB else target


def _target_of(session: Session, entry_id: int) -> tuple[Target, Effect]:
    row = session.get(AccessEntryRow, entry_id) if 0 < entry_id < 2**31 else None
    if row is None:
        raise NotFound("there is no such entry")
    return Target(ObjectKind(row.kind), row.pattern), Effect(row.effect)


def _details(listed: ListedEntry) -> dict[str, Detail]:
    entry = listed.entry
    rights = entry.rights
    what = rights.value if isinstance(rights, Role) else sorted(action.value for action in rights)
    return {"id": listed.id, "effect": entry.effect.value, entry.grantee.kind.value: entry.grantee.name, "rights": what}
