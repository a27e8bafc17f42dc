"""Random rows of every type, and random batches of changes that fit what is there."""

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

Row = tuple[Any, ...]

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8) | st.sampled_from(
    ["", ":", "%", "a:b", "%3A", "%N", "\\N", "NULL", "\t\n\r\\", "'\"", "null", "NaN", "é€😀"]
)
INSTANTS = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1)).map(  # noqa: DTZ001 - wall clocks
    lambda value: value.replace(fold=0)
)
TYPES: dict[str, st.SearchStrategy[Any]] = {
    "tinyint": st.integers(-(2**7), 2**7 - 1),
    "int": st.integers(-(2**31), 2**31 - 1),
    "bigint": st.integers(-(2**63), 2**63 - 1),
    "double": st.floats(allow_subnormal=False),
    "decimal(10,2)": st.decimals(-99_999_999, 99_999_999, places=2),
    "string": TEXT,
    "boolean": st.booleans(),
    "timestamp": INSTANTS.map(lambda value: value.replace(tzinfo=UTC)),
    "timestamp_ntz": INSTANTS,
    "date": st.dates(date(1, 1, 1)),
    "binary": st.binary(max_size=8),
    "interval day to second": st.sampled_from(["INTERVAL '0 00:00:05' DAY TO SECOND", "INTERVAL '-1 00:00:00' DAY"]),
    "array<string>": st.lists(st.none() | TEXT, max_size=3),
    "map<string,bigint>": st.dictionaries(TEXT, st.integers(-(2**63), 2**63 - 1), max_size=3),
    "struct<A:int,b:decimal(5,2),c:struct<at:timestamp>>": st.fixed_dictionaries(
        {
            "A": st.none() | st.integers(-5, 5),
            "b": st.none() | st.decimals(-999, 999, places=2),
            "c": st.none() | st.fixed_dictionaries({"at": INSTANTS.map(lambda value: value.replace(tzinfo=UTC))}),
        }
    ),
}
KEY_TYPES = ["double", "bigint", "string", "decimal(10,2)", "boolean", "date", "timestamp"]


def same(value: Any) -> Any:
    """Return a value that is equal for values that are the same: NaN is NaN, and Decimals have their digits."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    if isinstance(value, Decimal):
        return ("decimal", str(value.normalize()) if value else "0")
    if isinstance(value, datetime):
        return ("at", value.tzinfo is None, value if value.tzinfo is None else value.astimezone(UTC))
    if isinstance(value, bytes | bytearray):
        return ("bytes", bytes(value))
    if isinstance(value, dict):
        return ("dict", tuple(sorted((repr(key), same(item)) for key, item in value.items())))
    if isinstance(value, list | tuple):
        return ("list", tuple(same(item) for item in value))
    return (type(value).__name__, value)


def bag(rows: Any) -> list[str]:
    """Return rows in an order of their own, to be compared."""
    return sorted(repr(same(tuple(row))) for row in rows)


@st.composite
def tables(draw: st.DrawFn, *, keyed: bool) -> tuple[list[str], int]:
    """Return the types of columns, and how many of the first are the key."""
    width = draw(st.integers(1, 2)) if keyed else 0
    key = draw(st.lists(st.sampled_from(KEY_TYPES), min_size=width, max_size=width))
    others = draw(st.lists(st.sampled_from(sorted(TYPES)), min_size=0 if keyed else 1, max_size=4))
    return key + others, width


@st.composite
def batches(draw: st.DrawFn, types: list[str], width: int, most: int = 4) -> list[tuple[list[Row], list[Row]]]:
    """Return batches of rows that go and rows that come, such that what goes is there and no key is met."""
    row = st.tuples(*(st.none() | TYPES[kind] for kind in types))
    there: list[Row] = []
    result = []
    for _ in range(draw(st.integers(1, most))):
        gone_places = draw(st.sets(st.integers(0, len(there) - 1), max_size=3)) if there else set()
        gone = [there[place] for place in sorted(gone_places)]
        there = [each for place, each in enumerate(there) if place not in gone_places]
        taken = {same(each[:width]) for each in there}
        come = []
        candidates = draw(st.lists(row, max_size=4))
        candidates += [(*each[:width], *draw(row)[width:]) for each in gone if draw(st.booleans())]
        if not width and there and draw(st.booleans()):
            candidates.append(draw(st.sampled_from(there)))
        for each in candidates:
            if not width or same(each[:width]) not in taken:
                taken.add(same(each[:width]))
                come.append(each)
        left = list(gone)
        for each in list(come):  # no row is in both
            if any(same(each) == same(other) for other in left):
                come.remove(each)
                left.remove(next(other for other in left if same(other) == same(each)))
                gone.remove(next(other for other in gone if same(other) == same(each)))
                there.append(each)
        there += come
        result.append((gone, come))
    return result
