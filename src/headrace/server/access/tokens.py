"""The text of an API token goes in; for whom it acts, and with what role at most, comes out."""

import re
import secrets
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from headrace.errors import HeadraceError
from headrace.records.access_tables import ApiTokenRow, UserRow
from headrace.records.base import Clock
from headrace.records.database import Database
from headrace.server.access.access import Access
from headrace.server.access.audit import record
from headrace.server.access.decisions import Target, Who
from headrace.server.access.hidden import digest, is_same, new_secret
from headrace.server.access.mistakes import Conflict, NotFound
from headrace.server.access.people import normal_name, user_named, who_of
from headrace.server.access.roles import Action, ObjectKind, Role

__all__ = ["NewToken", "Token", "Tokens"]

LIFETIME, LONGEST_LIFETIME = timedelta(days=90), timedelta(days=366)
NOTE_USE_EVERY = timedelta(minutes=1)
_LONGEST_NAME = 64
_ID = re.compile("[0-9a-f]{16}")
_TEXT = re.compile("hr_([0-9a-f]{16})_([0-9a-f]{64})")
_NOBODY = digest("")


@dataclass(frozen=True, slots=True)
class Token:
    """What is known of a token; ``role`` is the one to which it is narrowed."""

    id: str
    user: str
    name: str
    role: Role | None
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None
    last_used_at: datetime | None

    def is_live(self, now: datetime) -> bool:
        """Say whether it can be used."""
        return self.revoked_at is None and now < self.expires_at


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token that was just made, with its text ``hr_<id>_<secret>``, which nobody can read again."""

    token: Token
    text: str = field(repr=False)


class Tokens:
    """API tokens: each acts for one user, expires, and can be revoked."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database, self._clock = database, clock
        self._access = Access(database, clock)

    def create(
        self, by: Who, user: str, name: str, *, role: Role | None = None, lifetime: timedelta = LIFETIME
    ) -> NewToken:
        """Make a token for a user, narrowed to a role if one is given."""
        name = _checked_name(name)
        if not timedelta(0) < lifetime <= LONGEST_LIFETIME:
            raise HeadraceError(f"a token lasts for more than nothing and at most {LONGEST_LIFETIME.days} days")
        with self._access.changing(by, Action.MANAGE_ACCOUNT, _account(user)) as session:
            owner, now = user_named(session, user), self._clock()
            if role is not None and role > Role(owner.role):
                raise Conflict(f"{owner.name} is {owner.role}: a token cannot be {role.value}")
            taken = (ApiTokenRow.user_id == owner.id) & (ApiTokenRow.name == name)
            live = ApiTokenRow.revoked_at.is_(None) & (ApiTokenRow.expires_at > now)
            if session.scalar(select(ApiTokenRow.id).where(taken, live)) is not None:
                raise Conflict(f'{owner.name} has a token "{name}" already')
            secret = new_secret()
            row = ApiTokenRow(
                id=secrets.token_hex(8),
                user_id=owner.id,
                name=name,
                secret_hash=digest(secret),
                role=None if role is None else role.value,
                created_at=now,
                expires_at=now + lifetime,
            )
            session.add(row)
            details = {"id": row.id, "name": name, "role": row.role, "expires_at": row.expires_at.isoformat()}
            record(session, now, by, "token.create", _account(owner.name), details)
            return NewToken(_token(row, owner.name), f"hr_{row.id}_{secret}")

    def find(self, text: str) -> Who | None:
        """Return for whom a token acts, or None if it cannot be used: unknown, wrong, expired, revoked, disabled."""
        if not (parsed := _TEXT.fullmatch(text)):
            return None
        token_id, secret = parsed.groups()
        now = self._clock()
        with self._database.reading() as session:
            query = select(ApiTokenRow, UserRow).join(UserRow, UserRow.id == ApiTokenRow.user_id)
            found = session.execute(query.where(ApiTokenRow.id == token_id)).one_or_none()
            fits = is_same(digest(secret), _NOBODY if found is None else found[0].secret_hash)
            if found is None or not fits:
                return None
            row, user = found
            if not _token(row, user.name).is_live(now) or user.disabled_at is not None:
                return None
            who = who_of(session, user, ceiling=None if row.role is None else Role(row.role), token=row.id)
            stale = row.last_used_at is None or now - row.last_used_at >= NOTE_USE_EVERY
        if stale:
            self._touch(token_id, now)
        return who

    def of_user(self, by: Who, user: str) -> list[Token]:
        """Return a user's tokens, newest first, those that are over too."""
        self._access.require(by, Action.MANAGE_ACCOUNT, _account(user))
        with self._database.reading() as session:
            owner = user_named(session, user)
            rows = session.scalars(select(ApiTokenRow).where(ApiTokenRow.user_id == owner.id))
            return sorted((_token(row, owner.name) for row in rows), key=lambda each: each.created_at, reverse=True)

    def revoke(self, by: Who, token_id: str) -> None:
        """Make a token useless from now on; one that is so already stays as it is."""
        with self._database.reading() as session:
            owner = _owner(session, token_id)
        with self._access.changing(by, Action.MANAGE_ACCOUNT, _account(owner)) as session:
            row = session.get(ApiTokenRow, token_id)
            if row is not None and row.revoked_at is None:
                row.revoked_at = self._clock()
                record(session, row.revoked_at, by, "token.revoke", _account(owner), {"id": row.id, "name": row.name})

    def _touch(self, token_id: str, now: datetime) -> None:
        with self._database.transaction() as session:
            session.execute(update(ApiTokenRow).where(ApiTokenRow.id == token_id).values(last_used_at=now))


def _checked_name(name: str) -> str:
    normal = " ".join(name.split())
    if not normal or len(normal) > _LONGEST_NAME or not normal.isprintable():
        raise HeadraceError(f"a token needs a name of 1 to {_LONGEST_NAME} characters that can be printed")
    return normal


def _owner(session: Session, token_id: str) -> str:
    query = select(UserRow.name).join(ApiTokenRow, ApiTokenRow.user_id == UserRow.id)
    name = session.scalar(query.where(ApiTokenRow.id == token_id)) if _ID.fullmatch(token_id) else None
    if name is None:
        raise NotFound("there is no such token")
    return name


def _token(row: ApiTokenRow, user: str) -> Token:
    return Token(
        id=row.id,
        user=user,
        name=row.name,
        role=None if row.role is None else Role(row.role),
        created_at=row.created_at,
        expires_at=row.expires_at,
        revoked_at=row.revoked_at,
        last_used_at=row.last_used_at,
    )


def _account(name: str) -> Target:
    return Target(ObjectKind.USER, normal_name(name))
