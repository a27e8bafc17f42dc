"""May this user do this to that: what holds for all users, actions, objects and lists."""

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from headrace.server.access.decisions import Effect, Entry, Grantee, GranteeKind, Target, Who, may
from headrace.server.access.roles import LISTED, RULES, Action, ObjectKind, Role, Rule

NAMES = st.sampled_from(["a", "b", "ab"])
NUMBERS = st.integers(1, 3)
ROLES = st.sampled_from(Role)
USERS = st.builds(
    Who,
    id=NUMBERS,
    name=NAMES,
    role=ROLES,
    groups=st.frozensets(NUMBERS),
    active=st.sampled_from([True, True, True, False]),
    ceiling=st.none() | ROLES,
    token=st.none() | st.just("t"),
)
GRANTEES = st.builds(Grantee, kind=st.sampled_from(GranteeKind), id=NUMBERS, name=NAMES)
ENTRIES = st.builds(
    Entry,
    effect=st.sampled_from(Effect),
    grantee=GRANTEES,
    kind=st.sampled_from(sorted(LISTED)),
    pattern=st.sampled_from(["a", "b", "ab", "*", "a*", "?"]),
    rights=ROLES | st.frozensets(st.sampled_from(Action), min_size=1),
)
LISTS = st.lists(ENTRIES, max_size=5)


CODE = [rule for rule in RULES if rule.code]
ADMINISTRATION = [rule for rule in RULES if rule.role is Role.ADMIN]
ON_LISTED = [rule for rule in RULES if rule.kinds <= LISTED]


@st.composite
def asked(draw: st.DrawFn, rules: Sequence[Rule] = RULES) -> tuple[Action, Target]:
    """Draw an action and an object to which it is done, which may be in others."""
    rule = draw(st.sampled_from(rules))
    target = None
    for kind in draw(st.lists(st.sampled_from(sorted(LISTED)), max_size=2)):
        target = draw(targets(st.just(kind), target))
    return rule.action, draw(targets(st.sampled_from(sorted(rule.kinds)), target))


def targets(kinds: st.SearchStrategy[ObjectKind], within: Target | None) -> st.SearchStrategy[Target]:
    owner = st.none() | NUMBERS
    return st.builds(Target, kind=kinds, name=NAMES, owner=owner, restricted=st.booleans(), within=st.just(within))


def implies(before: object, after: object) -> bool:
    return bool(after) or not before


@given(USERS, asked(), LISTS, ENTRIES)
def test_another_entry_only_does_what_it_says(
    who: Who, ask: tuple[Action, Target], old: list[Entry], new: Entry
) -> None:
    before, after = may(who, *ask, old), may(who, *ask, [*old, new])
    assert implies(before, after) if new.effect is Effect.ALLOW else implies(after, before)
    if not new.grantee.includes(who) or not any(new.names(each) for each in ask[1].chain()):
        assert before.allowed == after.allowed


@given(USERS, asked(CODE), LISTS)
def test_only_developers_run_code(who: Who, ask: tuple[Action, Target], entries: list[Entry]) -> None:
    develops = who.role >= Role.DEVELOPER and (who.ceiling is None or who.ceiling >= Role.DEVELOPER)
    assert implies(may(who, *ask, entries), develops)


@given(USERS, asked(ADMINISTRATION), LISTS)
def test_only_admins_do_what_needs_an_admin(who: Who, ask: tuple[Action, Target], entries: list[Entry]) -> None:
    assert may(who, *ask, entries).allowed == (who.active and who.effective_role is Role.ADMIN)


@given(USERS, asked(), LISTS)
def test_an_admin_may(who: Who, ask: tuple[Action, Target], entries: list[Entry]) -> None:
    assert may(replace(who, role=Role.ADMIN, active=True, ceiling=None, token=None), *ask, entries)


@given(USERS, asked(), LISTS, ROLES)
def test_a_higher_role_takes_nothing_away(
    who: Who, ask: tuple[Action, Target], entries: list[Entry], role: Role
) -> None:
    higher = replace(who, role=max(role, who.role))
    assert implies(may(who, *ask, entries), may(higher, *ask, entries))


@given(USERS, asked(), LISTS, ROLES)
def test_narrowing_a_token_gives_nothing(who: Who, ask: tuple[Action, Target], entries: list[Entry], to: Role) -> None:
    narrow = replace(who, ceiling=to if who.ceiling is None else min(to, who.ceiling))
    assert implies(may(narrow, *ask, entries), may(who, *ask, entries))


@given(USERS, asked(), LISTS)
def test_restricting_gives_nothing_and_owning_takes_nothing(
    who: Who, ask: tuple[Action, Target], entries: list[Entry]
) -> None:
    action, target = ask
    decision = may(who, action, target, entries)
    assert implies(may(who, action, replace(target, restricted=True), entries), decision)
    assert implies(decision, may(who, action, replace(target, owner=who.id), entries))


@given(USERS, asked(ON_LISTED), LISTS)
def test_who_may_anything_to_an_object_sees_it(who: Who, ask: tuple[Action, Target], entries: list[Entry]) -> None:
    action, target = ask
    assert implies(may(who, action, target, entries), may(who, Action.SEE, target, entries))


@given(USERS, asked(), LISTS, st.randoms())
def test_the_order_of_entries_means_nothing(who: Who, ask: tuple[Action, Target], entries: list[Entry], random) -> None:
    shuffled = random.sample(entries, len(entries))
    assert may(who, *ask, entries).allowed == may(who, *ask, shuffled).allowed
