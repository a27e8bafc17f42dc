"""Batches of rows go in; a table of PostgreSQL is left as they say, in one transaction each."""

from collections.abc import Iterable, Sequence
from typing import Any

import psycopg
from psycopg import sql

from headrace.connectors.postgres.client import Connection, Connections
from headrace.connectors.postgres.keys import null_patterns, same_key
from headrace.connectors.postgres.options import PostgresSink
from headrace.connectors.postgres.target import BATCHES, check_target, create_target, find_columns, make_batches
from headrace.connectors.postgres.types import for_copy, unwritable, with_json
from headrace.connectors.tables import TableColumn, by_key, checked_key, refuse_keyless_delete
from headrace.errors import HeadraceError

__all__ = ["PostgresWriter"]

Row = tuple[Any, ...]

_INCOMING = sql.Identifier("pg_temp", "headrace_incoming")
_GONE = "headrace_gone"
_MANY = 1000
"""From so many rows on, the planner is told what came."""


class PostgresWriter:
    """Writes into one table; the numbers of batches are in the table headrace_batches beside it."""

    def __init__(self, options: PostgresSink) -> None:
        self._options = options
        self._connections = Connections(options)
        schema, _, self._table = options.table.rpartition(".")
        self._schema = schema
        self._columns: tuple[TableColumn, ...] = ()
        self._names: tuple[str, ...] = ()
        self._places: tuple[int, ...] = ()

    def prepare(self, columns: Sequence[TableColumn], key: Sequence[str]) -> None:
        """Check that the table can take such rows, or make it."""
        self._columns = tuple(columns)
        self._places = checked_key(columns, self._options.key or tuple(key))
        names = tuple(columns[place].name for place in self._places)
        with self._connections.borrow() as connection, connection.transaction():
            self._schema = self._schema or self._current_schema(connection)
            make_batches(connection, self._schema)
            found = find_columns(connection, self._schema, self._table)
            if found is None and not self._options.create:
                raise HeadraceError(
                    f"there is no table {self._schema}.{self._table} at {self._connections.address}",
                    hint="Make it, or leave create = false out.",
                )
            if found is None:
                create_target(connection, self._schema, self._table, columns, names)
                self._names = tuple(column.name for column in columns)
            else:
                called = check_target(connection, self._schema, self._table, found, columns, names)
                self._names = tuple(called[column.name] for column in columns)
            connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(_INCOMING))

    def last_batch(self, output: str) -> int | None:
        """Return the last batch of an output that the table has taken."""
        with self._connections.borrow() as connection:
            statement = sql.SQL("SELECT batch FROM {} WHERE output = %s").format(self._batches)
            found = connection.execute(statement, (output,)).fetchone()
        return found[0] if found else None

    def take(self, output: str, batch: int, deleted: Sequence[Row], inserted: Sequence[Row]) -> bool:
        """Take in a batch: rows and number at once. One that was taken in before changes nothing: False."""
        with self._connections.borrow() as connection:
            try:
                with connection.transaction():
                    if not self._note(connection, output, batch):
                        return False
                    self._write(connection, deleted, inserted)
                    return True
            except (psycopg.DataError, UnicodeEncodeError) as error:
                raise unwritable(self._columns, [*inserted, *deleted]) or error from None

    def close(self) -> None:
        """Let go of the connections."""
        self._connections.close()

    @property
    def _batches(self) -> sql.Identifier:
        return sql.Identifier(self._schema, BATCHES)

    @property
    def _target(self) -> sql.Identifier:
        return sql.Identifier(self._schema, self._table)

    def _current_schema(self, connection: Connection) -> str:
        found = connection.execute("SELECT current_schema()").fetchone()
        if found is None or found[0] is None:
            raise HeadraceError(
                f"no schema for table {self._table} at {self._connections.address}",
                hint="Write table = 'schema.table'.",
            )
        return str(found[0])

    def _note(self, connection: Connection, output: str, batch: int) -> bool:
        """Note the number of a batch; False if it or a later one is there. Another run of the same waits here."""
        statement = sql.SQL(
            "INSERT INTO {} AS b VALUES (%s, %s) "
            "ON CONFLICT (output) DO UPDATE SET batch = EXCLUDED.batch WHERE b.batch < EXCLUDED.batch"
        )
        return connection.execute(statement.format(self._batches), (output, batch)).rowcount == 1

    def _write(self, connection: Connection, deleted: Sequence[Row], inserted: Sequence[Row]) -> None:
        if not self._places:
            refuse_keyless_delete(deleted)
            self._copy(connection, self._target, self._names, inserted)
            return
        changes = by_key(self._places, deleted, inserted)
        # A unique index takes NULL for different from NULL, so a row with one replaces nothing: the old one goes first.
        gone = [*changes.gone, *(key for key in changes.rows if None in key)]
        self._stage(connection, gone, changes.rows.values())
        key = [self._names[place] for place in self._places]
        for nulls in null_patterns(key, gone):
            statement = sql.SQL("DELETE FROM {} AS t USING {} AS s WHERE s.{} AND {}")
            connection.execute(statement.format(self._target, _INCOMING, sql.Identifier(_GONE), same_key(key, nulls)))
        if changes.rows:
            connection.execute(self._upsert(key))

    def _stage(self, connection: Connection, gone: Sequence[Row], rows: Iterable[Row]) -> None:
        names = sql.SQL(", ").join(map(sql.Identifier, self._names))
        connection.execute(
            sql.SQL(
                "CREATE TEMPORARY TABLE IF NOT EXISTS headrace_incoming ON COMMIT DELETE ROWS AS "
                "SELECT {}, false AS {} FROM {} WITH NO DATA"
            ).format(names, sql.Identifier(_GONE), self._target)
        )
        width = len(self._columns)
        leaving = []
        for key in gone:
            values: list[Any] = [None] * width
            for place, value in zip(self._places, key, strict=True):
                values[place] = value
            leaving.append((*values, True))
        self._copy(connection, _INCOMING, (*self._names, _GONE), [*leaving, *((*row, False) for row in rows)])

    def _upsert(self, key: Sequence[str]) -> sql.Composed:
        others = [name for name in self._names if name not in key]
        assignments = [sql.SQL("{0} = EXCLUDED.{0}").format(sql.Identifier(name)) for name in others]
        action = sql.SQL("UPDATE SET ") + sql.SQL(", ").join(assignments) if others else sql.SQL("NOTHING")
        names = sql.SQL(", ").join(map(sql.Identifier, self._names))
        return sql.SQL("INSERT INTO {} ({}) SELECT {} FROM {} WHERE NOT {} ON CONFLICT ({}) DO {}").format(
            self._target,
            names,
            names,
            _INCOMING,
            sql.Identifier(_GONE),
            sql.SQL(", ").join(map(sql.Identifier, key)),
            action,
        )

    def _copy(self, connection: Connection, table: sql.Identifier, names: Sequence[str], rows: Sequence[Row]) -> None:
        if not rows:
            return
        nested = for_copy(self._columns)
        statement = sql.SQL("COPY {} ({}) FROM STDIN").format(table, sql.SQL(", ").join(map(sql.Identifier, names)))
        with connection.cursor() as cursor:
            with cursor.copy(statement) as copy:
                for row in rows:
                    copy.write_row(with_json(row, nested))
            if table is _INCOMING and len(rows) >= _MANY:
                cursor.execute(sql.SQL("ANALYZE {}").format(_INCOMING))
