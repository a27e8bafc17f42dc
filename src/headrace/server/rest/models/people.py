"""Requests and answers about users, tokens, access lists and the audit log."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from headrace.server.access.audit import Outcome
from headrace.server.access.decisions import Effect, GranteeKind
from headrace.server.access.roles import Action, ObjectKind, Role
from headrace.server.rest.models.fields import PersonName, Secret, Wish, example

__all__ = [
    "AccessEntry",
    "AccessEntryWish",
    "AccessWish",
    "AuditEntry",
    "Group",
    "GroupWish",
    "LogIn",
    "LoggedIn",
    "Me",
    "NewPassword",
    "NewToken",
    "ObjectAccess",
    "PasswordChange",
    "PasswordWish",
    "Token",
    "TokenWish",
    "User",
    "UserChange",
    "UserWish",
]

_TOKEN = {
    "id": "9ba736c34d62049e",
    "name": "laptop",
    "user": "ann",
    "role": "viewer",
    "created_at": "2024-05-01T10:00:00Z",
    "expires_at": "2024-05-31T10:00:00Z",
    "revoked_at": None,
    "last_used_at": None,
}
_ENTRY = {
    "id": 1,
    "effect": "allow",
    "kind": "job",
    "pattern": "fraud",
    "grantee_kind": "group",
    "grantee": "ops",
    "role": "operator",
    "actions": None,
    "created_at": "2024-05-01T10:00:00Z",
}


class LogIn(Wish):
    """Who wants to log in."""

    model_config = example(name="ann", password="correct-kettle-marble")

    name: Annotated[str, Field(min_length=1, max_length=200, examples=["ann"])]
    password: Secret


class Me(BaseModel):
    """Who asks; ``csrf_token`` is that of the session, null for a token."""

    model_config = example(name="ann", role="developer", csrf_token="9f2b6c", must_change_password=False)

    name: str = Field(examples=["ann"])
    role: Role
    csrf_token: str | None = None
    must_change_password: bool = Field(False, description="Nothing else is answered before POST /me/password.")


class LoggedIn(Me):
    """A new session: its secret is in the cookie, its CSRF token here."""

    model_config = example(
        name="ann", role="developer", csrf_token="9f2b6c", must_change_password=False, expires_at="2024-05-01T22:00:00Z"
    )

    expires_at: datetime


class PasswordChange(Wish):
    """One's own new password; every session ends."""

    model_config = example(current="correct-kettle-marble", new="brisk-lantern-orchard")

    current: Secret
    new: Secret


class NewPassword(BaseModel):
    """A user with a random password, which is told this once."""

    model_config = example(name="bob", password="brisk-lantern-orchard")

    name: str
    password: str | None = Field(description="Null if the request has chosen it.")


class User(BaseModel):
    """A user, without secrets."""

    model_config = example(
        name="ann",
        role="developer",
        groups=["ops"],
        active=True,
        must_change_password=False,
        created_at="2024-05-01T10:00:00Z",
        last_seen_at="2024-05-01T10:05:00Z",
    )

    name: str = Field(examples=["ann"])
    role: Role
    groups: list[str]
    active: bool
    must_change_password: bool
    created_at: datetime
    last_seen_at: datetime | None = Field(description="To the minute; null in answers to changes, and if not known.")


class UserWish(Wish):
    """A new user; without a password a random one is made and told once."""

    model_config = example(name="bob", role="operator")

    name: PersonName
    role: Role = Role.VIEWER
    password: Secret | None = None
    must_change_password: bool = Field(True, description="The user must choose their own before anything else.")


class UserChange(Wish):
    """What is to be changed of a user; what is not given stays."""

    model_config = example(role="developer", groups=["ops"])

    role: Role | None = None
    active: bool | None = None
    groups: Annotated[list[PersonName], Field(max_length=100)] | None = None


class PasswordWish(Wish):
    """A new password for a user; a random one without it."""

    model_config = example(password="brisk-lantern-orchard", must_change_password=True)

    password: Secret | None = None
    must_change_password: bool = Field(True, description="The user must choose their own before anything else.")


class Group(BaseModel):
    """A group and its members."""

    model_config = example(name="ops", members=["ann", "bob"], created_at="2024-05-01T10:00:00Z")

    name: str = Field(examples=["ops"])
    members: list[str]
    created_at: datetime


class GroupWish(Wish):
    """A new group."""

    model_config = example(name="ops")

    name: PersonName


class Token(BaseModel):
    """A token, without its secret."""

    model_config = example(**_TOKEN)

    id: str
    name: str
    user: str
    role: Role | None = Field(description="The role to which it is narrowed.")
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None
    last_used_at: datetime | None


class TokenWish(Wish):
    """A new token."""

    model_config = example(name="laptop", role="viewer", days=30)

    name: Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[ -~]*[!-~][ -~]*$", examples=["laptop"])]
    role: Role | None = None
    days: Annotated[int, Field(ge=1, le=366)] = 90


class NewToken(BaseModel):
    """A token with its text, which is told this once."""

    model_config = example(token=_TOKEN, text="hr_9ba736c34d62049e_…")

    token: Token
    text: str = Field(examples=["hr_0123456789abcdef_…"])


class AccessEntryWish(Wish):
    """A line of an access list: a role, or some actions, for a user or a group."""

    model_config = example(effect="allow", kind="job", pattern="fraud", group="ops", role="operator")

    effect: Effect
    kind: Literal[ObjectKind.APPLICATION, ObjectKind.JOB, ObjectKind.STREAM, ObjectKind.VIEW]
    pattern: Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f]+$", examples=["prod-*"])]
    user: PersonName | None = None
    group: PersonName | None = None
    role: Role | None = None
    actions: Annotated[list[Action], Field(max_length=30)] | None = None


class AccessEntry(BaseModel):
    """A line of an access list."""

    model_config = example(**_ENTRY)

    id: int
    effect: Effect
    kind: ObjectKind
    pattern: str
    grantee_kind: GranteeKind
    grantee: str
    role: Role | None
    actions: list[Action] | None
    created_at: datetime


class ObjectAccess(BaseModel):
    """Who owns an object, whether only those on its list reach it, and the lines about it."""

    model_config = example(owner="ann", restricted=True, entries=[_ENTRY])

    owner: str | None
    restricted: bool
    entries: list[AccessEntry]


class AccessWish(Wish):
    """What is to be changed about an object; what is not given stays. An owner of "" is nobody."""

    model_config = example(restricted=True, owner="ann")

    restricted: bool | None = None
    owner: Annotated[str, Field(max_length=64, pattern=r"^[ -~]*$")] | None = None


class AuditEntry(BaseModel):
    """Who did what to which object, and when."""

    model_config = example(
        id=5,
        at="2024-05-01T10:05:00Z",
        actor="ann",
        token_id=None,
        address="127.0.0.1",
        action="job.stop",
        target_kind="job",
        target_name="fraud",
        outcome="done",
        details={},
    )

    id: int
    at: datetime
    actor: str
    token_id: str | None
    address: str | None
    action: str = Field(examples=["job.stop"])
    target_kind: str
    target_name: str
    outcome: Outcome
    details: dict[str, Any]
