"""A name, a password and an address go in; a session comes out, or one message that tells nothing."""

from sqlalchemy.orm import Session

from headrace.records.access_tables import UserRow
from headrace.records.base import Clock
from headrace.records.database import Database
from headrace.server.access.attempts import AttemptLimits, begin_attempt, forgive, network_of
from headrace.server.access.audit import Outcome, record
from headrace.server.access.decisions import SYSTEM, Target, Who
from headrace.server.access.mistakes import LogInFailed
from headrace.server.access.passwords import Passwords
from headrace.server.access.people import UNKNOWN, find_user
from headrace.server.access.roles import ObjectKind, Role
from headrace.server.access.sessions import BrowserSession, SessionLimits, open_session

__all__ = ["LogIn"]


class LogIn:
    """Lets users in, and slows down those who guess."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        passwords: Passwords,
        *,
        limits: AttemptLimits | None = None,
        session_limits: SessionLimits | None = None,
    ) -> None:
        self._database, self._clock, self._passwords = database, clock, passwords
        self._limits = limits or AttemptLimits()
        self._session_limits = session_limits or SessionLimits()

    def log_in(self, name: str, password: str, address: str | None) -> BrowserSession:
        """Return a new session; raise LogInFailed, or TooManyAttempts before the password is looked at.

        The password is verified outside of any transaction: it takes long, and writers would wait for it.
        """
        with self._database.transaction() as session:
            attempt = begin_attempt(session, name, address, self._clock(), self._limits)
            user = find_user(session, name)
            kept = None if user is None else user.password_hash
        fits = self._passwords.verify(kept, password)
        renewed = self._passwords.renewed(kept, password) if fits and kept is not None else None
        with self._database.transaction() as session:
            user = None if user is None else session.get(UserRow, user.id, with_for_update=True)
            if user is not None and fits and user.password_hash == kept and user.disabled_at is None:
                return self._let_in(session, user, attempt, renewed, address)
            self._note_failure(session, user, address)
        raise LogInFailed

    def _let_in(
        self, session: Session, user: UserRow, attempt: int, renewed: str | None, address: str | None
    ) -> BrowserSession:
        now = self._clock()
        forgive(session, user.name, address, attempt)
        if renewed is not None:
            user.password_hash = renewed
        opened = open_session(session, user, now, self._session_limits)
        record(session, now, opened.who, "session.start", Target(ObjectKind.USER, user.name), address=_told(address))
        return opened

    def _note_failure(self, session: Session, user: UserRow | None, address: str | None) -> None:
        """Note who could not log in; a name that is no user's may be a password typed in the wrong place."""
        target = Target(ObjectKind.USER, UNKNOWN if user is None else user.name)
        why = "unknown user" if user is None else "wrong password, or disabled"
        nobody = Who(SYSTEM.id, UNKNOWN, Role.VIEWER, active=False)
        details, told = {"reason": why}, _told(address)
        record(session, self._clock(), nobody, "session.start", target, details, outcome=Outcome.REFUSED, address=told)


def _told(address: str | None) -> str | None:
    return None if address is None else network_of(address)
