"""The secret of a browser's cookie goes in; who is logged in comes out, as long as the session lasts."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from headrace.records.access_tables import SessionRow, UserRow
from headrace.records.base import Clock
from headrace.records.database import Database
from headrace.server.access.access import Access
from headrace.server.access.audit import record
from headrace.server.access.decisions import Target, Who
from headrace.server.access.hidden import derived, digest, is_same, new_secret
from headrace.server.access.people import normal_name, user_named, who_of
from headrace.server.access.roles import Action, ObjectKind

__all__ = ["BrowserSession", "SessionLimits", "Sessions", "drop_sessions", "open_session"]

_LONGEST_SECRET = 128


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """How long a session lasts: after the log-in, and without being used. Use is noted ``every`` so often."""

    absolute: timedelta = timedelta(days=7)
    idle: timedelta = timedelta(hours=8)
    every: timedelta = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class BrowserSession:
    """Somebody who is logged in. The secret goes into the cookie, the CSRF token into pages and headers."""

    who: Who
    created_at: datetime
    expires_at: datetime
    secret: str = field(repr=False)
    must_change_password: bool = False
    """Whether nothing else can be done before: somebody else knows the password."""

    @property
    def csrf_token(self) -> str:
        """What a request that changes something must show besides the cookie; it belongs to this session alone."""
        return derived(self.secret, "csrf")

    def accepts(self, csrf_token: str | None) -> bool:
        """Say whether a request has shown this session's CSRF token."""
        return csrf_token is not None and is_same(csrf_token, self.csrf_token)


class Sessions:
    """The sessions of browsers."""

    def __init__(self, database: Database, clock: Clock, limits: SessionLimits | None = None) -> None:
        self._database, self._clock = database, clock
        self._access = Access(database, clock)
        self.limits = limits or SessionLimits()

    def find(self, secret: str | None) -> BrowserSession | None:
        """Return the session of a cookie, unless it is over, or its user is disabled or gone."""
        if not secret or len(secret) > _LONGEST_SECRET:
            return None
        now = self._clock()
        with self._database.reading() as session:
            query = select(SessionRow, UserRow).join(UserRow, UserRow.id == SessionRow.user_id)
            found = session.execute(query.where(SessionRow.secret_hash == digest(secret))).one_or_none()
            if found is None:
                return None
            row, user = found
            over = now >= row.expires_at or now >= row.last_used_at + self.limits.idle
            if over or user.disabled_at is not None:
                return None
            due = user.must_change_password
            open_one = BrowserSession(who_of(session, user), row.created_at, row.expires_at, secret, due)
            stale = now - row.last_used_at >= min(self.limits.every, self.limits.idle / 10)
        if stale:
            self._touch(secret, now)
        return open_one

    def end(self, secret: str) -> None:
        """Log out: forget one session. One that is over already is no mistake."""
        with self._database.transaction() as session:
            row = session.get(SessionRow, digest(secret))
            if row is None:
                return
            user = session.get_one(UserRow, row.user_id)
            session.delete(row)
            record(session, self._clock(), who_of(session, user), "session.end", _account(user.name))

    def end_all(self, by: Who, name: str) -> int:
        """Log a user out everywhere, oneself or as an admin another; return how many sessions that were."""
        target = _account(normal_name(name))
        action = Action.MANAGE_ACCOUNT if target.name == by.name else Action.MANAGE_USERS
        with self._access.changing(by, action, target) as session:
            user = user_named(session, name)
            count = drop_sessions(session, user.id)
            record(session, self._clock(), by, "session.end_all", _account(user.name), {"sessions": count})
        return count

    def _touch(self, secret: str, now: datetime) -> None:
        with self._database.transaction() as session:
            mine = SessionRow.secret_hash == digest(secret)
            session.execute(update(SessionRow).where(mine, SessionRow.last_used_at < now).values(last_used_at=now))


def open_session(session: Session, user: UserRow, now: datetime, limits: SessionLimits) -> BrowserSession:
    """Return a new session of a user; those of anybody that are over are cleared away."""
    over = (SessionRow.expires_at <= now) | (SessionRow.last_used_at <= now - limits.idle)
    session.execute(delete(SessionRow).where(over))
    due = user.must_change_password
    opened = BrowserSession(who_of(session, user), now, now + limits.absolute, new_secret(), due)
    session.add(
        SessionRow(
            secret_hash=digest(opened.secret),
            user_id=user.id,
            created_at=now,
            expires_at=opened.expires_at,
            last_used_at=now,
        )
    )
    return opened


def drop_sessions(session: Session, user_id: int) -> int:
    """Forget all sessions of a user; return how many there were."""
    gone = session.execute(delete(SessionRow).where(SessionRow.user_id == user_id).returning(SessionRow.secret_hash))
    return len(gone.all())


def _account(name: str) -> Target:
    return Target(ObjectKind.USER, name)
