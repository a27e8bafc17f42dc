"""The path of a store goes in; connections to it come out, one to write with and as many to read with as are wanted."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headrace.errors import HeadraceError
from headrace.views.sqlite_functions import register
from headrace.views.sqlite_schema import check_version, make_store

__all__ = ["Connections", "transaction"]

WAIT_SECONDS = 60
CACHE_KIB = 64 * 1024


class _NoStoreError(HeadraceError):
    """The file of a store is missing or empty."""

    def __init__(self, path: Path) -> None:
        super().__init__(f'there are no views in "{path}"', hint="Run the application; its first start makes them.")


class Connections:
    """Opens connections, keeps them for the next use, and forgets them when the file is another one."""

    def __init__(self, path: Path, *, read_only: bool) -> None:
        self.path = path
        self._read_only = read_only
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._writer: tuple[tuple[int, int], sqlite3.Connection] | None = None
        self._watcher: tuple[tuple[int, int], sqlite3.Connection] | None = None
        self._watchers = 0
        self._idle: list[tuple[tuple[int, int], sqlite3.Connection]] = []
        if not read_only:
            with self.writing():
                pass  # the file is made, or found to be of no use, now

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Give the connection to write with, to one user at a time."""
        if self._read_only:
            raise RuntimeError("the store was opened for reading")
        with self._writing, self._reported():
            identity = self._identity()
            if self._writer is not None and self._writer[0] != identity:
                self._writer[1].close()
                self._writer = None
            if self._writer is None:
                self._writer = self._open_writer()
            yield self._writer[1]

    def _open_writer(self) -> tuple[tuple[int, int], sqlite3.Connection]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        connection = self._connect("rwc")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        connection.execute("PRAGMA secure_delete = OFF")
        with transaction(connection):
            if not check_version(connection, str(self.path)):
                make_store(connection)
        found = self.path.stat()
        return (found.st_dev, found.st_ino), connection

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Give a connection that sees the store as it is at the first read, until the end of the block."""
        with self._reported():
            identity = self._present(self._identity())
            connection = self._borrow(identity)
            try:
                with transaction(connection, "DEFERRED"):
                    yield connection
            except BaseException:
                connection.close()
                raise
            with self._lock:
                self._idle.append((identity, connection))

    def version(self) -> tuple[int, int]:
        """Return what is another value after each commit of any other connection; cheaper than to read."""
        with self._reported(), self._lock:
            identity = self._identity()
            if self._watcher is None or self._watcher[0] != identity:
                self._forget_watcher()
                self._watcher = (self._present(identity), self._open_reader())
                self._watchers += 1
            changed: int = self._watcher[1].execute("PRAGMA data_version").fetchone()[0]
            return self._watchers, changed

    def _forget_watcher(self) -> None:
        if self._watcher is not None:
            self._watcher[1].close()
            self._watcher = None

    def made(self) -> bool:
        """Say whether there is a store: the file may be missing, or so new that nothing is in it yet."""
        try:
            with self.reading():
                return True
        except _NoStoreError:
            return False

    def _present(self, identity: tuple[int, int] | None) -> tuple[int, int]:
        if identity is None:
            raise _NoStoreError(self.path)
        return identity

    def _borrow(self, identity: tuple[int, int]) -> sqlite3.Connection:
        with self._lock:
            while self._idle:
                known, connection = self._idle.pop()
                if known == identity:
                    return connection
                connection.close()
        return self._open_reader()

    def _open_reader(self) -> sqlite3.Connection:
        try:
            connection = self._connect("rw")
            connection.execute("PRAGMA schema_version").fetchone()
        except sqlite3.OperationalError:
            connection = self._connect("ro")  # a file that this user may read only
        connection.execute("PRAGMA query_only = ON")
        with transaction(connection, "DEFERRED"):  # one look: its writer may make the store between two
            made = check_version(connection, str(self.path))
        if not made:
            connection.close()
            raise _NoStoreError(self.path)
        return connection

    def _connect(self, mode: str) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{self.path.absolute().as_uri()}?mode={mode}",
            uri=True,
            timeout=WAIT_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )
        register(connection)
        return connection

    def _identity(self) -> tuple[int, int] | None:
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    @contextmanager
    def _reported(self) -> Iterator[None]:
        """Turn what SQLite and the disk complain of into an error for the user."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise HeadraceError(
                f'the views in "{self.path}" cannot be used', detail=f"{str(error)[:1].upper()}{str(error)[1:]}."
            ) from error

    def close(self) -> None:
        """Close what is open and not in use."""
        with self._writing, self._lock:
            if self._writer is not None:
                self._writer[1].close()
                self._writer = None
            self._forget_watcher()
            for _, connection in self._idle:
                connection.close()
            self._idle.clear()


@contextmanager
def transaction(connection: sqlite3.Connection, kind: str = "IMMEDIATE") -> Iterator[None]:
    """Commit what is done inside, or roll it back if anything is raised."""
    connection.execute(f"BEGIN {kind}")
    try:
        yield
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
