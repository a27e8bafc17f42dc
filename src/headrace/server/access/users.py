"""Changes of users go in; they are made if the one who wants them may, and noted in the audit log."""

from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from headrace.records.access_tables import UserRow
from headrace.records.base import Clock
from headrace.records.database import Database, take_turns
from headrace.server.access.access import Access
from headrace.server.access.attempts import AttemptLimits, begin_attempt, forgive
from headrace.server.access.audit import Outcome, record
from headrace.server.access.decisions import SYSTEM, Target, Who
from headrace.server.access.mistakes import Conflict, LogInFailed, WeakPassword
from headrace.server.access.passwords import Passwords, check_password, random_password
from headrace.server.access.people import User, free_name, last_seen, normal_name, user_named, user_of
from headrace.server.access.roles import Action, ObjectKind, Role
from headrace.server.access.sessions import drop_sessions

__all__ = ["FIRST_ADMIN", "Users", "ensure_admin", "give_role", "let_in", "lock_out"]

FIRST_ADMIN = "admin"


class Users:
    """The users of a server. Each function raises Forbidden if ``by`` may not."""

    def __init__(
        self, database: Database, clock: Clock, passwords: Passwords, *, limits: AttemptLimits | None = None
    ) -> None:
        self._database, self._clock, self._passwords = database, clock, passwords
        self._access = Access(database, clock)
        self._limits = limits or AttemptLimits()

    def all(self, by: Who) -> list[User]:
        """Return all users by their names."""
        self._access.require(by, Action.MANAGE_USERS, Target(ObjectKind.USER))
        with self._database.reading() as session:
            seen = last_seen(session)
            rows = session.scalars(select(UserRow).order_by(UserRow.name))
            return [user_of(session, row, seen.get(row.id)) for row in rows]

    def get(self, by: Who, name: str) -> User:
        """Return one user; everybody may see themselves."""
        if normal_name(name) != by.name:
            self._access.require(by, Action.MANAGE_USERS, _target(name))
        with self._database.reading() as session:
            row = user_named(session, name)
            return user_of(session, row, last_seen(session).get(row.id))

    def create(self, by: Who, name: str, role: Role, password: str, *, must_change: bool = False) -> User:
        """Make a user; one who ``must_change`` the password may do nothing else before."""
        self._access.require(by, Action.MANAGE_USERS, _target(name))
        check_password(normal_name(name), password)
        password_hash = self._passwords.hash(password)
        with self._access.changing(by, Action.MANAGE_USERS, _target(name)) as session:
            return user_of(session, _add(session, self._clock, by, name, role, password_hash, must_change))

    def rename(self, by: Who, name: str, new_name: str) -> User:
        """Give a user another name; tokens, sessions, groups and entries of lists stay theirs."""
        with self._access.changing(by, Action.MANAGE_USERS, _target(name)) as session:
            row = user_named(session, name)
            if normal_name(new_name) == row.name:
                return user_of(session, row)
            old, row.name = row.name, free_name(session, new_name, UserRow)
            record(session, self._clock(), by, "user.rename", _target(row.name), {"from": old})
            return user_of(session, row)

    def set_role(self, by: Who, name: str, role: Role) -> User:
        """Give a user another role; it counts from the next request on."""
        with self._access.changing(by, Action.MANAGE_USERS, _target(name)) as session:
            row = user_named(session, name)
            give_role(session, self._clock(), by, row, role)
            return user_of(session, row)

    def disable(self, by: Who, name: str) -> User:
        """Lock a user out: sessions end, tokens do not work until the user is enabled again."""
        with self._access.changing(by, Action.MANAGE_USERS, _target(name)) as session:
            row = user_named(session, name)
            lock_out(session, self._clock(), by, row)
            return user_of(session, row)

    def enable(self, by: Who, name: str) -> User:
        """Let a user in again."""
        with self._access.changing(by, Action.MANAGE_USERS, _target(name)) as session:
            row = user_named(session, name)
            let_in(session, self._clock(), by, row)
            return user_of(session, row)

    def delete(self, by: Who, name: str) -> None:
        """Delete a user with tokens, sessions and entries in lists; what they own is nobody's then."""
        with self._access.changing(by, Action.MANAGE_USERS, _target(name)) as session:
            row = user_named(session, name)
            _check_not_last_admin(session, row)
            session.delete(row)
            record(session, self._clock(), by, "user.delete", _target(row.name), {"role": row.role})

    def set_password(self, by: Who, name: str, password: str, *, must_change: bool = False) -> None:
        """Give a user a new password, as an admin; the user is logged out everywhere.

        An admin's token gives it to others, not to the admin: whoever found the token would have the account then.
        """
        self._access.require(by, Action.MANAGE_USERS, _target(name))
        if by.token is not None and normal_name(name) == by.name:
            self._access.require(by, Action.MANAGE_ACCOUNT, _target(name))
        self._replace_password(by, Action.MANAGE_USERS, name, password, must_change=must_change)

    def change_password(self, by: Who, current: str, password: str) -> None:
        """Change one's own password; one is logged out everywhere, the session of this request included.

        Guessing the current one is slowed down as at the log-in.
        """
        self._access.require(by, Action.MANAGE_ACCOUNT, _target(by.name))
        with self._database.transaction() as session:
            attempt = begin_attempt(session, by.name, None, self._clock(), self._limits)
            kept = user_named(session, by.name).password_hash
        if not self._passwords.verify(kept, current):
            with self._database.transaction() as session:
                details, refused = {"reason": "wrong current one"}, Outcome.REFUSED
                record(session, self._clock(), by, "user.set_password", _target(by.name), details, outcome=refused)
            raise LogInFailed
        with self._database.transaction() as session:
            forgive(session, by.name, None, attempt)
        if self._passwords.verify(kept, password):
            raise WeakPassword("the new password is the old one", hint="Choose another one.")
        self._replace_password(by, Action.MANAGE_ACCOUNT, by.name, password)

    def _replace_password(
        self, by: Who, action: Action, name: str, password: str, *, must_change: bool = False
    ) -> None:
        check_password(normal_name(name), password)
        password_hash = self._passwords.hash(password)
        with self._access.changing(by, action, _target(name)) as session:
            row, now = user_named(session, name), self._clock()
            row.password_hash, row.password_changed_at = password_hash, now
            row.must_change_password = must_change
            details = {"sessions": drop_sessions(session, row.id), "must_change": must_change}
            record(session, now, by, "user.set_password", _target(row.name), details)


def give_role(session: Session, now: datetime, by: Who, row: UserRow, role: Role) -> None:
    """Give a user another role, in the transaction of a change; the last admin stays one."""
    if role is not Role.ADMIN:
        _check_not_last_admin(session, row)
    details = {"from": row.role, "to": role.value}
    row.role = role.value
    record(session, now, by, "user.set_role", _target(row.name), details)


def lock_out(session: Session, now: datetime, by: Who, row: UserRow) -> None:
    """Disable a user and end their sessions, in the transaction of a change; the last admin stays."""
    _check_not_last_admin(session, row)
    row.disabled_at = row.disabled_at or now
    record(session, now, by, "user.disable", _target(row.name), {"sessions": drop_sessions(session, row.id)})


def let_in(session: Session, now: datetime, by: Who, row: UserRow) -> None:
    """Enable a user again, in the transaction of a change."""
    row.disabled_at = None
    record(session, now, by, "user.enable", _target(row.name))


def ensure_admin(
    database: Database, clock: Clock, passwords: Passwords | None = None, *, must_change: bool = False
) -> str | None:
    """Make the user ``admin`` if there is no user at all; return its random password, which is shown once."""
    with database.reading() as session:
        if session.scalar(select(func.count()).select_from(UserRow)):
            return None
    password = random_password()
    password_hash = (passwords or Passwords()).hash(password)
    with database.transaction() as session:
        take_turns(session, "access")
        if session.scalar(select(func.count()).select_from(UserRow)):
            return None  # another server was faster
        _add(session, clock, SYSTEM, FIRST_ADMIN, Role.ADMIN, password_hash, must_change)
    return password


def _add(
    session: Session, clock: Clock, by: Who, name: str, role: Role, password_hash: str, must_change: bool
) -> UserRow:
    now = clock()
    row = UserRow(
        name=free_name(session, name, UserRow),
        role=role.value,
        password_hash=password_hash,
        created_at=now,
        password_changed_at=now,
        must_change_password=must_change,
    )
    session.add(row)
    session.flush()
    record(session, now, by, "user.create", _target(row.name), {"role": role.value})
    return row


def _check_not_last_admin(session: Session, row: UserRow) -> None:
    if row.role != Role.ADMIN.value or row.disabled_at is not None:
        return
    others = (UserRow.role == Role.ADMIN.value) & UserRow.disabled_at.is_(None) & (UserRow.id != row.id)
    if session.scalar(select(UserRow.id).where(others).limit(1)) is None:
        raise Conflict(
            f"{row.name} is the last admin", hint="Make another user an admin first: without one nobody could manage."
        )


def _target(name: str) -> Target:
    return Target(ObjectKind.USER, normal_name(name))
