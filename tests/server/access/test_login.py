"""Logging in: one message for all that is wrong, and slower and slower for those who guess."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from argon2 import PasswordHasher
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text

from headrace.errors import HeadraceError
from headrace.records.database import Database
from headrace.server.access.attempts import AttemptLimits, Limit
from headrace.server.access.audit import Outcome
from headrace.server.access.control import AccessControl, access_control
from headrace.server.access.decisions import SYSTEM, Who
from headrace.server.access.mistakes import LogInFailed, TooManyAttempts
from headrace.server.access.passwords import Passwords
from headrace.server.access.roles import Role

GOOD = "correct-kettle-marble"
HERE, THERE = "10.0.0.1", "10.0.0.2"
Person = Callable[..., Who]


@pytest.fixture(autouse=True)
def _ann(control: AccessControl) -> None:
    control.users.create(SYSTEM, "ann", Role.VIEWER, GOOD)
    control.users.create(SYSTEM, "bob", Role.VIEWER, GOOD)


def fail(control: AccessControl, name: str, address: str | None, times: int = 1) -> None:
    for _ in range(times):
        with pytest.raises(LogInFailed):
            control.login.log_in(name, "wrong", address)


def wait(control: AccessControl, name: str, address: str | None) -> float:
    """Return for how many seconds the right password would not be looked at."""
    try:
        control.login.log_in(name, GOOD, address)
    except TooManyAttempts as error:
        return error.retry_after.total_seconds()
    except LogInFailed:
        return 0
    return 0


def test_the_right_password_lets_in(control: AccessControl, audited) -> None:
    assert control.login.log_in(" Ann", GOOD, HERE).who.name == "ann"
    (entry,) = audited("session.start")
    assert (entry.outcome, entry.actor_name, entry.address) == (Outcome.DONE, "ann", HERE)


def test_all_that_is_wrong_gives_the_same_message(control: AccessControl, admin: Who, audited) -> None:
    control.users.disable(admin, "bob")
    said = []
    tries = [("ann", "wrong"), ("bob", GOOD), ("nobody", GOOD), ("", ""), ("a\0", GOOD), ("\ud800", "\ud800")]
    for name, password in tries:
        with pytest.raises(HeadraceError) as raised:
            control.login.log_in(name, password, None)
        said.append((type(raised.value), str(raised.value)))
    assert set(said) == {(LogInFailed, "error: the name or the password is wrong")}
    refused = [entry for entry in audited("session.start") if entry.outcome is Outcome.REFUSED]
    assert [entry.target_name for entry in refused] == ["ann", "bob", "unknown", "unknown", "unknown", "unknown"]
    assert {entry.actor_name for entry in refused} == {"unknown"}


def test_a_password_typed_as_the_name_is_kept_nowhere(control: AccessControl, database: Database) -> None:
    fail(control, GOOD, HERE)
    with database.reading() as session:
        kept = repr([session.execute(text(f"SELECT * FROM {table}")).all() for table in ("audit", "login_attempts")])
    assert GOOD not in kept


@pytest.mark.parametrize("name", ["ann", "nobody"])
def test_a_name_must_wait_longer_and_longer(control: AccessControl, clock, name: str) -> None:
    """A user that there is not is treated alike."""
    fail(control, name, HERE, 5)
    waits = []
    for _ in range(9):
        waits.append(wait(control, name, HERE))
        clock.move(seconds=waits[-1])
        fail(control, name, HERE)
    assert waits == [5, 10, 20, 40, 80, 160, 300, 300, 300]


def test_the_right_password_does_not_get_around_the_wait(control: AccessControl, clock) -> None:
    fail(control, "ann", HERE, 5)
    clock.move(seconds=4)
    with pytest.raises(TooManyAttempts, match="Try again in 1 seconds"):
        control.login.log_in("ann", GOOD, HERE)
    clock.move(seconds=1)
    assert control.login.log_in("ann", GOOD, HERE)


def test_those_who_wait_are_not_made_to_wait_longer(control: AccessControl, clock) -> None:
    fail(control, "ann", HERE, 5)
    for _ in range(4):
        clock.move(seconds=1)
        with pytest.raises(TooManyAttempts):
            control.login.log_in("ann", GOOD, HERE)
    clock.move(seconds=1)
    assert control.login.log_in("ann", GOOD, HERE)


def test_a_locked_name_locks_no_other(control: AccessControl) -> None:
    fail(control, "ann", HERE, 5)
    assert wait(control, "ann", HERE) == 5
    assert wait(control, "bob", HERE) == 0


def test_who_guesses_elsewhere_keeps_nobody_out(control: AccessControl) -> None:
    fail(control, "ann", THERE, 5)
    assert control.login.log_in("ann", GOOD, HERE)
    assert wait(control, "ann", THERE) == 5, "one who logs in does not forgive those who guess"


@pytest.mark.parametrize("name", ["ann", "nobody"])
def test_a_name_must_wait_if_very_many_guess_at_it(control: AccessControl, name: str) -> None:
    for number in range(25):
        assert wait(control, "bob", HERE) == 0
        fail(control, name, f"10.1.0.{number}", 4)
    assert wait(control, name, HERE) == 5


def test_failures_are_forgotten_after_the_window(control: AccessControl, clock) -> None:
    fail(control, "ann", HERE, 5)
    clock.move(minutes=30)
    fail(control, "ann", HERE, 4)
    assert wait(control, "ann", HERE) == 0


def test_success_clears_the_name_but_not_the_address(control: AccessControl) -> None:
    """One who has an account must not clear their address by it between two guesses."""
    for number in range(5):
        fail(control, "ann", HERE, 4)
        assert wait(control, "ann", HERE) == (5 if number == 4 else 0)
    assert wait(control, "bob", HERE) == 5
    assert wait(control, "bob", THERE) == 0


def test_an_address_must_wait_whichever_names_it_tries(control: AccessControl) -> None:
    for number in range(20):
        fail(control, f"user{number}", HERE)
    assert wait(control, "ann", HERE) == 5
    assert wait(control, "ann", THERE) == 0


def test_one_who_has_a_network_has_one_address(control: AccessControl) -> None:
    for number in range(20):
        fail(control, f"user{number}", f"2001:db8::{number:x}")
    assert wait(control, "ann", "2001:db8::ffff") == 5
    assert wait(control, "ann", "2001:db8:0:1::1") == 0


def test_a_restart_resets_nothing(control: AccessControl, database: Database, clock, passwords: Passwords) -> None:
    fail(control, "ann", HERE, 5)
    again = Database.open(database.url.render_as_string(hide_password=False))
    try:
        assert wait(access_control(again, clock, passwords), "ann", HERE) == 5
    finally:
        again.close()


def test_many_at_once_are_no_way_around(database: Database, clock) -> None:
    """All stand before the password at the same time; those beyond the limit never get to it."""
    verified: list[str] = []
    ready = threading.Barrier(12)

    class Counting(Passwords):
        def verify(self, kept: str | None, password: str) -> bool:
            verified.append(password)
            return super().verify(kept, password)

    passwords = Counting(PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
    control = access_control(database, clock, passwords)

    def guess(number: int) -> type[BaseException]:
        ready.wait()
        with pytest.raises(HeadraceError) as raised:
            control.login.log_in("ann", f"guess {number}", None)
        return type(raised.value)

    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(guess, range(12)))
    assert len(verified) == 5
    assert (answers.count(LogInFailed), answers.count(TooManyAttempts)) == (5, 7)


def test_limits_can_be_chosen(database: Database, clock, passwords: Passwords) -> None:
    strict = AttemptLimits(name_and_address=Limit(free=1, first_wait=timedelta(minutes=1)))
    control = access_control(database, clock, passwords, attempt_limits=strict)
    fail(control, "ann", HERE)
    assert wait(control, "ann", HERE) == 60


def test_hashes_are_renewed_at_the_log_in(database: Database, control: AccessControl, clock) -> None:
    def kept() -> str:
        with database.reading() as session:
            return str(session.execute(text("SELECT password_hash FROM users WHERE name = 'ann'")).scalar_one())

    old = kept()
    stronger = access_control(database, clock, Passwords(PasswordHasher(time_cost=2, memory_cost=16, parallelism=1)))
    fail(stronger, "ann", HERE)
    assert kept() == old
    stronger.login.log_in("ann", GOOD, HERE)
    new = kept()
    assert "m=16,t=2" in new
    stronger.login.log_in("ann", GOOD, HERE)
    assert kept() == new
    assert control.login.log_in("ann", GOOD, HERE)


def test_a_user_who_is_disabled_meanwhile_stays_out(database: Database, control: AccessControl, clock) -> None:
    class Slow(Passwords):
        def verify(self, kept: str | None, password: str) -> bool:
            control.users.disable(SYSTEM, "ann")
            return super().verify(kept, password)

    slow = access_control(database, clock, Slow(PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)))
    with pytest.raises(LogInFailed):
        slow.login.log_in("ann", GOOD, HERE)


NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
SPANS = st.timedeltas(min_value=timedelta(0), max_value=timedelta(hours=2))


@given(st.integers(0, 10_000), SPANS, st.timedeltas(timedelta(hours=-2), timedelta(hours=2)))
def test_waits_are_bounded_and_grow(failures: int, longest: timedelta, ago: timedelta) -> None:
    limit = Limit(free=5, longest_wait=longest)
    now = limit.wait(failures, NOON - ago, NOON)
    assert timedelta(0) <= now <= longest
    assert now <= limit.wait(failures + 1, NOON - ago, NOON)
    if failures < 5 or ago >= longest:
        assert now == timedelta(0)
