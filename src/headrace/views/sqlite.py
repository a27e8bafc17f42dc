"""Batches of changes go in, each in one transaction; rows, answers to SQL and change feeds come out of an SQLite file.

Any process may read while one writes, and sees every view as of the same batch.
"""

import json
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from headrace.errors import HeadraceError, PlanError
from headrace.plan.scope import did_you_mean
from headrace.views.definition import Bounds, Delta, FeedBatch, QueryTooLong, Reflects, Row, Snapshot, ViewDefinition
from headrace.views.sqlite_connections import Connections, transaction
from headrace.views.sqlite_feed import prune, purge_changes, read_batches, write_changes
from headrace.views.sqlite_query import plan_view_query
from headrace.views.sqlite_schema import HIDDEN, make_indexes, make_view, quoted, remove_indexes, remove_view, table_of
from headrace.views.sqlite_tables import change_rows
from headrace.views.sqlite_values import codec, decoded, encoded, encoded_key, instant_text
from headrace.views.store_rules import definition_from_text, definition_text, identified

__all__ = ["SqliteViewStore"]

FETCHED_AT_ONCE = 1000
LOOK_EVERY = 20_000
"""Steps of SQLite's machine after which it looks at the time: about a millisecond."""
_READS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}


class SqliteViewStore:
    """Views in one SQLite file; ``read_only`` neither makes the file nor changes it.

    >>> import tempfile
    >>> from headrace.views.definition import ViewColumn
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = SqliteViewStore(Path(folder.name) / "views.sqlite")
    >>> columns = (ViewColumn("auction", "bigint"), ViewColumn("price", "decimal(10,2)"))
    >>> store.define("q", [ViewDefinition("best", columns, key=("auction",))])
    >>> store.take("q", 0, {"best": Delta(inserted=[(1, 10), (2, 9)])}, Reflects())
    True
    >>> store.query("SELECT auction FROM best WHERE price > 9.5")
    (('auction',), [(1,)])
    >>> store.close()
    >>> folder.cleanup()
    """

    def __init__(
        self,
        path: str | Path,
        *,
        read_only: bool = False,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        query_timeout: timedelta | None = None,
    ) -> None:
        self.path = Path(path)
        self._clock = clock
        self._query_timeout = query_timeout
        self._connections = Connections(self.path, read_only=read_only)

    def close(self) -> None:
        """Close the file; the store opens it again when it is used again."""
        self._connections.close()

    # --- writing --------------------------------------------------------------------------------------

    def define(self, query: str, views: Sequence[ViewDefinition]) -> None:
        """Make the views of a query known, empty if they are new; raise HeadraceError if an old one looks different."""
        with self._connections.writing() as connection, transaction(connection):
            for view in views:
                _define(connection, query, view)

    def last_batch(self, query: str) -> int | None:
        """Return the last batch of a query that was taken in."""
        with self._connections.reading() as connection:
            return _last_batch(connection, query)

    def take(self, query: str, batch: int, deltas: Mapping[str, Delta], reflects: Reflects) -> bool:
        """Take in a batch: rows, change feed and number at once. One taken in before changes nothing: False."""
        with self._connections.writing() as connection, transaction(connection):
            last = _last_batch(connection, query)
            if last is not None and batch <= last:
                return False
            now = self._clock()
            at = instant_text(now)
            known = {view.name.lower(): view for owner, view in _kept(connection) if owner == query}
            for name, delta in deltas.items():
                view = known.get(name.lower())
                if view is None:
                    raise HeadraceError(f'query "{query}" has no view "{name}"', hint="Define its views first.")
                codecs = [codec(each.type) for each in view.columns]
                deleted, inserted = encoded(delta.deleted, codecs), encoded(delta.inserted, codecs)
                change_rows(connection, view, deleted, inserted)
                write_changes(connection, view.name, batch, at, deleted, inserted)
            watermark = None if reflects.watermark is None else instant_text(reflects.watermark)
            connection.execute(
                f"INSERT INTO {HIDDEN}batches VALUES (?, ?, ?, ?, ?)",
                (query, batch, at, watermark, json.dumps(dict(reflects.positions))),
            )
            prune(connection, query, list(known.values()), now)
            return True

    def remove(self, query: str) -> None:
        """Forget the views of a query, their feed and its batch number."""
        with self._connections.writing() as connection, transaction(connection):
            for owner, view in _kept(connection):
                if owner == query:
                    remove_view(connection, view)
                    connection.execute(f"DELETE FROM {HIDDEN}feed WHERE view = ?", (view.name,))
                    connection.execute(f"DELETE FROM {HIDDEN}views WHERE name = ?", (view.name,))
            connection.execute(f"DELETE FROM {HIDDEN}batches WHERE query = ?", (query,))

    def purge(self, view: str, column: str, value: Any) -> int:
        """Take the rows with a value out of the change feed of a view; return how many there were."""
        with self._connections.writing() as connection, transaction(connection):
            _, found = _named(connection, view)
            place = [each.name.lower() for each in found.columns].index(column.lower())
            (sought,) = encoded_key([value], [found.columns[place]])
            return purge_changes(connection, found.name, place, sought)

    def wipe(self) -> bool:
        """Rewrite the file without the remains of what was deleted; False if a reader still holds an old copy."""
        with self._connections.writing() as connection:
            connection.execute("VACUUM")
            busy: int = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            return not busy

    # --- reading --------------------------------------------------------------------------------------

    def made(self) -> bool:
        """Say whether the store is there yet; it is made by the first start of an application."""
        return self._connections.made()

    def views(self) -> Sequence[ViewDefinition]:
        """Return the views that are kept."""
        with self._connections.reading() as connection:
            return [view for _, view in _kept(connection)]

    def owner(self, view: str) -> str | None:
        """Return the query that a view is kept for, None if it is not kept."""
        with self._connections.reading() as connection:
            return next((query for query, each in _kept(connection) if each.name.lower() == view.lower()), None)

    def get(self, view: str, key: Sequence[Any]) -> list[Row]:
        """Return the rows whose first key columns have these values."""
        with self._connections.reading() as connection:
            _, found = _named(connection, view)
            if not found.key:
                raise HeadraceError(
                    f'view "{found.name}" has no key', hint="Ask for its rows by a query, or give it a key."
                )
            if len(key) > len(found.key):
                raise HeadraceError(
                    f"{len(key)} values were given for a key of {len(found.key)}",
                    detail=f'The key of view "{found.name}" is ({", ".join(found.key)}).',
                )
            by_name = {each.name.lower(): each for each in found.columns}
            values = encoded_key(key, [by_name[each.lower()] for each in found.key])
            condition = " AND ".join(f"{quoted(each)} COLLATE BINARY IS ?" for each in found.key[: len(key)])
            where = f" WHERE {condition}" if condition else ""
            rows = connection.execute(f"SELECT * FROM {table_of(found)}{where}{_by_key(found)}", values).fetchall()
            return list(decoded(rows, [codec(each.type) for each in found.columns]))

    def rows(self, view: str) -> Iterator[Row]:
        """Yield all rows of a view, in the order of its key."""
        with self._connections.reading() as connection:
            _, found = _named(connection, view)
            codecs = [codec(each.type) for each in found.columns]
            cursor = connection.execute(f"SELECT * FROM {quoted(found.name)}{_by_key(found)}")
            while rows := cursor.fetchmany(FETCHED_AT_ONCE):
                yield from decoded(rows, codecs)

    @contextmanager
    def snapshot(self, view: str) -> Iterator[Snapshot]:
        """Give all rows of a view as of one batch, to be read until the end of the block."""
        with self._connections.reading() as connection:
            query, found = _named(connection, view)
            codecs = [codec(each.type) for each in found.columns]
            cursor = connection.execute(f"SELECT * FROM {quoted(found.name)}")
            pages = iter(lambda: cursor.fetchmany(FETCHED_AT_ONCE), [])
            rows = (row for page in pages for row in decoded(page, codecs))
            yield Snapshot(found.identity, _last_batch(connection, query), rows)

    def renew(self) -> None:
        """Give every view another identity: what its readers have seen is not what it was."""
        with self._connections.writing() as connection, transaction(connection):
            for _, view in _kept(connection):
                text = definition_text(identified(view, None))
                connection.execute(f"UPDATE {HIDDEN}views SET definition = ? WHERE name = ?", (text, view.name))

    def query(self, sql: str, bounds: Bounds | None = None) -> tuple[tuple[str, ...], list[Row]]:
        """Answer a SELECT over any views, or over those within bounds, all as of one batch; the columns come first."""
        with self._connections.reading() as connection:
            kept = [view for _, view in _kept(connection)]
            views = [view for view in kept if bounds is None or view.name.lower() in bounds.views]
            planned = plan_view_query(sql, views, self._clock())
            others = [view for view in kept if view not in views]
            connection.set_authorizer(_only_reading(_tables_of(views), _tables_of(others)))
            ended = _end_after(connection, self._query_timeout)
            most = connection.getlimit(sqlite3.SQLITE_LIMIT_LENGTH)
            if bounds is not None:
                connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, bounds.value_bytes)
            try:
                cursor = connection.execute(planned.sql)
                rows = cursor.fetchall() if bounds is None else bounds.taken(cursor)
                cursor.close()
            except (sqlite3.Error, sqlite3.Warning) as error:
                if self._query_timeout is not None and ended():
                    raise QueryTooLong(self._query_timeout) from error
                raise _refused(error) from error
            finally:
                connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, most)
                connection.set_progress_handler(None, 0)
                connection.set_authorizer(None)
            return planned.columns, planned.values(rows)

    def changes(self, view: str, after: int | None) -> Iterator[FeedBatch]:
        """Yield the batches that changed a view after a position, as far as they are there now.

        Without a position from the beginning; raise HeadraceError if the feed no longer goes back that far.
        """
        with self._connections.reading() as connection:
            query, found = _named(connection, view)
            yield from read_batches(connection, found, after, _last_batch(connection, query))

    def reflects(self, view: str) -> Reflects:
        """Return up to where the input is in a view."""
        with self._connections.reading() as connection:
            query, _ = _named(connection, view)
            found = connection.execute(
                f"SELECT watermark, positions, batch, at FROM {HIDDEN}batches WHERE query = ? "
                "ORDER BY batch DESC LIMIT 1",
                (query,),
            ).fetchone()
        if found is None:
            return Reflects()
        watermark, positions, batch, at = found
        return Reflects(_instant(watermark), json.loads(positions), batch, _instant(at))

    def version(self) -> Any:
        """Return what is another value after every batch that any process has taken in; cheap to ask often."""
        return self._connections.version()


def _define(connection: sqlite3.Connection, query: str, view: ViewDefinition) -> None:
    found = next((each for each in _kept(connection) if each[1].name.lower() == view.name.lower()), None)
    if found is None:
        try:
            make_view(connection, view)
        except sqlite3.OperationalError as error:
            raise HeadraceError(f'view "{view.name}" cannot be kept in SQLite', detail=f"{error}.") from error
        connection.execute(
            f"INSERT INTO {HIDDEN}views VALUES (?, ?, ?, NULL)",
            (view.name, query, definition_text(identified(view, None))),
        )
        return
    owner, old = found
    if owner != query:
        raise HeadraceError(
            f'view "{view.name}" is kept for another query already',
            detail=f'In this store it belongs to "{owner}".',
            hint="Name the view differently, or give this application a store of its own.",
        )
    if (old.columns, old.key) != (view.columns, view.key):
        raise HeadraceError(
            f'view "{view.name}" has other columns or another key than before',
            hint="Run the application with --fresh to build the view anew.",
        )
    if old.indexes != view.indexes:
        remove_indexes(connection, old)
        make_indexes(connection, view)
    text = definition_text(identified(view, old))
    connection.execute(f"UPDATE {HIDDEN}views SET definition = ? WHERE name = ?", (text, view.name))


def _kept(connection: sqlite3.Connection) -> list[tuple[str, ViewDefinition]]:
    found = connection.execute(f"SELECT query, definition FROM {HIDDEN}views ORDER BY name")
    return [(query, definition_from_text(text)) for query, text in found]


def _named(connection: sqlite3.Connection, name: str) -> tuple[str, ViewDefinition]:
    found = connection.execute(f"SELECT query, definition FROM {HIDDEN}views WHERE name = ?", (name,)).fetchone()
    if found is None:
        known = [view.name for _, view in _kept(connection)]
        raise PlanError(f'unknown view "{name}"', hint=did_you_mean(name, known))
    return found[0], definition_from_text(found[1])


def _last_batch(connection: sqlite3.Connection, query: str) -> int | None:
    last: int | None = connection.execute(
        f"SELECT max(batch) FROM {HIDDEN}batches WHERE query = ?", (query,)
    ).fetchone()[0]
    return last


def _by_key(view: ViewDefinition) -> str:
    return f" ORDER BY {', '.join(map(quoted, view.key))}" if view.key else ""


def _tables_of(views: Sequence[ViewDefinition]) -> set[str]:
    return {name.lower() for view in views for name in (view.name, f"{HIDDEN}bag_{view.name}")}


def _only_reading(readable: set[str], closed: set[str]) -> Callable[..., int]:
    """Return an authorizer that lets a statement read views, but none of the closed ones, and nothing else."""

    def authorize(action: int, first: str | None, second: str | None, _database: Any, _inner: Any) -> int:
        if action not in _READS:
            return sqlite3.SQLITE_DENY
        if action == sqlite3.SQLITE_FUNCTION and second == "load_extension":
            return sqlite3.SQLITE_DENY
        if action == sqlite3.SQLITE_READ and first:
            name = first.lower()
            if name in closed or (name.startswith((HIDDEN, "sqlite_")) and name not in readable):
                return sqlite3.SQLITE_DENY
        return sqlite3.SQLITE_OK

    return authorize


def _end_after(connection: sqlite3.Connection, limit: timedelta | None) -> Callable[[], bool]:
    """Let SQLite end what takes longer than this; return what says whether it did."""
    if limit is None:
        return lambda: False
    deadline, ended = time.monotonic() + limit.total_seconds(), False

    def look() -> bool:
        nonlocal ended
        ended = time.monotonic() >= deadline
        return ended

    connection.set_progress_handler(look, LOOK_EVERY)
    return lambda: ended


def _refused(error: Exception) -> HeadraceError:
    message = str(error)
    if message.startswith("no such function: "):
        name = message.removeprefix("no such function: ").lower()
        return HeadraceError(
            f"{name} is not known to queries over views",
            detail="They are answered by SQLite, which has its own functions.",
            hint="Compute it in the application, as a column of the view.",
        )
    return HeadraceError(f"the query cannot be answered: {message}")


def _instant(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text + "+00:00")
