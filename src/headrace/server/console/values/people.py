"""People and what they may, as the pages show them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

__all__ = ["AuditEntry", "AuditPage", "Entry", "Group", "Me", "NewToken", "Target", "Token", "User"]


@dataclass(frozen=True, slots=True)
class Me:
    """Who is logged in."""

    name: str
    role: str
    must_change_password: bool = False


@dataclass(frozen=True, slots=True)
class Target:
    """What something is done to: ``kind`` is application, job, stream, view, user, group or system."""

    kind: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class User:
    """Somebody who can log in."""

    name: str
    role: str
    groups: tuple[str, ...]
    active: bool = True
    last_seen_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """Users with a name in common."""

    name: str
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Token:
    """A token for programs, without its secret."""

    id: str
    name: str
    owner: str
    role: str
    made_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token with its secret, which is shown this once."""

    token: Token
    secret: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of an access list: who may (or may not) what on which objects."""

    id: str
    effect: Literal["allow", "deny"]
    grantee_kind: Literal["user", "group"]
    grantee: str
    kind: str
    pattern: str
    rights: str
    """A role, or actions separated by commas."""


@dataclass(frozen=True, slots=True)
class Shares:
    """Who may reach an object: its owner, whether its list alone decides, and the lines about it."""

    owner: str | None
    restricted: bool
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """What somebody did; ``detail`` says more about it."""

    at: datetime
    user: str
    action: str
    target: str
    outcome: str
    address: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class AuditPage:
    """Some entries, newest first; ``older`` says where the page behind them begins, if there is one."""

    entries: tuple[AuditEntry, ...]
    older: int | None = None
