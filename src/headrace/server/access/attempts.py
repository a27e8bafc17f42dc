"""Log-ins that failed go in; how long the next one must wait comes out."""

import ipaddress
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, delete, func, select, update
from sqlalchemy.orm import Session

from headrace.records.access_tables import LoginAttemptRow
from headrace.records.database import take_turns
from headrace.server.access.audit import plain_text
from headrace.server.access.hidden import digest
from headrace.server.access.mistakes import TooManyAttempts
from headrace.server.access.people import normal_name

__all__ = ["AttemptLimits", "Limit", "begin_attempt", "forgive", "network_of"]


@dataclass(frozen=True, slots=True)
class Limit:
    """How many failures within the window are free, and how long to wait after the next ones: twice as long each."""

    free: int
    window: timedelta = timedelta(minutes=30)
    first_wait: timedelta = timedelta(seconds=5)
    longest_wait: timedelta = timedelta(minutes=5)

    def wait(self, failures: int, last_at: datetime | None, now: datetime) -> timedelta:
        """Return how long to wait yet, after so many failures within the window.

        >>> noon = datetime(2026, 1, 1, 12)
        >>> [Limit(free=3).wait(failures, noon, noon).seconds for failures in (2, 3, 4, 5, 12)]
        [0, 5, 10, 20, 300]
        """
        if failures < self.free or last_at is None:
            return timedelta(0)
        doubled: int = 2 ** min(failures - self.free, 32)
        wait = min(self.first_wait * doubled, self.longest_wait)
        return max(timedelta(0), min(last_at + wait - now, self.longest_wait))  # though the clock may go back


@dataclass(frozen=True, slots=True)
class AttemptLimits:
    """The limits of one user name at one address, whether there is such a user or not, and of each of both alone.

    A name alone may fail often: those who guess at it elsewhere must not keep its user out.
    """

    name_and_address: Limit = Limit(free=5)
    name: Limit = Limit(free=100)
    address: Limit = Limit(free=20)


def begin_attempt(session: Session, name: str, address: str | None, now: datetime, limits: AttemptLimits) -> int:
    """Return the number of an attempt, which counts as failed until it is forgiven; raise if it comes too early.

    It is noted before the password is looked at, so that many at once are no way around the limit.
    """
    take_turns(session, "log in")
    keep = max(limits.name_and_address.window, limits.name.window, limits.address.window)
    session.execute(delete(LoginAttemptRow).where(LoginAttemptRow.at <= now - keep))
    network = None if address is None else network_of(address)
    wait = max(
        _wait(session, _name_at(name, network), limits.name_and_address, now),
        _wait(session, LoginAttemptRow.name_hash == _key(name), limits.name, now),
    )
    if network is not None:
        wait = max(wait, _wait(session, LoginAttemptRow.address == network, limits.address, now))
    if wait > timedelta(0):
        raise TooManyAttempts(wait)
    row = LoginAttemptRow(name_hash=_key(name), address=network, at=now)
    session.add(row)
    session.flush()
    return row.id


def forgive(session: Session, name: str, address: str | None, attempt: int) -> None:
    """Forget an attempt that succeeded, and the failures of its name there; those of the address still count."""
    session.execute(delete(LoginAttemptRow).where(LoginAttemptRow.id == attempt))
    there = _name_at(name, None if address is None else network_of(address))
    session.execute(update(LoginAttemptRow).where(there).values(name_hash=""))


def network_of(address: str) -> str:
    """Return the address that counts: a whole network of IPv6, for one who has an address there has them all.

    >>> network_of("10.0.0.1"), network_of("::ffff:10.0.0.1"), network_of("2001:db8::1"), network_of("a pipe")
    ('10.0.0.1', '10.0.0.1', '2001:db8::/64', 'a pipe')
    """
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return plain_text(address)[:64]
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((parsed, 64), strict=False))


def _name_at(name: str, network: str | None) -> ColumnElement[bool]:
    return (LoginAttemptRow.name_hash == _key(name)) & LoginAttemptRow.address.is_not_distinct_from(network)


def _wait(session: Session, whose: ColumnElement[bool], limit: Limit, now: datetime) -> timedelta:
    query = select(func.count(), func.max(LoginAttemptRow.at)).where(whose, LoginAttemptRow.at > now - limit.window)
    failures, last_at = session.execute(query).one()
    return limit.wait(failures, last_at, now)


def _key(name: str) -> str:
    return digest(normal_name(name))
