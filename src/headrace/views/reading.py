"""A store and the name of a view go in; its rows by key or all together, tables of them, and its changes come out."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from headrace.errors import PlanError
from headrace.plan.scope import did_you_mean
from headrace.views.definition import FeedBatch, Reflects, Row, ViewDefinition, ViewStore

__all__ = ["View", "ViewChange"]

POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class ViewChange:
    """A row that came or went; ``batch`` is the position to go on from once all of its changes are read."""

    batch: int
    at: datetime
    change: Literal["insert", "delete"]
    row: dict[str, Any]


class View:
    """One view of a store, to read.

    >>> import tempfile
    >>> from headrace.views.definition import Delta, ViewColumn
    >>> from headrace.views.sqlite import SqliteViewStore
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = SqliteViewStore(f"{folder.name}/views.sqlite")
    >>> columns = (ViewColumn("page", "string"), ViewColumn("n", "bigint"))
    >>> store.define("q", [ViewDefinition("counts", columns, key=("page",))])
    >>> _ = store.take("q", 0, {"counts": Delta(inserted=[("/a", 2), ("/b", 1)])}, Reflects())
    >>> counts = View(store, "counts")
    >>> counts.get("/a")
    {'page': '/a', 'n': 2}
    >>> counts.get("/c") is None, counts.reflects().batch
    (True, 0)
    >>> store.close()
    >>> folder.cleanup()
    """

    def __init__(self, store: ViewStore, name: str) -> None:
        views = store.views()
        found = next((each for each in views if each.name.lower() == name.lower()), None)
        if found is None:
            names = [each.name for each in views]
            hint = did_you_mean(name, names) or "Views are there once their application has been started."
            raise PlanError(f'unknown view "{name}"', hint=hint)
        self.store = store
        self.definition: ViewDefinition = found
        self.columns = tuple(each.name for each in found.columns)

    @property
    def name(self) -> str:
        """The name of the view."""
        return self.definition.name

    def get(self, *key: Any) -> dict[str, Any] | list[dict[str, Any]] | None:
        """Return the row of a key, None if there is none; for the first columns of a key all of its rows."""
        rows = [self._named(row) for row in self.store.get(self.name, key)]
        if len(key) < len(self.definition.key):
            return rows
        return rows[0] if rows else None

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield all rows, in the order of the key."""
        for row in self.store.rows(self.name):
            yield self._named(row)

    def snapshot(self) -> tuple[Reflects, list[dict[str, Any]]]:
        """Return all rows and the batch that they are as of, from which on the view can be followed."""
        while True:
            before = self.store.reflects(self.name)
            rows = list(self.rows())
            if self.store.reflects(self.name).batch == before.batch:
                return before, rows

    def reflects(self) -> Reflects:
        """Return up to where the input is in the view."""
        return self.store.reflects(self.name)

    def to_arrow(self) -> Any:
        """Return all rows as an Arrow table with the view's types."""
        from headrace.views.reading_arrow import arrow_table

        return arrow_table(self.definition, list(self.store.rows(self.name)))

    def to_pandas(self) -> Any:
        """Return all rows as a DataFrame."""
        return self.to_arrow().to_pandas()

    def follow(
        self,
        after: int | Literal["now"] | None = None,
        stop: threading.Event | None = None,
        poll_seconds: float = POLL_SECONDS,
    ) -> Iterator[ViewChange]:
        """Yield the changes after a batch as they happen, until told to stop; what went in a batch before what came.

        Without a batch from the beginning of the feed, with ``"now"`` what happens from here on.
        """
        for each in self.follow_batches(after, stop, poll_seconds):
            for row in each.delta.deleted:
                yield ViewChange(each.batch, each.at, "delete", self._named(row))
            for row in each.delta.inserted:
                yield ViewChange(each.batch, each.at, "insert", self._named(row))

    def follow_batches(
        self,
        after: int | Literal["now"] | None = None,
        stop: threading.Event | None = None,
        poll_seconds: float = POLL_SECONDS,
    ) -> Iterator[FeedBatch]:
        """Yield what each batch changed, as ``follow`` does; where it starts is settled now, not at the first step."""
        position = self.reflects().batch if after == "now" else after
        return self._batches(position, stop or threading.Event(), poll_seconds)

    def _batches(self, position: int | None, stop: threading.Event, poll_seconds: float) -> Iterator[FeedBatch]:
        version = getattr(self.store, "version", None)
        seen: Any = None
        while not stop.is_set():
            now = version() if version is not None else None
            if now is None or now != seen:
                seen = now  # asked for before the changes are read: what comes meanwhile is read next time
                for each in self.store.changes(self.name, position):
                    yield each
                    position = each.batch
                    if stop.is_set():
                        return
            stop.wait(poll_seconds)

    def _named(self, row: Row) -> dict[str, Any]:
        return dict(zip(self.columns, row, strict=True))
