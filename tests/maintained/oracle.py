"""What is written into tables goes in; the answer of a query, computed from scratch by DuckDB, comes out."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from math import isclose, isnan
from typing import Any

import duckdb
import sqlglot

from maintained.sequences import COLUMNS, KEYS, Batch, Row
from maintained.templates import Template

_SCHEMA = {
    "a": "k INT, g VARCHAR, n INT, x DOUBLE, m DECIMAL(10, 2), due TIMESTAMP, tags VARCHAR[]",
    "b": "k INT, g VARCHAR, n INT, y DOUBLE",
    "c": "g VARCHAR, h INT, label VARCHAR, w INT",
    "e": "k INT, g VARCHAR, n INT, x DOUBLE",
}


def translated(template: Template) -> str:
    """Return a template in DuckDB's SQL."""
    if template.duckdb is not None:
        return template.duckdb
    return sqlglot.transpile(template.sql, read="spark", write="duckdb")[0]


@dataclass(slots=True)
class Oracle:
    """The tables as they stand after some batches."""

    keyed: dict[str, dict[tuple[Any, ...], Row]] = field(default_factory=lambda: {name: {} for name in KEYS})
    grown: list[Row] = field(default_factory=list)
    connection: duckdb.DuckDBPyConnection = field(default_factory=lambda: duckdb.connect(":memory:"))

    def __post_init__(self) -> None:
        for name, columns in _SCHEMA.items():
            self.connection.execute(f"CREATE TABLE {name} ({columns})")

    def take(self, batch: Batch) -> None:
        """Take in a batch: the last word on a key counts."""
        for write in batch.writes:
            row = {column: dict(write.row).get(column) for column in COLUMNS[write.name]}
            if write.name not in KEYS:
                self.grown.append(row)
                continue
            key = tuple(row[column] for column in KEYS[write.name])
            if write.removed:
                self.keyed[write.name].pop(key, None)
            else:
                self.keyed[write.name][key] = row
        for name in {write.name for write in batch.writes}:
            self._fill(name)

    def rows(self, name: str) -> list[Row]:
        """Return the rows of a table or the stream so far."""
        return list(self.keyed[name].values()) if name in KEYS else self.grown

    def _fill(self, name: str) -> None:
        self.connection.execute(f"DELETE FROM {name}")
        for row in self.rows(name):
            values = [_stored(row[column]) for column in COLUMNS[name]]
            places = ", ".join("?" for _ in values)
            self.connection.execute(f"INSERT INTO {name} VALUES ({places})", values)

    def answer(self, template: Template) -> list[tuple[Any, ...]]:
        """Return the rows of a query over the tables as they stand."""
        return self.connection.execute(translated(template)).fetchall()


def _stored(value: Any) -> Any:
    return value.astimezone(UTC).replace(tzinfo=None) if isinstance(value, datetime) else value


def unmatched(
    actual: list[tuple[Any, ...]], expected: list[tuple[Any, ...]]
) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """Return the rows that are too many and those that are missing; what differs only in the last digits matches."""
    missing, extra = list(expected), []
    for row in actual:
        for i, other in enumerate(missing):
            if same_row(row, other):
                del missing[i]
                break
        else:
            extra.append(row)
    return extra, missing


def same_row(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Say whether two rows are the same but for the last digits of numbers."""
    return len(one) == len(other) and all(map(same, one, other))


def same(one: Any, other: Any) -> bool:
    """Say whether two values are the same but for the last digits of a number.

    >>> same(0.1 + 0.2, 0.3), same(Decimal("1.50"), 1.5), same(-0.0, 0.0), same(None, 0), same(True, 1)
    (True, True, True, False, False)
    """
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int) and isinstance(other, int):
        return one == other
    if isinstance(one, int | float | Decimal) and isinstance(other, int | float | Decimal):
        if isnan(one) or isnan(other):
            return isnan(one) and isnan(other)
        return isclose(float(one), float(other), rel_tol=1e-9, abs_tol=1e-6 if _rounded(one, other) else 1e-9)
    if isinstance(one, datetime) and isinstance(other, datetime):
        return bool(_stored(_zoned(one)) == _stored(_zoned(other)))
    return bool(one == other)


def _rounded(one: Any, other: Any) -> bool:
    """Say whether a decimal, whose digits are limited, meets a double."""
    return isinstance(one, Decimal) != isinstance(other, Decimal)


def _zoned(value: datetime) -> datetime:
    return value if value.tzinfo is not None else value.replace(tzinfo=UTC)
