"""Rows and where they come from, as the pages show them."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["CatalogObject", "Column", "RowBatch", "RowPage", "Value"]

Value = object
"""A value of a row: what JSON can say, a datetime, a date or a Decimal."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column and its SQL type."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class RowPage:
    """Some rows out of ``total``; ``keys`` tells which row is which, so that a change can be shown at its row."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]
    total: int
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RowBatch:
    """Rows that came or changed together; ``changes`` has insert, update or delete for each, or nothing at all."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]
    keys: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CatalogObject:
    """A named stream, table, view or sink."""

    name: str
    kind: Literal["stream", "table", "view", "materialized view", "sink"]
    columns: tuple[Column, ...]
    job: str | None = None
    application: str | None = None
    connector: str = ""
    options: tuple[tuple[str, str], ...] = ()
    """Without secrets."""
    watermark: str = ""
    used_by: tuple[str, ...] = ()

    @property
    def full_name(self) -> str:
        """What it is asked for by: ``JOB.NAME``, for several jobs may have the same name.

        >>> CatalogObject("totals", "view", (), "shop").full_name, CatalogObject("totals", "view", ()).full_name
        ('shop.totals', 'totals')
        """
        return self.name if self.job is None else f"{self.job}.{self.name}"
