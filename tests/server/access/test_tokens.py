"""API tokens: whom they stand for, how long, and that nothing secret is kept."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from sqlalchemy import text

from headrace.errors import HeadraceError
from headrace.records.database import Database
from headrace.server.access.audit import AuditEntry
from headrace.server.access.control import AccessControl
from headrace.server.access.decisions import Target, Who
from headrace.server.access.mistakes import Conflict, Forbidden, NotFound
from headrace.server.access.roles import Action, ObjectKind, Role

Person = Callable[..., Who]


def whole_table(database: Database, table: str) -> str:
    with database.reading() as session:
        return repr(session.execute(text(f"SELECT * FROM {table}")).all())


def test_a_token_stands_for_its_owner(control: AccessControl, person: Person) -> None:
    ann = person("ann", Role.OPERATOR)
    made = control.tokens.create(ann, "ann", "ci")
    assert made.text.startswith(f"hr_{made.token.id}_")
    who = control.tokens.find(made.text)
    assert who is not None
    assert (who.id, who.name, who.role, who.ceiling, who.token) == (ann.id, "ann", Role.OPERATOR, None, made.token.id)


def test_a_token_is_narrowed(control: AccessControl, admin: Who, person: Person) -> None:
    ann = person("ann", Role.DEVELOPER)
    made = control.tokens.create(ann, "ann", "reader", role=Role.VIEWER)
    who = control.tokens.find(made.text)
    assert who is not None
    assert who.effective_role is Role.VIEWER
    assert not control.access.may(who, Action.SUBMIT, Target(ObjectKind.APPLICATION, "x"))
    with pytest.raises(Conflict, match="ann is developer: a token cannot be admin"):
        control.tokens.create(ann, "ann", "more", role=Role.ADMIN)
    whole = control.tokens.create(ann, "ann", "whole")
    control.users.set_role(admin, "ann", Role.VIEWER)
    demoted = control.tokens.find(whole.text)
    assert demoted is not None
    assert demoted.effective_role is Role.VIEWER, "the role of now counts, not that of the making"


def test_a_token_ends(control: AccessControl, admin: Who, person: Person, clock) -> None:
    ann = person("ann")
    short = control.tokens.create(ann, "ann", "short", lifetime=timedelta(days=1))
    revoked = control.tokens.create(ann, "ann", "revoked")
    kept = control.tokens.create(ann, "ann", "kept")
    control.tokens.revoke(ann, revoked.token.id)
    control.tokens.revoke(ann, revoked.token.id)
    assert control.tokens.find(revoked.text) is None
    clock.move(days=1, microseconds=-1)
    assert control.tokens.find(short.text) is not None
    clock.move(microseconds=1)
    assert control.tokens.find(short.text) is None
    control.users.disable(admin, "ann")
    assert control.tokens.find(kept.text) is None
    control.users.enable(admin, "ann")
    assert control.tokens.find(kept.text) is not None
    control.users.delete(admin, "ann")
    assert control.tokens.find(kept.text) is None


@pytest.mark.parametrize("change", [
    lambda text: text[:-1] + ("0" if text[-1] != "0" else "1"),
    lambda text: text[:-1],
    lambda text: text + "0",
    lambda text: text.upper(),
    lambda text: text.replace("hr_", "hx_"),
    lambda text: "hr_" + "0" * 16 + text[19:],
    lambda text: text + "\n",
    lambda text: "hr_\0_" + text[20:],
    lambda text: "",
    lambda text: "hr__",
    lambda text: "\ud800",
])  # fmt: skip
def test_what_is_no_token(control: AccessControl, person: Person, change: Callable[[str], str]) -> None:
    made = control.tokens.create(person("ann"), "ann", "ci").text
    assert control.tokens.find(change(made)) is None
    assert control.tokens.find(made) is not None


def test_only_a_hash_is_kept(control: AccessControl, database: Database, person: Person, audited) -> None:
    made = control.tokens.create(person("ann"), "ann", "ci")
    secret = made.text.rpartition("_")[2]
    assert len(secret) == 64
    control.tokens.find(made.text)
    for kept in (whole_table(database, "api_tokens"), whole_table(database, "audit"), repr(made), repr(audited())):
        assert secret not in kept
    assert made.token.id in whole_table(database, "audit")


def test_use_is_noted_once_a_minute(control: AccessControl, person: Person, clock) -> None:
    ann = person("ann")
    made = control.tokens.create(ann, "ann", "ci")

    def last_used() -> object:
        return control.tokens.of_user(ann, "ann")[0].last_used_at

    assert last_used() is None
    first = clock.now
    control.tokens.find(made.text)
    assert last_used() == first
    clock.move(seconds=59)
    control.tokens.find(made.text)
    assert last_used() == first
    clock.move(seconds=1)
    control.tokens.find(made.text)
    assert last_used() == clock.now


def test_names_and_lifetimes(control: AccessControl, person: Person, clock) -> None:
    ann = person("ann")
    made = control.tokens.create(ann, "ann", " my  laptop ")
    assert made.token.name == "my laptop"
    with pytest.raises(Conflict, match='ann has a token "my laptop" already'):
        control.tokens.create(ann, "ann", "my laptop")
    control.tokens.revoke(ann, made.token.id)
    clock.move(seconds=1)
    control.tokens.create(ann, "ann", "my laptop")
    assert [token.revoked_at is None for token in control.tokens.of_user(ann, "ann")] == [True, False]
    for name in ("", " ", "x" * 65, "a\0b"):
        with pytest.raises(HeadraceError, match="needs a name"):
            control.tokens.create(ann, "ann", name)
    for lifetime in (timedelta(0), timedelta(days=-1), timedelta(days=367)):
        with pytest.raises(HeadraceError, match="at most 366 days"):
            control.tokens.create(ann, "ann", "other", lifetime=lifetime)


def test_admins_make_and_revoke_tokens_of_others_and_nobody_else_does(
    control: AccessControl, admin: Who, person: Person, audited: Callable[..., list[AuditEntry]]
) -> None:
    ann, bob = person("ann"), person("bob", Role.DEVELOPER)
    made = control.tokens.create(admin, "ann", "ci")
    with pytest.raises(Forbidden):
        control.tokens.revoke(bob, made.token.id)
    assert control.tokens.find(made.text) is not None
    control.tokens.revoke(admin, made.token.id)
    assert control.tokens.find(made.text) is None
    for unknown in ("0" * 16, "\0", "x"):
        with pytest.raises(NotFound):
            control.tokens.revoke(ann, unknown)
    assert [(entry.action, entry.actor_name, entry.target_name) for entry in audited("token")] == [
        ("token.create", "root", "ann"),
        ("token.revoke", "root", "ann"),
    ]


def test_a_token_makes_no_other_and_changes_no_password(control: AccessControl, admin: Who) -> None:
    who = control.tokens.find(control.tokens.create(admin, "root", "ci").text)
    assert who is not None
    for change in (
        lambda: control.tokens.create(who, "root", "another"),
        lambda: control.users.change_password(who, "correct-kettle-marble", "nine purple anchors"),
        lambda: control.sessions.end_all(who, "root"),
    ):
        with pytest.raises(Forbidden, match="A token cannot change accounts"):
            change()


def test_the_audit_log_says_by_which_token(control: AccessControl, admin: Who, audited) -> None:
    made = control.tokens.create(admin, "root", "ci")
    who = control.tokens.find(made.text)
    assert who is not None
    control.groups.create(who, "ops")
    (entry,) = audited("group.create")
    assert (entry.actor_name, entry.token_id) == ("root", made.token.id)
