"""A view and two positions in its feed go in; what came and went between them, each row with a weight, comes out.

Whoever reads from one position to the next has, added up, the rows of the view as of the last one: also after a cut,
because the same two positions give the same rows for as long as the feed goes back that far.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from headrace.errors import HeadraceError
from headrace.views.definition import FeedBatch, Row, ViewDefinition, ViewStore
from headrace.views.store_rules import row_hash

__all__ = ["NOTHING", "Position", "between", "built_anew", "definition_of", "latest"]

MOST = 100_000
"""About how many changes are read at once by a reader that is behind."""


@dataclass(frozen=True, slots=True)
class Position:
    """The last batch that was read of a view, -1 for none; ``identity`` is that of the view."""

    identity: str
    batch: int


NOTHING = Position("", -1)


def definition_of(store: ViewStore, view: str) -> ViewDefinition | None:
    """Return a view as its store has it, None if it has not."""
    return next((each for each in store.views() if each.name.lower() == view.lower()), None)


def latest(store: ViewStore, view: str, start: Position, most: int = MOST) -> Position:
    """Return how far a view can be read now; the first time all of it, later about ``most`` changes at once."""
    if start == NOTHING:
        found = definition_of(store, view)
        last = None if found is None else store.reflects(view).batch
        return start if found is None or last is None else Position(found.identity, last)
    _check(store, view, start)
    if store.reflects(view).batch == start.batch:
        return start
    end, count = start.batch, 0
    for each in _changes(store, view, start.batch):
        end, count = each.batch, count + len(each.delta.deleted) + len(each.delta.inserted)
        if count >= most:
            break
    return Position(start.identity, end)


def between(store: ViewStore, view: str, start: Position, end: Position) -> Iterator[tuple[Row, int]]:
    """Yield the rows that came (1, or more often) and went (-1) after a position, up to and with another."""
    if start.batch < 0:
        yield from _as_of(store, view, end)
        return
    net = _net(_upto(_changes(store, view, start.batch), end.batch))
    _check(store, view, end)  # after reading: what was built anew meanwhile is not mixed in
    yield from net


def _as_of(store: ViewStore, view: str, end: Position) -> Iterator[tuple[Row, int]]:
    """Yield the rows of a view as they were at a position: as they are, with what has come since taken back."""
    with store.snapshot(view) as seen:
        if seen.identity != end.identity or seen.batch is None or seen.batch < end.batch:
            raise built_anew(view)
        since: dict[bytes, list[int]] = {}
        gone: list[tuple[Row, int]] = []
        if seen.batch > end.batch:
            for row, weight in _net(_upto(_changes(store, view, end.batch), seen.batch)):
                if weight > 0:
                    since[row_hash(row)] = [weight]
                else:
                    gone.append((row, -weight))
        for row in seen.rows:
            copies = since.get(row_hash(row)) if since else None
            if copies and copies[0]:
                copies[0] -= 1
            else:
                yield row, 1
        yield from gone


def _net(batches: Iterable[FeedBatch]) -> list[tuple[Row, int]]:
    """Return what batches change together; what cancels is left out, so that no row goes before it comes."""
    several = list(batches)
    if len(several) == 1:
        delta = several[0].delta
        return [*((row, -1) for row in delta.deleted), *((row, 1) for row in delta.inserted)]
    weights: dict[bytes, tuple[Row, int]] = {}
    for each in several:
        for rows, sign in ((each.delta.deleted, -1), (each.delta.inserted, 1)):
            for row in rows:
                known = row_hash(row)
                weights[known] = (row, weights.get(known, (row, 0))[1] + sign)
    return [(row, weight) for row, weight in weights.values() if weight]


def _upto(batches: Iterator[FeedBatch], last: int) -> Iterator[FeedBatch]:
    for each in batches:
        if each.batch > last:
            return
        yield each


def _changes(store: ViewStore, view: str, after: int) -> Iterator[FeedBatch]:
    try:
        yield from store.changes(view, after)
    except HeadraceError as error:
        if error.passing:
            raise
        raise HeadraceError(
            error.message,
            detail=error.detail,
            hint="Restart this job fresh, and let the other retain its changes for longer: WITH (retain = '7 days').",
        ) from error


def _check(store: ViewStore, view: str, position: Position) -> None:
    found = definition_of(store, view)
    last = None if found is None else store.reflects(view).batch
    if found is None or found.identity != position.identity or last is None or last < position.batch:
        raise built_anew(view)


def built_anew(view: str) -> HeadraceError:
    """Return the error for a view that is no longer the one that was read."""
    return HeadraceError(
        f'view "{view}" was built anew',
        detail="What was read of it before is not what it has now.",
        hint="Restart this job fresh: it then reads the view from its beginning.",
    )
