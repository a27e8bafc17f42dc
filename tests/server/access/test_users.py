"""Users and groups: what admins change, what nobody may, and that it is noted."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from headrace.errors import HeadraceError
from headrace.records.database import Database
from headrace.server.access.audit import AuditEntry, Outcome
from headrace.server.access.control import AccessControl
from headrace.server.access.decisions import SYSTEM, Who
from headrace.server.access.mistakes import Conflict, Forbidden, LogInFailed, NotFound, TooManyAttempts, WeakPassword
from headrace.server.access.passwords import Passwords
from headrace.server.access.roles import Role
from headrace.server.access.users import ensure_admin

GOOD, OTHER = "correct-kettle-marble", "nine purple anchors"
Person = Callable[..., Who]
Audited = Callable[..., list[AuditEntry]]


def test_the_first_start_makes_an_admin_once(
    database: Database, control: AccessControl, clock, passwords: Passwords, audited: Audited
) -> None:
    password = ensure_admin(database, clock, passwords)
    assert password is not None
    assert control.login.log_in("admin", password, "127.0.0.1").who.role is Role.ADMIN
    assert ensure_admin(database, clock, passwords) is None
    (entry,) = audited("user")
    assert (entry.actor_name, entry.action, entry.target_name) == ("system", "user.create", "admin")
    assert password not in repr(audited())


def test_no_admin_is_made_where_there_are_users(
    database: Database, clock, passwords: Passwords, person: Person
) -> None:
    person("ann")
    assert ensure_admin(database, clock, passwords) is None


def test_servers_that_start_at_once_make_one_admin(database: Database, clock, passwords: Passwords) -> None:
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: ensure_admin(database, clock, passwords), range(4)))
    assert sum(password is not None for password in made) == 1


def test_create_change_delete(control: AccessControl, admin: Who, clock, audited: Audited) -> None:
    users = control.users
    ann = users.create(admin, " Ann ", Role.VIEWER, GOOD)
    assert (ann.name, ann.role, ann.groups, ann.created_at, ann.disabled_at) == (
        "ann", Role.VIEWER, (), clock.now, None,
    )  # fmt: skip
    assert users.set_role(admin, "ann", Role.DEVELOPER).role is Role.DEVELOPER
    assert users.rename(admin, "ANN", "anna").id == ann.id
    assert users.rename(admin, "anna", "Anna").name == "anna"
    clock.move(hours=1)
    assert users.disable(admin, "anna").disabled_at == clock.now
    assert users.enable(admin, "anna").disabled_at is None
    assert [user.name for user in users.all(admin)] == ["anna", "root"]
    users.delete(admin, "anna")
    with pytest.raises(NotFound, match='there is no user "anna"'):
        users.get(admin, "anna")
    assert [(entry.action, entry.actor_name, entry.target_name, entry.details) for entry in audited("user")[1:]] == [
        ("user.create", "root", "ann", {"role": "viewer"}),
        ("user.set_role", "root", "ann", {"from": "viewer", "to": "developer"}),
        ("user.rename", "root", "anna", {"from": "ann"}),
        ("user.disable", "root", "anna", {"sessions": 0}),
        ("user.enable", "root", "anna", {}),
        ("user.delete", "root", "anna", {"role": "developer"}),
    ]


def test_numbers_are_not_given_twice(control: AccessControl, admin: Who) -> None:
    """A new user must not become the owner of what an old one had."""
    old = control.users.create(admin, "ann", Role.VIEWER, GOOD)
    control.users.delete(admin, "ann")
    assert control.users.create(admin, "ann", Role.VIEWER, GOOD).id != old.id


@pytest.mark.parametrize(
    "name", ["", " ", "a b", "a/b", "ann\0", "ünn", "x" * 65, "system", "unknown", "-a", "a\ud800"]
)
def test_names_that_cannot_be(control: AccessControl, admin: Who, name: str) -> None:
    with pytest.raises(HeadraceError, match="name cannot be used"):
        control.users.create(admin, name, Role.VIEWER, GOOD)
    with pytest.raises(NotFound):
        control.users.get(admin, name)
    with pytest.raises(HeadraceError, match="name cannot be used"):
        control.groups.create(admin, name)
    with pytest.raises(NotFound):
        control.groups.delete(admin, name)


def test_names_are_taken_without_regard_to_case(control: AccessControl, admin: Who, person: Person) -> None:
    person("ann")
    with pytest.raises(Conflict, match='there is a user "ann" already'):
        control.users.create(admin, "ANN", Role.VIEWER, GOOD)
    with pytest.raises(Conflict):
        control.users.rename(admin, "root", "Ann")


def test_a_weak_password_makes_no_user(control: AccessControl, admin: Who) -> None:
    with pytest.raises(WeakPassword):
        control.users.create(admin, "ann", Role.VIEWER, "password")
    with pytest.raises(NotFound):
        control.users.get(admin, "ann")


def test_the_last_admin_stays(control: AccessControl, admin: Who, person: Person) -> None:
    users = control.users
    changes: list[Callable[[], object]] = [
        lambda: users.delete(admin, "root"),
        lambda: users.disable(admin, "root"),
        lambda: users.set_role(admin, "root", Role.DEVELOPER),
    ]
    for change in changes:
        with pytest.raises(Conflict, match="root is the last admin"):
            change()
    person("second", Role.ADMIN)
    users.disable(admin, "second")
    for change in changes:
        with pytest.raises(Conflict, match="root is the last admin"):
            change()
    users.enable(admin, "second")
    users.delete(admin, "root")
    with pytest.raises(Conflict, match="second is the last admin"):
        users.delete(SYSTEM, "second")


def test_admins_who_delete_each_other_at_once(control: AccessControl, person: Person) -> None:
    ann, bob = person("ann", Role.ADMIN), person("bob", Role.ADMIN)

    def delete(by: Who, name: str) -> bool:
        try:
            control.users.delete(by, name)
        except Conflict:
            return False
        return True

    with ThreadPoolExecutor(2) as pool:
        done = [pool.submit(delete, ann, "bob"), pool.submit(delete, bob, "ann")]
        assert sorted(each.result() for each in done) == [False, True]


@pytest.mark.parametrize("role", [Role.VIEWER, Role.OPERATOR, Role.DEVELOPER])
def test_only_admins_manage(control: AccessControl, admin: Who, person: Person, audited: Audited, role: Role) -> None:
    ann = person("ann", role)
    users, groups = control.users, control.groups
    groups.create(admin, "ops")
    changes: list[Callable[[], object]] = [
        lambda: users.all(ann),
        lambda: users.get(ann, "root"),
        lambda: users.create(ann, "eve", Role.ADMIN, GOOD),
        lambda: users.rename(ann, "root", "eve"),
        lambda: users.set_role(ann, "ann", Role.ADMIN),
        lambda: users.disable(ann, "root"),
        lambda: users.enable(ann, "ann"),
        lambda: users.delete(ann, "root"),
        lambda: users.set_password(ann, "root", OTHER),
        lambda: users.set_password(ann, "ann", OTHER),
        lambda: groups.all(ann),
        lambda: groups.create(ann, "eves"),
        lambda: groups.rename(ann, "ops", "eves"),
        lambda: groups.delete(ann, "ops"),
        lambda: groups.add_member(ann, "ops", "ann"),
        lambda: groups.remove_member(ann, "ops", "root"),
        lambda: control.access.audit(ann),
        lambda: control.tokens.create(ann, "root", "mine"),
        lambda: control.tokens.of_user(ann, "root"),
        lambda: control.sessions.end_all(ann, "root"),
    ]
    before = users.all(admin)
    for change in changes:
        with pytest.raises(Forbidden, match="ann may not"):
            change()
    assert users.all(admin) == before
    assert users.get(ann, "ann").role is role
    refused = [entry for entry in audited() if entry.outcome is Outcome.REFUSED]
    assert {entry.actor_name for entry in refused} == {"ann"}
    noted = {"user.manage_users", "user.manage_account", "group.manage_groups", "system.read_audit"}
    assert {entry.action for entry in refused} == noted


def test_a_new_password_logs_out_everywhere(control: AccessControl, admin: Who, person: Person, clock) -> None:
    ann = person("ann")
    bob = control.login.log_in("root", GOOD, None)
    sessions = [control.login.log_in("ann", GOOD, None) for _ in range(2)]
    clock.move(minutes=5)
    control.users.change_password(ann, GOOD, OTHER)
    assert [control.sessions.find(each.secret) for each in sessions] == [None, None]
    assert control.sessions.find(bob.secret) is not None
    with pytest.raises(LogInFailed):
        control.login.log_in("ann", GOOD, None)
    again = control.login.log_in("ann", OTHER, None)
    assert control.users.get(ann, "ann").password_changed_at == clock.now
    control.users.set_password(admin, "ann", GOOD)
    assert control.sessions.find(again.secret) is None


def test_the_current_password_cannot_be_guessed(
    control: AccessControl, person: Person, clock, audited: Audited
) -> None:
    ann = person("ann")
    for _ in range(5):
        with pytest.raises(LogInFailed):
            control.users.change_password(ann, "wrong", OTHER)
    with pytest.raises(TooManyAttempts):
        control.users.change_password(ann, GOOD, OTHER)
    clock.move(seconds=5)
    with pytest.raises(WeakPassword):
        control.users.change_password(ann, GOOD, "short")
    control.users.change_password(ann, GOOD, OTHER)
    outcomes = [entry.outcome for entry in audited("user.set_password")]
    assert outcomes == [Outcome.REFUSED] * 5 + [Outcome.DONE]
    assert OTHER not in repr(audited())


def test_groups(control: AccessControl, admin: Who, person: Person, audited: Audited) -> None:
    groups = control.groups
    person("ann")
    groups.create(admin, "Ops")
    with pytest.raises(Conflict, match='there is a group "ops" already'):
        groups.create(admin, "ops")
    assert groups.add_member(admin, "ops", "ann").members == ("ann",)
    assert groups.add_member(admin, "ops", "ann").members == ("ann",)
    groups.add_member(admin, "ops", "root")
    assert groups.rename(admin, "ops", "operations").members == ("ann", "root")
    assert control.users.get(admin, "ann").groups == ("operations",)
    with pytest.raises(NotFound, match="no user"):
        groups.add_member(admin, "operations", "nobody")
    control.users.delete(admin, "ann")
    assert groups.get(admin, "operations").members == ("root",)
    assert groups.remove_member(admin, "operations", "root").members == ()
    assert groups.remove_member(admin, "operations", "root").members == ()
    groups.delete(admin, "operations")
    assert groups.all(admin) == []
    assert [(entry.action.partition(".")[2], entry.details) for entry in audited("group")] == [
        ("create", {}),
        ("add_member", {"user": "ann"}),
        ("add_member", {"user": "root"}),
        ("rename", {"from": "ops"}),
        ("remove_member", {"user": "root"}),
        ("delete", {"members": []}),
    ]


def test_a_change_and_its_entry_are_one(
    control: AccessControl, admin: Who, person: Person, audited: Audited, monkeypatch: pytest.MonkeyPatch
) -> None:
    person("ann")

    def fail(*_: object, **__: object) -> None:
        raise OSError

    monkeypatch.setattr("headrace.server.access.users.record", fail)
    with pytest.raises(OSError):
        control.users.set_role(admin, "ann", Role.ADMIN)
    assert control.users.get(admin, "ann").role is Role.VIEWER
    assert audited("user.set_role") == []
