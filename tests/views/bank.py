"""Transfers go in; what a reader of the bank's views may see, and nothing else, comes out."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.views.definition import Delta
from headrace.views.sqlite import SqliteViewStore

VIEWS = ("credits", "debits", "balances", "total")
ONE_LOOK = """
SELECT (SELECT sum(total) FROM total) AS total,
       (SELECT sum(balance) FROM balances) AS balances,
       (SELECT sum(amount) FROM credits) AS credits,
       (SELECT sum(amount) FROM debits) AS debits,
       (SELECT count(*) FROM balances b LEFT JOIN credits c ON c.account = b.account
                                        LEFT JOIN debits d ON d.account = b.account
         WHERE b.balance <> coalesce(c.amount, 0) - coalesce(d.amount, 0)) AS wrong
"""

Row = tuple[Any, ...]
State = dict[str, Counter[Row]]


@dataclass
class Bank:
    """The transfers of each batch, and how far a reader has seen them by SQL and by the changes."""

    transfers: Sequence[Sequence[tuple[str, str, int]]]
    position: int | None = None
    state: State = field(default_factory=lambda: {name: Counter() for name in VIEWS})
    moved: int = -1

    def __post_init__(self) -> None:
        self._expected = states(self.transfers)

    def look(self, store: SqliteViewStore) -> bool:
        """Ask for all views at once; raise if they disagree, say whether there was something new."""
        [(total, balances, credits, debits, wrong)] = store.query(ONE_LOOK)[1]
        seen = (total or 0, balances or 0, (credits or 0) - (debits or 0), wrong)
        assert seen == (0, 0, 0, 0), f"total, balances, credits less debits and wrong balances are {seen}"
        assert (credits or 0) >= self.moved, "the past came back"
        new, self.moved = (credits or 0) > self.moved, credits or 0
        return new

    def follow(self, store: SqliteViewStore) -> Iterator[str]:
        """Apply the changes since the last look batch by batch; yield what is wrong with a state between two."""
        last = store.reflects("total").batch
        deltas: dict[int, dict[str, Delta]] = {}
        for name in VIEWS:
            for each in store.changes(name, self.position):
                if last is not None and each.batch <= last:  # what came since belongs to the next look
                    assert name not in deltas.setdefault(each.batch, {}), f"{name} has batch {each.batch} twice"
                    deltas[each.batch][name] = each.delta
        for batch in sorted(deltas):
            for name, delta in deltas[batch].items():
                gone = Counter(delta.deleted)
                if not gone <= self.state[name]:
                    yield f"batch {batch} takes away what is not in {name}: {gone - self.state[name]}"
                self.state[name] = self.state[name] - gone + Counter(delta.inserted)
            if not self._is_next():
                yield f"after batch {batch} the views are of no prefix of the input: {self.state}"
        self.position = last

    def _is_next(self) -> bool:
        """Say whether the state is that of some more batches of the input, all views of the same."""
        return any(expected == self.state for expected in self._expected)

    def is_complete(self) -> bool:
        """Say whether the state is that of all input."""
        return next(self._expected, None) is None


def states(transfers: Sequence[Sequence[tuple[str, str, int]]]) -> Iterator[State]:
    """Yield the rows of all views after each batch of the input."""
    credits: Counter[str] = Counter()
    debits: Counter[str] = Counter()
    for batch in transfers:
        for source, target, amount in batch:
            credits[target] += amount
            debits[source] += amount
        accounts = sorted(set(credits) | set(debits))
        yield {
            "credits": Counter(credits.items()),
            "debits": Counter(debits.items()),
            "balances": Counter((each, credits[each] - debits[each]) for each in accounts),
            "total": Counter([(0,)]),
        }
