"""Users and access over a real database, with a clock that tests move and passwords that are hashed fast."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from argon2 import PasswordHasher

from headrace.records.database import Database
from headrace.server.access.audit import AuditEntry, AuditFilter
from headrace.server.access.control import AccessControl, access_control
from headrace.server.access.decisions import SYSTEM, Who
from headrace.server.access.passwords import Passwords
from headrace.server.access.roles import Role

GOOD = "correct-kettle-marble"


@dataclass
class MovingClock:
    now: datetime = datetime(2026, 6, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def move(self, **by: float) -> None:
        self.now += timedelta(**by)


@pytest.fixture
def clock() -> MovingClock:
    return MovingClock()


@pytest.fixture(scope="session")
def passwords() -> Passwords:
    return Passwords(PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database.open(database_url)
    yield database
    database.close()


@pytest.fixture
def control(database: Database, clock: MovingClock, passwords: Passwords) -> AccessControl:
    return access_control(database, clock, passwords)


@pytest.fixture
def person(control: AccessControl) -> Callable[..., Who]:
    """Make a user and return who they are after logging in."""

    def make(name: str, role: Role = Role.VIEWER) -> Who:
        control.users.create(SYSTEM, name, role, GOOD)
        return control.login.log_in(name, GOOD, None).who

    return make


@pytest.fixture
def admin(person: Callable[..., Who]) -> Who:
    return person("root", Role.ADMIN)


@pytest.fixture
def audited(control: AccessControl) -> Callable[..., list[AuditEntry]]:
    """Return what the audit log has of an action, oldest first."""

    def entries(action: str | None = None) -> list[AuditEntry]:
        return list(reversed(control.access.audit(SYSTEM, AuditFilter(action=action), limit=500).entries))

    return entries
