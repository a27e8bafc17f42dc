"""Batches of rows go in; a table of some database is left as they say, each batch taken once."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import Any, Protocol

from headrace.connectors.postgres.options import PostgresSink
from headrace.connectors.redis.options import RedisSink
from headrace.connectors.spark_types import SparkType, parse_type
from headrace.connectors.sqlite.options import SqliteSink
from headrace.errors import HeadraceError

__all__ = [
    "KeyedChanges",
    "TableColumn",
    "TableSink",
    "TableWriter",
    "by_key",
    "checked_columns",
    "checked_key",
    "installed",
    "open_writer",
]

Row = tuple[Any, ...]
TableSink = PostgresSink | SqliteSink | RedisSink


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column and its type, in the words of Spark."""

    name: str
    type: str

    @property
    def kind(self) -> SparkType:
        """The parts of the type."""
        return parse_type(self.type)


class TableWriter(Protocol):
    """Writes the batches of one output into one table.

    The calls come from one thread: ``prepare`` once, then batches in order, of which the last may come again after
    a crash. A connection that is lost raises JobFailed; the next call connects anew.
    """

    def prepare(self, columns: Sequence[TableColumn], key: Sequence[str]) -> None:
        """Check that the table can take such rows, or make it; without a key rows are only ever added."""

    def last_batch(self, output: str) -> int | None:
        """Return the last batch of an output that the table has taken."""

    def take(self, output: str, batch: int, deleted: Sequence[Row], inserted: Sequence[Row]) -> bool:
        """Take in a batch: rows and number at once. One that was taken in before changes nothing: False."""

    def close(self) -> None:
        """Let go of the connection."""


def open_writer(options: TableSink, *, name: str, base: Path) -> TableWriter:
    """Return the writer of a sink; ``name`` is the sink's, ``base`` the folder that paths are relative to."""
    match options:
        case PostgresSink():
            with installed("psycopg", "postgres"):
                from headrace.connectors.postgres.sink import PostgresWriter
            return PostgresWriter(options)
        case RedisSink():
            with installed("redis", "redis"):
                from headrace.connectors.redis.sink import RedisWriter
            return RedisWriter(options, prefix=f"{name}:" if options.prefix is None else options.prefix)
        case SqliteSink():
            from headrace.connectors.sqlite.sink import SqliteWriter

            return SqliteWriter(options, base)


@contextmanager
def installed(package: str, extra: str) -> Iterator[None]:
    """Say in plain words that a package is missing when an import inside finds that it is."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        raise HeadraceError(
            f"the Python package {package} is not installed", hint=f"Run: pip install 'headrace[{extra}]'"
        ) from error


@dataclass(frozen=True, slots=True)
class KeyedChanges:
    """What a batch does to a table with a key: keys whose row goes, and one row for each key that has one."""

    gone: list[Row]
    rows: dict[Row, Row]


def by_key(places: Sequence[int], deleted: Sequence[Row], inserted: Sequence[Row]) -> KeyedChanges:
    """Return what is left of a batch, the key being at these places: the last row of a key counts.

    >>> by_key([0], deleted=[(1, "a"), (2, "b")], inserted=[(1, "c"), (1, "d")])
    KeyedChanges(gone=[(2,)], rows={(1,): (1, 'd')})
    """
    rows = {_hashable(tuple(row[place] for place in places)): row for row in inserted}
    gone = dict.fromkeys(_hashable(tuple(row[place] for place in places)) for row in deleted)
    return KeyedChanges([key for key in gone if key not in rows], rows)


def _hashable(key: Row) -> Row:
    """Return a key that can be looked up: NaN equal to itself, bytes that cannot change.

    >>> _hashable((float("nan"),)) == _hashable((float("nan"),))
    True
    """
    return tuple(_NAN if isinstance(value, float) and isnan(value) else _frozen(value) for value in key)


_NAN = float("nan")  # the same object is found in a dictionary, whatever it is equal to


def _frozen(value: Any) -> Any:
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, (list, dict)):
        raise HeadraceError(
            "a nested column cannot be in the key of a sink", hint="Choose columns of simple types with key = '…'."
        )
    return value


def checked_key(columns: Sequence[TableColumn], key: Sequence[str]) -> tuple[int, ...]:
    """Return the places of the key's columns, or raise if one is unknown or nested."""
    places = {column.name.lower(): place for place, column in enumerate(columns)}
    for name in key:
        if name.lower() not in places:
            raise HeadraceError(
                f'the key names "{name}", which is no column of the query',
                hint=f"Its columns are: {', '.join(column.name for column in columns)}.",
            )
        if columns[places[name.lower()]].kind.nested:
            raise HeadraceError(f'the key names "{name}", whose values are nested', hint="Choose another column.")
    return tuple(places[name.lower()] for name in key)


def checked_columns(columns: Sequence[TableColumn], types: "dict[str, str]", database: str) -> None:
    """Raise if a column has a type for which the database has none."""
    for column in columns:
        if column.kind.name not in types and not column.kind.nested:
            raise HeadraceError(
                f'column "{column.name}" is of type {column.type}, which {database} cannot hold',
                hint="Leave it out of the query, or convert it with CAST or to_json.",
            )


def refuse_keyless_delete(deleted: Sequence[Row]) -> None:
    """Raise if rows are to go and nothing says which."""
    if deleted:
        raise HeadraceError(
            "rows of this query change, and nothing says which row of the table is which",
            hint="Name the columns that identify a row with key = '…'.",
        )
