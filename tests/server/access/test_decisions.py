"""May this user do this to that: the table."""

from dataclasses import replace

import pytest

from headrace.server.access.decisions import Effect, Entry, Grantee, GranteeKind, Target, Who, may
from headrace.server.access.roles import RULES, Action, ObjectKind, Role

V, OP, D, A = Role
OPS = 7
ANN = {role: Who(1, "ann", role, frozenset({OPS})) for role in Role}
BOB = 2
APPLICATION, JOB, STREAM, VIEW = ObjectKind.APPLICATION, ObjectKind.JOB, ObjectKind.STREAM, ObjectKind.VIEW

TO_ANN = Grantee(GranteeKind.USER, 1, "ann")
TO_BOB = Grantee(GranteeKind.USER, BOB, "bob")
TO_OPS = Grantee(GranteeKind.GROUP, OPS, "ops")
TO_OTHERS = Grantee(GranteeKind.GROUP, 1, "others")  # a group with the number of the user


def allow(who: Grantee, kind: ObjectKind, pattern: str, rights: Role | set[Action]) -> Entry:
    return Entry(Effect.ALLOW, who, kind, pattern, rights if isinstance(rights, Role) else frozenset(rights))


def deny(who: Grantee, kind: ObjectKind, pattern: str, rights: Role | set[Action]) -> Entry:
    return replace(allow(who, kind, pattern, rights), effect=Effect.DENY)


FRAUD = Target(JOB, "fraud")
STREET = Target(JOB, "Straße")
OWN = Target(JOB, "fraud", owner=1)
CLOSED = Target(JOB, "fraud", owner=BOB, restricted=True)
CLOSED_OWN = Target(JOB, "fraud", owner=1, restricted=True)
SHOP = Target(APPLICATION, "shop")
SHOP_JOB = Target(JOB, "shop-1", within=SHOP)
SHOP_VIEW = Target(VIEW, "sales", within=SHOP_JOB)
CLOSED_SHOP = replace(SHOP, restricted=True)
CLOSED_SHOP_VIEW = Target(VIEW, "sales", within=Target(JOB, "shop-1", within=CLOSED_SHOP))
CLOSED_VIEW = replace(SHOP_VIEW, restricted=True)
OWN_SHOP_JOB = Target(JOB, "shop-1", within=replace(SHOP, owner=1))
OWN_SHOP_VIEW = Target(VIEW, "sales", within=Target(JOB, "shop-1", within=replace(CLOSED_SHOP, owner=1)))

SEE, ROWS, LOGS, STOP, START = Action.SEE, Action.READ_ROWS, Action.READ_LOGS, Action.STOP, Action.START
SUBMIT, UPGRADE, DELETE, REPLAY = Action.SUBMIT, Action.UPGRADE, Action.DELETE, Action.REPLAY
SHARE = Action.SHARE

TABLE = [
    # what an entry of a list widens
    ("nothing", V, STOP, FRAUD, [], False, "needs the role operator, and ann is viewer"),
    ("a role on one object", V, STOP, FRAUD, [allow(TO_ANN, JOB, "fraud", OP)], True, "allowed to user ann"),
    ("a role to a group", V, STOP, FRAUD, [allow(TO_OPS, JOB, "fraud", OP)], True, "allowed to group ops"),
    ("no more than the role", V, DELETE, FRAUD, [allow(TO_ANN, JOB, "fraud", OP)], False, "needs the role developer"),
    ("an action", V, STOP, FRAUD, [allow(TO_ANN, JOB, "fraud", {STOP})], True, "allowed to user ann"),
    ("another action", V, START, FRAUD, [allow(TO_ANN, JOB, "fraud", {STOP})], False, "needs the role operator"),
    ("another user", V, STOP, FRAUD, [allow(TO_BOB, JOB, "fraud", OP)], False, "needs the role"),
    ("a group that is none of theirs", V, STOP, FRAUD, [allow(TO_OTHERS, JOB, "fraud", OP)], False, "needs the role"),
    ("another object", V, STOP, FRAUD, [allow(TO_ANN, JOB, "frauds", OP)], False, "needs the role"),
    ("another kind", V, STOP, FRAUD, [allow(TO_ANN, APPLICATION, "fraud", OP)], False, "needs the role"),
    ("a pattern", V, STOP, FRAUD, [allow(TO_ANN, JOB, "fr*", OP)], True, 'on job "fr*"'),
    ("a pattern of one letter", V, STOP, FRAUD, [allow(TO_ANN, JOB, "fr?ud", OP)], True, "allowed"),
    ("a name whose letters are kept as others", V, STOP, STREET, [allow(TO_ANN, JOB, "strasse", OP)], True, "allowed"),
    ("and as it is written", V, STOP, STREET, [allow(TO_ANN, JOB, "STRAße", OP)], True, "allowed"),
    ("and letter by letter", V, STOP, STREET, [allow(TO_ANN, JOB, "stra?e", OP)], True, "allowed"),
    ("a pattern that is too short", V, STOP, FRAUD, [allow(TO_ANN, JOB, "fr?", OP)], False, "needs the role"),
    ("all", V, STOP, FRAUD, [allow(TO_ANN, JOB, "*", OP)], True, "allowed"),
    ("no brackets", V, STOP, FRAUD, [allow(TO_ANN, JOB, "[f]raud", OP)], False, "needs the role"),
    ("no dots", V, STOP, FRAUD, [allow(TO_ANN, JOB, "fra.d", OP)], False, "needs the role"),
    ("other letters", V, STOP, FRAUD, [allow(TO_ANN, JOB, "FRAUD", OP)], True, "allowed"),
    # what is denied
    ("an action", OP, STOP, FRAUD, [deny(TO_ANN, JOB, "fraud", {STOP})], False, "denied to user ann"),
    ("another action", OP, START, FRAUD, [deny(TO_ANN, JOB, "fraud", {STOP})], True, "the role operator allows"),
    ("a role: what needs it", OP, STOP, FRAUD, [deny(TO_OPS, JOB, "*", OP)], False, "denied to group ops"),
    ("a role: what needs more", D, DELETE, FRAUD, [deny(TO_OPS, JOB, "*", OP)], False, "denied"),
    ("a role: not what needs less", OP, LOGS, FRAUD, [deny(TO_OPS, JOB, "*", OP)], True, "allows"),
    ("viewing: everything", D, DELETE, FRAUD, [deny(TO_OPS, JOB, "*", V)], False, "denied"),
    ("seeing: everything", D, DELETE, FRAUD, [deny(TO_OPS, JOB, "fraud", {SEE})], False, "denied"),
    ("deny first", V, STOP, FRAUD, [deny(TO_OPS, JOB, "f*", OP), allow(TO_ANN, JOB, "fraud", OP)], False, "denied"),
    ("deny last", V, STOP, FRAUD, [allow(TO_ANN, JOB, "fraud", OP), deny(TO_OPS, JOB, "f*", OP)], False, "denied"),
    ("to another", OP, STOP, FRAUD, [deny(TO_BOB, JOB, "fraud", V)], True, "allows"),
    ("to the owner", OP, STOP, OWN, [deny(TO_ANN, JOB, "fraud", {STOP})], False, "denied"),
    ("to an admin", A, STOP, FRAUD, [deny(TO_ANN, JOB, "fraud", V)], True, "an admin may everything"),
    # restricted objects
    ("a role", D, SEE, CLOSED, [], False, 'job "fraud" is restricted'),
    ("an admin", A, DELETE, CLOSED, [], True, "an admin"),
    ("the owner", OP, STOP, CLOSED_OWN, [], True, "ann owns it"),
    ("the owner, beyond the role", OP, DELETE, CLOSED_OWN, [], False, "restricted"),
    ("one who is named", V, STOP, CLOSED, [allow(TO_ANN, JOB, "fraud", OP)], True, "allowed"),
    ("one whose group is named", V, SEE, CLOSED, [allow(TO_OPS, JOB, "fraud", V)], True, "allowed"),
    ("no more than is named", D, STOP, CLOSED, [allow(TO_ANN, JOB, "fraud", V)], False, "restricted"),
    ("an action brings sight", V, SEE, CLOSED, [allow(TO_ANN, JOB, "fraud", {STOP})], True, "allowed"),
    ("a pattern", OP, STOP, CLOSED, [allow(TO_ANN, JOB, "*", OP)], False, "restricted"),
    ("named and denied", V, STOP, CLOSED,
     [allow(TO_ANN, JOB, "fraud", OP), deny(TO_OPS, JOB, "*", OP)], False, "denied"),
    # owners
    ("within the role", OP, STOP, OWN, [], True, "ann owns it"),
    ("beyond the role", OP, DELETE, OWN, [], False, "needs the role developer"),
    ("widened", OP, DELETE, OWN, [allow(TO_ANN, JOB, "fraud", {DELETE})], True, "allowed"),
    # sharing
    ("what is theirs", OP, SHARE, OWN, [], True, "ann owns it"),
    ("what is theirs, outside", D, SHARE, OWN_SHOP_JOB, [], True, "ann owns it"),
    ("what is theirs and restricted", D, SHARE, CLOSED_OWN, [], True, "ann owns it"),
    ("as a viewer", V, SHARE, OWN, [], False, "needs the role operator"),
    ("what is another's", D, SHARE, replace(FRAUD, owner=BOB), [], False, "only its owner"),
    ("what is nobody's", D, SHARE, FRAUD, [], False, "only its owner and admins"),
    ("what a list gives", D, SHARE, FRAUD, [allow(TO_ANN, JOB, "fraud", A)], False, "only its owner"),
    ("what is theirs and denied", D, SHARE, OWN, [deny(TO_ANN, JOB, "fraud", OP)], False, "denied"),
    ("as an admin", A, SHARE, FRAUD, [], True, "an admin"),
    # code
    ("a viewer", V, SUBMIT, SHOP, [allow(TO_ANN, APPLICATION, "shop", A)], False, "whatever a list says"),
    ("an operator", OP, SUBMIT, SHOP, [allow(TO_ANN, APPLICATION, "shop", {SUBMIT})], False, "whatever a list says"),
    ("an operator who owns it", OP, UPGRADE, replace(SHOP, owner=1), [], False, "whatever a list says"),
    ("a developer", D, SUBMIT, SHOP, [], True, "the role developer allows"),
    ("a developer to whom it is denied", D, SUBMIT, SHOP, [deny(TO_ANN, APPLICATION, "sh*", D)], False, "denied"),
    ("a developer, restricted", D, UPGRADE, CLOSED_SHOP, [], False, "restricted"),
    ("a developer who is named", D, UPGRADE, CLOSED_SHOP, [allow(TO_ANN, APPLICATION, "shop", D)], True, "allowed"),
    ("an admin", A, SUBMIT, SHOP, [], True, "an admin"),
    # what is in something
    ("allowed outside", V, STOP, SHOP_JOB, [allow(TO_ANN, APPLICATION, "shop", OP)], True, "allowed"),
    ("denied outside", D, ROWS, SHOP_VIEW, [deny(TO_ANN, APPLICATION, "shop", {ROWS})], False, "denied"),
    ("denied outside, allowed inside", V, ROWS, SHOP_VIEW,
     [deny(TO_ANN, APPLICATION, "shop", {ROWS}), allow(TO_ANN, VIEW, "sales", V)], False, "denied"),
    ("restricted outside", D, ROWS, CLOSED_SHOP_VIEW, [], False, 'application "shop" is restricted'),
    ("restricted outside, named there", V, ROWS, CLOSED_SHOP_VIEW, [allow(TO_ANN, APPLICATION, "shop", V)], True, ""),
    ("restricted outside, named inside", V, ROWS, CLOSED_SHOP_VIEW, [allow(TO_ANN, VIEW, "sales", V)], True, ""),
    ("named inside, asked outside", V, SEE, CLOSED_SHOP, [allow(TO_ANN, VIEW, "sales", V)], False, "restricted"),
    ("restricted inside, named outside", V, ROWS, CLOSED_VIEW, [allow(TO_ANN, APPLICATION, "shop", V)], False, ""),
    ("restricted inside, named there", V, ROWS, CLOSED_VIEW, [allow(TO_ANN, VIEW, "sales", V)], True, "allowed"),
    ("owned outside", V, ROWS, OWN_SHOP_VIEW, [], True, "ann owns it"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("role", "action", "target", "entries", "allowed", "why"),
    [row[1:] for row in TABLE],
    ids=[f"{row[2]}-{row[0]}".replace(" ", "_") for row in TABLE],
)
def test_table(role: Role, action: Action, target: Target, entries: list[Entry], allowed: bool, why: str) -> None:
    decision = may(ANN[role], action, target, entries)
    assert (decision.allowed, bool(decision)) == (allowed, allowed), decision.reason
    assert why in decision.reason


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.action is not Action.MANAGE_ACCOUNT])
def test_without_lists_the_role_decides(rule, role: Role) -> None:
    for kind in rule.kinds:
        least = A if rule.owners else rule.role
        assert may(ANN[role], rule.action, Target(kind, "x")).allowed == (least <= role)


@pytest.mark.parametrize("rule", RULES)
def test_a_disabled_user_may_nothing(rule) -> None:
    for kind in rule.kinds:
        decision = may(replace(ANN[A], active=False), rule.action, Target(kind, "ann", owner=1))
        assert (decision.allowed, decision.reason) == (False, "ann is disabled")


@pytest.mark.parametrize("role", Role)
def test_an_account_is_its_owners(role: Role) -> None:
    own, other = Target(ObjectKind.USER, "ann"), Target(ObjectKind.USER, "bob", owner=1)
    assert may(ANN[role], Action.MANAGE_ACCOUNT, own)
    assert may(ANN[role], Action.MANAGE_ACCOUNT, other).allowed == (role is Role.ADMIN)
    assert not may(replace(ANN[role], token="t"), Action.MANAGE_ACCOUNT, own)


def test_a_token_may_less_than_its_owner() -> None:
    admin = replace(ANN[A], ceiling=OP, token="t")
    assert may(admin, STOP, FRAUD)
    assert "narrowed to operator" in may(admin, DELETE, FRAUD).reason
    assert not may(admin, STOP, CLOSED), "narrowed, it is no admin"
    assert not may(admin, Action.MANAGE_USERS, Target(ObjectKind.USER, "bob"))
    viewer = replace(ANN[V], ceiling=V, token="t")
    assert not may(viewer, STOP, FRAUD, [allow(TO_ANN, JOB, "fraud", OP)]), "no list widens a token"
    demoted = replace(ANN[V], ceiling=D, token="t")
    assert not may(demoted, SUBMIT, SHOP), "a token keeps no role that its owner has lost"


def test_what_is_done_to_nothing_of_its_kind_is_a_mistake_of_the_program() -> None:
    with pytest.raises(ValueError, match='stop is nothing that is done to view "sales"'):
        may(ANN[A], STOP, SHOP_VIEW)
