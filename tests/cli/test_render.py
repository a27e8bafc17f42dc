import io
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from headrace.cli.render import Output, print_rows

ROWS: list[dict[str, Any]] = [
    {"city": "東京", "n": 5, "price": Decimal("10.50"), "at": datetime(2024, 1, 1, 10, tzinfo=UTC)},
    {"city": "Köln", "n": None, "price": Decimal("2.00"), "at": None},
    {"city": 'a "b", c\nd', "n": -12, "price": None, "at": datetime(2024, 1, 1, 10, 0, 1, tzinfo=UTC)},
]
COLUMNS = ["city", "n", "price", "at"]


def rendered(rows: list[dict[str, Any]], columns: list[str], output: Output) -> str:
    stream = io.StringIO()
    print_rows(rows, columns, output, stream)
    return stream.getvalue()


def test_table() -> None:
    assert rendered(ROWS, COLUMNS, "table").split("\n") == [
        " city        |    n | price | at",
        "-------------+------+-------+----------------------",
        " 東京        |    5 | 10.50 | 2024-01-01T10:00:00Z",
        " Köln        | NULL |  2.00 | NULL",
        ' a "b", c\\nd |  -12 |  NULL | 2024-01-01T10:00:01Z',
        "(3 rows)",
        "",
    ]


def test_json() -> None:
    assert rendered(ROWS[:2], ["n", "city", "price"], "json") == (
        '{"n": 5, "city": "東京", "price": 10.50}\n{"n": null, "city": "Köln", "price": 2.00}\n'
    )


def test_csv() -> None:
    assert rendered(ROWS, COLUMNS, "csv") == (
        'city,n,price,at\n東京,5,10.50,2024-01-01T10:00:00Z\nKöln,,2.00,\n"a ""b"", c\nd",-12,,2024-01-01T10:00:01Z\n'
    )


@pytest.mark.parametrize(
    ("output", "text"),
    [("table", " a | bc\n---+----\n(0 rows)\n"), ("csv", "a,bc\n"), ("json", "")],
)
def test_no_rows(output: Output, text: str) -> None:
    assert rendered([], ["a", "bc"], output) == text


def test_nothing_is_cut_and_one_row_is_one_row() -> None:
    text = rendered([{"a": "x" * 500, "b": True, "c": [1, {"d": None}]}], ["a", "b", "c"], "table")
    assert "x" * 500 + ' | true | [1, {"d": null}]\n(1 row)\n' in text


def test_control_characters_do_not_reach_the_terminal() -> None:
    text = rendered([{"a\t": "\x1b[31mred"}], ["a\t"], "table")
    assert text == " a\\t\n-------------\n \\x1b[31mred\n(1 row)\n"
