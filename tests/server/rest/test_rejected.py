"""Rows that a job did not use, and rows that it only shows."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from headrace.jobs.folder import Heartbeat
from headrace.jobs.last_rows import LastRow
from headrace.jobs.states import State
from headrace.views.definition import Delta, Reflects, ViewColumn, ViewDefinition
from headrace.views.sqlite import SqliteViewStore
from support.rest_server import RestServer, Visitor

TEXT = """
CREATE STREAM s (k STRING, v INT) WITH (connector = 'memory');
CREATE STREAM t (k STRING, v INT) WITH (connector = 'memory');
CREATE STREAM u (reason STRING, at TIMESTAMP, WATERMARK FOR at AS at) WITH (connector = 'memory', late = 'keep');
CREATE STREAM w (at TIMESTAMP, WATERMARK FOR at AS at) WITH (connector = 'memory');
CREATE MATERIALIZED VIEW totals AS SELECT k, sum(v) AS total FROM s GROUP BY k;
CREATE MATERIALIZED VIEW dead_of_t AS SELECT * FROM t.dead;
SELECT k, v FROM t;
"""
SCREEN = """
CREATE SINK screen (k STRING) WITH (connector = 'console');
INSERT INTO screen SELECT k FROM s;
INSERT INTO screen SELECT k FROM t;
"""
FIGURES = {
    "name": "totals",
    "batch": 1,
    "late": 3,
    "dead": 9,
    "dead_of": {"s": 2, "t": 7},
    "watermark_at": "2026-01-01T00:00:00+00:00",
}


def test_late_rows_are_counted_and_dead_ones_without_a_view_too(server: RestServer, developer: Visitor) -> None:
    server.submit(developer, text=TEXT)
    server.go_until("shop", State.RUNNING)
    job = server.jobs.show("shop")
    folder = server.jobs.folder_of(job)
    developer.post("/jobs/shop/stop", {})
    server.go_until("shop", State.STOPPED)  # its driver writes no more
    beat = folder.heartbeat() or Heartbeat(job.attempt, 1, datetime.now(UTC), "running")
    folder.write_heartbeat(replace(beat, attempt=job.attempt, outputs=(FIGURES,)))
    found = developer.get("/jobs/shop/rejected").json()
    assert found["late"] == [{"output": "totals", "rows": 3, "watermark_at": "2026-01-01T00:00:00Z"}]
    assert found["unkept"] == {"s": 2}
    assert (found["dead"], found["late_rows"], found["forgotten"]) == ([], [], ["w"])


def test_kept_rows_are_shown_with_their_reasons(server: RestServer, developer: Visitor) -> None:
    server.submit(developer, text=TEXT)
    folder = server.jobs.folder_of(server.jobs.show("shop"))
    store = SqliteViewStore(folder.state_path / "shop" / "views.sqlite")
    late = "reason string, at timestamp, _reason string, _watermark timestamp, _position string"
    dead = "raw string, reason string, position string"
    for name, columns in (("u_late", late), ("dead_of_t", dead)):
        kinds = [ViewColumn(*each.split(" ")) for each in columns.split(", ")]
        store.define(f"shop.{name}", [ViewDefinition(name, tuple(kinds))])
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    row = ("theirs", noon, "behind", noon, "u:0:7")
    store.take("shop.u_late", 0, {"u_late": Delta(inserted=[row])}, Reflects())
    store.take("shop.dead_of_t", 0, {"dead_of_t": Delta(inserted=[("{", "not JSON", "t/0/1")])}, Reflects())
    store.close()
    found = developer.get("/jobs/shop/rejected").json()
    told = {kind: [{**each, "at": None} for each in found[kind]] for kind in ("late_rows", "dead")}
    record = '{"reason": "theirs", "at": "2026-01-01 12:00:00+00:00"}'
    assert told == {
        "late_rows": [{"stream": "u", "reason": "behind", "record": record, "position": "u:0:7", "at": None}],
        "dead": [{"stream": "t", "reason": "not JSON", "record": "{", "position": "t/0/1", "at": None}],
    }


def test_kept_rows_of_a_view_that_is_denied_are_not_shown(
    server: RestServer, developer: Visitor, admin: Visitor, viewer: Visitor
) -> None:
    server.submit(developer, text=TEXT)
    folder = server.jobs.folder_of(server.jobs.show("shop"))
    store = SqliteViewStore(folder.state_path / "shop" / "views.sqlite")
    kinds = tuple(ViewColumn(name, "string") for name in ("raw", "reason", "position"))
    store.define("shop.dead_of_t", [ViewDefinition("dead_of_t", kinds)])
    store.take("shop.dead_of_t", 0, {"dead_of_t": Delta(inserted=[("{", "not JSON", "t/0/1")])}, Reflects())
    store.close()
    assert len(viewer.get("/jobs/shop/rejected").json()["dead"]) == 1
    deny = {"effect": "deny", "kind": "view", "pattern": "dead_of_t", "user": "vera", "actions": ["read_rows"]}
    assert admin.post("/access", deny).status_code == 201
    assert viewer.get("/jobs/shop/rejected").json()["dead"] == []
    assert len(developer.get("/jobs/shop/rejected").json()["dead"]) == 1


def test_rows_that_are_only_shown(server: RestServer, developer: Visitor, admin: Visitor, viewer: Visitor) -> None:
    server.submit(developer, text=TEXT)
    assert viewer.get("/jobs/shop/rows").json() == {"items": [], "next": None}
    folder = server.jobs.folder_of(server.jobs.show("shop")).make()
    folder.write_last_rows([LastRow("query_1", n, "2026-01-01T00:00:00+00:00", "insert", f"{{{n}}}") for n in (1, 2)])
    assert [each["batch"] for each in viewer.get("/jobs/shop/rows").json()["items"]] == [2, 1]
    deny = {"effect": "deny", "kind": "job", "pattern": "shop", "user": "vera", "actions": ["read_rows"]}
    assert admin.post("/access", deny).status_code == 201
    assert viewer.get("/jobs/shop/rows").status_code == 403
    assert viewer.get("/jobs/shop/rejected").status_code == 403


@pytest.mark.parametrize("closed", ["denied", "restricted"])
def test_rows_of_a_closed_console_sink_are_not_shown(
    server: RestServer, developer: Visitor, admin: Visitor, viewer: Visitor, closed: str
) -> None:
    server.submit(developer, text=TEXT + SCREEN)
    folder = server.jobs.folder_of(server.jobs.show("shop")).make()
    at = "2026-01-01T00:00:00+00:00"
    folder.write_last_rows(
        [LastRow(name, 1, at, "insert", "{}") for name in ("query_1", "screen", "screen_2", "removed")]
    )

    def outputs(visitor: Visitor) -> list[str]:
        return [each["output"] for each in visitor.get("/jobs/shop/rows").json()["items"]]

    assert outputs(viewer) == ["removed", "screen_2", "screen", "query_1"]
    if closed == "denied":
        deny = {"effect": "deny", "kind": "stream", "pattern": "screen", "user": "vera", "actions": ["read_rows"]}
        assert admin.post("/access", deny).status_code == 201
    else:
        assert admin.patch("/access/stream/screen", {"restricted": True}).status_code == 200
    assert outputs(viewer) == ["removed", "query_1"]
    assert outputs(admin) == ["removed", "screen_2", "screen", "query_1"]
