"""A file or a database goes in; a claim comes out that one process has at a time, and that ends with the process."""

import fcntl
import os
import threading
import time
import zlib
from contextlib import ExitStack, suppress
from datetime import timedelta
from pathlib import Path
from typing import Protocol

from sqlalchemy import URL, Connection, NullPool, create_engine, text
from sqlalchemy.exc import DBAPIError

from headrace.errors import HeadraceError
from headrace.records.database import Database, unusable
from headrace.records.job_tables import JobRow

__all__ = ["Claim", "FileClaim", "SessionClaim", "claim_on", "taken_within"]

AGAIN_AFTER = 0.1
"""Seconds between two tries to take a claim."""
CONNECTING = {
    "application_name": "headrace supervisor",
    "connect_timeout": 5,
    "keepalives_idle": 5,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}
"""So that one who is cut off from Postgres is told so, and does not wait for ever."""
NOTICING = {"tcp_keepalives_idle": "10", "tcp_keepalives_interval": "5", "tcp_keepalives_count": "4"}
"""So that Postgres lets go of what a machine held that is gone, a little after that would have been told so itself."""
_TOPIC = zlib.crc32(b"headrace supervise") & 0x7FFFFFFF


class Claim(Protocol):
    """What one process has at a time; any thread may ask for it."""

    what: str
    """What it is on, for people."""
    patience: timedelta
    """How long after the holder's death it may still be taken."""

    def take(self) -> bool:
        """Take it, unless this process has it; False if another one has it."""

    def is_held(self) -> bool:
        """Say whether this process has it at this moment; one that was lost can be taken again."""

    def release(self) -> None:
        """Let another one have it."""


class FileClaim:
    """A claim by the lock of a file, which the kernel takes back from a process that ends, however it ends."""

    patience = timedelta(0)

    def __init__(self, file: Path, what: str) -> None:
        self.what = what
        self._file = file
        self._handle: int | None = None

    def take(self) -> bool:
        """Take it, unless this process has it; False if another one has it."""
        if self._handle is not None:
            return True
        try:
            handle = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise HeadraceError(f'the file "{self._file}" cannot be opened', detail=f"{error.strerror}.") from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return False
        except OSError as error:
            os.close(handle)
            raise HeadraceError(f'the file "{self._file}" cannot be locked', detail=f"{error.strerror}.") from error
        self._handle = handle
        return True

    def is_held(self) -> bool:
        """Say whether this process has it: it is never lost."""
        return self._handle is not None

    def release(self) -> None:
        """Let another one have it."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


class SessionClaim:
    """A claim by a lock of Postgres that ends with its connection; it is on the tables, whichever way they are reached.

    Whether it is held is asked of Postgres each time: a connection may be gone for a while before that is noticed.
    """

    patience = timedelta(seconds=5)

    def __init__(self, url: URL) -> None:
        self.what = f'the database "{url.render_as_string(hide_password=True)}"'
        given = {name: value for name, value in CONNECTING.items() if name not in url.query}
        self._engine = create_engine(
            url, poolclass=NullPool, isolation_level="AUTOCOMMIT", hide_parameters=True, connect_args=given
        )
        self._connection: Connection | None = None
        self._table = 0
        self._turn = threading.Lock()

    def take(self) -> bool:
        """Take it, unless this process has it; False if another one has it."""
        with self._turn:
            if self._asked():
                return True
            try:
                self._connect()
            except DBAPIError as error:
                raise unusable(self._engine.url, error) from error
            return self._connection is not None

    def _connect(self) -> None:
        """Have a connection that holds the lock, or none."""
        with ExitStack() as stack:
            connection = stack.enter_context(self._engine.connect())
            for name, value in NOTICING.items():
                connection.execute(text(f"SET {name} = {value}"))
            found = text("SELECT CAST(CAST(:name AS regclass) AS oid)")
            self._table = connection.execute(found, {"name": JobRow.__tablename__}).scalar_one()
            number = _TOPIC << 32 | self._table
            if connection.execute(text("SELECT pg_try_advisory_lock(:number)"), {"number": number}).scalar_one():
                self._connection = connection
                stack.pop_all()

    def is_held(self) -> bool:
        """Say whether this process has it at this moment; one that was lost can be taken again."""
        with self._turn:
            return self._asked()

    def _asked(self) -> bool:
        if self._connection is None:
            return False
        mine = text(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND pid = pg_backend_pid()"
            " AND classid = :topic AND objid = :table AND objsubid = 1"
        )
        with suppress(DBAPIError):  # whoever has no connection has no claim
            if self._connection.execute(mine, {"topic": _TOPIC, "table": self._table}).scalar_one():
                return True
        self._drop()
        return False

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.invalidate()
            self._connection.close()
            self._connection = None

    def release(self) -> None:
        """Let another one have it, at once: Postgres would notice a little later that the connection is closed."""
        with self._turn:
            if self._connection is not None:
                with suppress(DBAPIError):  # whose connection is lost has let go
                    self._connection.execute(text("SELECT pg_advisory_unlock_all()"))
            self._drop()


def claim_on(database: Database) -> Claim | None:
    """Return the claim on a database, None on one in memory: nobody else reaches it."""
    if database.engine.dialect.name == "postgresql":
        return SessionClaim(database.url)
    with database.reading() as session:
        found = session.execute(text("SELECT file FROM pragma_database_list WHERE name = 'main'")).scalar_one()
    if not found:
        return None
    file = Path(found).resolve()
    # beside it: SQLite loses its own locks on a file that its process closes
    return FileClaim(file.with_name(f"{file.name}.lock"), f'the database "{file}"')


def taken_within(claim: Claim, patience: timedelta) -> bool:
    """Take a claim, and wait for that if need be: of a process that was just killed it may be held a moment longer."""
    until = time.monotonic() + patience.total_seconds()
    while not claim.take():
        if time.monotonic() >= until:
            return False
        time.sleep(AGAIN_AFTER)
    return True
