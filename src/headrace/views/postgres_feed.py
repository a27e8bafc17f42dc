"""What a batch changed goes in; the change feed of a view comes out batch by batch, and ends in time."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from psycopg import sql

from headrace.connectors.postgres.client import Connection, pages
from headrace.views.definition import Delta, FeedBatch, Row, ViewDefinition
from headrace.views.postgres_rows import reader, selected
from headrace.views.postgres_schema import BATCH, DELETED, ORDINAL, Names
from headrace.views.store_rules import KEEP

__all__ = ["note_changes", "prune", "purge_changes", "read_batches"]


def note_changes(connection: Connection, names: Names, view: ViewDefinition, batch: int, at: datetime) -> None:
    """Note that a batch changed a view."""
    statement = sql.SQL("INSERT INTO {} VALUES (%s, %s, %s)").format(names.feed_batches)
    connection.execute(statement, (view.name.lower(), batch, at))


def prune(connection: Connection, names: Names, views: Iterable[ViewDefinition], now: datetime) -> None:
    """Forget what is older than its view retains; the last batch of each feed stays."""
    for view in views:
        name = view.name.lower()
        found = connection.execute(
            sql.SQL(
                "SELECT max(batch) FROM {0} WHERE view = %s AND at < %s "
                "AND batch < (SELECT max(batch) FROM {0} WHERE view = %s)"
            ).format(names.feed_batches),
            (name, now - (KEEP if view.retain is None else view.retain), name),
        ).fetchone()
        if found is None or found[0] is None:
            continue
        (old,) = found
        connection.execute(
            sql.SQL("DELETE FROM {} WHERE {} <= %s").format(names.feed(view), sql.Identifier(BATCH)), (old,)
        )
        connection.execute(
            sql.SQL("DELETE FROM {} WHERE view = %s AND batch <= %s").format(names.feed_batches), (name, old)
        )
        connection.execute(sql.SQL("UPDATE {} SET pruned_to = %s WHERE name = %s").format(names.views), (old, name))


def purge_changes(connection: Connection, names: Names, view: ViewDefinition, same: sql.Composable, value: Any) -> int:
    """Take the rows that meet a condition on a value out of the feed of a view; return how many there were."""
    statement = sql.SQL("DELETE FROM {} AS t WHERE {}").format(names.feed(view), same)
    return connection.execute(statement, value).rowcount


def read_batches(connection: Connection, names: Names, view: ViewDefinition, after: int | None) -> Iterator[FeedBatch]:
    """Yield the batches of a view after a position, inside the transaction that is under way."""
    read = reader(view)
    statement = sql.SQL(
        "SELECT t.{batch}, b.at, t.{deleted}, {columns} FROM {feed} AS t "
        "JOIN {batches} AS b ON b.view = %s AND b.batch = t.{batch} "
        "WHERE t.{batch} > %s ORDER BY t.{batch}, t.{ordinal}"
    ).format(
        batch=sql.Identifier(BATCH),
        deleted=sql.Identifier(DELETED),
        ordinal=sql.Identifier(ORDINAL),
        columns=selected(view),
        feed=names.feed(view),
        batches=names.feed_batches,
    )
    found = pages(connection, statement, (view.name.lower(), -1 if after is None else after))
    for (batch, at), changes in groupby(found, key=lambda each: (each[0], each[1])):
        deleted: list[Row] = []
        inserted: list[Row] = []
        for _, _, gone, *values in changes:
            (deleted if gone else inserted).append(read(values))
        yield FeedBatch(batch, at.astimezone(UTC), Delta(deleted, inserted))
