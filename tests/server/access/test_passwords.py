"""Passwords: what is refused, what is kept, and how long verifying takes."""

import unicodedata

import pytest
from argon2 import PasswordHasher
from hypothesis import given
from hypothesis import strategies as st

from headrace.server.access.mistakes import WeakPassword
from headrace.server.access.passwords import Passwords, check_password, random_password

CHEAP = Passwords(PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))


@pytest.mark.parametrize(
    ("password", "message"),
    [
        ("short-one-1", "fewer than 12"),
        ("x" * 1025, "more than 1024"),
        ("marianne.doe", "little more than the name"),
        ("Marianne.Doe1!", "little more than the name"),
        ("marianne.doemarianne.doe", "little more than the name"),
        ("abababababababab", "fewer than 5 different"),
        ("passwordpassword", "most common"),
        ("Password1234567", "most common"),
        ("!!!Welcome2026!!!", "most common"),
        ("correct-horse-battery-staple", "most common"),
        ("123456789012", "most common"),
        ("", "fewer than 12"),
    ],
)
def test_weak_passwords(password: str, message: str) -> None:
    with pytest.raises(WeakPassword, match=message) as raised:
        check_password("marianne.doe", password)
    assert not password or password not in str(raised.value)


@pytest.mark.parametrize(
    "password", ["correct-kettle-marble", "ünf zwölf sieben", "marianne.doe likes tea", "\ud800" * 3 + "abcdefghi"]
)
def test_good_passwords(password: str) -> None:
    check_password("marianne.doe", password)
    assert CHEAP.verify(CHEAP.hash(password), password)


def test_random_passwords_are_good_and_new() -> None:
    made = {random_password() for _ in range(50)}
    assert len(made) == 50
    for password in made:
        check_password("admin", password)


@given(st.text(max_size=40), st.text(max_size=40))
def test_only_the_password_fits(one: str, other: str) -> None:
    kept = CHEAP.hash(one)
    assert CHEAP.verify(kept, one)
    same = unicodedata.normalize("NFKC", one) == unicodedata.normalize("NFKC", other)
    assert CHEAP.verify(kept, other) == same
    assert not CHEAP.verify(None, other)


def test_the_same_password_from_another_keyboard() -> None:
    assert CHEAP.verify(CHEAP.hash("Zo\u00eb and the sea"), "Zoe\u0308 and the sea")


def test_a_hash_tells_nothing_and_is_argon2() -> None:
    assert CHEAP.hash("a" * 12).startswith("$argon2id$")
    assert CHEAP.hash("a" * 12) != CHEAP.hash("a" * 12)


def test_what_is_too_long_or_broken_does_not_fit() -> None:
    long = "ab" * 1000
    assert not CHEAP.verify(CHEAP.hash(long[:1024]), long)
    assert not CHEAP.verify("no hash at all", "password")


def test_a_hash_is_renewed_when_parameters_change() -> None:
    stronger = Passwords(PasswordHasher(time_cost=2, memory_cost=16, parallelism=1))
    kept = CHEAP.hash("correct-kettle-marble")
    assert CHEAP.renewed(kept, "correct-kettle-marble") is None
    renewed = stronger.renewed(kept, "correct-kettle-marble")
    assert renewed is not None
    assert stronger.verify(renewed, "correct-kettle-marble")
    assert stronger.renewed(renewed, "correct-kettle-marble") is None


def test_unknown_users_are_verified_with_the_same_work() -> None:
    """Argon2 is counted, not the clock: one verification with the same parameters each."""
    calls: list[str] = []

    class Counting(PasswordHasher):
        def verify(self, hash: str | bytes, password: str | bytes) -> bool:
            calls.append(str(hash).rpartition("$")[0].rpartition("$")[0])
            return super().verify(hash, password)

    counting = Passwords(Counting(time_cost=1, memory_cost=8, parallelism=1))
    kept = counting.hash("correct-kettle-marble")
    counting.verify(kept, "wrong")
    counting.verify(None, "wrong")
    counting.verify(kept, "x" * 5000)
    assert len(calls) == 3
    assert len(set(calls)) == 1


def test_the_parameters_of_real_life_cost_something() -> None:
    """At least the OWASP minimum of 19 MiB and two passes, whatever the library's defaults become."""
    parameters = Passwords()._hasher
    assert parameters.memory_cost >= 19 * 1024
    assert parameters.time_cost >= 2
