"""A role goes in, what it allows on what kinds of objects comes out: one table, read by all that decides."""

from dataclasses import dataclass
from enum import Enum, StrEnum
from functools import total_ordering

__all__ = ["RULES", "Action", "ObjectKind", "Role", "Rule", "allowed_by", "rule_of"]


@total_ordering
class Role(Enum):
    """What a user is; each may all that those before it may.

    >>> Role.VIEWER < Role.OPERATOR < Role.DEVELOPER < Role.ADMIN
    True
    """

    VIEWER = "viewer"
    OPERATOR = "operator"
    DEVELOPER = "developer"
    ADMIN = "admin"

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, Role):
            return NotImplemented
        order = list(Role)
        return order.index(self) < order.index(other)


class ObjectKind(StrEnum):
    """What something is done to."""

    APPLICATION = "application"
    JOB = "job"
    STREAM = "stream"
    VIEW = "view"
    USER = "user"
    GROUP = "group"
    SYSTEM = "system"


class Action(StrEnum):
    """What can be done."""

    SEE = "see"
    READ_ROWS = "read_rows"
    TAP = "tap"
    READ_LOGS = "read_logs"
    MANAGE_ACCOUNT = "manage_account"
    START = "start"
    STOP = "stop"
    RESTART = "restart"
    SAVEPOINT = "savepoint"
    ACKNOWLEDGE = "acknowledge"
    CHECK = "check"
    TRY = "try"
    SUBMIT = "submit"
    UPGRADE = "upgrade"
    EDIT = "edit"
    EDIT_DASHBOARD = "edit_dashboard"
    EDIT_ALERTS = "edit_alerts"
    REPLAY = "replay"
    DELETE = "delete"
    SHARE = "share"
    MANAGE_USERS = "manage_users"
    MANAGE_GROUPS = "manage_groups"
    MANAGE_ACCESS = "manage_access"
    READ_AUDIT = "read_audit"
    CHANGE_SETTINGS = "change_settings"


@dataclass(frozen=True, slots=True)
class Rule:
    """Who may take an action, and on what.

    Code is what runs, or reads files, as the server's own user: no access list can give it to one whose role
    does not allow it. What needs ``admin`` cannot be given by a list either.
    """

    action: Action
    role: Role
    kinds: frozenset[ObjectKind]
    words: str
    code: bool = False
    owners: bool = False
    """Whether it is for the owner of an object, and admins, alone."""

    @property
    def changes(self) -> bool:
        """Whether it is more than looking, so that who is refused it is noted in the audit log."""
        return self.role > Role.VIEWER or self.action is Action.MANAGE_ACCOUNT

    @property
    def can_be_granted(self) -> bool:
        """Whether an access list can give it to one whose role does not."""
        own = self.owners or self.action is Action.MANAGE_ACCOUNT
        return not self.code and self.role < Role.ADMIN and not own


_APPLICATION, _JOB, _STREAM, _VIEW, _USER, _GROUP, _SYSTEM = (frozenset({kind}) for kind in ObjectKind)
_RUNNING = _APPLICATION | _JOB
LISTED = _RUNNING | _STREAM | _VIEW
"""The kinds that have access lists."""

RULES: tuple[Rule, ...] = (
    Rule(Action.SEE, Role.VIEWER, LISTED | _SYSTEM, "see that it is there, its state, topology and metrics"),
    Rule(Action.READ_ROWS, Role.VIEWER, _VIEW | _JOB | _STREAM, "read and query rows, late and dead ones too"),
    Rule(Action.TAP, Role.VIEWER, _STREAM | _VIEW, "follow rows as they come"),
    Rule(Action.READ_LOGS, Role.VIEWER, _RUNNING, "read logs"),
    Rule(Action.MANAGE_ACCOUNT, Role.VIEWER, _USER, "change the own password, tokens and sessions"),
    Rule(Action.START, Role.OPERATOR, _RUNNING, "start"),
    Rule(Action.STOP, Role.OPERATOR, _RUNNING, "stop"),
    Rule(Action.RESTART, Role.OPERATOR, _RUNNING, "restart, also from a savepoint"),
    Rule(Action.SAVEPOINT, Role.OPERATOR, _RUNNING, "make a savepoint"),
    Rule(Action.ACKNOWLEDGE, Role.OPERATOR, _RUNNING, "acknowledge alerts"),
    Rule(Action.CHECK, Role.DEVELOPER, _APPLICATION | _SYSTEM, "check and explain SQL", code=True),
    Rule(Action.TRY, Role.DEVELOPER, _APPLICATION | _SYSTEM, "run SQL without submitting it", code=True),
    Rule(Action.SUBMIT, Role.DEVELOPER, _APPLICATION, "submit", code=True),
    Rule(Action.UPGRADE, Role.DEVELOPER, _RUNNING, "upgrade to a new version", code=True),
    Rule(Action.EDIT, Role.DEVELOPER, _APPLICATION, "edit the application", code=True),
    Rule(Action.EDIT_DASHBOARD, Role.DEVELOPER, _APPLICATION, "edit dashboards"),
    Rule(Action.EDIT_ALERTS, Role.DEVELOPER, _RUNNING, "edit rules of alerts"),
    Rule(Action.REPLAY, Role.DEVELOPER, LISTED, "replay, backfill and rebuild"),
    Rule(Action.DELETE, Role.DEVELOPER, LISTED, "delete"),
    Rule(Action.SHARE, Role.OPERATOR, _RUNNING, "allow a role on what one owns to others", owners=True),
    Rule(Action.MANAGE_USERS, Role.ADMIN, _USER, "manage users"),
    Rule(Action.MANAGE_GROUPS, Role.ADMIN, _GROUP, "manage groups"),
    Rule(Action.MANAGE_ACCESS, Role.ADMIN, LISTED, "change access lists and owners"),
    Rule(Action.READ_AUDIT, Role.ADMIN, _SYSTEM, "read the audit log"),
    Rule(Action.CHANGE_SETTINGS, Role.ADMIN, _SYSTEM, "change settings of the server"),
)
"""Which role is needed at least for which action, and on what kinds of objects it is taken."""

_BY_ACTION = {rule.action: rule for rule in RULES}


def rule_of(action: Action) -> Rule:
    """Return the rule of an action."""
    return _BY_ACTION[action]


def allowed_by(role: Role) -> frozenset[Action]:
    """Return all that a role allows.

    >>> Action.SUBMIT in allowed_by(Role.DEVELOPER), Action.SUBMIT in allowed_by(Role.OPERATOR)
    (True, False)
    """
    return frozenset(rule.action for rule in RULES if rule.role <= role)
