"""``headrace view``: what the commands print, complain of and exit with."""

import json
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from headrace.views.definition import Delta, Reflects, ViewColumn, ViewDefinition
from headrace.views.locations import Location, register
from headrace.views.sqlite import SqliteViewStore

AT = datetime(2024, 1, 1, 10, tzinfo=UTC)
BIDS = ViewDefinition(
    "best_bid",
    (ViewColumn("auction", "bigint"), ViewColumn("at", "timestamp"), ViewColumn("price", "decimal(10,2)")),
    key=("auction", "at"),
)
SEEN = ViewDefinition("seen", (ViewColumn("page", "string"),))
ROWS = [(1, AT, Decimal("9.50")), (1, AT.replace(hour=11), Decimal("12.00")), (2, AT, None)]


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADRACE_HOME", str(tmp_path / "home"))
    store = SqliteViewStore(tmp_path / "views.sqlite")
    store.define("q", [BIDS, SEEN])
    deltas = {"best_bid": Delta(inserted=ROWS), "seen": Delta(inserted=[("/a",), ("/a",)])}
    store.take("q", 0, deltas, Reflects(AT, {"bids": '{"bids":{"0":12}}'}))
    register(Location("shop", "sqlite", str(store.path), ("best_bid", "seen")))
    yield store
    store.close()


def lines(result):
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_list(headrace, store):
    first, second = lines(headrace("view", "list", "--output", "json"))
    assert first["at"].endswith("Z")
    del first["at"]
    assert first == {
        "view": "best_bid", "application": "shop", "store": "sqlite", "key": "auction, at", "rows": 3, "batch": 0,
        "watermark": "2024-01-01T10:00:00Z", "positions": {"bids": {"bids": {"0": 12}}},
    }  # fmt: skip
    assert (second["view"], second["key"], second["rows"]) == ("seen", None, 2)
    table = headrace("view", "list").stdout
    assert "age" in table.splitlines()[0]
    assert "| bids 0:12 |" in table
    assert "(2 rows)" in table


def test_get_by_key_and_by_its_first_column(headrace, store):
    result = headrace("view", "get", "best_bid", "1", "2024-01-01T10:00:00Z")
    assert result.stdout.splitlines() == [
        " auction | at                   | price",
        "---------+----------------------+-------",
        "       1 | 2024-01-01T10:00:00Z |  9.50",
        "(1 row)",
    ]
    assert [row["price"] for row in lines(headrace("view", "get", "BEST_BID", "1", "--output", "json"))] == [9.5, 12.0]
    assert headrace("view", "get", "best_bid", "2", "--output", "csv").stdout == (
        "auction,at,price\n2,2024-01-01T10:00:00Z,\n"
    )


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("get", "best_bid", "7"), 'error: view "best_bid" has no row with auction = 7'),
        (("get", "best_bid", "x"), '"x" is not a value of the key column "auction", which is BIGINT'),
        (("get", "best_bid", "1", "soon"), "2024-01-31T10:00:00Z"),
        (("get", "best_bid", "1", "2024-01-01", "3"), "3 values were given for a key of 2"),
        (("get", "seen", "/a"), 'view "seen" has no key'),
        (("get", "best_bit", "1"), 'hint: Did you mean "best_bid"?'),
        (("get", "best_bid", "1", "--application", "shpo"), 'hint: Did you mean "shop"?'),
        (("query", "SELECT * FROM best_bit"), 'hint: Did you mean "best_bid"?'),
        (("query", "SELECT prise FROM best_bid"), 'hint: Did you mean "price"?'),
        (("query", "DROP VIEW best_bid"), "only a SELECT can be asked of views"),
        (("query", "SELECT 1"), "the query reads no view"),
        (("follow", "nothing"), 'unknown view "nothing"'),
    ],
)
def test_mistakes_are_told_and_exit_1(headrace, store, arguments, complaint):
    result = headrace("view", *arguments)
    assert (result.exit_code, result.stdout) == (1, "")
    assert complaint in result.stderr
    assert "Traceback" not in result.stderr


def test_wrong_usage_exits_2(headrace, store):
    assert headrace("view", "follow", "best_bid", "--from", "yesterday").exit_code == 2
    assert headrace("view", "get").exit_code == 2


def test_query(headrace, store):
    sql = "SELECT auction, max(price) AS best FROM best_bid GROUP BY auction ORDER BY auction"
    assert headrace("view", "query", sql, "--output", "json").stdout == (
        '{"auction": 1, "best": 12.00}\n{"auction": 2, "best": null}\n'
    )
    rows = lines(headrace("view", "query", "SELECT a.page, b.page FROM seen a JOIN seen b", "--output", "json"))
    assert rows == [{"page": "/a", "page_2": "/a"}] * 4


def test_a_name_of_several_applications(headrace, store, tmp_path):
    other = SqliteViewStore(tmp_path / "other.sqlite")
    other.define("q", [SEEN])
    other.close()
    register(Location("bank", "sqlite", str(other.path), ("seen",)))
    result = headrace("view", "query", "SELECT * FROM seen")
    assert result.exit_code == 1
    assert "--application" in result.stderr
    assert headrace("view", "query", "SELECT * FROM seen", "--application", "bank").stdout.endswith("(0 rows)\n")
    result = headrace("view", "query", "SELECT * FROM seen JOIN best_bid", "--application", "shop")
    assert result.exit_code == 0, result.stderr


def test_follow_for_a_time_from_the_start(headrace, store):
    store.take("q", 1, {"best_bid": Delta([ROWS[2]], [(2, AT, Decimal(3))])}, Reflects())
    rows = lines(headrace("view", "follow", "best_bid", "--from", "start", "--for", "0.2", "--output", "json"))
    assert [(row["auction"], row["_batch"], row["_change"]) for row in rows] == [
        (1, 0, "insert"), (1, 0, "insert"), (2, 0, "insert"), (2, 1, "delete"), (2, 1, "insert"),
    ]  # fmt: skip
    assert list(rows[0]) == ["auction", "at", "price", "_batch", "_change"]
    table = headrace("view", "follow", "best_bid", "--from", "0", "--for", "0.2").stdout.splitlines()
    assert [line.split(" | ")[-1] for line in table if "|" in line] == ["_change", "delete", "insert"]
    csv = headrace("view", "follow", "seen", "--from", "start", "--for", "0.2", "--output", "csv").stdout
    assert csv == "page,_batch,_change\n/a,0,insert\n/a,0,insert\n"


def test_follow_prints_what_happens_and_ends_on_ctrl_c(store):
    command = [str(Path(sys.executable).parent / "headrace"), "view", "follow", "seen", "--output", "json"]
    process = subprocess.Popen([*command, "--from", "start"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert [json.loads(process.stdout.readline())["_batch"] for _ in range(2)] == [0, 0]
    store.take("q", 1, {"seen": Delta([("/a",)], [("/b",)])}, Reflects())
    changes = [json.loads(process.stdout.readline()) for _ in range(2)]
    assert [(each["page"], each["_change"]) for each in changes] == [("/a", "delete"), ("/b", "insert")]
    os.kill(process.pid, signal.SIGINT)
    rest, errors = process.communicate(timeout=240)
    assert (process.returncode, rest, errors) == (0, "", "")
