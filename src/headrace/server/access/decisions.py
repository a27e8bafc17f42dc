"""A user, an action, an object and access lists go in; whether the user may, and why, comes out.

The first line that fits decides:

1. A disabled user may nothing.
2. A token may not do more than the role to which it is narrowed, and may not touch its owner's account.
3. An admin may everything.
4. An account is its owner's; what needs an admin no list can give.
5. Code (submit, upgrade, edit, try, check) needs the role developer, whatever a list says. Sharing is for owners.
6. An entry that denies wins over all that follow, over ownership too.
7. The owner of an object, or of what it is in, may what his role allows.
8. An entry that allows gives what it names. A restricted object is opened only by entries that name it, or
   something in it, without a wildcard.
9. To a restricted object a role gives nothing.
10. Otherwise the role decides.

An object may be in another (a view in its job, a job in its application): entries, owners and restrictions of the
outer one hold for the inner one. Who is allowed anything on an object may see it; who may not see it may nothing.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from headrace.server.access.roles import Action, ObjectKind, Role, rule_of

__all__ = ["SYSTEM", "Decision", "Effect", "Entry", "Grantee", "GranteeKind", "Target", "Who", "may"]


@dataclass(frozen=True, slots=True)
class Who:
    """Somebody who wants something: a user, as a session or a token shows them.

    ``ceiling`` is the role to which a token is narrowed; ``token`` is the public id of that token.
    """

    id: int
    name: str
    role: Role
    groups: frozenset[int] = frozenset()
    active: bool = True
    ceiling: Role | None = None
    token: str | None = None

    @property
    def effective_role(self) -> Role:
        """The role that counts: the user's, or the lower one of the token."""
        return self.role if self.ceiling is None else min(self.role, self.ceiling)


SYSTEM = Who(0, "system", Role.ADMIN)
"""The server itself; no user has its number or its name."""


@dataclass(frozen=True, slots=True)
class Target:
    """What something is done to; names are compared without regard to case."""

    kind: ObjectKind
    name: str = ""
    owner: int | None = None
    restricted: bool = False
    within: "Target | None" = None

    def chain(self) -> Iterator["Target"]:
        """Give the object, then what it is in, from the inside out."""
        here: Target | None = self
        while here is not None:
            yield here
            here = here.within

    def __str__(self) -> str:
        return f'{self.kind} "{self.name}"' if self.name else f"the {self.kind}"


class Effect(StrEnum):
    """What an entry does."""

    ALLOW = "allow"
    DENY = "deny"


class GranteeKind(StrEnum):
    """Whom an entry can name."""

    USER = "user"
    GROUP = "group"


@dataclass(frozen=True, slots=True)
class Grantee:
    """The user or the group that an entry names."""

    kind: GranteeKind
    id: int
    name: str

    def includes(self, who: Who) -> bool:
        """Say whether somebody is named."""
        return who.id == self.id if self.kind is GranteeKind.USER else self.id in who.groups


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of an access list: a role or some actions, on one object or (``*`` and ``?``) on all of a kind.

    Allowing a role allows what it may; denying one denies all that needs at least that role.

    >>> ops = Grantee(GranteeKind.GROUP, 1, "ops")
    >>> Entry(Effect.DENY, ops, ObjectKind.JOB, "prod-*", Role.OPERATOR).covers(Action.STOP)
    True
    >>> Entry(Effect.DENY, ops, ObjectKind.JOB, "prod-*", Role.OPERATOR).covers(Action.SEE)
    False
    """

    effect: Effect
    grantee: Grantee
    kind: ObjectKind
    pattern: str
    rights: Role | frozenset[Action]

    @property
    def is_exact(self) -> bool:
        """Whether it names one object."""
        return not ("*" in self.pattern or "?" in self.pattern)

    def names(self, target: Target) -> bool:
        """Say whether it is about an object: by its name, or by the name as lists keep it, where ß has two letters."""
        if self.kind is not target.kind:
            return False
        pattern = _pattern(self.pattern.casefold())
        return any(pattern.fullmatch(name) is not None for name in (target.name, target.name.casefold()))

    def covers(self, action: Action) -> bool:
        """Say whether it is about an action."""
        if isinstance(self.rights, Role):
            needed = rule_of(action).role
            return needed <= self.rights if self.effect is Effect.ALLOW else needed >= self.rights
        if self.effect is Effect.ALLOW:
            return action in self.rights or (action is Action.SEE and bool(self.rights))
        return action in self.rights or Action.SEE in self.rights


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether somebody may do something, and why (a part of a sentence)."""

    allowed: bool
    reason: str

    def __bool__(self) -> bool:
        return self.allowed


def may(who: Who, action: Action, target: Target, entries: Iterable[Entry] = ()) -> Decision:
    """Decide whether somebody may do something to an object; the module says by what rules.

    >>> ann = Who(1, "ann", Role.VIEWER)
    >>> may(ann, Action.STOP, Target(ObjectKind.JOB, "fraud"))
    Decision(allowed=False, reason='it needs the role operator, and ann is viewer')
    """
    rule = rule_of(action)
    if target.kind not in rule.kinds:
        raise ValueError(f"{action} is nothing that is done to {target}")
    role = who.effective_role
    if not who.active:
        return _no(f"{who.name} is disabled")
    if who.token is not None and action is Action.MANAGE_ACCOUNT:
        return _no("a token cannot change accounts")
    if who.ceiling is not None and rule.role > who.ceiling:
        return _no(f"it needs the role {rule.role.value}, and the token is narrowed to {who.ceiling.value}")
    if role is Role.ADMIN:
        return _yes("an admin may everything")
    if action is Action.MANAGE_ACCOUNT:
        own = target.name.casefold() == who.name.casefold()
        return _yes("the account is theirs") if own else _no("the account is somebody else's")
    if not rule.can_be_granted and role < rule.role:
        return _no(_needs(rule.role, who) + (", whatever a list says" if rule.code else ""))
    return _by_lists(who, action, target, [entry for entry in entries if entry.grantee.includes(who)])


def _by_lists(who: Who, action: Action, target: Target, entries: list[Entry]) -> Decision:
    role, needed = who.effective_role, rule_of(action).role
    chain = list(target.chain())
    owned = any(each.owner == who.id for each in chain)
    if rule_of(action).owners and not owned:
        return _no(f"only its owner and admins may, and {who.name} does not own it")
    covering = [entry for entry in entries if entry.covers(action)]
    for entry in covering:
        if entry.effect is Effect.DENY and any(entry.names(each) for each in chain):
            return _no(f"it is denied to {_words(entry)}")
    if needed <= role and owned:
        return _yes(f"{who.name} owns it")
    closed = next((place for place, each in enumerate(chain) if each.restricted), None)
    for entry in covering:
        if entry.effect is Effect.ALLOW:
            where = [place for place, each in enumerate(chain) if entry.names(each)]
            if where and (closed is None or (entry.is_exact and where[0] <= closed)):
                return _yes(f"it is allowed to {_words(entry)}")
    if closed is not None:
        return _no(f"{chain[closed]} is restricted, and no entry of its list gives this to {who.name}")
    return _yes(f"the role {role.value} allows it") if needed <= role else _no(_needs(needed, who))


def _yes(reason: str) -> Decision:
    return Decision(True, reason)


def _no(reason: str) -> Decision:
    return Decision(False, reason)


def _needs(role: Role, who: Who) -> str:
    return f"it needs the role {role.value}, and {who.name} is {who.effective_role.value}"


def _words(entry: Entry) -> str:
    return f'{entry.grantee.kind} {entry.grantee.name} on {entry.kind} "{entry.pattern}"'


def _pattern(pattern: str) -> re.Pattern[str]:
    wild = {"*": ".*", "?": "."}
    text = "".join(wild.get(letter, re.escape(letter)) for letter in pattern)
    return re.compile(text, re.IGNORECASE | re.DOTALL)
