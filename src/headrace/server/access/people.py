"""Rows of users and groups go in; users, groups and who they are to decisions come out."""

import re
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from headrace.errors import HeadraceError
from headrace.records.access_tables import ApiTokenRow, AuditRow, GroupMemberRow, GroupRow, SessionRow, UserRow
from headrace.server.access.audit import Outcome, plain_text
from headrace.server.access.decisions import SYSTEM, Who
from headrace.server.access.mistakes import Conflict, NotFound
from headrace.server.access.roles import Role

__all__ = [
    "Group",
    "User",
    "find_user",
    "free_name",
    "group_named",
    "last_seen",
    "normal_name",
    "user_named",
    "user_of",
    "who_of",
]

_NAME = re.compile(r"[a-z0-9][a-z0-9._@-]{0,63}")
UNKNOWN = "unknown"
"""How the audit log calls one who is no user."""


@dataclass(frozen=True, slots=True)
class User:
    """A user, without secrets."""

    id: int
    name: str
    role: Role
    groups: tuple[str, ...]
    created_at: datetime
    password_changed_at: datetime
    disabled_at: datetime | None
    must_change_password: bool = False
    last_seen_at: datetime | None = None
    """When they last logged in, or used a session or a token, to the minute; None if that is not known."""


@dataclass(frozen=True, slots=True)
class Group:
    """A group and the names of its members."""

    id: int
    name: str
    members: tuple[str, ...]
    created_at: datetime


def normal_name(name: str) -> str:
    """Return a name as it is stored: users and groups are told apart without regard to case.

    >>> normal_name(" Ann ")
    'ann'
    """
    return name.strip().lower()


def is_name(name: str) -> bool:
    """Say whether a user or a group can be called so; what cannot is not looked for."""
    return _NAME.fullmatch(name) is not None


def free_name(session: Session, name: str, table: type[UserRow] | type[GroupRow]) -> str:
    """Return the name for a new user or group as it is stored; raise unless it can be one and is free."""
    normal = normal_name(name)
    if not is_name(normal) or normal in (SYSTEM.name, UNKNOWN):
        raise HeadraceError(
            "that name cannot be used",
            hint="Use 1 to 64 letters, digits and . _ @ -, starting with a letter or a digit, and not a reserved word.",
        )
    if session.scalar(select(table.id).where(table.name == normal)) is not None:
        raise Conflict(f'there is a {"user" if table is UserRow else "group"} "{normal}" already')
    return normal


def user_named(session: Session, name: str) -> UserRow:
    """Return the row of a user; raise NotFound if there is none of that name."""
    row = find_user(session, name)
    if row is None:
        raise NotFound(f'there is no user "{plain_text(name)[:64]}"')
    return row


def find_user(session: Session, name: str) -> UserRow | None:
    """Return the row of a user, if there is one of that name."""
    normal = normal_name(name)
    return session.scalar(select(UserRow).where(UserRow.name == normal)) if is_name(normal) else None


def group_named(session: Session, name: str) -> GroupRow:
    """Return the row of a group; raise NotFound if there is none of that name."""
    normal = normal_name(name)
    row = session.scalar(select(GroupRow).where(GroupRow.name == normal)) if is_name(normal) else None
    if row is None:
        raise NotFound(f'there is no group "{plain_text(name)[:64]}"')
    return row


def last_seen(session: Session) -> dict[int, datetime]:
    """Return when each user was last seen: logging in, or with a session or a token that is still kept."""
    logged_in = (AuditRow.action == "session.start") & (AuditRow.outcome == Outcome.DONE.value)
    kept = (
        select(AuditRow.actor_id, func.max(AuditRow.at)).where(logged_in).group_by(AuditRow.actor_id),
        select(SessionRow.user_id, func.max(SessionRow.last_used_at)).group_by(SessionRow.user_id),
        select(ApiTokenRow.user_id, func.max(ApiTokenRow.last_used_at)).group_by(ApiTokenRow.user_id),
    )
    found: dict[int, datetime] = {}
    for query in kept:
        for user, at in session.execute(query):
            if user is not None and at is not None:
                found[user] = max(at, found.get(user, at))
    return found


def user_of(session: Session, row: UserRow, seen_at: datetime | None = None) -> User:
    """Return a user with the names of their groups."""
    groups = session.scalars(
        select(GroupRow.name)
        .join(GroupMemberRow, GroupMemberRow.group_id == GroupRow.id)
        .where(GroupMemberRow.user_id == row.id)
        .order_by(GroupRow.name)
    )
    return User(
        id=row.id,
        name=row.name,
        role=Role(row.role),
        groups=tuple(groups),
        created_at=row.created_at,
        password_changed_at=row.password_changed_at,
        disabled_at=row.disabled_at,
        must_change_password=row.must_change_password,
        last_seen_at=seen_at,
    )


def who_of(session: Session, row: UserRow, *, ceiling: Role | None = None, token: str | None = None) -> Who:
    """Return who a user is to decisions, with the groups and the role of this moment."""
    groups = session.scalars(select(GroupMemberRow.group_id).where(GroupMemberRow.user_id == row.id))
    return Who(
        id=row.id,
        name=row.name,
        role=Role(row.role),
        groups=frozenset(groups),
        active=row.disabled_at is None,
        ceiling=ceiling,
        token=token,
    )
