"""A database and a clock go in; everything about users and access, put together once, comes out."""

from dataclasses import dataclass

from headrace.records.base import Clock
from headrace.records.database import Database
from headrace.server.access.access import Access
from headrace.server.access.attempts import AttemptLimits
from headrace.server.access.groups import Groups
from headrace.server.access.lists import AccessLists
from headrace.server.access.login import LogIn
from headrace.server.access.passwords import Passwords
from headrace.server.access.sessions import SessionLimits, Sessions
from headrace.server.access.tokens import Tokens
from headrace.server.access.users import Users

__all__ = ["AccessControl", "access_control"]


@dataclass(frozen=True, slots=True)
class AccessControl:
    """What REST and the console call."""

    access: Access
    lists: AccessLists
    users: Users
    groups: Groups
    tokens: Tokens
    sessions: Sessions
    login: LogIn


def access_control(
    database: Database,
    clock: Clock,
    passwords: Passwords | None = None,
    *,
    attempt_limits: AttemptLimits | None = None,
    session_limits: SessionLimits | None = None,
) -> AccessControl:
    """Return everything about users and access over one database."""
    passwords = passwords or Passwords()
    return AccessControl(
        access=Access(database, clock),
        lists=AccessLists(database, clock),
        users=Users(database, clock, passwords, limits=attempt_limits),
        groups=Groups(database, clock),
        tokens=Tokens(database, clock),
        sessions=Sessions(database, clock, session_limits),
        login=LogIn(database, clock, passwords, limits=attempt_limits, session_limits=session_limits),
    )
