"""Batches of rows go in; a table of an SQLite file is left as they say, in one transaction each."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from math import isnan
from pathlib import Path
from typing import Any

from headrace.connectors.spark_types import SparkType
from headrace.connectors.sqlite.options import SqliteSink
from headrace.connectors.tables import TableColumn, by_key, checked_columns, checked_key, refuse_keyless_delete
from headrace.connectors.typed_values import text_of
from headrace.errors import HeadraceError, JobFailed

__all__ = ["SqliteWriter"]

Row = tuple[Any, ...]

BATCHES = "headrace_batches"
PATIENCE = 30
"""How many seconds another writer of the file may take."""
TYPES = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), "INTEGER"),
    **dict.fromkeys(("float", "double"), "REAL"),
    **dict.fromkeys(("decimal", "string", "timestamp", "timestamp_ntz", "date", "time", "interval", "void"), "TEXT"),
    "boolean": "BOOLEAN",
    "binary": "BLOB",
}
_NUMBERS = frozenset({"INTEGER", "NUMERIC"})
_FIT = {
    "INTEGER": _NUMBERS,
    "REAL": frozenset({"REAL", "NUMERIC"}),
    "TEXT": frozenset({"TEXT", "BLOB"}),
    "BOOLEAN": _NUMBERS,
    "BLOB": frozenset({"BLOB"}),
}


class SqliteWriter:
    """Writes into one table; the numbers of batches are in the table headrace_batches of the same file."""

    def __init__(self, options: SqliteSink, base: Path) -> None:
        self._options = options
        self._path = base / options.path
        self._names: tuple[str, ...] = ()
        self._places: tuple[int, ...] = ()

    def prepare(self, columns: Sequence[TableColumn], key: Sequence[str]) -> None:
        """Check that the table can take such rows, or make it."""
        checked_columns(columns, TYPES, "SQLite")
        self._places = checked_key(columns, self._options.key or tuple(key))
        names = [columns[place].name for place in self._places]
        with self._transaction() as connection:
            connection.execute(
                f"CREATE TABLE IF NOT EXISTS {BATCHES} (output TEXT PRIMARY KEY, batch INTEGER NOT NULL)"
            )
            found = connection.execute(
                'SELECT name, type, "notnull" AND dflt_value IS NULL AND pk = 0, pk FROM pragma_table_info(?)',
                (self._options.table,),
            ).fetchall()
            if not found and not self._options.create:
                raise HeadraceError(
                    f"there is no table {self._options.table} in {self._options.path}",
                    hint="Make it, or leave create = false out.",
                )
            if not found:
                self._create(connection, columns, names)
                self._names = tuple(column.name for column in columns)
            else:
                called = self._check(found, columns)
                self._names = tuple(called[column.name] for column in columns)
                if names:
                    self._check_unique(connection, found, [called[name] for name in names])

    def last_batch(self, output: str) -> int | None:
        """Return the last batch of an output that the table has taken."""
        with self._transaction() as connection:
            found = connection.execute(f"SELECT batch FROM {BATCHES} WHERE output = ?", (output,)).fetchone()
        return found[0] if found else None

    def take(self, output: str, batch: int, deleted: Sequence[Row], inserted: Sequence[Row]) -> bool:
        """Take in a batch: rows and number at once. One that was taken in before changes nothing: False."""
        with self._transaction() as connection:
            noted = connection.execute(
                f"INSERT INTO {BATCHES} VALUES (?, ?) ON CONFLICT (output) "
                "DO UPDATE SET batch = excluded.batch WHERE batch < excluded.batch",
                (output, batch),
            ).rowcount
            if noted != 1:
                return False
            self._write(connection, deleted, inserted)
        return True

    def close(self) -> None:
        """Do nothing: a connection is open only while a batch is taken in."""

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self._path, timeout=PATIENCE, isolation_level=None)) as connection:
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute("BEGIN IMMEDIATE")
                yield connection
                connection.execute("COMMIT")  # without it, closing takes all back
        except (OSError, sqlite3.OperationalError) as error:
            raise JobFailed(
                f"{self._options.path} cannot be written: {error}",
                hint="Check the folder and its rights, and that no other program keeps the file locked.",
            ) from None
        except sqlite3.DatabaseError as error:
            raise JobFailed(
                f"{self._options.path} refuses a batch: {error}", detail="Nothing of the batch was written."
            ) from None
        except UnicodeEncodeError:
            raise HeadraceError(
                "a row holds half a character (a lone surrogate), which SQLite cannot store in text",
                detail="Nothing of the batch was written.",
            ) from None

    def _create(self, connection: sqlite3.Connection, columns: Sequence[TableColumn], key: Sequence[str]) -> None:
        parts = [f"{quoted(column.name)} {_type(column.kind)}" for column in columns]
        if key:
            parts.append(f"UNIQUE ({', '.join(map(quoted, key))})")
        connection.execute(f"CREATE TABLE {quoted(self._options.table)} ({', '.join(parts)})")

    def _check(self, found: Sequence[Row], columns: Sequence[TableColumn]) -> dict[str, str]:
        """Return what the table calls each column, or raise if it cannot take such rows."""
        table = self._options.table
        known = {name.lower(): (name, kind) for name, kind, _, _ in found}
        called: dict[str, str] = {}
        for column in columns:
            if column.name.lower() not in known:
                raise HeadraceError(
                    f'table {table} has no column "{column.name}"',
                    detail=f"Its columns are: {', '.join(name for name, _ in known.values())}.",
                    hint="Rename the column in the query with AS, or add it to the table.",
                )
            name, kind = known[column.name.lower()]
            if _affinity(kind) not in _FIT[_type(column.kind)]:
                raise HeadraceError(
                    f'column "{name}" of table {table} is {kind}, and the query gives {column.type}',
                    detail=f"{column.type} is kept as {_type(column.kind)}.",
                    hint="Convert it in the query with CAST, or change the table.",
                )
            called[column.name] = name
        for name, _, must_be_given, _ in found:
            if must_be_given and name not in called.values():
                raise HeadraceError(
                    f'column "{name}" of table {table} must have a value, and the query gives none',
                    hint="Add it to the query, or give it a DEFAULT.",
                )
        return called

    def _check_unique(self, connection: sqlite3.Connection, found: Sequence[Row], key: Sequence[str]) -> None:
        unique = [{name for name, _, _, place in found if place}]
        indexes = connection.execute(
            'SELECT name FROM pragma_index_list(?) WHERE "unique" AND NOT partial', (self._options.table,)
        ).fetchall()
        for (index,) in indexes:
            unique.append({name for (name,) in connection.execute("SELECT name FROM pragma_index_info(?)", (index,))})
        if set(key) not in unique:
            names = ", ".join(key)
            raise HeadraceError(
                f"table {self._options.table} has no unique index over ({names})",
                detail="Without one, two rows of one key could be there.",
                hint=f"CREATE UNIQUE INDEX … ON {self._options.table} ({names}).",
            )

    def _write(self, connection: sqlite3.Connection, deleted: Sequence[Row], inserted: Sequence[Row]) -> None:
        table, names = quoted(self._options.table), [quoted(name) for name in self._names]
        insert = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"
        if not self._places:
            refuse_keyless_delete(deleted)
            connection.executemany(insert, map(_stored, inserted))
            return
        changes = by_key(self._places, deleted, inserted)
        key = [names[place] for place in self._places]
        # A unique index takes NULL for different from NULL, so a row with one replaces nothing: the old one goes first.
        gone = [*changes.gone, *(each for each in changes.rows if None in each)]
        condition = " AND ".join(f"{name} IS ?" for name in key)
        connection.executemany(f"DELETE FROM {table} WHERE {condition}", map(_stored, gone))
        others = [name for name in names if name not in key]
        action = f"UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in others)}" if others else "NOTHING"
        connection.executemany(
            f"{insert} ON CONFLICT ({', '.join(key)}) DO {action}", map(_stored, changes.rows.values())
        )


def quoted(name: str) -> str:
    """Return a name as SQLite takes it.

    >>> quoted('a"b')
    '"a""b"'
    """
    return '"' + name.replace('"', '""') + '"'


def _type(kind: SparkType) -> str:
    return "TEXT" if kind.nested else TYPES[kind.name]


def _affinity(declared: str) -> str:
    """Return how SQLite treats a column that was declared so; the rules are SQLite's.

    >>> [_affinity(each) for each in ("BIGINT", "varchar(9)", "DOUBLE", "DECIMAL(9,2)", "")]
    ['INTEGER', 'TEXT', 'REAL', 'NUMERIC', 'BLOB']
    """
    declared = declared.upper()
    if "INT" in declared:
        return "INTEGER"
    if any(word in declared for word in ("CHAR", "CLOB", "TEXT")):
        return "TEXT"
    if not declared or "BLOB" in declared:
        return "BLOB"
    return "REAL" if any(word in declared for word in ("REAL", "FLOA", "DOUB")) else "NUMERIC"


def _stored(row: Row) -> Row:
    return tuple(_plain(value) for value in row)


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (int, str, bytes)):
        return value
    if isinstance(value, float):
        return "NaN" if isnan(value) else value  # SQLite would make NaN a NULL
    return bytes(value) if isinstance(value, bytearray) else text_of(value)
