"""Views in Redis: batches go in; rows, answers and changes come out, from any machine."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import redis

from headrace.connectors.redis.client import RedisAddress, open_client
from headrace.connectors.redis.options import RedisConnection
from headrace.errors import HeadraceError
from headrace.values import sort_key
from headrace.views.definition import (
    Bounds,
    Delta,
    FeedBatch,
    QueryTooLong,
    Reflects,
    Row,
    Snapshot,
    ViewDefinition,
)
from headrace.views.redis_batch import planned, pruned, queue_change, queue_feed, queue_prune, without
from headrace.views.redis_layout import Layout
from headrace.views.redis_names import views_read
from headrace.views.sqlite import SqliteViewStore
from headrace.views.store_rules import (
    KeptView,
    check_key,
    check_names,
    check_position,
    check_same,
    definition_from_text,
    definition_text,
    identified,
    view_named,
    view_of_query,
)

__all__ = ["RedisViewStore"]

MOST_TRIES = 100
_PAGE = 100

Result = TypeVar("Result")

# Reads rows of several views at one moment. For each view: the sorted set of what identifies its rows, the beginning
# of the names of their hashes, and between what to look; all of it if that is empty.
_READ = """
local result = {}
for place = 1, #ARGV, 4 do
  local members
  if ARGV[place + 2] == '' then
    members = redis.call('ZRANGE', ARGV[place], 0, -1, 'WITHSCORES')
  else
    members = {}
    for _, member in ipairs(redis.call('ZRANGEBYLEX', ARGV[place], ARGV[place + 2], ARGV[place + 3])) do
      members[#members + 1] = member
      members[#members + 1] = '1'
    end
  end
  local rows = {}
  for index = 1, #members, 2 do
    rows[#rows + 1] = {members[index + 1], redis.call('HGETALL', ARGV[place + 1] .. members[index])}
  end
  result[#result + 1] = rows
end
return result
"""


def _now() -> datetime:
    return datetime.now(UTC)


class RedisViewStore:
    """A store of views in one database of a Redis server; each row is a hash that any client can read."""

    def __init__(
        self,
        options: RedisConnection,
        *,
        prefix: str = "headrace:",
        clock: Callable[[], datetime] = _now,
        query_timeout: timedelta | None = None,
    ) -> None:
        self._query_timeout = query_timeout
        self._address = RedisAddress(options)
        self._client: Any = open_client(options)
        self._layout = Layout(prefix)
        self._clock = clock

    def define(self, query: str, views: Sequence[ViewDefinition]) -> None:
        """Make the views of a query known, empty if they are new; raise HeadraceError if an old one looks different."""

        def attempt(transaction: Any) -> None:
            kept = self._kept(transaction)
            transaction.multi()
            for view in views:
                check_names(view)
                self._layout.of(view)  # raises for a type that has no text
                old = kept.get(view.name.lower())
                if old is not None:
                    check_same(query, view, old)
                made = identified(view, None if old is None else old.definition)
                facts = {"query": query, "definition": definition_text(made)}
                transaction.hset(self._layout.views, view.name.lower(), json.dumps(facts))
            transaction.execute()

        self._at_once(attempt, self._layout.views)

    def last_batch(self, query: str) -> int | None:
        """Return the last batch of a query that was taken in."""
        with self._address.plain_words():
            return _last(self._client.get(self._layout.batch(query)))

    def take(self, query: str, batch: int, deltas: Mapping[str, Delta], reflects: Reflects) -> bool:
        """Take in a batch: rows, change feed and number at once. One taken in before changes nothing: False."""
        at = self._clock()
        noted = {
            "batch": batch,
            "at": at.isoformat(),
            "watermark": None if reflects.watermark is None else reflects.watermark.isoformat(),
            "positions": dict(reflects.positions),
        }

        def attempt(transaction: Any) -> bool:
            last = _last(transaction.get(self._layout.batch(query)))
            if last is not None and batch <= last:
                return False
            kept = self._kept(transaction)
            named = [(view_of_query(name, query, kept), delta) for name, delta in deltas.items()]
            changes = [
                planned(transaction, self._layout, view, delta)
                for view, delta in named
                if delta.deleted or delta.inserted
            ]
            changed = {each.view.name for each in changes}
            mine = [each.definition for each in kept.values() if each.query == query]
            old = [pruned(transaction, self._layout, view, view.name in changed, at) for view in mine]
            transaction.multi()
            for change in changes:
                queue_change(transaction, change, batch, at)
            for view, batches in zip(mine, old, strict=True):
                queue_prune(transaction, self._layout, view, batches)
            transaction.set(self._layout.batch(query), json.dumps(noted))
            transaction.incr(self._layout.version)
            transaction.execute()
            return True

        return self._at_once(attempt, self._layout.batch(query), self._layout.views)

    def views(self) -> Sequence[ViewDefinition]:
        """Return the views that are kept."""
        with self._address.plain_words():
            return [each.definition for _, each in sorted(self._kept(self._client).items())]

    def owner(self, view: str) -> str | None:
        """Return the query that a view is kept for, None if it is not kept."""
        with self._address.plain_words():
            found = self._kept(self._client).get(view.lower())
        return None if found is None else found.query

    def get(self, view: str, key: Sequence[Any]) -> list[Row]:
        """Return the rows whose first key columns have these values."""
        with self._address.plain_words():
            found = view_named(view, self._kept(self._client)).definition
            check_key(found, key)
            if not key:
                return self._read([found])[0]
            text = self._layout.of(found).key(key)
            whole = len(key) == len(found.key)
            # A whole key is between itself and itself; one that begins a longer one ends in a colon, and ";" follows.
            return self._read([found], (f"[{text}", f"[{text}" if whole else f"({text[:-1]};"))[0]

    def rows(self, view: str) -> Iterator[Row]:
        """Yield all rows of a view, in the order of its key."""
        with self._address.plain_words():
            found = view_named(view, self._kept(self._client)).definition
            yield from self._read([found])[0]

    @contextmanager
    def snapshot(self, view: str) -> Iterator[Snapshot]:
        """Give all rows of a view as of one batch, to be read until the end of the block."""

        def attempt(transaction: Any) -> Snapshot:
            kept = view_named(view, self._kept(transaction))
            rows = self._read([kept.definition])[0]
            last = _last(transaction.get(self._layout.batch(kept.query)))
            transaction.multi()
            transaction.get(self._layout.version)
            transaction.execute()  # raises if a batch came in between
            return Snapshot(kept.definition.identity, last, iter(rows))

        yield self._at_once(attempt, self._layout.version)

    def query(self, sql: str, bounds: Bounds | None = None) -> tuple[tuple[str, ...], list[Row]]:
        """Answer a SELECT over any views, or over those within bounds, all as of one batch; the columns come first.

        Redis knows no SQL: the views that it reads are copied into SQLite. The time that this takes counts too.
        """
        began = time.monotonic()
        with self._address.plain_words():
            kept = [each.definition for each in self._kept(self._client).values()]
            views = [view for view in kept if bounds is None or view.name.lower() in bounds.views]
            read = views_read(sql, views)
            rows = self._read(read)
        with TemporaryDirectory(prefix="headrace-") as folder:
            file = Path(folder) / "views.sqlite"
            with closing(SqliteViewStore(file, clock=self._clock)) as store:
                store.define("query", views)
                for batch, (view, each) in enumerate(zip(read, rows, strict=True)):
                    self._left(began)
                    store.take("query", batch, {view.name: Delta(inserted=each)}, Reflects())
            left = self._left(began)
            with closing(SqliteViewStore(file, read_only=True, clock=self._clock, query_timeout=left)) as store:
                return store.query(sql, bounds)

    def _left(self, began: float) -> timedelta | None:
        """Return how long a query may still take; raise if its time is over."""
        if self._query_timeout is None:
            return None
        left = self._query_timeout - timedelta(seconds=time.monotonic() - began)
        if left <= timedelta(0):
            raise QueryTooLong(self._query_timeout)
        return left

    def changes(self, view: str, after: int | None) -> Iterator[FeedBatch]:
        """Yield the batches that changed a view after a position, as far as they are there now."""
        with self._address.plain_words():
            kept = view_named(view, self._kept(self._client))
            own = self._layout.of(kept.definition)
            check_position(kept.definition.name, kept.pruned_to, after, self.last_batch(kept.query))
            entries = self._entries(kept.definition, after)
            for (batch, at), parts in groupby(entries, key=lambda each: (each[0], each[1]["at"])):
                rows: dict[str, list[Row]] = {"delete": [], "insert": []}
                for _, fields in parts:
                    rows[fields["change"]] += own.from_feed_text(fields["rows"])
                yield FeedBatch(batch, _instant(at), Delta(rows["delete"], rows["insert"]))

    def reflects(self, view: str) -> Reflects:
        """Return up to where the input is in a view."""
        with self._address.plain_words():
            kept = view_named(view, self._kept(self._client))
            text = self._client.get(self._layout.batch(kept.query))
        if text is None:
            return Reflects()
        facts = json.loads(text)
        watermark = None if facts["watermark"] is None else _instant(facts["watermark"])
        return Reflects(watermark, facts["positions"], facts["batch"], _instant(facts["at"]))

    def remove(self, query: str) -> None:
        """Forget the views of a query, their feed and its batch number."""

        def attempt(transaction: Any) -> None:
            mine = [each.definition for each in self._kept(transaction).values() if each.query == query]
            members = {view.name: transaction.zrange(self._layout.of(view).members, 0, -1) for view in mine}
            transaction.multi()
            for view in mine:
                own = self._layout.of(view)
                for member in members[view.name]:
                    transaction.unlink(own.row + member)
                transaction.unlink(own.members, own.feed, own.times)
                transaction.hdel(self._layout.views, view.name.lower())
                transaction.hdel(self._layout.pruned, view.name.lower())
            transaction.delete(self._layout.batch(query))
            transaction.incr(self._layout.version)
            transaction.execute()

        self._at_once(attempt, self._layout.batch(query), self._layout.views)

    def purge(self, view: str, column: str, value: Any) -> int:
        """Take the rows with a value out of the change feed of a view; return how many there were."""
        with self._address.plain_words():
            found = view_named(view, self._kept(self._client)).definition
        own = self._layout.of(found)
        place = [each.name.lower() for each in found.columns].index(column.lower())

        def attempt(transaction: Any) -> int:
            left, gone = without(own, transaction.xrange(own.feed), place, value)
            if gone:
                transaction.multi()
                queue_feed(transaction, own, left)
                transaction.execute()
            return gone

        return self._at_once(attempt, own.feed)

    def version(self) -> Any:
        """Return what is another value after every batch that any process has taken in; cheap to ask often."""
        with self._address.plain_words():
            return self._client.get(self._layout.version)

    def close(self) -> None:
        """Let go of the connections."""
        self._client.close()

    def _at_once(self, attempt: Callable[[Any], Result], *watched: str) -> Result:
        """Try until nobody else changed what is watched in between."""
        with self._address.plain_words():
            for _ in range(MOST_TRIES):
                with self._client.pipeline() as transaction:
                    transaction.watch(*watched)
                    try:
                        return attempt(transaction)
                    except redis.WatchError:
                        continue
        raise HeadraceError(f"others change the same views in Redis at {self._address}", hint="Stop one of the runs.")

    def _kept(self, client: Any) -> dict[str, KeptView]:
        """Return the views that are kept; what their feeds forgot goes with them."""
        found = client.hgetall(self._layout.views)
        pruned_to = client.hgetall(self._layout.pruned)
        views = {}
        for name, text in found.items():
            facts = json.loads(text)
            last = pruned_to.get(name)
            views[name] = KeptView(
                definition_from_text(facts["definition"]), facts["query"], None if last is None else int(last)
            )
        return views

    def _read(self, views: Sequence[ViewDefinition], between: tuple[str, str] = ("", "")) -> list[list[Row]]:
        """Return the rows of views at one moment, each in the order of its key."""
        layouts = [self._layout.of(view) for view in views]
        arguments = [part for own in layouts for part in (own.members, own.row, *between)]
        if not arguments:
            return []
        result = []
        for own, found in zip(layouts, self._client.eval(_READ, 0, *arguments), strict=True):
            rows: list[Row] = []
            for copies, flat in found:
                row = own.from_fields(dict(zip(flat[::2], flat[1::2], strict=True)))
                rows += [row] * int(copies)
            result.append(sorted(rows, key=lambda row, own=own: sort_key(own.order(row))))  # type: ignore[misc]
        return result

    def _entries(self, view: ViewDefinition, after: int | None) -> Iterator[tuple[int, dict[str, str]]]:
        """Yield the entries of a feed, page by page; raise if it forgets some while they are read."""
        own = self._layout.of(view)
        start = "-" if after is None else f"{after + 1}-0"
        begun = None
        while True:
            with self._client.pipeline(transaction=True) as reading:
                reading.xrange(own.feed, start, "+", count=_PAGE)
                reading.hget(self._layout.pruned, view.name.lower())
                page, forgotten = reading.execute()
            # The batch that the last page ended in may go on in this one.
            needed = after if begun is None else begun - 1
            if forgotten is not None and (needed is None or needed < int(forgotten)):
                check_position(view.name, int(forgotten), None, None)
            for identity, fields in page:
                begun = int(identity.partition("-")[0])
                yield begun, fields
            if len(page) < _PAGE:
                return
            start = f"({page[-1][0]}"


def _last(text: str | None) -> int | None:
    return None if text is None else int(json.loads(text)["batch"])


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)
