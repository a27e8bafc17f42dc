"""What a batch changed goes in as encoded rows; the change feed of a view comes out batch by batch, and ends in time.

Rows are kept in chunks of one change, as JSON: a feed is written with every batch and read in its order alone.
"""

import base64
import json
import sqlite3
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import count, groupby
from typing import Any

from headrace.views.definition import Delta, FeedBatch, Row, ViewDefinition
from headrace.views.sqlite_schema import HIDDEN
from headrace.views.sqlite_values import codec, decoded, instant_text
from headrace.views.store_rules import check_position

__all__ = ["KEEP", "prune", "purge_changes", "read_batches", "write_changes"]

KEEP = timedelta(days=7)
"""How long a feed is kept if the view does not say."""

CHUNK = 1000
_DELETE, _INSERT = "delete", "insert"


def write_changes(
    connection: sqlite3.Connection, view: str, batch: int, at: str, deleted: Sequence[Row], inserted: Sequence[Row]
) -> None:
    """Add the changes of a batch to the feed of a view, what went first."""
    ordinals = count()
    connection.executemany(
        f"INSERT INTO {HIDDEN}feed VALUES (?, ?, ?, ?, ?, ?)",
        (
            (view, batch, next(ordinals), at, change, _text(rows[start : start + CHUNK]))
            for change, rows in ((_DELETE, deleted), (_INSERT, inserted))
            for start in range(0, len(rows), CHUNK)
        ),
    )


def _text(rows: Sequence[Row]) -> str:
    return json.dumps(rows, ensure_ascii=False, separators=(",", ":"), default=_bytes)


def _bytes(value: bytes) -> dict[str, str]:
    return {"base64": base64.b64encode(value).decode("ascii")}


def _from_object(value: dict[str, str]) -> Any:
    return base64.b64decode(value["base64"])  # rows hold no other objects: nested values are text by now


def prune(connection: sqlite3.Connection, query: str, views: Sequence[ViewDefinition], now: datetime) -> None:
    """Forget what is older than its view retains; the last batch of each feed stays."""
    for view in views:
        old = _last_before(connection, query, now - (KEEP if view.retain is None else view.retain))
        if old is None:
            continue
        newest = connection.execute(f"SELECT max(batch) FROM {HIDDEN}feed WHERE view = ?", (view.name,)).fetchone()[0]
        upto = min(old, (newest or 0) - 1)
        gone = connection.execute(
            f"SELECT max(batch) FROM {HIDDEN}feed WHERE view = ? AND batch <= ?", (view.name, upto)
        ).fetchone()[0]
        if gone is not None:
            connection.execute(f"DELETE FROM {HIDDEN}feed WHERE view = ? AND batch <= ?", (view.name, gone))
            connection.execute(f"UPDATE {HIDDEN}views SET pruned_to = ? WHERE name = ?", (gone, view.name))
    longest = max((KEEP if view.retain is None else view.retain for view in views), default=KEEP)
    old = _last_before(connection, query, now - longest)
    if old is not None:
        connection.execute(
            f"DELETE FROM {HIDDEN}batches WHERE query = ? AND batch <= ? "
            f"AND batch < (SELECT max(batch) FROM {HIDDEN}batches WHERE query = ?)",
            (query, old, query),
        )


def purge_changes(connection: sqlite3.Connection, view: str, place: int, value: Any) -> int:
    """Take the rows that have an encoded value at a place out of the feed of a view; return how many there were."""
    removed = 0
    found = connection.execute(
        f"SELECT batch, ordinal, rows FROM {HIDDEN}feed WHERE view = ? ORDER BY batch, ordinal", (view,)
    ).fetchall()
    for batch, ordinal, text in found:
        rows = json.loads(text, object_hook=_from_object)
        kept = [row for row in rows if row[place] != value]
        removed += len(rows) - len(kept)
        chunk = "WHERE view = ? AND batch = ? AND ordinal = ?"
        if not kept:
            connection.execute(f"DELETE FROM {HIDDEN}feed {chunk}", (view, batch, ordinal))
        elif len(kept) < len(rows):
            connection.execute(f"UPDATE {HIDDEN}feed SET rows = ? {chunk}", (_text(kept), view, batch, ordinal))
    return removed


def _last_before(connection: sqlite3.Connection, query: str, at: datetime) -> int | None:
    found: int | None = connection.execute(
        f"SELECT batch FROM {HIDDEN}batches WHERE query = ? AND at < ? ORDER BY at DESC LIMIT 1",
        (query, instant_text(at)),
    ).fetchone()
    return None if found is None else found[0]  # type: ignore[index]


def read_batches(
    connection: sqlite3.Connection, view: ViewDefinition, after: int | None, last: int | None
) -> Iterator[FeedBatch]:
    """Yield the batches of a view after a position; ``last`` is the last batch that its query took in."""
    pruned = connection.execute(f"SELECT pruned_to FROM {HIDDEN}views WHERE name = ?", (view.name,)).fetchone()[0]
    check_position(view.name, pruned, after, last)
    codecs = [codec(each.type) for each in view.columns]
    found = connection.execute(
        f"SELECT batch, at, change, rows FROM {HIDDEN}feed WHERE view = ? AND batch > ? ORDER BY batch, ordinal",
        (view.name, -1 if after is None else after),
    )
    for (batch, at), chunks in groupby(found, key=lambda each: (each[0], each[1])):
        rows: dict[str, list[Row]] = {_DELETE: [], _INSERT: []}
        for _, _, change, text in chunks:
            rows[change] += [tuple(row) for row in json.loads(text, object_hook=_from_object)]
        delta = Delta(*(list(decoded(rows[change], codecs)) for change in (_DELETE, _INSERT)))
        yield FeedBatch(batch, datetime.fromisoformat(at + "+00:00"), delta)
