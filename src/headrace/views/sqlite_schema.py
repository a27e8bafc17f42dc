"""View definitions go in; the tables that keep them, and the statements that make these, come out."""

import sqlite3
from collections.abc import Iterator

from headrace.errors import HeadraceError
from headrace.views.definition import ViewDefinition
from headrace.views.sqlite_values import codec

__all__ = [
    "COPIES",
    "HASH",
    "HIDDEN",
    "check_version",
    "make_indexes",
    "make_store",
    "make_view",
    "quoted",
    "remove_indexes",
    "remove_view",
    "table_of",
]

VERSION = 1
APPLICATION = 0x48524356  # "HRCV", by which the file is known to be a store of views
HIDDEN = "_headrace_"
COPIES, HASH = f"{HIDDEN}copies", f"{HIDDEN}hash"

_STORE = f"""
CREATE TABLE {HIDDEN}views (
  name TEXT PRIMARY KEY COLLATE NOCASE, query TEXT NOT NULL, definition TEXT NOT NULL, pruned_to INTEGER);
CREATE TABLE {HIDDEN}batches (
  query TEXT NOT NULL, batch INTEGER NOT NULL, at TEXT NOT NULL, watermark TEXT, positions TEXT NOT NULL,
  PRIMARY KEY (query, batch)) WITHOUT ROWID;
CREATE INDEX {HIDDEN}batches_at ON {HIDDEN}batches (query, at);
CREATE TABLE {HIDDEN}feed (
  view TEXT NOT NULL, batch INTEGER NOT NULL, ordinal INTEGER NOT NULL, at TEXT NOT NULL,
  change TEXT NOT NULL, rows TEXT NOT NULL);
CREATE UNIQUE INDEX {HIDDEN}feed_position ON {HIDDEN}feed (view, batch, ordinal);
"""


def quoted(name: str) -> str:
    """Return a name as an identifier that SQLite takes whole.

    >>> quoted('a"b')
    '"a""b"'
    """
    return '"' + name.replace('"', '""') + '"'


def check_version(connection: sqlite3.Connection, place: str) -> bool:
    """Say whether a file holds a store yet; raise HeadraceError if it is not one that this version reads."""
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if application == APPLICATION and version > VERSION:
        raise HeadraceError(
            f'the views in "{place}" were written by a newer Headrace',
            detail=f"They have format {version}; this version reads up to {VERSION}.",
            hint="Upgrade Headrace.",
        )
    if application == APPLICATION:
        return True
    if connection.execute("SELECT 1 FROM sqlite_master").fetchone() is not None:
        raise HeadraceError(
            f'"{place}" is an SQLite file, but not one of views', hint="Name another file for the views."
        )
    return False


def make_store(connection: sqlite3.Connection) -> None:
    """Make the tables of a new store, inside the transaction that is under way."""
    for statement in _STORE.split(";\n"):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")


def table_of(view: ViewDefinition) -> str:
    """Return the quoted name of the table that rows go into: the view's own, or for a bag a hidden one."""
    return quoted(view.name if view.key else f"{HIDDEN}bag_{view.name}")


def make_view(connection: sqlite3.Connection, view: ViewDefinition) -> None:
    """Make the tables of a view, empty."""
    name = view.name.lower()
    if name.startswith((HIDDEN, "sqlite_")):
        raise HeadraceError(
            f'a view in SQLite cannot be called "{view.name}"',
            detail=f'Names that begin with "{HIDDEN}" or "sqlite_" belong to the store.',
        )
    known = {each.name.lower() for each in view.columns}
    if len(known) < len(view.columns) or any(each.startswith(HIDDEN) for each in known):
        raise HeadraceError(f'the columns of view "{view.name}" need different names', hint="Rename one with AS.")
    for columns in (view.key, *view.indexes):
        for column in columns:
            if column.lower() not in known:
                raise HeadraceError(f'view "{view.name}" has no column "{column}" for its key or an index')
    for statement in _statements(view):
        connection.execute(statement)
    make_indexes(connection, view)


def _statements(view: ViewDefinition) -> Iterator[str]:
    table = table_of(view)
    columns = [f"{quoted(each.name)} {codec(each.type).declared}" for each in view.columns]
    if view.key:
        yield f"CREATE TABLE {table} ({', '.join(columns)})"
        # Decimals have one text each, and comparing that is faster than comparing by size.
        keys = [f"{quoted(each)} COLLATE BINARY" for each in view.key]
        yield f"CREATE UNIQUE INDEX {_index(view, 'key')} ON {table} ({', '.join(keys)})"
        # To a unique index every NULL is another; here NULL is a value.
        absent = [f"{quoted(each)} IS NULL" for each in view.key]
        filled = [f"ifnull({quoted(each)}, 0)" for each in view.key]
        yield (
            f"CREATE UNIQUE INDEX {_index(view, 'key_null')} ON {table} ({', '.join([*absent, *filled])}) "
            f"WHERE {' OR '.join(absent)}"
        )
        return
    names = ", ".join(f"b.{quoted(each.name)}" for each in view.columns)
    yield f"CREATE TABLE {table} ({', '.join(columns)}, {COPIES} INTEGER NOT NULL, {HASH} BLOB NOT NULL)"
    yield f"CREATE UNIQUE INDEX {_index(view, 'hash')} ON {table} ({HASH})"
    yield f"CREATE INDEX {_index(view, 'copies')} ON {table} ({COPIES}) WHERE {COPIES} <> 1"
    yield (
        f"CREATE VIEW {quoted(view.name)} ({', '.join(quoted(each.name) for each in view.columns)}) AS "
        f"SELECT {names} FROM {table} AS b UNION ALL SELECT {names} FROM {table} AS b, "
        f"(WITH RECURSIVE series(n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM series WHERE n < "
        f"(SELECT max({COPIES}) FROM {table} WHERE {COPIES} <> 1)) SELECT n FROM series) AS s "
        f"WHERE b.{COPIES} <> 1 AND s.n <= b.{COPIES}"
    )


def make_indexes(connection: sqlite3.Connection, view: ViewDefinition) -> None:
    """Make the indexes that a view asks for."""
    for number, columns in enumerate(view.indexes):
        names = ", ".join(map(quoted, columns))
        connection.execute(f"CREATE INDEX {_index(view, f'on_{number}')} ON {table_of(view)} ({names})")


def remove_indexes(connection: sqlite3.Connection, view: ViewDefinition) -> None:
    """Remove the indexes that a view asked for."""
    for number in range(len(view.indexes)):
        connection.execute(f"DROP INDEX IF EXISTS {_index(view, f'on_{number}')}")


def remove_view(connection: sqlite3.Connection, view: ViewDefinition) -> None:
    """Remove a view with its rows."""
    if not view.key:
        connection.execute(f"DROP VIEW IF EXISTS {quoted(view.name)}")
    connection.execute(f"DROP TABLE IF EXISTS {table_of(view)}")


def _index(view: ViewDefinition, use: str) -> str:
    return quoted(f"{HIDDEN}{use}_{view.name}")
