"""Random sequences of batches: what is written into the tables and the stream, and where the application falls over."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Literal, TypeAlias

from hypothesis import strategies as st

from headrace.values import to_json_line

Row: TypeAlias = dict[str, Any]
After: TypeAlias = Literal["", "crash", "resume"]

KEYS = {"a": ("k",), "b": ("k",), "c": ("g", "h")}
"""The columns that identify a row of each table; the stream has none."""
COLUMNS = {
    "a": ("k", "g", "n", "x", "m", "due", "tags"),
    "b": ("k", "g", "n", "y"),
    "c": ("g", "h", "label", "w"),
    "e": ("k", "g", "n", "x"),
}


@dataclass(frozen=True, slots=True)
class Write:
    """One line: a row, or with ``removed`` the key of one that goes."""

    name: str
    row: tuple[tuple[str, Any], ...]
    removed: bool = False

    def line(self) -> str:
        """Return the line as it is ingested."""
        row: Row = dict(self.row)
        return to_json_line({**row, "_change": "delete"} if self.removed else row)


@dataclass(frozen=True, slots=True)
class Batch:
    """The lines of one micro-batch, and what happens to the application behind it."""

    writes: tuple[Write, ...]
    after: After = ""

    def lines(self) -> list[tuple[str, list[str]]]:
        """Return the lines by the table or stream that they are written into."""
        names = dict.fromkeys(write.name for write in self.writes)
        return [(name, [write.line() for write in self.writes if write.name == name]) for name in names]


Sequence_: TypeAlias = tuple[Batch, ...]


def write(name: str, *, removed: bool = False, **row: Any) -> Write:
    """Return a line; a column that is not named is NULL."""
    return Write(name, tuple(row.items()), removed)


# Sums of these are exact in any order, so that only what is computed from them needs a tolerance.
EXACT = st.sampled_from([0.0, -0.0, 0.5, 1.5, -2.25, 3.0, 2.0**-10, 2.0**40, -(2.0**40), None])
# Never summed: compared, grouped, joined and sorted only.
WILD = st.sampled_from([0.0, -0.0, 1.5, 0.1, 1e300, -1e300, 1e-300, float("nan"), float("inf"), float("-inf"), None])
GROUPS = st.sampled_from(["a", "a", "b", "b", "A", "", "ä€"])
MAYBE_GROUPS = st.sampled_from(["a", "a", "a", "b", "b", "b", "A", "", "ä€", None])
NUMBERS = st.sampled_from([-1, 0, 1, 1, 2, 2, 3, None])
HOURS = st.sampled_from([0, 1, 2, 3, None])
INSTANTS = HOURS.map(lambda n: None if n is None else datetime(2024, 1, 1, n, microsecond=n * 1000, tzinfo=UTC))
DECIMALS = st.sampled_from(["0.00", "1.10", "-1.10", "2.05", "99999999.99", "-99999999.99", None]).map(
    lambda digits: None if digits is None else Decimal(digits)
)
TAGS = st.none() | st.lists(MAYBE_GROUPS, max_size=3)
VALUES: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "a": {
        "k": st.integers(1, 6),
        "g": MAYBE_GROUPS,
        "n": NUMBERS,
        "x": EXACT,
        "m": DECIMALS,
        "due": INSTANTS,
        "tags": TAGS,
    },
    "b": {"k": st.integers(1, 5), "g": MAYBE_GROUPS, "n": NUMBERS, "y": WILD},
    "c": {"g": GROUPS, "h": st.integers(0, 2), "label": st.sampled_from(["x", "y", None]), "w": NUMBERS},
    "e": {"k": st.integers(1, 6), "g": MAYBE_GROUPS, "n": NUMBERS, "x": EXACT},
}


@st.composite
def writes(draw: st.DrawFn, name: str) -> Write:
    """Return a line for a table or the stream: mostly a row, sometimes the removal of a key that may be there."""
    keys = KEYS.get(name)
    removed = keys is not None and draw(st.integers(0, 3)) == 0
    wanted = keys if removed and keys else COLUMNS[name]
    return Write(name, tuple((column, draw(VALUES[name][column])) for column in wanted), removed)


@st.composite
def batches(draw: st.DrawFn, least: int = 0) -> Batch:
    """Return one batch: of nothing, of one table, or of several at once."""
    names = draw(
        st.lists(st.sampled_from(["a", "a", "a", "b", "b", "c", "e", "e"]), min_size=least, max_size=least + 8)
    )
    after = draw(st.sampled_from(["", "", "", "crash", "resume"]))
    return Batch(tuple(draw(writes(name)) for name in names), after)


@st.composite
def sequences(draw: st.DrawFn, most: int) -> Sequence_:
    """Return a sequence of batches; the first two fill the tables, the others are of any size."""
    others = draw(st.lists(batches(), min_size=1, max_size=most - 2))
    return (draw(batches(least=10)), draw(batches(least=6)), *others)


def shorter(sequence: Sequence_) -> Iterator[Sequence_]:
    """Yield what is left of a sequence when one thing is taken out: batches first, then lines, then what follows."""
    for i in range(len(sequence)):
        yield (*sequence[:i], *sequence[i + 1 :])
    for i, batch in enumerate(sequence):
        for j in range(len(batch.writes)):
            fewer = Batch((*batch.writes[:j], *batch.writes[j + 1 :]), batch.after)
            yield (*sequence[:i], fewer, *sequence[i + 1 :])
        if batch.after:
            yield (*sequence[:i], Batch(batch.writes), *sequence[i + 1 :])


def printed(sequence: Sequence[Batch]) -> str:
    """Return a sequence as the blocks of a test file."""
    blocks = []
    for batch in sequence:
        for i, (name, lines) in enumerate(batch.lines()):
            blocks.append("\n".join([f"ingest{'+' if i else ''} {name}", *lines]))
        if batch.after:
            blocks.append(batch.after)
    return "\n----\n".join(blocks)


def plain(value: Any) -> str:
    """Return a value as text that tells apart what is different."""
    return json.dumps(value, default=str)
