"""Queries over views by people who may not all: what they may read, and how much of the server they may take."""

import asyncio
import threading
from datetime import timedelta

import pytest

from headrace.server.application import PREFIX
from headrace.server.services import views as service
from headrace.server.services.mistakes import TooManyAtOnce
from headrace.server.services.turns import Turns
from headrace.views.definition import Delta, Reflects, ViewColumn, ViewDefinition
from headrace.views.sqlite import SqliteViewStore
from support.rest_server import RestServer, Visitor, streamed
from support.waiting import until

TWO = """
CREATE STREAM o (k STRING, v INT) WITH (connector = 'memory');
CREATE MATERIALIZED VIEW open_v AS SELECT k, count(*) AS n FROM o GROUP BY k;
CREATE MATERIALIZED VIEW closed_v AS SELECT k, sum(v) AS n FROM o GROUP BY k;
"""


@pytest.fixture
def viewer(server: RestServer, admin: Visitor, developer: Visitor) -> Visitor:
    """Return somebody who may read one of two views."""
    assert developer.post("/jobs", {"name": "two", "text": TWO}).status_code == 202
    job = server.jobs.show("two")
    store = SqliteViewStore(server.jobs.folder_of(job).state_path / "two" / "views.sqlite")
    columns = (ViewColumn("k", "string"), ViewColumn("n", "bigint"))
    views = [ViewDefinition(name, columns, key=("k",)) for name in ("open_v", "closed_v")]
    store.define("two.q", views)
    rows = {"open_v": Delta(inserted=[(f"k{i}", i) for i in range(30)]), "closed_v": Delta(inserted=[("hush", 7)])}
    store.take("two.q", 0, rows, Reflects())
    store.close()
    vera = server.visitor("vera", "viewer")
    entry = {"effect": "deny", "kind": "view", "pattern": "closed_v", "user": "vera", "role": "viewer"}
    assert admin.post("/access", entry).status_code == 201
    return vera


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM closed_v",
        "WITH `main.closed_v` AS (SELECT 1 AS one FROM open_v) SELECT * FROM main.closed_v",
        "WITH `two.closed_v` AS (SELECT 1 AS one FROM open_v) SELECT * FROM two.closed_v",
        "WITH a AS (SELECT * FROM closed_v), closed_v AS (SELECT 1 AS k FROM open_v) SELECT * FROM a",
        "SELECT s.k FROM closed_v s WHERE EXISTS (WITH closed_v AS (SELECT k FROM open_v) SELECT 1 FROM closed_v)",
        "SELECT k FROM closed_v UNION ALL (WITH closed_v AS (SELECT k FROM open_v) SELECT k FROM closed_v)",
        "WITH `main.sqlite_master` AS (SELECT 1 AS one FROM open_v) SELECT * FROM main.sqlite_master",
        "WITH `main._headrace_views` AS (SELECT 1 AS one FROM open_v) SELECT * FROM main._headrace_views",
    ],
)
def test_a_view_that_is_denied_is_read_in_no_way(viewer: Visitor, sql: str) -> None:
    answer = viewer.post("/views/query", {"sql": sql})
    assert answer.status_code in {404, 422}, answer.text
    assert "hush" not in answer.text


def test_a_name_of_with_stands_for_what_it_says(viewer: Visitor) -> None:
    sql = "WITH closed_v AS (SELECT k, n FROM open_v) SELECT max(n) AS n FROM closed_v"
    assert viewer.post("/views/query", {"sql": sql}).json()["rows"] == [{"n": 29}]
    nested = "SELECT count(*) AS n FROM (WITH x AS (SELECT k FROM open_v) SELECT k FROM x) AS y"
    assert viewer.post("/views/query", {"sql": nested}).json()["rows"] == [{"n": 30}]


def test_the_store_itself_reads_no_other_view(viewer: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "tables_in", lambda tree: [each for each in _tables(tree) if each[0] != "closed_v"])
    answer = viewer.post("/views/query", {"sql": "SELECT o.k, c.k AS z FROM open_v o JOIN closed_v c"})
    assert answer.status_code == 422
    assert "hush" not in answer.text


_tables = service.tables_in


@pytest.mark.parametrize(
    ("sql", "title"),
    [
        ("SELECT length(zeroblob(300000000)) AS n FROM open_v", "the query cannot be answered: string or blob too big"),
        (
            "SELECT replace(k, 'k', zeroblob(11000000)) AS n FROM open_v",
            "the query cannot be answered: string or blob too big",
        ),
        ("SELECT zeroblob(9000000) AS z FROM open_v", "the answer has more than 64 MB"),
        (" UNION ALL ".join(["SELECT k FROM open_v"] * 100), "the query has more than 64 SELECTs"),
        (" UNION ALL ".join(["FROM open_v"] * 100), "the query names more than 64 views"),
        ("SELECT k FROM open_v WHERE n IN (" + "1, " * 6000 + "1)", "the query has more than 5,000 terms"),
        ("SELECT k FROM open_v -- " + "x" * 60_000, "the query has more than 50,000 characters"),
    ],
)
def test_what_takes_too_much_is_refused(viewer: Visitor, sql: str, title: str) -> None:
    answer = viewer.post("/views/query", {"sql": sql})
    assert (answer.status_code, answer.json()["title"]) == (422, title)


def test_sqlite_gives_nothing_for_a_text_that_is_too_long(viewer: Visitor) -> None:
    answer = viewer.post("/views/query", {"sql": "SELECT printf('%300000000d', 1) AS n FROM open_v LIMIT 1"})
    assert answer.json()["rows"] == [{"n": None}]


def test_a_limit_of_ones_own_is_no_way_around_the_servers(viewer: Visitor) -> None:
    asked = {"sql": "SELECT a.k FROM open_v a, open_v b, open_v c, open_v d LIMIT 500000", "limit": 5}
    answer = viewer.post("/views/query", asked).json()
    assert (len(answer["rows"]), answer["truncated"]) == (5, True)


def test_a_pattern_is_matched_without_going_back(viewer: Visitor) -> None:
    sql = f"SELECT k FROM open_v WHERE '{'a' * 60}!' RLIKE '(a+)+b'"
    assert viewer.post("/views/query", {"sql": sql}).json()["rows"] == []
    answer = viewer.post("/views/query", {"sql": "SELECT k FROM open_v WHERE k RLIKE '(?=k)'"})
    assert answer.status_code == 422


def test_each_user_has_a_few_turns() -> None:
    turns = Turns(at_once=1, waiting=1, patience=timedelta(seconds=20))
    waits, done = threading.Event(), []

    def second() -> None:
        waits.set()
        with turns.of("ann"):
            done.append("second")

    with turns.of("ann"):
        thread = threading.Thread(target=second)
        thread.start()
        waits.wait()
        with turns.of("ben"):
            pass
        until(lambda: turns._asking["ann"] == 2)
        with pytest.raises(TooManyAtOnce), turns.of("ann"):
            pass
        assert done == []
    thread.join()
    assert done == ["second"]


def test_who_asks_too_much_at_once_is_told_to_wait(viewer: Visitor, server: RestServer) -> None:
    server.services.views.turns = Turns(at_once=1, waiting=0)
    with server.services.views.turns.of("vera"):
        answer = viewer.post("/views/query", {"sql": "SELECT k FROM open_v"})
    assert answer.status_code == 429
    assert answer.json()["type"] == "urn:headrace:problem:too-many-at-once"
    assert viewer.post("/views/query", {"sql": "SELECT k FROM open_v"}).status_code == 200


@pytest.mark.parametrize("path", ["/views/open_v/rows", "/views/open_v/changes", "/catalog/o/recent"])
def test_who_reads_too_much_at_once_is_told_to_wait(viewer: Visitor, server: RestServer, path: str) -> None:
    server.services.views.turns = Turns(at_once=1, waiting=0)
    with server.services.views.turns.of("vera"):
        assert viewer.get(path).status_code == 429
    assert viewer.get(path).status_code in {200, 422}  # rows of memory cannot be tapped


def test_a_user_has_some_event_streams_at_a_time(viewer: Visitor, server: RestServer, developer: Visitor) -> None:
    server.services.streams = Turns(at_once=1, waiting=0)
    path = "/views/open_v/changes/events?after=start"

    async def refused() -> None:
        async for _ in streamed(server.app, PREFIX + path, viewer.headers, viewer.cookies):
            assert (await asyncio.to_thread(viewer.get, path)).status_code == 429
            return

    asyncio.run(refused())
    assert viewer.events(path, 1)
    assert viewer.events(path, 1)  # one that ended counts no more
    with server.services.streams.of("vera"):
        assert developer.events(path, 1)
