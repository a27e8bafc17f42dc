"""Sessions of browsers: how long they last, and what a request must show."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from sqlalchemy import text

from headrace.records.database import Database
from headrace.server.access.control import AccessControl
from headrace.server.access.decisions import Who
from headrace.server.access.roles import Role
from headrace.server.access.sessions import BrowserSession

GOOD = "correct-kettle-marble"
Person = Callable[..., Who]


@pytest.fixture
def ann(control: AccessControl, person: Person) -> BrowserSession:
    person("ann")
    return control.login.log_in("ann", GOOD, "10.0.0.1")


def test_a_session_is_found_by_its_secret_alone(control: AccessControl, ann: BrowserSession) -> None:
    found = control.sessions.find(ann.secret)
    assert found == ann
    for secret in (None, "", "0" * 64, ann.secret[:-1], ann.secret + "0", ann.csrf_token, "x" * 1000, "\ud800"):
        assert control.sessions.find(secret) is None


def test_only_a_hash_is_kept(control: AccessControl, database: Database, ann: BrowserSession) -> None:
    with database.reading() as session:
        tables = ("sessions", "audit", "users", "login_attempts")
        kept = repr([session.execute(text(f"SELECT * FROM {table}")).all() for table in tables])
    for secret in (ann.secret, ann.csrf_token, GOOD):
        assert secret not in kept
        assert secret not in repr(ann)
    assert len(ann.secret) == 64


def test_it_ends_when_it_is_not_used(control: AccessControl, clock, ann: BrowserSession) -> None:
    for _ in range(3):
        clock.move(hours=7)
        assert control.sessions.find(ann.secret) is not None
    clock.move(hours=8, microseconds=-1)
    assert control.sessions.find(ann.secret) is not None
    clock.move(hours=8)
    assert control.sessions.find(ann.secret) is None


def test_it_ends_though_it_is_used(control: AccessControl, clock, ann: BrowserSession) -> None:
    end = clock.now + timedelta(days=7)
    assert ann.expires_at == end
    while clock.now + timedelta(hours=6) < end:
        clock.move(hours=6)
        assert control.sessions.find(ann.secret) is not None
    clock.now = end - timedelta(microseconds=1)
    assert control.sessions.find(ann.secret) is not None
    clock.now = end
    assert control.sessions.find(ann.secret) is None


def test_use_within_a_minute_writes_nothing(
    control: AccessControl, database: Database, clock, ann: BrowserSession
) -> None:
    """A request that had to write would wait for the writer who holds the lock here."""
    clock.move(seconds=59)
    with database.transaction() as session:
        session.execute(text("UPDATE sessions SET user_id = user_id"))
        assert control.sessions.find(ann.secret) is not None
        session.rollback()


def test_csrf_tokens_belong_to_one_session(control: AccessControl, ann: BrowserSession) -> None:
    other = control.login.log_in("ann", GOOD, "10.0.0.1")
    assert ann.accepts(ann.csrf_token)
    found = control.sessions.find(ann.secret)
    assert found is not None
    assert found.accepts(ann.csrf_token), "it stays the same as long as the session lasts"
    for wrong in (other.csrf_token, ann.secret, "", None, "\ud800", ann.csrf_token[:-1]):
        assert not ann.accepts(wrong)


def test_log_out(control: AccessControl, ann: BrowserSession, audited) -> None:
    other = control.login.log_in("ann", GOOD, "10.0.0.1")
    control.sessions.end(ann.secret)
    control.sessions.end(ann.secret)
    control.sessions.end("nonsense")
    assert control.sessions.find(ann.secret) is None
    assert control.sessions.find(other.secret) is not None
    (entry,) = audited("session.end")
    assert (entry.actor_name, entry.target_name) == ("ann", "ann")


def test_log_out_everywhere(control: AccessControl, person: Person, ann: BrowserSession, admin: Who) -> None:
    bob = person("bob")
    others = control.login.log_in("bob", GOOD, None)
    assert control.sessions.end_all(ann.who, "ann") == 2  # the fixture has logged in once before
    assert control.sessions.find(ann.secret) is None
    assert control.sessions.find(others.secret) is not None
    assert control.sessions.end_all(admin, bob.name) == 2
    assert control.sessions.find(others.secret) is None


def test_disabling_and_deleting_end_sessions(control: AccessControl, admin: Who, ann: BrowserSession) -> None:
    control.users.disable(admin, "ann")
    assert control.sessions.find(ann.secret) is None
    control.users.enable(admin, "ann")
    assert control.sessions.find(ann.secret) is None, "they do not come back"
    again = control.login.log_in("ann", GOOD, None)
    control.users.delete(admin, "ann")
    assert control.sessions.find(again.secret) is None


def test_roles_and_groups_are_those_of_now(control: AccessControl, admin: Who, ann: BrowserSession) -> None:
    group = control.groups.create(admin, "ops")
    control.groups.add_member(admin, "ops", "ann")
    control.users.set_role(admin, "ann", Role.OPERATOR)
    found = control.sessions.find(ann.secret)
    assert found is not None
    assert (found.who.role, found.who.groups) == (Role.OPERATOR, frozenset({group.id}))


def test_sessions_that_are_over_are_cleared_away(
    control: AccessControl, database: Database, clock, ann: BrowserSession
) -> None:
    clock.move(hours=8)
    control.login.log_in("ann", GOOD, None)
    with database.reading() as session:
        assert session.execute(text("SELECT count(*) FROM sessions")).scalar_one() == 1
