"""What a query publishes, batch by batch, goes in; its rows and changes come out, each batch taken once."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol

from headrace.values import to_json_line

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Published:
    """One row as a query publishes it.

    A row with a key replaces the one before, or withdraws it; one without comes so often as its weight says, or goes
    if that is negative.
    """

    row: Row
    key: str | None = None
    keep: bool = True
    weight: int = 1


@dataclass(frozen=True, slots=True)
class Change:
    """A row that came or went."""

    change: str
    row: Row


class Store(Protocol):
    """Keeps what a query has published."""

    def apply(self, batch: int, published: Iterable[Published]) -> Sequence[Change]:
        """Take in a batch and return what it changed; a batch taken in before changes nothing."""

    def rows(self) -> list[Row]:
        """Return the rows as they stand."""


@dataclass(slots=True)
class MemoryStore:
    """A store for a run that ends: everything stays in memory, the changes too.

    >>> store = MemoryStore()
    >>> [c.change for c in store.apply(0, [Published({"n": 1}, "a")])]
    ['insert']
    >>> [(c.change, c.row["n"]) for c in store.apply(1, [Published({"n": 2}, "a")])]
    [('delete', 1), ('insert', 2)]
    >>> store.apply(1, [Published({"n": 2}, "a")])
    []
    """

    batches: dict[int, list[Change]] = field(default_factory=dict)
    keyed: dict[str, Row] = field(default_factory=dict)
    plain: list[Row] = field(default_factory=list)
    counted: dict[str, tuple[Row, int]] | None = None
    """The rows without a key by their text, once some were withdrawn; before that they are only listed."""

    def apply(self, batch: int, published: Iterable[Published]) -> Sequence[Change]:
        """Take in a batch and return what it changed; a batch taken in before changes nothing."""
        if batch in self.batches:
            return []
        rows = list(published)
        changes = list(net([each for each in rows if each.key is None]))
        self._take(changes)
        for each in rows:
            if each.key is not None:
                changes.extend(_replace(self.keyed.get(each.key), each))
                if each.keep:
                    self.keyed[each.key] = each.row
                else:
                    self.keyed.pop(each.key, None)
        self.batches[batch] = changes
        return changes

    def _take(self, changes: Sequence[Change]) -> None:
        if self.counted is None:
            if all(change.change == "insert" for change in changes):
                self.plain += [change.row for change in changes]
                return
            self.counted = {}
            changes = [*(Change("insert", row) for row in self.plain), *changes]
            self.plain = []
        for change in changes:
            text = to_json_line(change.row)
            row, count = self.counted.get(text, (change.row, 0))
            count += 1 if change.change == "insert" else -1
            self.counted[text] = (row, count)
            if count == 0:
                del self.counted[text]
            elif count < 0:
                raise ValueError(f"a row is withdrawn that is not there: {text}")

    def rows(self) -> list[Row]:
        """Return the rows as they stand."""
        counted = (self.counted or {}).values()
        return [*self.plain, *(row for row, count in counted for _ in range(count)), *self.keyed.values()]


def net(published: Sequence[Published]) -> Iterator[Change]:
    """Yield what rows with weights change together: what cancels is left out, what goes comes first.

    >>> rows = [Published({"n": 1}), Published({"n": 2}), Published({"n": 1}, weight=-1)]
    >>> [(c.change, c.row["n"]) for c in net(rows)]
    [('insert', 2)]
    """
    if all(each.weight > 0 for each in published):
        yield from (Change("insert", each.row) for each in published for _ in range(each.weight))
        return
    weights: dict[str, tuple[Row, int]] = {}
    for each in published:
        text = to_json_line(each.row)
        row, weight = weights.get(text, (each.row, 0))
        weights[text] = (row, weight + each.weight)
    for name, sign in (("delete", -1), ("insert", 1)):
        for row, weight in weights.values():
            for _ in range(max(sign * weight, 0)):
                yield Change(name, row)


def _replace(old: Row | None, new: Published) -> Iterator[Change]:
    if old is not None and new.keep and to_json_line(old) == to_json_line(new.row):
        return
    if old is not None:
        yield Change("delete", old)
    if new.keep:
        yield Change("insert", new.row)


def _row(text: str) -> Row:
    """Return a row from its JSON; written again it gives the same text, so a withdrawal matches its row.

    >>> to_json_line(_row('{"price": 1.50, "small": 1e-07}'))
    '{"price": 1.50, "small": 1e-07}'
    """
    row: Row = json.loads(text, parse_float=lambda digits: (float if "e" in digits else Decimal)(digits))
    return row


_SCHEMA = """
CREATE TABLE IF NOT EXISTS published (key TEXT PRIMARY KEY, row TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS batches (batch INTEGER PRIMARY KEY);
"""


class SqliteStore:
    """A store for a run that goes on: rows and the number of the last batch in one transaction on disk.

    Rows without a key are kept only where the relation is a view; a screen needs no memory of them.
    """

    def __init__(self, path: Path, *, keep_plain: bool) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._keep_plain = keep_plain
        with closing(self._connect()) as connection:
            connection.executescript(_SCHEMA)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=30, isolation_level=None)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        return connection

    def apply(self, batch: int, published: Iterable[Published]) -> Sequence[Change]:
        """Take in a batch and return what it changed; a batch taken in before changes nothing."""
        changes: list[Change] = []
        with closing(self._connect()) as connection:
            connection.execute("BEGIN IMMEDIATE")
            if connection.execute("SELECT 1 FROM batches WHERE batch >= ?", (batch,)).fetchone():
                connection.execute("ROLLBACK")
                return []
            for ordinal, each in enumerate(published):
                changes.extend(self._take(connection, batch, ordinal, each))
            connection.execute("DELETE FROM batches")
            connection.execute("INSERT INTO batches VALUES (?)", (batch,))
            connection.execute("COMMIT")
        return changes

    def _take(self, connection: sqlite3.Connection, batch: int, ordinal: int, each: Published) -> Iterator[Change]:
        if each.key is None:
            if self._keep_plain:
                connection.execute(
                    "INSERT INTO published VALUES (?, ?)", (f"{batch}:{ordinal}", to_json_line(each.row))
                )
            yield Change("insert", each.row)
            return
        found = connection.execute("SELECT row FROM published WHERE key = ?", (each.key,)).fetchone()
        text = to_json_line(each.row)
        if found is not None and each.keep and found[0] == text:
            return
        if found is not None:
            connection.execute("DELETE FROM published WHERE key = ?", (each.key,))
            yield Change("delete", _row(found[0]))
        if each.keep:
            connection.execute("INSERT INTO published VALUES (?, ?)", (each.key, text))
            yield Change("insert", each.row)

    def rows(self) -> list[Row]:
        """Return the rows as they stand, in the order of their keys."""
        with closing(self._connect()) as connection:
            found = connection.execute("SELECT row FROM published ORDER BY key")
            return [_row(text) for (text,) in found]
