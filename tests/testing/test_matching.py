from decimal import Decimal
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.testing.expected import Row
from headrace.testing.matching import same, unmatched


@pytest.mark.parametrize(
    ("wanted", "actual", "answer"),
    [
        (1, 1.0, True),
        (Decimal("1.50"), Decimal("1.5"), True),
        (Decimal("0.1"), 0.1, True),
        (Decimal("0.3"), 0.1 + 0.2, True),
        (Decimal("0.3001"), 0.3, False),
        (Decimal("0.30000000001"), Decimal("0.3"), False),
        (10**400, 1.0, False),
        (0, 1e-12, False),
        (1, True, False),
        (1, "1", False),
        (None, None, True),
        (None, 0, False),
        (None, False, False),
        ("NaN", "NaN", True),
        ("2024-01-01T10:00:00Z", "2024-01-01T10:00:00.000Z", True),
        ("2024-01-01T12:00:00+02:00", "2024-01-01T10:00:00Z", True),
        ("2024-01-01T10:00:00", "2024-01-01T10:00:00Z", False),
        ("2024-13-01T10:00:00Z", "2024-13-01T10:00:00Z", True),
        ("2024-01-01", "20240101", False),
        ([1, {"a": 2}], [1.0, {"a": 2.0}], True),
        ([1], [1, 1], False),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ({"a": Decimal("0.3")}, {"a": 0.1 + 0.2}, True),
    ],
)
def test_values(wanted: object, actual: object, answer: bool) -> None:
    assert same(wanted, actual) is answer  # type: ignore[arg-type]


def test_rows_are_a_multiset() -> None:
    assert unmatched([{"n": 1}, {"n": 1}], [{"n": 1}]) == ([1], [])
    assert unmatched([{"n": 1}], [{"n": 1}, {"n": 1}]) == ([], [1])
    assert unmatched([], [{"n": 1}]) == ([], [0])


def test_a_row_that_names_fewer_columns_leaves_the_only_partner_of_another() -> None:
    wanted: list[Row] = [{"x": 1}, {"x": 1, "y": 2}]
    assert unmatched(wanted, [{"x": 1, "y": 2}, {"x": 1, "y": 3}]) == ([], [])


def test_a_column_that_is_not_there_fits_nothing() -> None:
    assert unmatched([{"z": None}], [{"x": 1}]) == ([0], [0])


def _rows(numbers: list[int]) -> list[Row]:
    return [{"n": number} for number in numbers]


@given(st.lists(st.integers(0, 5)), st.lists(st.integers(0, 5)))
def test_as_many_are_paired_as_the_multisets_share(wanted: list[int], actual: list[int]) -> None:
    missing, unwanted = unmatched(_rows(wanted), _rows(actual))
    shared = sum(min(wanted.count(n), actual.count(n)) for n in set(wanted))
    assert (len(missing), len(unwanted)) == (len(wanted) - shared, len(actual) - shared)


@given(
    st.lists(st.dictionaries(st.sampled_from("xy"), st.integers(0, 1)), max_size=4),
    st.lists(st.fixed_dictionaries({"x": st.integers(0, 1), "y": st.integers(0, 1)}), max_size=4),
)
def test_the_pairing_is_as_large_as_can_be(wanted: list[dict[str, int]], actual: list[dict[str, int]]) -> None:
    padded = wanted + [{"x": 9}] * max(0, len(actual) - len(wanted))
    best = max(
        sum(row.items() <= other.items() for row, other in zip(order, actual, strict=False))
        for order in permutations(padded)
    )
    missing, unwanted = unmatched(wanted, actual)  # type: ignore[arg-type]
    assert len(wanted) - len(missing) == best == len(actual) - len(unwanted)
