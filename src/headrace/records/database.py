"""A URL goes in, sessions on a database with the tables of this version come out."""

import sqlite3
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from sqlalchemy import URL, Connection, Engine, create_engine, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.orm import Session, sessionmaker

from headrace.errors import HeadraceError

__all__ = ["Database", "take_turns", "unusable"]

MIGRATIONS = Path(__file__).with_name("migrations")
_READING = "headrace_reading"
CONNECTIONS = 32
"""To a file of SQLite: those who wait for the writer each hold one, and must not keep readers from theirs."""
PATIENCE = 30
"""Seconds that one who wants to write waits for others."""


class Database:
    """The database of a server: ``sqlite:///path`` or ``postgresql+psycopg://…``."""

    def __init__(self, url: str) -> None:
        self.url = make_url(url)
        self.engine = _engine(url)
        self._writers = sessionmaker(self.engine, expire_on_commit=False)
        self._readers = sessionmaker(self.engine.execution_options(**_options_for_reading(self.engine)))

    @classmethod
    def open(cls, url: str) -> "Database":
        """Return the database with its tables brought up to this version; a new file is its owner's alone."""
        try:
            return cls._opened(url)
        except (ArgumentError, ImportError) as error:
            raise HeadraceError(
                "the URL of the database is not one that can be used",
                detail=f"{_first_line(error)}.",
                hint="Write it as postgresql+psycopg://user@host/name or sqlite:///path.",
            ) from error
        except DBAPIError as error:
            raise unusable(make_url(url), error) from error
        except CommandError as error:
            raise HeadraceError(
                "the tables of the database are not ones that this version knows",
                detail=f"{_first_line(error)}.",
                hint="A newer Headrace may have used it: use that one.",
            ) from error

    @classmethod
    def _opened(cls, url: str) -> "Database":
        database = cls(url)
        if database.engine.dialect.name == "sqlite" and database.url.database not in (None, "", ":memory:"):
            with suppress(FileNotFoundError):  # SQLite says better what is wrong with the path
                Path(str(database.url.database)).touch(mode=0o600)
        database.migrate()
        return database

    def migrate(self, to: str = "head") -> None:
        """Bring the tables to a version; two servers that start at once do it one after the other."""
        configuration = Config()
        configuration.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
        with self.engine.begin() as connection:
            take_turns(connection, "migrate")
            configuration.attributes["connection"] = connection
            command.upgrade(configuration, to)

    @contextmanager
    def transaction(self) -> Iterator[Session]:
        """Give a session whose changes are kept together when the block ends, or not at all.

        On SQLite it waits for the writer before it: keep the block short, and compute before it.
        """
        with self._writers.begin() as session:
            yield session

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """Give a session that sees the database at one moment, waits for no writer and cannot write."""
        with self._readers() as session:
            yield session

    def close(self) -> None:
        """Close every connection."""
        self.engine.dispose()


def take_turns(session: Session | Connection, topic: str) -> None:
    """Let transactions of one topic pass from here on one after the other.

    SQLite lets only one write at any time; Postgres is asked for a lock that ends with the transaction.
    """
    connection = session.connection() if isinstance(session, Session) else session
    if connection.dialect.name == "postgresql":
        number = zlib.crc32(f"headrace {topic}".encode())
        connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": number})


def unusable(url: URL, error: DBAPIError) -> HeadraceError:
    """Return what is to be told of a database that cannot be reached, or that refuses."""
    return HeadraceError(
        f'the database "{url.render_as_string(hide_password=True)}" cannot be used',
        detail=f"{_first_line(error.orig or error)}.",
        hint="See that it runs, and that its URL, user and password are right.",
    )


def _engine(url: str) -> Engine:
    # values must not get into logs by way of errors
    place = make_url(url)
    is_file = place.get_backend_name() == "sqlite" and place.database not in (None, "", ":memory:")
    more = {"pool_size": CONNECTIONS, "max_overflow": CONNECTIONS} if is_file else {}
    engine = create_engine(url, hide_parameters=True, **more)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    return engine


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


def _options_for_reading(engine: Engine) -> dict[str, Any]:
    if engine.dialect.name == "sqlite":
        return {_READING: True}
    return {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    """Let readers and a writer go on side by side, and let SQLAlchemy begin transactions itself."""
    connection.isolation_level = None
    connection.execute(f"PRAGMA busy_timeout = {PATIENCE * 1000}")
    _write_ahead(connection, time.monotonic() + PATIENCE)
    for pragma in ("synchronous = FULL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {pragma}")


def _write_ahead(connection: Any, until: float) -> None:
    """Let a new database keep a log of what is written; SQLite does not wait for others to let go of it for that."""
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.05)


def _begin_sqlite(connection: Connection) -> None:
    """Take the lock at once if there will be writing: one who has read first could not get it behind another."""
    reading = bool(connection.get_execution_options().get(_READING))
    connection.exec_driver_sql(f"PRAGMA query_only = {int(reading)}")
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")
