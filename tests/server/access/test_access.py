"""Access lists as they are stored: what decisions make of them, who changes them, and that it is noted."""

from collections.abc import Callable

import pytest

from headrace.errors import HeadraceError
from headrace.records.database import Database
from headrace.server.access.audit import AuditEntry, AuditFilter, Outcome, record
from headrace.server.access.control import AccessControl
from headrace.server.access.decisions import SYSTEM, Effect, Target, Who
from headrace.server.access.lists import claim, forget
from headrace.server.access.mistakes import Forbidden, NotFound
from headrace.server.access.roles import Action, ObjectKind, Role

Person = Callable[..., Who]
ALLOW, DENY = Effect
FRAUD = Target(ObjectKind.JOB, "fraud")
SHOP = Target(ObjectKind.APPLICATION, "shop")
SALES = Target(ObjectKind.VIEW, "sales", within=Target(ObjectKind.JOB, "shop-1", within=SHOP))


def test_entries_count_from_the_moment_they_are_there(control: AccessControl, admin: Who, person: Person) -> None:
    ann = person("ann")
    assert not control.access.may(ann, Action.STOP, FRAUD)
    entry = control.lists.add(admin, ALLOW, ObjectKind.JOB, "Fraud", Role.OPERATOR, user="ann")
    assert control.access.may(ann, Action.STOP, FRAUD)
    assert control.access.may(ann, Action.STOP, Target(ObjectKind.JOB, "FRAUD"))
    control.lists.add(admin, DENY, ObjectKind.JOB, "f*", frozenset({Action.STOP}), user="ann")
    assert not control.access.may(ann, Action.STOP, FRAUD)
    assert control.access.may(ann, Action.RESTART, FRAUD)
    control.lists.remove(admin, entry.id)
    assert not control.access.may(ann, Action.RESTART, FRAUD)
    for number in (entry.id, 0, -1, 2**80):
        with pytest.raises(NotFound):
            control.lists.remove(admin, number)


def test_entries_of_groups(control: AccessControl, admin: Who, person: Person) -> None:
    person("ann")
    control.groups.create(admin, "ops")
    control.lists.add(admin, ALLOW, ObjectKind.JOB, "fraud", Role.OPERATOR, group="ops")

    def may() -> bool:
        who = control.login.log_in("ann", "correct-kettle-marble", None).who
        return control.access.may(who, Action.STOP, FRAUD).allowed

    assert not may()
    control.groups.add_member(admin, "ops", "ann")
    assert may()
    control.groups.rename(admin, "ops", "operations")
    assert may()
    control.groups.delete(admin, "operations")
    assert not may()
    assert control.lists.all(admin, ObjectKind.JOB) == []


def test_owners_and_restrictions_are_looked_up(
    control: AccessControl, database: Database, admin: Who, person: Person
) -> None:
    ann, bob = person("ann", Role.DEVELOPER), person("bob", Role.DEVELOPER)
    with database.transaction() as session:
        claim(session, ann, SHOP)
    with database.transaction() as session:
        claim(session, bob, SHOP)  # it has an owner: an upgrade by another changes nothing
    control.lists.restrict(admin, SHOP, True)
    assert control.lists.of(admin, SHOP).owner == "ann"
    assert control.access.may(ann, Action.UPGRADE, SHOP).reason == "ann owns it"
    assert control.access.may(ann, Action.READ_ROWS, SALES)
    assert 'application "shop" is restricted' in control.access.may(bob, Action.READ_ROWS, SALES).reason
    control.lists.set_owner(admin, SHOP, "bob")
    assert not control.access.may(ann, Action.UPGRADE, SHOP)
    assert control.access.may(bob, Action.READ_ROWS, SALES)
    control.users.delete(admin, "bob")
    assert control.lists.of(admin, SHOP).owner is None
    control.lists.restrict(admin, SHOP, False)
    assert control.access.may(ann, Action.READ_ROWS, SALES)


def test_a_caller_cannot_open_what_is_restricted_by_saying_nothing(control: AccessControl, admin: Who, person: Person):
    """What is stored is added to what the caller knows, never replaced by it."""
    control.lists.restrict(admin, FRAUD, True)
    ann = person("ann", Role.DEVELOPER)
    assert not control.access.may(ann, Action.SEE, Target(ObjectKind.JOB, "fraud", restricted=False))
    assert not control.access.may(ann, Action.SEE, Target(ObjectKind.JOB, "other", restricted=True))


def test_a_name_that_is_used_again_opens_nothing(
    control: AccessControl, database: Database, admin: Who, person: Person
) -> None:
    ann, bob = person("ann", Role.DEVELOPER), person("bob", Role.DEVELOPER)
    with database.transaction() as session:
        claim(session, ann, SHOP)
    control.lists.add(admin, ALLOW, ObjectKind.APPLICATION, "shop", Role.VIEWER, user="ann")
    control.lists.add(admin, ALLOW, ObjectKind.APPLICATION, "s*", Role.VIEWER, user="ann")
    control.lists.add(admin, DENY, ObjectKind.APPLICATION, "shop", frozenset({Action.DELETE}), user="ann")
    control.lists.restrict(admin, SHOP, True)
    with database.transaction() as session:
        forget(session, SHOP)
        claim(session, bob, SHOP)
    left = control.lists.of(admin, SHOP)
    assert (left.owner, left.restricted) == ("bob", True)
    assert [(each.entry.effect, each.entry.pattern) for each in left.entries] == [(ALLOW, "s*"), (DENY, "shop")]
    assert not control.access.may(ann, Action.SEE, SHOP)


def test_many_objects_at_once(control: AccessControl, admin: Who, person: Person) -> None:
    ann = person("ann")
    jobs = [Target(ObjectKind.JOB, f"job-{number}") for number in range(250)]
    control.lists.add(admin, DENY, ObjectKind.JOB, "job-1?", Role.VIEWER, user="ann")
    control.lists.restrict(admin, jobs[200], True)
    seen = control.access.permitted(ann, Action.SEE, jobs)
    assert seen == [job for number, job in enumerate(jobs) if number != 200 and number not in range(10, 20)]
    assert control.access.permitted(ann, Action.SEE, jobs[198:202]) == [jobs[198], jobs[199], jobs[201]]
    assert control.access.permitted(ann, Action.STOP, jobs) == []
    assert control.access.permitted(admin, Action.STOP, jobs) == jobs
    assert control.access.permitted(ann, Action.SEE, []) == []


def test_require_says_who_what_and_why(control: AccessControl, person: Person, audited) -> None:
    ann = person("ann")
    control.access.require(ann, Action.SEE, FRAUD)
    with pytest.raises(Forbidden) as raised:
        control.access.require(ann, Action.STOP, FRAUD)
    assert raised.value.message == 'ann may not stop job "fraud"'
    assert raised.value.detail == "It needs the role operator, and ann is viewer."
    (entry,) = audited("job")
    assert (entry.action, entry.outcome, entry.actor_name, entry.target_name, entry.details) == (
        "job.stop", Outcome.REFUSED, "ann", "fraud", {"reason": raised.value.decision.reason},
    )  # fmt: skip


def test_names_that_no_database_keeps(control: AccessControl, person: Person, audited) -> None:
    ann = person("ann")
    for name in ("a\0b", "\ud800", "x" * 1000):
        target = Target(ObjectKind.JOB, name)
        assert control.access.may(ann, Action.SEE, target)
        with pytest.raises(Forbidden):
            control.access.require(ann, Action.STOP, target)
        with pytest.raises(HeadraceError, match="can be printed"):
            control.lists.restrict(SYSTEM, target, True)
        with pytest.raises(HeadraceError, match="can be printed"):
            control.lists.of(SYSTEM, target)
    assert [entry.target_name for entry in audited("job")] == ["a?b", "?", "x" * 255]


@pytest.mark.parametrize(
    ("kind", "pattern", "rights", "message"),
    [
        (ObjectKind.USER, "ann", Role.VIEWER, "no access lists on a user"),
        (ObjectKind.SYSTEM, "*", Role.VIEWER, "no access lists on a system"),
        (ObjectKind.JOB, "", Role.VIEWER, "from 1 to 255"),
        (ObjectKind.JOB, "x" * 256, Role.VIEWER, "from 1 to 255"),
        (ObjectKind.JOB, "*a*a*a*a*a", Role.VIEWER, "at most 4 stars"),
        (ObjectKind.JOB, "a", frozenset(), "at least one action"),
        (ObjectKind.JOB, "a", frozenset({Action.MANAGE_ACCESS}), "manage_access cannot be given"),
        (ObjectKind.JOB, "a", frozenset({Action.MANAGE_ACCOUNT}), "manage_account cannot be given"),
    ],
)
def test_entries_that_cannot_be(control: AccessControl, admin: Who, kind, pattern: str, rights, message: str) -> None:
    with pytest.raises(HeadraceError, match=message):
        control.lists.add(admin, ALLOW, kind, pattern, rights, user="root")


def test_an_entry_names_one(control: AccessControl, admin: Who) -> None:
    for names in ({}, {"user": "root", "group": "ops"}):
        with pytest.raises(HeadraceError, match="either a user or a group"):
            control.lists.add(admin, ALLOW, ObjectKind.JOB, "a", Role.VIEWER, **names)
    with pytest.raises(NotFound):
        control.lists.add(admin, ALLOW, ObjectKind.JOB, "a", Role.VIEWER, user="nobody")


def test_only_admins_change_lists(control: AccessControl, admin: Who, person: Person, audited) -> None:
    ann = person("ann", Role.DEVELOPER)
    entry = control.lists.add(admin, DENY, ObjectKind.JOB, "fraud", Role.OPERATOR, user="ann")
    changes: list[Callable[[], object]] = [
        lambda: control.lists.add(ann, ALLOW, ObjectKind.JOB, "*", Role.ADMIN, user="ann"),
        lambda: control.lists.remove(ann, entry.id),
        lambda: control.lists.restrict(ann, FRAUD, False),
        lambda: control.lists.set_owner(ann, FRAUD, "ann"),
        lambda: control.lists.all(ann, ObjectKind.JOB),
        lambda: control.lists.of(ann, FRAUD),
    ]
    for change in changes:
        with pytest.raises(Forbidden):
            change()
    control.lists.restrict(admin, FRAUD, True)
    control.lists.set_owner(admin, FRAUD, "ann")
    control.lists.set_owner(admin, FRAUD, None)
    control.lists.remove(admin, entry.id)
    details = {"id": entry.id, "effect": "deny", "user": "ann", "rights": "operator"}
    assert [(each.action, each.details) for each in audited("access")] == [
        ("access.add", details),
        ("access.restrict", {"restricted": True}),
        ("access.set_owner", {"owner": "ann"}),
        ("access.set_owner", {"owner": None}),
        ("access.remove", details),
    ]


def note(database: Database, clock, action: str, name: str, outcome: Outcome = Outcome.DONE, by: Who = SYSTEM) -> None:
    with database.transaction() as session:
        record(session, clock(), by, action, Target(ObjectKind.JOB, name), outcome=outcome)


def test_pages_of_the_audit_log(control: AccessControl, database: Database, clock) -> None:
    for number in range(10):
        note(database, clock, "job.stop", f"j{number}")
    first = control.access.audit(SYSTEM, limit=4)
    note(database, clock, "job.stop", "new")  # what comes in between shifts nothing
    second = control.access.audit(SYSTEM, limit=4, before=first.next)
    third = control.access.audit(SYSTEM, limit=4, before=second.next)
    names = [[entry.target_name for entry in page.entries] for page in (first, second, third)]
    assert names == [["j9", "j8", "j7", "j6"], ["j5", "j4", "j3", "j2"], ["j1", "j0"]]
    assert third.next is None
    assert control.access.audit(SYSTEM, limit=11).next is None
    assert control.access.audit(SYSTEM, before=-5).entries == ()
    assert len(control.access.audit(SYSTEM, before=2**80).entries) == 11
    for limit in (0, -1, 501):
        with pytest.raises(HeadraceError, match="from 1 to 500"):
            control.access.audit(SYSTEM, limit=limit)


def test_filters_of_the_audit_log(control: AccessControl, database: Database, clock) -> None:
    ann = Who(5, "ann", Role.OPERATOR)
    start = clock.now
    note(database, clock, "job.stop", "a", by=ann)
    clock.move(hours=1)
    note(database, clock, "job.stop_all", "b")
    clock.move(hours=1)
    note(database, clock, "job", "a", Outcome.REFUSED)
    note(database, clock, "jobs%.x", "a")

    def found(**wanted: object) -> list[str]:
        page = control.access.audit(SYSTEM, AuditFilter(**wanted))  # type: ignore[arg-type]
        return [entry.action for entry in reversed(page.entries)]

    every = ["job.stop", "job.stop_all", "job", "jobs%.x"]
    assert found() == every
    assert found(actor="Ann") == ["job.stop"]
    assert found(action="job") == ["job.stop", "job.stop_all", "job"]
    assert found(action="job.stop") == ["job.stop"]
    assert found(action="%") == found(action="_") == found(action="\0") == []
    assert found(action="jobs%") == ["jobs%.x"]
    assert found(target_name="a", target_kind=ObjectKind.JOB) == ["job.stop", "job", "jobs%.x"]
    assert found(target_kind=ObjectKind.VIEW) == []
    assert found(outcome=Outcome.REFUSED) == ["job"]
    assert found(since=clock.now) == every[2:]
    assert found(until=clock.now) == every[:2]
    assert found(since=start, until=start) == []


@pytest.mark.parametrize("key", ["password", "new_password", "secret", "token", "password_hash", "CSRF", "cookie"])
def test_secrets_have_no_place_in_the_audit_log(database: Database, clock, key: str) -> None:
    with pytest.raises(ValueError, match="no place in the audit log"), database.transaction() as session:
        record(session, clock(), SYSTEM, "job.stop", FRAUD, {key: "x"})


def test_details_are_cut_to_what_can_be_kept(control: AccessControl, database: Database, clock) -> None:
    with database.transaction() as session:
        record(session, clock(), SYSTEM, "job.stop", FRAUD, {"why": "x" * 5000, "which": ["a\0", "b"], "count": 3})
    entry: AuditEntry = control.access.audit(SYSTEM).entries[0]
    assert entry.details == {"why": "x" * 1000, "which": ["a?", "b"], "count": 3}
