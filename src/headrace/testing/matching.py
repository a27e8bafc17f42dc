"""Wanted rows and actual rows go in; which of them have no partner comes out."""

import re
from collections import defaultdict, deque
from collections.abc import Hashable, Sequence
from datetime import datetime
from decimal import Decimal

from headrace.testing.expected import Row
from headrace.values import JsonValue

__all__ = ["same", "unmatched"]

TOLERANCE = Decimal("1e-9")  # relative, for floating-point numbers only
_INSTANT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?")


def same(wanted: JsonValue, actual: JsonValue) -> bool:
    """Return whether an actual value is the one wanted: by number, by instant, or by equality.

    >>> same(1, 1.0), same("2024-01-01T10:00:00Z", "2024-01-01T12:00:00.000+02:00"), same(1, True)
    (True, True, False)
    """
    if type(wanted) is int and type(actual) is int:  # by far the most frequent, so settled first
        return wanted == actual
    if isinstance(wanted, list) and isinstance(actual, list):
        return len(wanted) == len(actual) and all(map(same, wanted, actual))
    if isinstance(wanted, dict) and isinstance(actual, dict):
        return wanted.keys() == actual.keys() and all(same(item, actual[key]) for key, item in wanted.items())
    if _key(wanted) == _key(actual):
        return True
    if isinstance(actual, float) and isinstance(wanted, (int, float, Decimal)) and not isinstance(wanted, bool):
        near, there = Decimal(wanted), Decimal(actual)
        return abs(near - there) <= TOLERANCE * max(abs(near), abs(there))
    return False


def unmatched(wanted: Sequence[Row], actual: Sequence[Row]) -> tuple[list[int], list[int]]:
    """Return the positions of wanted rows that are missing and of actual rows that nobody wanted.

    A wanted row fits an actual one if they agree in the columns that the wanted row names.

    >>> unmatched([{"n": 1}, {"n": 2}], [{"n": 2, "m": 0}, {"n": 3, "m": 0}])
    ([0], [1])
    """
    left, right = list(range(len(wanted))), list(range(len(actual)))
    if len({frozenset(row) for row in wanted}) == 1:
        # Equal rows can be paired off at once; only what is left may need the tolerance.
        left, right = _pair_equal(wanted, actual)
    fits = {i: [j for j in right if _fits(wanted[i], actual[j])] for i in left}
    partner = _pair(fits)
    taken = set(partner.values())
    return [i for i in left if i not in partner], [j for j in right if j not in taken]


def _fits(wanted: Row, actual: Row) -> bool:
    return all(name in actual and same(item, actual[name]) for name, item in wanted.items())


def _pair_equal(wanted: Sequence[Row], actual: Sequence[Row]) -> tuple[list[int], list[int]]:
    """Return the positions left on both sides; all wanted rows name the same columns."""
    columns = list(wanted[0])
    waiting: defaultdict[Hashable, list[int]] = defaultdict(list)
    for i, row in enumerate(wanted):
        waiting[tuple(_key(row[name]) for name in columns)].append(i)
    right = []
    for j, row in enumerate(actual):
        there = all(name in row for name in columns)
        equals = waiting.get(tuple(_key(row[name]) for name in columns)) if there else None
        if equals:
            equals.pop(0)
        else:
            right.append(j)
    return sorted(i for equals in waiting.values() for i in equals), right


def _pair(fits: dict[int, list[int]]) -> dict[int, int]:
    """Return a largest pairing of left with right, by augmenting paths.

    First come, first served would not do: a row that fits two others may take the only partner of a third.
    """
    partner: dict[int, int] = {}
    owner: dict[int, int] = {}
    for start in fits:
        reached: dict[int, int] = {}
        queue = deque([start])
        while queue:
            i = queue.popleft()
            new = [j for j in fits[i] if j not in reached]
            reached.update((j, i) for j in new)
            free = next((j for j in new if j not in owner), None)
            if free is None:
                queue.extend(owner[j] for j in new)
                continue
            step: int | None = free
            while step is not None:
                i = reached[step]
                before = partner.get(i)
                partner[i], owner[step] = step, i
                step = before
            break
    return partner


def _key(value: JsonValue) -> Hashable:
    """Return a key that is equal for equal numbers, equal instants and equal values of any other type."""
    if isinstance(value, bool) or value is None:
        return (type(value), value)
    if isinstance(value, float):
        return Decimal(repr(value))
    if isinstance(value, (int, Decimal)):
        return Decimal(value)
    if isinstance(value, list):
        return tuple(map(_key, value))
    if isinstance(value, dict):
        return frozenset((name, _key(item)) for name, item in value.items())
    if _INSTANT.fullmatch(value):
        try:
            return datetime.fromisoformat(value)
        except ValueError:  # the shape of an instant, but no such day
            return value
    return value
