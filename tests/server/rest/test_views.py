"""Views by REST: rows, keys, SQL, changes; and what is followed goes on where it was."""

import asyncio
import threading
import time

import pytest

from headrace.jobs.states import State
from headrace.server.access.decisions import SYSTEM
from headrace.server.application import PREFIX
from headrace.values import json_text
from headrace.views.definition import Delta, Reflects, ViewColumn, ViewDefinition
from headrace.views.sqlite import SqliteViewStore
from support.rest_server import RestServer, Visitor, parsed, streamed
from support.waiting import PATIENCE


def test_rows_by_page_key_and_query(server: RestServer, developer: Visitor) -> None:
    server.submit(developer)
    assert developer.get("/views/totals/rows").status_code == 404
    assert developer.get("/views/totals").json()["columns"][0] == {"name": "k", "type": "string"}
    with server.totals() as totals:
        totals.take([(f"k{number:02}", number) for number in range(30)])
    first = developer.get("/views/totals/rows", params={"limit": 10}).json()
    assert (first["total"], first["next"], len(first["rows"]), first["key"]) == (30, 10, 10, ["k"])
    assert first["rows"][3] == {"k": "k03", "total": 3}
    last = developer.get("/views/totals/rows", params={"limit": 10, "offset": 20}).json()
    assert last["next"] is None
    found = developer.get("/views/totals/rows", params={"search": "K2", "order_by": "total", "descending": True})
    assert [row["k"] for row in found.json()["rows"]] == [f"k{number}" for number in range(29, 19, -1)]
    assert developer.get("/views/totals/rows", params={"order_by": "nothing"}).status_code == 422
    assert developer.get("/views/totals/row", params={"key": "k07"}).json()["rows"] == [{"k": "k07", "total": 7}]
    assert developer.get("/views/shop.totals/row", params={"key": "none"}).status_code == 404
    answer = developer.post("/views/query", {"sql": "SELECT sum(total) AS s FROM shop.totals t"}).json()
    assert answer == {"columns": ["s"], "rows": [{"s": 435}], "truncated": False}
    some = developer.post("/views/query", {"sql": "SELECT k FROM totals ORDER BY k DESC", "limit": 2}).json()
    assert (some["rows"], some["truncated"]) == ([{"k": "k29"}, {"k": "k28"}], True)
    for sql in ("DROP VIEW totals", "SELECT 1", "SELECT * FROM nothing", "SELECT", ""):
        assert developer.post("/views/query", {"sql": sql}).status_code in {404, 422}, sql


def test_a_store_is_opened_again_only_when_it_has_changed(server: RestServer, developer: Visitor, monkeypatch) -> None:
    server.submit(developer)
    services = server.app.state.services
    opened, later = [], [0.0]
    open_view = services.views.opened
    monkeypatch.setattr(services.views, "opened", lambda view: opened.append(view.name) or open_view(view))
    monkeypatch.setattr(services.glances, "_now", lambda: time.time() + later[0])

    def batch() -> int | None:
        return developer.get("/views").json()["items"][0]["batch"]

    with server.totals() as totals:
        totals.take([("a", 1)])
        first = batch()
        assert first is not None
        assert batch() == first
        assert len(opened) == 2  # changed just now: the next change might look alike
        later[0] = 60.0
        assert batch() == batch() == batch() == first
        assert len(opened) == 3
        totals.take([("b", 2)])
        assert batch() == developer.get("/views/totals").json()["batch"] == first + 1
        assert len(opened) == 4


@pytest.mark.parametrize("key", [("k",), ()])
def test_rows_have_one_order_though_values_are_equal(
    server: RestServer, developer: Visitor, key: tuple[str, ...]
) -> None:
    server.submit(developer)
    folder = server.jobs.folder_of(server.jobs.show("shop"))
    store = SqliteViewStore(folder.state_path / "shop" / "views.sqlite")
    columns = (ViewColumn("k", "string"), ViewColumn("total", "decimal(20,2)"))
    store.define("shop.totals", [ViewDefinition("totals", columns, key=key)])
    store.take("shop.totals", 0, {"totals": Delta(inserted=[(k, 1) for k in "cadb"])}, Reflects())
    store.close()

    def pages(**order: object) -> list[str]:
        asked = [{"limit": 1, "offset": offset, **order} for offset in range(4)]
        return [developer.get("/views/totals/rows", params=each).json()["rows"][0]["k"] for each in asked]

    assert pages() == pages(order_by="TOTAL") == ["a", "b", "c", "d"]
    assert pages(order_by="total", descending=True) == ["d", "c", "b", "a"]


def test_views_of_one_name_are_told_apart(server: RestServer, developer: Visitor) -> None:
    server.submit(developer, "one")
    server.submit(developer, "two")
    answer = developer.get("/views/totals")
    assert answer.status_code == 409
    assert answer.json()["hint"] == "Choose one: one.totals and two.totals."
    assert developer.get("/views/two.totals").json()["job"] == "two"


def test_changes_are_followed_and_taken_up_again(server: RestServer, developer: Visitor) -> None:
    server.submit(developer)
    with server.totals() as totals:
        totals.take([("a", 1)])
        second = totals.take([("a", 2)], [("a", 1)])
        third = totals.take([("b", 5)])
    path = "/views/totals/changes/events?after=start"
    first = developer.events(path, 2)
    assert [each["event"] for each in first] == ["changes", "changes"]
    assert first[1]["id"] == str(second)
    assert first[1]["data"]["changes"] == [
        {"change": "delete", "row": {"k": "a", "total": 1}},
        {"change": "insert", "row": {"k": "a", "total": 2}},
    ]
    [rest] = developer.events(path, 1, **{"Last-Event-ID": first[1]["id"]})
    assert rest["id"] == str(third)
    page = developer.get("/views/totals/changes", params={"after": second}).json()
    assert [each["batch"] for each in page["batches"]] == [third] == [page["next"]]


def test_a_large_batch_comes_in_parts_that_are_taken_up_again(server: RestServer, developer: Visitor) -> None:
    server.submit(developer)
    rows = [(f"k{number:04}", number) for number in range(2500)]
    with server.totals() as totals:
        first = totals.take(rows)
        second = totals.take([("z", 1)], rows[:1500])
    path = "/views/totals/changes/events?after=start"
    parts = developer.events(path, 5)
    assert [each["id"] for each in parts] == [
        f"{first}:1000",
        f"{first}:2000",
        f"{first}",
        f"{second}:1000",
        f"{second}",
    ]
    assert [each["data"]["more"] for each in parts] == [True, True, False, True, False]
    told = [(each["change"], each["row"]["k"]) for part in parts for each in part["data"]["changes"]]
    assert told == [*(("insert", k) for k, _ in rows), *(("delete", k) for k, _ in rows[:1500]), ("insert", "z")]
    for place, part in enumerate(parts[:-1]):
        assert developer.events(path, 4 - place, **{"Last-Event-ID": part["id"]}) == parts[place + 1 :]


def test_changes_are_given_as_far_as_they_fit(server: RestServer, developer: Visitor, monkeypatch) -> None:
    monkeypatch.setattr("headrace.server.services.views.MOST_BYTES", 1000)
    server.submit(developer)
    with server.totals() as totals:
        taken = [totals.take([(f"{batch}-{number}", 1) for number in range(6)]) for batch in range(5)]
    pages, after = [], -1
    while found := (page := developer.get("/views/totals/changes", params={"after": after, "limit": 1000}).json())[
        "batches"
    ]:
        pages.append([each["batch"] for each in found])
        after = page["next"]
    assert pages == [taken[:2], taken[2:4], taken[4:]]
    followed = developer.events("/views/totals/changes/events?after=start", 5)
    assert [each["id"] for each in followed] == [str(each) for each in taken]


def test_events_are_put_into_words_beside_the_event_loop(server: RestServer, developer: Visitor, monkeypatch) -> None:
    server.submit(developer)
    with server.totals() as totals:
        totals.take([("a", 1)])
    threads = []

    def noted(value: object) -> str:
        threads.append(threading.current_thread())
        return json_text(value)

    monkeypatch.setattr("headrace.server.rest.sse.json_text", noted)
    assert developer.events("/views/totals/changes/events?after=start", 1)
    assert threads
    assert threading.main_thread() not in threads


@pytest.mark.parametrize("last", ["9" * 5000, "1:" + "9" * 5000, "x", "1:", "-1", "²"])
def test_a_place_that_is_none_is_refused(server: RestServer, developer: Visitor, last: str) -> None:
    server.submit(developer)
    with server.totals() as totals:
        totals.take([("a", 1)])
    answer = developer.get("/views/totals/changes/events", headers={"Last-Event-ID": last.encode("latin-1", "ignore")})
    assert (answer.status_code, answer.json()["title"]) == (422, "changes cannot be followed from there")


def test_logs_and_figures_are_followed_and_taken_up_again(server: RestServer, developer: Visitor) -> None:
    server.submit(developer)
    server.go_until("shop", State.RUNNING)
    log = server.jobs.folder_of(server.jobs.show("shop")).log_path
    with log.open("a") as file:
        file.write("one\ntwo\nthr")
    [first] = developer.events("/jobs/shop/logs/events?lines=1", 1)
    assert first["data"] == {"lines": ["two"]}
    with log.open("a") as file:
        file.write("ee\nfour\n")
    [rest] = developer.events("/jobs/shop/logs/events", 1, **{"Last-Event-ID": first["id"]})
    assert rest["data"] == {"lines": ["three", "four"]}
    assert developer.get("/jobs/shop/logs", params={"lines": 2}).json() == {"lines": ["three", "four"]}
    for wrong in ("9" * 30 + "-0-0", "0-0-" + "9" * 5000, "x"):
        [anew] = developer.events("/jobs/shop/logs/events?lines=1", 1, **{"Last-Event-ID": wrong})
        assert anew["data"] == {"lines": ["four"]}

    figures = developer.events("/jobs/shop/figures/events", 2)
    assert figures[0]["id"] < figures[1]["id"]
    assert figures[0]["data"]["outputs"]["totals"]["rows_in"] > 0
    [later] = developer.events("/jobs/shop/figures/events", 1, **{"Last-Event-ID": figures[1]["id"]})
    assert later["id"] > figures[1]["id"]

    moves = developer.events("/jobs/shop/events/events", 3)
    assert [each["data"]["state"] for each in moves] == ["submitted", "starting", "running"]
    assert developer.events("/jobs/shop/events/events", 1, **{"Last-Event-ID": moves[1]["id"]})[0] == moves[2]


def test_the_topology_of_a_job_has_figures(server: RestServer, developer: Visitor) -> None:
    server.submit(developer)
    server.go_until("shop", State.RUNNING)
    nodes = developer.get("/jobs/shop/topology").json()["nodes"]
    output = next(node for node in nodes if node["role"] == "output")
    assert output["figures"]["health"] == "good"
    assert all(node["figures"] is not None for node in nodes)


def test_the_catalog_says_what_cannot_be_tapped(server: RestServer, developer: Visitor) -> None:
    server.submit(developer)
    kinds = {each["name"]: each["kind"] for each in developer.get("/catalog").json()["items"]}
    assert kinds == {"s": "stream", "totals": "materialized view"}
    answer = developer.get("/catalog/s/recent")
    assert answer.status_code == 422
    assert answer.json()["title"] == 'stream "s" cannot be tapped'


def test_a_savepoint_of_a_running_job(server: RestServer, developer: Visitor) -> None:
    server.submit(developer)
    server.go_until("shop", State.RUNNING)
    assert developer.post("/jobs/shop/savepoints").status_code == 202
    server.go_until("shop", State.STOPPED)
    server.go_until("shop", State.RUNNING)
    [made] = developer.get("/jobs/shop/savepoints").json()["items"]
    assert made["status"] == "ready"


def test_an_upgrade_tells_beforehand_what_it_does(server: RestServer, developer: Visitor) -> None:
    server.submit(developer)
    server.go_until("shop", State.RUNNING)
    text = developer.get("/applications/shop").json()["text"].replace("sum(v)", "max(v)")
    report = developer.post("/jobs/shop/upgrade?dry_run=true", {"text": text}).json()
    assert [(each["output"], each["fate"]) for each in report["changes"]] == [("totals", "rebuilt")]
    assert report["job"] is None
    assert developer.get("/jobs/shop").json()["version"] == 1
    done = developer.post("/jobs/shop/upgrade", {"text": text}).json()
    assert done["job"]["version"] == 2
    assert developer.get("/applications/shop").json()["number"] == 2


def test_who_may_no_more_follows_no_more(server: RestServer, admin, developer, monkeypatch) -> None:
    monkeypatch.setattr("headrace.server.rest.sse.CHECK_EVERY", 0.5)
    server.submit(admin)
    with server.totals() as totals:
        totals.take([("a", 1)])
    path = f"{PREFIX}/views/totals/changes/events?after=start"

    async def followed() -> list[dict]:
        found = []
        stream = streamed(server.app, path, developer.headers, developer.cookies)
        async for text in stream:
            event = parsed(text)
            if "data" in event:
                found.append(event)
                lock_out = server.services.control.users.disable
                await asyncio.to_thread(lock_out, SYSTEM, "dora")
        return found

    first, last = asyncio.run(asyncio.wait_for(followed(), PATIENCE))
    assert first["event"] == "changes"
    assert (last["event"], last["data"]["status"]) == ("problem", 401)
