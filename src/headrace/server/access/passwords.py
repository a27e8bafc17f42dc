"""A password goes in, its Argon2 hash or whether it fits one comes out; easy ones are refused."""

import re
import secrets
import threading
import unicodedata
from pathlib import Path

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from headrace.server.access.mistakes import WeakPassword

__all__ = ["Passwords", "check_password", "random_password"]

SHORTEST, LONGEST = 12, 1024
FEWEST_DIFFERENT = 5
_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
"""Without letters that are read as another."""

COMMON = frozenset(Path(__file__).with_name("common_passwords.txt").read_text("utf-8").split())
"""The most common passwords, or what is left of them without digits and signs around."""


class Passwords:
    """Hashes and verifies; no more than ``at_once`` at a time, for each takes 64 MB."""

    def __init__(self, hasher: PasswordHasher | None = None, *, at_once: int = 4) -> None:
        self._hasher = hasher or PasswordHasher()
        self._turns = threading.BoundedSemaphore(at_once)
        self._nobody = self.hash(secrets.token_hex(16))

    def hash(self, password: str) -> str:
        """Return the hash of a password, with its salt and parameters."""
        with self._turns:
            return self._hasher.hash(_bytes(password))

    def verify(self, kept: str | None, password: str) -> bool:
        """Say whether a password fits a hash; without one (an unknown user) it takes as long, and does not."""
        possible = kept is not None and len(password) <= LONGEST
        with self._turns:
            try:
                fits = self._hasher.verify(kept if kept is not None else self._nobody, _bytes(password[:LONGEST]))
            except (VerificationError, InvalidHashError):
                return False
        return fits and possible

    def renewed(self, kept: str, password: str) -> str | None:
        """Return a new hash of a password that fits, if the old one was made with other parameters."""
        return self.hash(password) if self._hasher.check_needs_rehash(kept) else None


def check_password(name: str, password: str) -> None:
    """Raise WeakPassword if a user's new password is too easy to guess.

    >>> check_password("ann", "Password123456!")
    Traceback (most recent call last):
    headrace.server.access.mistakes.WeakPassword: error: the password is one of the most common
    hint: Several words that do not belong together are easy to keep in mind and hard to guess.
    """
    problem = _problem(name.casefold(), password.casefold(), len(password))
    if problem is not None:
        hint = "Several words that do not belong together are easy to keep in mind and hard to guess."
        raise WeakPassword(f"the password {problem}", hint=hint)


def _problem(name: str, password: str, length: int) -> str | None:
    if length < SHORTEST:
        return f"has fewer than {SHORTEST} characters"
    if length > LONGEST:
        return f"has more than {LONGEST} characters"
    if name and len(password.replace(name, "")) < min(6, length):
        return "is little more than the name"
    if len(set(password)) < FEWEST_DIFFERENT:
        return f"has fewer than {FEWEST_DIFFERENT} different characters"
    core = re.sub(r"^[\W\d_]+|[\W\d_]+$", "", password)
    if {password, core, re.sub(r"[\W_]+", "", password)} & COMMON:
        return "is one of the most common"
    return None


def random_password() -> str:
    """Return a password of about 99 random bits that can be read and typed."""
    return "-".join("".join(secrets.choice(_LETTERS) for _ in range(5)) for _ in range(4))


def _bytes(password: str) -> bytes:
    """Return a password as it is hashed: the same whichever keyboard has put its accents together."""
    return unicodedata.normalize("NFKC", password).encode("utf-8", "surrogatepass")
