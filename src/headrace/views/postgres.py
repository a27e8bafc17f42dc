"""Views in PostgreSQL: batches go in; rows, answers and changes come out, from any machine."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
from psycopg import errors, sql

from headrace.connectors.postgres.client import Connection, Connections, pages
from headrace.connectors.postgres.options import PostgresConnection
from headrace.connectors.postgres.types import postgres_type
from headrace.connectors.spark_types import parse_type
from headrace.connectors.typed_values import json_of
from headrace.errors import HeadraceError, PlanError
from headrace.views.definition import Bounds, Delta, FeedBatch, QueryTooLong, Reflects, Row, Snapshot, ViewDefinition
from headrace.views.postgres_feed import note_changes, prune, purge_changes, read_batches
from headrace.views.postgres_query import translated
from headrace.views.postgres_rows import change_rows, reader, selected
from headrace.views.postgres_schema import (
    ID,
    Names,
    define_views,
    is_there,
    kept_views,
    make_store,
    remove_view,
)
from headrace.views.store_rules import check_key, check_position, key_places, view_named, view_of_query

__all__ = ["CHANNEL", "PostgresViewStore"]

CHANNEL = "headrace"
"""Who listens here is told of each batch as it is taken in: ``{"schema": …, "query": …, "batch": …}``."""
_LONGEST_PAYLOAD = 7000


def _now() -> datetime:
    return datetime.now(UTC)


class PostgresViewStore:
    """A store of views in one schema of a PostgreSQL database; each view is a table that any client can read."""

    def __init__(
        self,
        options: PostgresConnection,
        *,
        schema: str = "headrace",
        clock: Callable[[], datetime] = _now,
        query_timeout: timedelta = timedelta(seconds=30),
    ) -> None:
        self._connections = Connections(options)
        self._names = Names(schema)
        self._clock = clock
        self._query_timeout = query_timeout

    def define(self, query: str, views: Sequence[ViewDefinition]) -> None:
        """Make the views of a query known, empty if they are new; raise HeadraceError if an old one looks different."""
        with self._connections.borrow() as connection, connection.transaction():
            make_store(connection, self._names)
            define_views(connection, self._names, query, views)

    def last_batch(self, query: str) -> int | None:
        """Return the last batch of a query that was taken in."""
        with self._connections.borrow() as connection:
            return self._last_batch(connection, query)

    def take(self, query: str, batch: int, deltas: Mapping[str, Delta], reflects: Reflects) -> bool:
        """Take in a batch: rows, change feed and number at once. One taken in before changes nothing: False."""
        at = self._clock()
        with self._connections.borrow() as connection, connection.transaction():
            make_store(connection, self._names)
            if not self._note(connection, query, batch, at, reflects):
                return False
            views = kept_views(connection, self._names)
            for name, delta in deltas.items():
                view = view_of_query(name, query, views)
                if delta.deleted or delta.inserted:
                    change_rows(connection, self._names, view, batch, delta)
                    note_changes(connection, self._names, view, batch, at)
            prune(connection, self._names, (each.definition for each in views.values() if each.query == query), at)
            self._notify(connection, query, batch)
        return True

    def views(self) -> Sequence[ViewDefinition]:
        """Return the views that are kept."""
        with self._connections.borrow() as connection:
            return [each.definition for each in kept_views(connection, self._names).values()]

    def owner(self, view: str) -> str | None:
        """Return the query that a view is kept for, None if it is not kept."""
        with self._connections.borrow() as connection:
            found = kept_views(connection, self._names).get(view.lower())
        return None if found is None else found.query

    def get(self, view: str, key: Sequence[Any]) -> list[Row]:
        """Return the rows whose first key columns have these values."""
        with self._reading() as connection:
            found = view_named(view, kept_views(connection, self._names)).definition
            check_key(found, key)
            condition, values = _same_values(found, key_places(found), key)
            try:
                rows = connection.execute(self._select(found, condition), values).fetchall()
            except psycopg.DataError:
                raise HeadraceError(
                    f'this is no value of the key of view "{found.name}": {", ".join(map(repr, key))}',
                    detail=f"The key is {', '.join(found.key)}.",
                ) from None
        return list(map(reader(found), rows))

    def rows(self, view: str) -> Iterator[Row]:
        """Yield all rows of a view, in the order of its key."""
        with self._reading() as connection:
            found = view_named(view, kept_views(connection, self._names)).definition
            yield from map(reader(found), pages(connection, self._select(found, sql.SQL("true"))))

    @contextmanager
    def snapshot(self, view: str) -> Iterator[Snapshot]:
        """Give all rows of a view as of one batch, to be read until the end of the block."""
        with self._reading() as connection:
            kept = view_named(view, kept_views(connection, self._names))
            found = kept.definition
            rows = map(reader(found), pages(connection, self._select(found, sql.SQL("true"))))
            yield Snapshot(found.identity, self._last_batch(connection, kept.query), rows)

    def query(self, sql: str, bounds: Bounds | None = None) -> tuple[tuple[str, ...], list[Row]]:
        """Answer a SELECT over any views, or over those within bounds, all as of one batch; the columns come first."""
        with self._reading() as connection:
            views = {
                name: each.definition
                for name, each in kept_views(connection, self._names).items()
                if bounds is None or name in bounds.views
            }
            question = translated(sql, views, self._names.schema)
            milliseconds = self._query_timeout // timedelta(milliseconds=1)
            connection.execute("SELECT set_config('statement_timeout', %s, true)", (str(milliseconds),))
            connection.execute("SELECT set_config('search_path', 'pg_catalog', true)")
            try:
                cursor = connection.execute(question.text.encode())
            except errors.QueryCanceled:
                raise QueryTooLong(self._query_timeout) from None
            except (errors.SyntaxErrorOrAccessRuleViolation, psycopg.DataError, psycopg.NotSupportedError) as error:
                raise PlanError(f"PostgreSQL cannot answer this query: {error.diag.message_primary}") from None
            if bounds is None:
                return question.columns, question.rows(cursor.fetchall())
            return question.columns, question.rows(bounds.taken(cursor))

    def changes(self, view: str, after: int | None) -> Iterator[FeedBatch]:
        """Yield the batches that changed a view after a position, as far as they are there now."""
        with self._reading() as connection:
            kept = view_named(view, kept_views(connection, self._names))
            check_position(kept.definition.name, kept.pruned_to, after, self._last_batch(connection, kept.query))
            yield from read_batches(connection, self._names, kept.definition, after)

    def reflects(self, view: str) -> Reflects:
        """Return up to where the input is in a view."""
        with self._reading() as connection:
            kept = view_named(view, kept_views(connection, self._names))
            statement = sql.SQL("SELECT watermark, positions, batch, at FROM {} WHERE query = %s")
            found = connection.execute(statement.format(self._names.batches), (kept.query,)).fetchone()
        if found is None:
            return Reflects()
        watermark, positions, batch, at = found
        return Reflects(_in_utc(watermark), json.loads(positions), batch, _in_utc(at))

    def remove(self, query: str) -> None:
        """Forget the views of a query, their feed and its batch number."""
        with self._connections.borrow() as connection, connection.transaction():
            make_store(connection, self._names)
            for kept in kept_views(connection, self._names).values():
                if kept.query == query:
                    remove_view(connection, self._names, kept.definition)
            connection.execute(sql.SQL("DELETE FROM {} WHERE query = %s").format(self._names.batches), (query,))

    def purge(self, view: str, column: str, value: Any) -> int:
        """Take the rows with a value out of the change feed of a view; return how many there were."""
        with self._connections.borrow() as connection, connection.transaction():
            found = view_named(view, kept_views(connection, self._names)).definition
            place = [each.name.lower() for each in found.columns].index(column.lower())
            condition, values = _same_values(found, [place], [value])
            return purge_changes(connection, self._names, found, condition, values)

    def version(self) -> Any:
        """Return what is another value after every batch that any process has taken in; cheap to ask often."""
        with self._connections.borrow() as connection:
            if not is_there(connection, self._names):
                return None
            statement = sql.SQL("SELECT query, batch, at FROM {} ORDER BY query").format(self._names.batches)
            return connection.execute(statement).fetchall()

    def close(self) -> None:
        """Let go of the connections."""
        self._connections.close()

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        """Give a connection that sees the store as of one batch."""
        with self._connections.borrow() as connection, connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield connection

    def _last_batch(self, connection: Connection, query: str) -> int | None:
        if not is_there(connection, self._names):
            return None
        statement = sql.SQL("SELECT batch FROM {} WHERE query = %s").format(self._names.batches)
        found = connection.execute(statement, (query,)).fetchone()
        return None if found is None else found[0]

    def _note(self, connection: Connection, query: str, batch: int, at: datetime, reflects: Reflects) -> bool:
        """Note the number of a batch; False if it or a later one is there. Another run of the same waits here."""
        statement = sql.SQL(
            "INSERT INTO {} AS b VALUES (%s, %s, %s, %s, %s) ON CONFLICT (query) DO UPDATE SET batch = EXCLUDED.batch, "
            "at = EXCLUDED.at, watermark = EXCLUDED.watermark, positions = EXCLUDED.positions "
            "WHERE b.batch < EXCLUDED.batch"
        ).format(self._names.batches)
        values = (query, batch, at, reflects.watermark, json.dumps(dict(reflects.positions)))
        return connection.execute(statement, values).rowcount == 1

    def _notify(self, connection: Connection, query: str, batch: int) -> None:
        payload = json.dumps({"schema": self._names.schema, "query": query, "batch": batch})
        if len(payload) <= _LONGEST_PAYLOAD:
            connection.execute("SELECT pg_notify(%s, %s)", (CHANNEL, payload))

    def _select(self, view: ViewDefinition, condition: sql.Composable) -> sql.Composed:
        order = [sql.Identifier(view.columns[place].name) for place in key_places(view)] or [sql.Identifier(ID)]
        return sql.SQL("SELECT {} FROM {} AS t WHERE {} ORDER BY {}").format(
            selected(view),
            self._names.table(view),
            condition,
            sql.SQL(", ").join(sql.SQL("t.{} NULLS FIRST").format(each) for each in order),
        )


def _same_values(
    view: ViewDefinition, places: Sequence[int], wanted: Sequence[Any]
) -> tuple[sql.Composable, list[Any]]:
    """Return the condition that the first columns at some places have these values, and its parameters."""
    parts: list[sql.Composable] = [sql.SQL("true")]
    values = []
    for place, value in zip(places, wanted, strict=False):
        column = view.columns[place]
        if value is None:
            parts.append(sql.SQL("t.{} IS NULL").format(sql.Identifier(column.name)))
            continue
        kind = parse_type(column.type)
        type_ = sql.SQL(postgres_type(kind) if kind.name != "decimal" else "numeric")
        parts.append(sql.SQL("t.{} = %s::{}").format(sql.Identifier(column.name), type_))
        values.append(json_of(value) if kind.nested else value)
    return sql.SQL(" AND ").join(parts), values


def _in_utc(value: Any) -> Any:
    return value.astimezone(UTC) if isinstance(value, datetime) and value.tzinfo is not None else value
