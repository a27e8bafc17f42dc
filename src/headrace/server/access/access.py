"""A user, an action and an object go in; what the stored roles and access lists say about them comes out."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from sqlalchemy import select, tuple_
from sqlalchemy.orm import Session

from headrace.records.access_tables import AccessEntryRow, GroupRow, ObjectAccessRow, UserRow
from headrace.records.base import Clock
from headrace.records.database import Database, take_turns
from headrace.server.access.audit import AuditFilter, AuditPage, Outcome, audit_page, record
from headrace.server.access.decisions import Decision, Effect, Entry, Grantee, GranteeKind, Target, Who, may
from headrace.server.access.mistakes import Conflict, Forbidden
from headrace.server.access.roles import LISTED, Action, ObjectKind, Role, rule_of

__all__ = ["Access", "entry_of", "kept_name"]

_MANY = 10
"""Of more objects, all that is stored is read: to name each in the query costs more."""


class Access:
    """Answers *may this user do this to that* for all that the server does."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self.database, self.clock = database, clock

    def may(self, who: Who, action: Action, target: Target) -> Decision:
        """Decide; the owner and the restriction of the object, and of what it is in, are looked up."""
        with self.database.reading() as session:
            facts = _Facts.load(session, who, [target])
        return facts.decide(who, action, target)

    def require(self, who: Who, action: Action, target: Target) -> None:
        """Raise Forbidden unless somebody may; a change that is refused is noted in the audit log."""
        decision = self.may(who, action, target)
        if not decision:
            if rule_of(action).changes:
                self._note_refusal(who, action, target, decision)
            raise Forbidden(who, action, target, decision)

    def require_name(self, who: Who, action: Action, target: Target) -> None:
        """Raise unless somebody may do something to an object that need not be there yet.

        Of one that is hidden from them nothing is told but that its name is taken.
        """
        try:
            self.require(who, action, target)
        except Forbidden:
            if self.may(who, Action.SEE, target):
                raise
            by_role = may(who, action, Target(target.kind, target.name), ())
            if not by_role:
                raise Forbidden(who, action, target, by_role) from None
            raise Conflict(f'the name "{target.name}" cannot be used', hint="Choose another name.") from None

    def permitted(self, who: Who, action: Action, targets: Iterable[Target]) -> list[Target]:
        """Return those of many objects to which somebody may do something, in their order."""
        wanted = list(targets)
        with self.database.reading() as session:
            facts = _Facts.load(session, who, wanted)
        return [target for target in wanted if facts.decide(who, action, target)]

    @contextmanager
    def changing(self, by: Who, action: Action, target: Target) -> Iterator[Session]:
        """Give the transaction of a change to users and access, if somebody may make it; one is made at a time."""
        self.require(by, action, target)
        with self.database.transaction() as session:
            take_turns(session, "access")
            yield session

    def audit(
        self, by: Who, wanted: AuditFilter | None = None, *, limit: int = 100, before: int | None = None
    ) -> AuditPage:
        """Return a page of the audit log to one who may read it."""
        self.require(by, Action.READ_AUDIT, Target(ObjectKind.SYSTEM))
        with self.database.reading() as session:
            return audit_page(session, wanted, limit=limit, before=before)

    def _note_refusal(self, who: Who, action: Action, target: Target, decision: Decision) -> None:
        with self.database.transaction() as session:
            name, details = f"{target.kind}.{action}", {"reason": decision.reason}
            record(session, self.clock(), who, name, target, details, outcome=Outcome.REFUSED)


@dataclass(frozen=True, slots=True)
class _Facts:
    """What is stored about somebody and about some objects."""

    entries: Sequence[Entry]
    objects: dict[tuple[str, str], tuple[int | None, bool]]
    """The owner and the restriction of those that have one."""

    @classmethod
    def load(cls, session: Session, who: Who, targets: Sequence[Target]) -> "_Facts":
        listed = [each for target in targets for each in target.chain() if each.kind in LISTED]
        if not listed:
            return cls((), {})
        keys = {_key(each) for each in listed if each.name.isprintable()}  # nothing is stored about others
        mine = (AccessEntryRow.user_id == who.id) | AccessEntryRow.group_id.in_(who.groups)
        rows = session.execute(
            select(AccessEntryRow, UserRow.name, GroupRow.name)
            .outerjoin(UserRow, UserRow.id == AccessEntryRow.user_id)
            .outerjoin(GroupRow, GroupRow.id == AccessEntryRow.group_id)
            .where(mine)
        )
        entries = [entry_of(row, user or group) for row, user, group in rows]
        kept = ObjectAccessRow
        query = select(kept.kind, kept.name, kept.owner_id, kept.restricted)
        if len(keys) <= _MANY:
            query = query.where(tuple_(kept.kind, kept.name).in_(sorted(keys)))
        return cls(entries, {(kind, name): (owner, closed) for kind, name, owner, closed in session.execute(query)})

    def decide(self, who: Who, action: Action, target: Target) -> Decision:
        return may(who, action, self._complete(target), self.entries)

    def _complete(self, target: Target) -> Target:
        within = None if target.within is None else self._complete(target.within)
        kept = self.objects.get(_key(target)) if target.kind in LISTED else None
        if kept is None:
            return replace(target, within=within)
        owner, restricted = kept
        owner = target.owner if owner is None else owner
        return replace(target, within=within, owner=owner, restricted=restricted or target.restricted)


def entry_of(row: AccessEntryRow, name: str) -> Entry:
    """Return a stored entry, as decisions take it; ``name`` is that of the user or group."""
    user, group = row.user_id, row.group_id
    grantee = (
        Grantee(GranteeKind.USER, user, name) if user is not None else Grantee(GranteeKind.GROUP, group or 0, name)
    )
    rights = Role(row.role) if row.role is not None else frozenset(Action(each) for each in row.actions or ())
    return Entry(Effect(row.effect), grantee, ObjectKind(row.kind), row.pattern, rights)


def kept_name(name: str) -> str:
    """Return the name of an object as it is stored: names are compared without regard to case."""
    return name.casefold()


def _key(target: Target) -> tuple[str, str]:
    return target.kind.value, kept_name(target.name)
