"""The rows that come and go in a batch go in; the tables of their view hold them, or an error says why not."""

from collections.abc import Callable, Sequence
from datetime import UTC
from typing import Any

import psycopg
from psycopg import sql

from headrace.connectors.postgres.client import Connection
from headrace.connectors.postgres.keys import has_nulls, null_patterns, same_key
from headrace.connectors.postgres.types import for_copy, unwritable, with_json
from headrace.connectors.spark_types import parse_type
from headrace.connectors.tables import TableColumn
from headrace.connectors.typed_values import from_text
from headrace.views.definition import Delta, Row, ViewDefinition
from headrace.views.postgres_schema import BATCH, DELETED, HASH, ID, ORDINAL, Names, columns_of
from headrace.views.store_rules import key_places, not_there, row_hash, same_key_twice

__all__ = ["change_rows", "reader", "selected"]

_MANY = 1000
"""From so many rows on, the planner is told what came."""


def change_rows(connection: Connection, names: Names, view: ViewDefinition, batch: int, delta: Delta) -> None:
    """Take rows out of a view, put rows in, and note both in its feed, inside the transaction that is under way."""
    columns = [TableColumn(each.name, each.type) for each in view.columns]
    try:
        _stage(connection, names, view, columns, delta)
        if view.key:
            _change_keyed(connection, names, view, delta)
        else:
            _change_bag(connection, names, view, delta)
    except psycopg.errors.UniqueViolation:
        raise same_key_twice(view) from None
    except (psycopg.DataError, UnicodeEncodeError) as error:
        raise unwritable(columns, [*delta.inserted, *delta.deleted]) or error from None
    connection.execute(
        sql.SQL("INSERT INTO {feed} ({own}, {columns}) SELECT %s, {others}, {columns} FROM {staging}").format(
            feed=names.feed(view),
            own=sql.SQL(", ").join(map(sql.Identifier, (BATCH, ORDINAL, DELETED))),
            others=sql.SQL(", ").join(map(sql.Identifier, (ORDINAL, DELETED))),
            columns=columns_of(view),
            staging=names.staging(view),
        ),
        (batch,),
    )


def _stage(
    connection: Connection, names: Names, view: ViewDefinition, columns: Sequence[TableColumn], delta: Delta
) -> None:
    """Put the rows of a batch into a temporary table: what goes first."""
    staging = names.staging(view)
    connection.execute(
        sql.SQL(
            "CREATE TEMPORARY TABLE IF NOT EXISTS {} ON COMMIT DELETE ROWS AS "
            "SELECT {}, {}, NULL::bytea AS {}, {} FROM {} WITH NO DATA"
        ).format(
            staging,
            *map(sql.Identifier, (ORDINAL, DELETED, HASH)),
            columns_of(view),
            names.feed(view),
        )
    )
    nested = for_copy(columns)
    statement = sql.SQL("COPY {} ({}, {}) FROM STDIN").format(
        staging, sql.SQL(", ").join(map(sql.Identifier, (ORDINAL, DELETED, HASH))), columns_of(view)
    )
    ordinal = 0
    with connection.cursor() as cursor:
        with cursor.copy(statement) as copy:
            for deleted, rows in ((True, delta.deleted), (False, delta.inserted)):
                for row in rows:
                    digest = None if view.key else row_hash(row)
                    copy.write_row((ordinal, deleted, digest, *with_json(row, nested)))
                    ordinal += 1
        if ordinal >= _MANY:
            cursor.execute(sql.SQL("ANALYZE {}").format(staging))


def _change_keyed(connection: Connection, names: Names, view: ViewDefinition, delta: Delta) -> None:
    places = key_places(view)
    key = [view.columns[place].name for place in places]
    table, staging, deleted = names.table(view), names.staging(view), sql.Identifier(DELETED)
    gone = 0
    for nulls in null_patterns(key, [[row[place] for place in places] for row in delta.deleted]):
        statement = sql.SQL("DELETE FROM {} AS t USING {} AS s WHERE s.{} AND {}")
        gone += connection.execute(statement.format(table, staging, deleted, same_key(key, nulls))).rowcount
    if gone != len(delta.deleted):
        raise not_there(view)
    for nulls in null_patterns(key, [[row[place] for place in places] for row in delta.inserted]):
        if any(nulls):  # to the unique index every NULL is another
            _check_nulls(connection, names, view, key, nulls)
    connection.execute(
        sql.SQL("INSERT INTO {} ({}) SELECT {} FROM {} WHERE NOT {}").format(
            table, columns_of(view), columns_of(view), staging, deleted
        )
    )


def _check_nulls(
    connection: Connection, names: Names, view: ViewDefinition, key: Sequence[str], nulls: Sequence[bool]
) -> None:
    staging, deleted = names.staging(view), sql.Identifier(DELETED)
    met = sql.SQL("SELECT 1 FROM {} AS t JOIN {} AS s ON {} WHERE NOT s.{} LIMIT 1").format(
        names.table(view), staging, same_key(key, nulls), deleted
    )
    doubled = sql.SQL("SELECT 1 FROM {} AS s WHERE NOT s.{} AND ({}) GROUP BY {} HAVING count(*) > 1 LIMIT 1").format(
        staging, deleted, has_nulls(key), sql.SQL(", ").join(map(sql.Identifier, key))
    )
    if any(connection.execute(each).fetchone() is not None for each in (met, doubled)):
        raise same_key_twice(view)


def _change_bag(connection: Connection, names: Names, view: ViewDefinition, delta: Delta) -> None:
    parts = {
        "table": names.table(view),
        "staging": names.staging(view),
        "deleted": sql.Identifier(DELETED),
        "hash": sql.Identifier(HASH),
        "id": sql.Identifier(ID),
        "columns": columns_of(view),
        "ordinal": sql.Identifier(ORDINAL),
    }
    if delta.deleted:
        gone = connection.execute(
            sql.SQL(
                "WITH leaving AS (SELECT {hash}, count(*) AS copies FROM {staging} WHERE {deleted} GROUP BY {hash}), "
                "found AS (SELECT t.{id}, row_number() OVER (PARTITION BY t.{hash} ORDER BY t.{id}) AS place, l.copies "
                "FROM {table} AS t JOIN leaving AS l ON l.{hash} = t.{hash}) "
                "DELETE FROM {table} AS t USING found AS f WHERE t.{id} = f.{id} AND f.place <= f.copies"
            ).format(**parts)
        ).rowcount
        if gone != len(delta.deleted):
            raise not_there(view)
    connection.execute(
        sql.SQL(
            "INSERT INTO {table} ({columns}, {hash}) SELECT {columns}, {hash} FROM {staging} "
            "WHERE NOT {deleted} ORDER BY {ordinal}"
        ).format(**parts)
    )


def selected(view: ViewDefinition) -> sql.Composed:
    """Return the columns of a view, called ``t``, as they are read: nested values as text."""
    return sql.SQL(", ").join(
        sql.SQL("t.{}::text" if parse_type(each.type).nested else "t.{}").format(sql.Identifier(each.name))
        for each in view.columns
    )


def reader(view: ViewDefinition) -> Callable[[Sequence[Any]], Row]:
    """Return the function that makes a row of what was selected."""
    converts: list[Callable[[Any], Any] | None] = []
    for column in view.columns:
        kind = parse_type(column.type)
        if kind.nested:
            converts.append(from_text(kind))
        else:
            converts.append((lambda value: value.astimezone(UTC)) if kind.name == "timestamp" else None)

    def read(values: Sequence[Any]) -> Row:
        return tuple(
            value if value is None or convert is None else convert(value)
            for value, convert in zip(values, converts, strict=True)
        )

    return read
