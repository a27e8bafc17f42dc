"""What a batch does to a view goes in; the commands of Redis that do it come out, or an error says why not."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from headrace.views.definition import Delta, ViewDefinition
from headrace.views.redis_layout import Layout, ViewLayout
from headrace.views.store_rules import KEEP, not_there, same_key_twice

__all__ = ["Change", "planned", "pruned", "queue_change", "queue_feed", "queue_prune", "without"]

CHUNK = 1000
"""How many rows one entry of a feed holds at most."""
_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True)
class Change:
    """What a batch does to one view: the rows that are written, and how many copies of each row are there then."""

    view: ViewDefinition
    layout: ViewLayout
    delta: Delta
    copies: dict[str, int]
    written: dict[str, dict[str, str]]


def planned(client: Any, layout: Layout, view: ViewDefinition, delta: Delta) -> Change:
    """Return what a batch does to a view as it is now; raise if a row that goes is not there, or a key is met."""
    own = layout.of(view)
    gone = Counter(own.member(row) for row in delta.deleted)
    come = Counter(own.member(row) for row in delta.inserted)
    there = _copies(client, own, [*gone, *(member for member in come if member not in gone)])
    for member, times in gone.items():
        if there[member] < times:
            raise not_there(view)
    copies = {member: count - gone[member] + come[member] for member, count in there.items()}
    if view.key and any(count > 1 for count in copies.values()):
        raise same_key_twice(view)
    written = {}
    for row in delta.inserted:
        member = own.member(row)
        if view.key or not there[member]:
            written[member] = own.fields(row)
    return Change(view, own, delta, copies, written)


def _copies(client: Any, own: ViewLayout, members: Sequence[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for start in range(0, len(members), _AT_ONCE):
        chunk = members[start : start + _AT_ONCE]
        scores = client.zmscore(own.members, chunk)
        found.update((member, int(score or 0)) for member, score in zip(chunk, scores, strict=True))
    return found


def queue_change(transaction: Any, change: Change, batch: int, at: datetime) -> None:
    """Add the commands that change a view and its feed to a transaction."""
    own = change.layout
    left = [member for member, count in change.copies.items() if not count]
    for start in range(0, len(left), _AT_ONCE):
        chunk = left[start : start + _AT_ONCE]
        transaction.zrem(own.members, *chunk)
        transaction.unlink(*(own.row + member for member in chunk))
    kept = {member: count for member, count in change.copies.items() if count}
    if kept:
        transaction.zadd(own.members, kept)
    for member, fields in change.written.items():
        transaction.unlink(own.row + member)  # fields that are NULL now
        if fields:
            transaction.hset(own.row + member, mapping=fields)
    entry = 0
    for kind, rows in (("delete", change.delta.deleted), ("insert", change.delta.inserted)):
        for start in range(0, len(rows), CHUNK):
            entry += 1
            body = {"at": at.isoformat(), "change": kind, "rows": own.feed_text(rows[start : start + CHUNK])}
            transaction.xadd(own.feed, body, id=f"{batch}-{entry}")
    if entry:
        transaction.zadd(own.times, {str(batch): at.timestamp()})


def pruned(client: Any, layout: Layout, view: ViewDefinition, changes: bool, now: datetime) -> list[int]:
    """Return the batches that the feed of a view must forget; the last one stays."""
    own = layout.of(view)
    limit = now - (KEEP if view.retain is None else view.retain)
    old = sorted(int(each) for each in client.zrangebyscore(own.times, "-inf", f"({limit.timestamp()}"))
    if not old or changes:
        return old
    last = max(int(each) for each in client.zrange(own.times, 0, -1))
    return [each for each in old if each != last]


def queue_prune(transaction: Any, layout: Layout, view: ViewDefinition, old: Sequence[int]) -> None:
    """Add the commands that make a feed forget batches to a transaction."""
    if not old:
        return
    own = layout.of(view)
    transaction.xtrim(own.feed, minid=f"{old[-1] + 1}-0", approximate=False)
    transaction.zrem(own.times, *map(str, old))
    transaction.hset(layout.pruned, view.name.lower(), str(old[-1]))


def without(
    layout: ViewLayout, entries: Sequence[tuple[str, dict[str, str]]], place: int, value: Any
) -> tuple[list[tuple[str, dict[str, str]]], int]:
    """Return the entries of a feed without the rows that have a value at a place, and how many rows those were."""
    left, gone = [], 0
    for identity, fields in entries:
        rows = layout.from_feed_text(fields["rows"])
        kept = [row for row in rows if row[place] != value]
        gone += len(rows) - len(kept)
        if kept:
            left.append((identity, {**fields, "rows": layout.feed_text(kept)}))
    return left, gone


def queue_feed(transaction: Any, layout: ViewLayout, entries: Sequence[tuple[str, dict[str, str]]]) -> None:
    """Add the commands that put other entries in the place of a feed to a transaction: Redis cannot change one."""
    transaction.unlink(layout.feed)
    for identity, fields in entries:
        transaction.xadd(layout.feed, fields, id=identity)
