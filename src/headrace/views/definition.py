"""What a materialised view is, and what a batch does to it: the words that stores, readers and runs share."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Protocol

from headrace.errors import HeadraceError

Row = tuple[Any, ...]
"""The values of one row in the order of the view's columns: plain Python values as PySpark gives them.

TIMESTAMP is a datetime in UTC, TIMESTAMP_NTZ one without a zone; a struct is a dict, an array a list, a map a dict.
"""


@dataclass(frozen=True, slots=True)
class ViewColumn:
    """A column and its type, in the words of Spark: ``bigint``, ``decimal(10,2)``, ``struct<a:int>``."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class ViewDefinition:
    """A view: its columns, and the columns that identify a row.

    Without a key the rows are a bag: the same row may be there several times.
    """

    name: str
    columns: tuple[ViewColumn, ...]
    key: tuple[str, ...] = ()
    indexes: tuple[tuple[str, ...], ...] = ()
    retain: timedelta | None = None
    identity: str = field(default="", compare=False)
    """Given by the store that makes the view; one that is built anew is another."""


@dataclass(frozen=True, slots=True)
class Delta:
    """What a batch does to one view: rows that go and rows that come; no row is in both, one may be in twice."""

    deleted: Sequence[Row] = ()
    inserted: Sequence[Row] = ()


@dataclass(frozen=True, slots=True)
class Reflects:
    """Up to where the input is in a view: the watermark, and the position in each stream as its source writes it."""

    watermark: datetime | None = None
    positions: Mapping[str, str] = field(default_factory=dict)
    batch: int | None = None
    at: datetime | None = None
    """When the batch was taken in; the store sets it."""


@dataclass(frozen=True, slots=True)
class FeedBatch:
    """The changes of one view in one batch, what went before what came; ``batch`` is the position to go on from."""

    batch: int
    at: datetime
    delta: Delta


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The rows of a view, in any order, and the last batch that is in them: None if there was none yet."""

    identity: str
    batch: int | None
    rows: Iterator[Row]


class QueryTooLong(HeadraceError):
    """A query over views that took longer than it may; it was ended."""

    def __init__(self, limit: timedelta) -> None:
        super().__init__(
            f"the query took longer than {limit.total_seconds():g} seconds",
            hint="Ask for less, or give the view an index.",
        )


class AnswerTooLarge(HeadraceError):
    """A query over views whose answer takes more memory than it may."""

    def __init__(self, megabytes: int) -> None:
        super().__init__(f"the answer has more than {megabytes} MB", hint="Ask for fewer rows or columns.")


@dataclass(frozen=True, slots=True)
class Bounds:
    """How far a query may go that somebody asks who is not the owner of the machine.

    ``views`` are the names, in lower case, of those that it may read; ``rows`` is how many of its rows are wanted.
    """

    views: frozenset[str]
    rows: int
    value_bytes: int = 10 * 2**20
    answer_bytes: int = 64 * 2**20

    def taken(self, rows: Iterable[Row]) -> list[Row]:
        """Return the rows that are wanted, as they come; raise if they take too much memory."""
        found: list[Row] = []
        size = 0
        for row in islice(rows, self.rows):
            size += sum(len(value) for value in row if isinstance(value, str | bytes))
            if size > self.answer_bytes:
                raise AnswerTooLarge(self.answer_bytes // 2**20)
            found.append(row)
        return found


class ViewStore(Protocol):
    """Keeps views; one transaction takes in a batch for all views of a query, so that they never disagree.

    Several queries (of one or of several applications) may share a store; ``query`` names which one a batch is of.
    """

    def define(self, query: str, views: Sequence[ViewDefinition]) -> None:
        """Make the views of a query known, empty if they are new; raise HeadraceError if an old one looks different."""

    def last_batch(self, query: str) -> int | None:
        """Return the last batch of a query that was taken in."""

    def take(self, query: str, batch: int, deltas: Mapping[str, Delta], reflects: Reflects) -> bool:
        """Take in a batch: rows, feed and number at once. One that was taken in before changes nothing: False."""

    def views(self) -> Sequence[ViewDefinition]:
        """Return the views that are kept."""

    def owner(self, view: str) -> str | None:
        """Return the query that a view is kept for, None if it is not kept."""

    def get(self, view: str, key: Sequence[Any]) -> list[Row]:
        """Return the rows whose first key columns have these values."""

    def rows(self, view: str) -> Iterator[Row]:
        """Yield all rows of a view, in the order of its key."""

    def snapshot(self, view: str) -> AbstractContextManager[Snapshot]:
        """Give all rows of a view as of one batch, to be read until the end of the block."""

    def query(self, sql: str, bounds: Bounds | None = None) -> tuple[tuple[str, ...], list[Row]]:
        """Answer a SELECT over any views, or over those within bounds, all as of one batch; the columns come first."""

    def changes(self, view: str, after: int | None) -> Iterator[FeedBatch]:
        """Yield the batches that changed a view after a position, as far as they are there now.

        Without a position from the beginning; raise HeadraceError if the feed no longer goes back that far.
        """

    def reflects(self, view: str) -> Reflects:
        """Return up to where the input is in a view."""

    def remove(self, query: str) -> None:
        """Forget the views of a query, their feed and its batch number."""
