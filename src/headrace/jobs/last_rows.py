"""Batches of rows that nobody keeps go in, those of a bare SELECT or a console sink; the last of them come out."""

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from headrace.values import json_text, json_value
from headrace.views.store import Change

__all__ = ["LastRow", "LastRows"]

MOST_ROWS = 200
LONGEST_ROW = 4000


@dataclass(frozen=True, slots=True)
class LastRow:
    """A row that came or went: of which output, in which batch, and its values as JSON."""

    output: str
    batch: int
    at: str
    change: str
    row: str

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> "LastRow | None":
        """Return the row that was written, None if it is none."""
        try:
            return cls(
                str(plain["output"]), int(plain["batch"]), str(plain["at"]), str(plain["change"]), str(plain["row"])
            )
        except (KeyError, TypeError, ValueError):
            return None


@dataclass(slots=True)
class LastRows:
    """The last rows of all outputs that are only shown.

    The engine calls ``take`` after each batch, from threads of its own; ``changed`` gives the rows to the driver's
    heartbeat if there are new ones.

    >>> rows = LastRows(clock=lambda: datetime(2026, 1, 1, tzinfo=UTC))
    >>> rows.take("query_1", 0, [Change("insert", {"n": 1})])
    >>> rows.changed()
    [LastRow(output='query_1', batch=0, at='2026-01-01T00:00:00+00:00', change='insert', row='{"n": 1}')]
    >>> rows.changed() is None
    True
    """

    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    _rows: "deque[LastRow]" = field(default_factory=lambda: deque(maxlen=MOST_ROWS))
    _new: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, output: str, batch: int, changes: Sequence[Change]) -> None:
        """Remember the last rows of a batch; a failure here would be one of the query."""
        at = self.clock().isoformat()
        rows = [LastRow(output, batch, at, each.change, _text(each.row)) for each in changes[-MOST_ROWS:]]
        with self._lock:
            self._rows.extend(rows)
            self._new = self._new or bool(rows)

    def changed(self) -> list[LastRow] | None:
        """Return the rows if there are other ones than at the last call."""
        with self._lock:
            if not self._new:
                return None
            self._new = False
            return list(self._rows)


def _text(row: object) -> str:
    text = json_text(json_value(row))
    return text if len(text) <= LONGEST_ROW else f"{text[:LONGEST_ROW]}…"
