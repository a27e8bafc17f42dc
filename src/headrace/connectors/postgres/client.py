"""The options of a PostgreSQL database go in, connections come out, and plain words for what goes wrong."""

import queue
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeAlias

import psycopg
from psycopg import errors, sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from headrace.connectors.postgres.options import PostgresConnection
from headrace.errors import HeadraceError, JobFailed

__all__ = ["Connection", "Connections", "address", "pages", "plain_words"]

Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]

PATIENCE = 10
"""How many seconds a server has to answer a new connection."""
MOST_IDLE = 4


def connection_settings(options: PostgresConnection) -> dict[str, Any]:
    """Return the options as libpq takes them, or raise if the url is none."""
    try:
        found: dict[str, Any] = dict(conninfo_to_dict(options.url or ""))
    except psycopg.ProgrammingError:
        raise _no_url() from None
    # A password with a bare "@" or "/" ends up in other parts, which are shown.
    port = str(found.get("port", "")).replace(",", "")
    if (port and not port.isdigit()) or any("@" in str(found.get(part, "")) for part in ("host", "dbname")):
        raise _no_url()
    own = {
        "host": options.host,
        "port": options.port,
        "user": options.user,
        "dbname": options.database,
        "password": options.password,
    }
    found.update({name: value for name, value in own.items() if value is not None})
    found.setdefault("connect_timeout", PATIENCE)
    found.setdefault("application_name", "headrace")
    return found


def _no_url() -> HeadraceError:
    """Return the error for a url that is none; neither it nor what libpq says is shown: both may hold the password."""
    return HeadraceError(
        'the option "url" is no address of a PostgreSQL database',
        detail="In it, special characters of a password must be written as in any URL, as %40 for @.",
        hint="For example: url = 'postgresql://headrace@localhost:5432/shop', password = '${PGPASSWORD}'.",
    )


def address(options: PostgresConnection) -> str:
    """Return where a database is, as it may be shown.

    >>> address(PostgresConnection(url="postgresql://ann:hush@db:5433/shop"))
    'ann@db:5433/shop'
    """
    found = connection_settings(options)
    user = f"{found['user']}@" if found.get("user") else ""
    port = f":{found['port']}" if found.get("port") else ""
    return f"{user}{found.get('host') or 'localhost'}{port}/{found.get('dbname') or found.get('user') or ''}"


class Connections:
    """Connections to one database: some are kept for the next use."""

    def __init__(self, options: PostgresConnection) -> None:
        self._settings = connection_settings(options)
        self.address = address(options)
        self._idle: queue.LifoQueue[Connection] = queue.LifoQueue(MOST_IDLE)

    @contextmanager
    def borrow(self) -> Iterator[Connection]:
        """Give a connection in autocommit, in UTC; errors of the database inside come out in plain words."""
        connection = self._kept() or self.connect()
        try:
            yield connection
        except psycopg.Error as error:
            connection.close()
            raise plain_words(error, self.address, self._settings.get("password")) from None
        except BaseException:
            connection.close()
            raise
        self._keep(connection)

    def connect(self) -> Connection:
        """Return a new connection."""
        try:
            connection = psycopg.connect(make_conninfo(**self._settings), autocommit=True)
            connection.execute("SET TIME ZONE 'UTC'")
            connection.execute("SET client_min_messages = 'warning'")
            connection.execute("SET standard_conforming_strings = on")  # as queries are written
        except psycopg.Error as error:
            raise plain_words(error, self.address, self._settings.get("password")) from None
        return connection

    def close(self) -> None:
        """Close what is kept."""
        with suppress(queue.Empty):
            while True:
                self._idle.get_nowait().close()

    def _kept(self) -> Connection | None:
        with suppress(queue.Empty):
            while True:
                connection = self._idle.get_nowait()
                try:
                    connection.execute("SELECT 1")  # the server may have gone since
                    return connection
                except psycopg.Error:
                    connection.close()
        return None

    def _keep(self, connection: Connection) -> None:
        try:
            if not connection.closed:
                self._idle.put_nowait(connection)
        except queue.Full:
            connection.close()


def pages(
    connection: Connection, statement: sql.Composable, values: Sequence[Any] = (), size: int = 5000
) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a SELECT, a page at a time, inside the transaction that is under way."""
    connection.execute(sql.SQL("DECLARE headrace_page NO SCROLL CURSOR FOR {}").format(statement), values)
    fetch = sql.SQL("FETCH {} FROM headrace_page").format(sql.SQL(str(size)))
    while rows := connection.execute(fetch).fetchall():
        yield from rows


def plain_words(error: psycopg.Error, where: str, password: str | None) -> HeadraceError:
    """Return what the user can do about an error of the database."""
    said = _without(str(error).strip().split("\n")[0].strip(), password)
    lower = str(error).lower()
    if isinstance(error, errors.InvalidPassword | errors.InvalidAuthorizationSpecification) or (
        "authentication failed" in lower or "no password supplied" in lower
    ):
        return HeadraceError(
            f"PostgreSQL at {where} refuses the login", detail=f"It says: {said}.", hint="Check user and password."
        )
    if 'database "' in lower and "does not exist" in lower:
        return HeadraceError(
            f"there is no such database: {where}", hint="Make it with CREATE DATABASE, or name another."
        )
    if 'role "' in lower and "does not exist" in lower:
        return HeadraceError(f"PostgreSQL at {where} does not know this user", hint="Check the option user.")
    if isinstance(error, errors.InsufficientPrivilege):
        return HeadraceError(
            f"PostgreSQL at {where} does not allow it: {error.diag.message_primary}",
            hint="Ask the owner for a GRANT, or name another user.",
        )
    if isinstance(error, errors.QueryCanceled):
        return HeadraceError(f"PostgreSQL at {where} stopped the statement: {error.diag.message_primary}")
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return JobFailed(
            f"PostgreSQL at {where} cannot be reached",
            detail=f"It says: {said}.",
            hint="Check the address, and that the server runs.",
            passing=True,
        )
    if isinstance(error, psycopg.DataError | psycopg.IntegrityError):
        return JobFailed(f"PostgreSQL at {where} refuses a row: {said}", detail="Nothing of the batch was written.")
    return JobFailed(f"PostgreSQL at {where} reports: {said}")


def _without(text: str, password: str | None) -> str:
    return text.replace(password, "***") if password else text
