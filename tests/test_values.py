import json
import subprocess
import sys
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.values import json_text, json_value, sort_key, to_json_line

TEN = datetime(2024, 1, 1, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (7, "7"),
        (1.5, "1.5"),
        (float("nan"), '"NaN"'),
        (float("inf"), '"Infinity"'),
        (float("-inf"), '"-Infinity"'),
        (Decimal("12345678901234567890.10"), "12345678901234567890.10"),
        (Decimal("1E+3"), "1000"),
        (Decimal("0E-10"), "0.0000000000"),
        (Decimal("NaN"), '"NaN"'),
        ("ä\n\u2028\x85\x1b", '"ä\\n\\u2028\\u0085\\u001b"'),
        ("\ud800", '"\\ud800"'),
        (TEN, '"2024-01-01T10:00:00Z"'),
        (TEN.replace(microsecond=120000), '"2024-01-01T10:00:00.120Z"'),
        (TEN.replace(microsecond=1), '"2024-01-01T10:00:00.000001Z"'),
        (TEN.astimezone(timezone(timedelta(hours=5))), '"2024-01-01T10:00:00Z"'),
        (TEN.replace(tzinfo=None), '"2024-01-01T10:00:00"'),
        (date(2024, 1, 1), '"2024-01-01"'),
        (time(1, 2, 3, 500000), '"01:02:03.500"'),
        (timedelta(0), '"PT0S"'),
        (timedelta(days=2), '"P2D"'),
        (timedelta(hours=1, seconds=-1), '"PT59M59S"'),
        (-timedelta(days=1, microseconds=1), '"-P1DT0.000001S"'),
        (b"\x00\xff", '"AP8="'),
        (bytearray(b"a"), '"YQ=="'),
        ([1, None, [Decimal("0.10")]], "[1, null, [0.10]]"),
        ([], "[]"),
        ({"b": 1, "a": {"c": TEN}}, '{"b": 1, "a": {"c": "2024-01-01T10:00:00Z"}}'),
        ([("k", 1), ("l", 2)], '{"k": 1, "l": 2}'),
        ({2: "x", None: "y", True: "z"}, '{"2": "x", "null": "y", "true": "z"}'),
        ([(date(2024, 1, 1), 1), (Decimal("1.0"), 2)], '{"2024-01-01": 1, "1.0": 2}'),
        ((1, 2), "[1, 2]"),
    ],
)
def test_json(value: Any, text: str) -> None:
    assert json_text(json_value(value)) == text
    json.loads(text)


def test_a_line_keeps_the_order_of_columns() -> None:
    assert to_json_line({"z": 1, "a": None}) == '{"z": 1, "a": null}'


def test_an_unknown_type_is_a_bug() -> None:
    with pytest.raises(TypeError, match="cannot hold object"):
        json_value(object())
    with pytest.raises(TypeError, match="cannot hold object"):
        sort_key({"a": object()})


@pytest.mark.parametrize(
    "ordered",
    [
        [None, False, True, -1, 0.5, Decimal("0.75"), 1, float("inf"), float("nan")],
        [None, "", "A", "Z", "a", "ä", "😀"],
        [date(2024, 1, 1), date(2024, 1, 2)],
        [TEN.replace(tzinfo=None), TEN, TEN.replace(tzinfo=None, hour=11), TEN.replace(hour=12)],
        [None, [], [None], [1], [1, 2], [2]],
        [{"a": None}, {"a": 1, "b": 2}, {"a": 1, "b": 3}],
        [1, "1", date(2024, 1, 1), TEN, time(1), timedelta(1), b"1", [1], {"a": 1}],
        [[("a", 1), ("b", 2)], [("b", 1), ("a", 2)]],
    ],
)
def test_order(ordered: list[Any]) -> None:
    rows = [{"v": value} for value in ordered]
    for shuffled in list(permutations(rows))[:1000]:
        assert [row["v"] for row in sorted(shuffled, key=sort_key)] == ordered


def test_equal_numbers_that_print_differently_have_one_order() -> None:
    rows = [{"v": value} for value in (1.0, 1, Decimal("1.00"), 0.0, -0.0)]
    lines = {tuple(to_json_line(row) for row in sorted(shuffled, key=sort_key)) for shuffled in permutations(rows)}
    assert len(lines) == 1


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.decimals(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.datetimes(timezones=st.just(UTC) | st.none())
    | st.dates()
    | st.timedeltas()
    | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(st.fixed_dictionaries({"a": VALUES, "b": VALUES}), max_size=6))
def test_any_rows_are_sorted_and_written_on_one_line(rows: list[dict[str, Any]]) -> None:
    for row in sorted(rows, key=sort_key):
        line = to_json_line(row)
        assert len(line.splitlines()) == 1
        assert list(json.loads(line)) == list(row)
        line.encode()


def test_pyspark_is_not_imported() -> None:
    modules = "headrace.values, headrace.cli.render, headrace.testing.report, headrace.testing.discover"
    program = f"import sys, {modules}; sys.exit('pyspark' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)
