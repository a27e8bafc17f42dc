"""A view and its rows go in; the names of keys in Redis, and rows as text and back, come out."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any

from headrace.connectors.redis.sink import fields_of
from headrace.connectors.spark_types import SparkType, parse_type
from headrace.connectors.typed_values import from_json, from_text, json_of, key_text
from headrace.errors import HeadraceError
from headrace.views.definition import Row, ViewDefinition
from headrace.views.store_rules import key_places, row_hash

__all__ = ["Layout", "ViewLayout"]


class Layout:
    """The names of a store's keys in Redis, all of which begin with its prefix."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.views = f"{prefix}views"
        """A hash: each view's definition by its name in lower case."""
        self.pruned = f"{prefix}pruned"
        """A hash: the last batch that a view's feed forgot."""
        self.version = f"{prefix}version"
        """A number that grows with every batch that is taken in."""

    def batch(self, query: str) -> str:
        """Return the key of what is known of a query's last batch."""
        return f"{self.prefix}batch:{query}"

    def of(self, view: ViewDefinition) -> "ViewLayout":
        """Return the names of a view's keys."""
        return ViewLayout(self.prefix, view)


class ViewLayout:
    """The names of a view's keys, and its rows as text.

    ``members`` is a sorted set of what identifies each row, with the number of its copies; ``row`` and that name the
    hash of a row; ``feed`` is a stream; ``times`` is a sorted set of the batches in the feed by their time.
    """

    def __init__(self, prefix: str, view: ViewDefinition) -> None:
        name = view.name.lower()
        self.members = f"{prefix}members:{name}"
        self.row = f"{prefix}row:{name}:"
        self.feed = f"{prefix}feed:{name}"
        self.times = f"{prefix}times:{name}"
        self._view = view
        self._places = key_places(view)
        self._kinds = [parse_type(each.type) for each in view.columns]
        self._names = [each.name for each in view.columns]
        self._from_text = [from_text(kind) for kind in self._kinds]
        self._from_json = [from_json(kind) for kind in self._kinds]

    def member(self, row: Row) -> str:
        """Return what identifies a row: its key, or all of it."""
        if not self._places:
            return row_hash(row).hex()
        return key_text(tuple(_normal(row[place], self._kinds[place]) for place in self._places))

    def key(self, values: Sequence[Any]) -> str:
        """Return the beginning of what identifies the rows whose first key columns have these values."""
        normal = []
        for value, place in zip(values, self._places, strict=False):
            try:
                normal.append(_normal(_read(value, self._kinds[place]), self._kinds[place]))
            except (ValueError, TypeError, LookupError, AttributeError, InvalidOperation):
                column = self._view.columns[place]
                raise HeadraceError(
                    f'{value!r} is not a value of the key column "{column.name}" {column.type}'
                ) from None
        if len(self._places) > 1:
            return key_text((*normal, "")) if len(normal) < len(self._places) else key_text(tuple(normal))
        return key_text(tuple(normal))

    def fields(self, row: Row) -> dict[str, str]:
        """Return a row as a hash; what is NULL is left out."""
        return fields_of(self._names, row)

    def from_fields(self, fields: Mapping[str, str]) -> Row:
        """Return a row from its hash."""
        return tuple(
            read(fields[name]) if name in fields else None
            for name, read in zip(self._names, self._from_text, strict=True)
        )

    def feed_text(self, rows: Sequence[Row]) -> str:
        """Return rows as one JSON text."""
        return "[" + ",".join("[" + ",".join(map(json_of, row)) + "]" for row in rows) + "]"

    def from_feed_text(self, text: str) -> list[Row]:
        """Return rows from their JSON text."""
        return [
            tuple(read(value) for read, value in zip(self._from_json, row, strict=True))
            for row in json.loads(text, parse_float=Decimal)
        ]

    def order(self, row: Row) -> dict[str, Any]:
        """Return the key of a row by the names of its columns."""
        return {self._names[place]: row[place] for place in self._places}


def _normal(value: Any, kind: SparkType) -> Any:
    """Return a value such that equal values have one text."""
    if isinstance(value, float):
        return value + 0.0
    if isinstance(value, Decimal) and kind.name == "decimal":
        return value.quantize(Decimal(1).scaleb(-kind.scale), ROUND_HALF_UP)
    return value


def _read(value: Any, kind: SparkType) -> Any:
    """Return a value as its column has it; text is read, numbers are widened, times without a zone are in UTC."""
    if value is None or kind.name == "string":
        return value if value is None or isinstance(value, str) else str(value)
    if isinstance(value, str):
        value = from_text(kind)(value)
    if kind.name in {"float", "double"}:
        return float(value)
    if kind.name == "decimal":
        return Decimal(value)
    if kind.name == "timestamp":
        return value.replace(tzinfo=UTC) if isinstance(value, datetime) and value.tzinfo is None else value
    return value
