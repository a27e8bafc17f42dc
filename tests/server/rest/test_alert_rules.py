"""Rules of alerts: the standard ones, those of a file, and those that people make."""

from datetime import timedelta
from pathlib import Path

import pytest

from headrace.errors import HeadraceError
from headrace.jobs.rules import CrashLoop, LagAbove, StateGrowth, options_of, rule_of
from headrace.jobs.states import State
from headrace.records.database import Database
from headrace.server.access.decisions import SYSTEM
from headrace.server.services.alert_rules import AlertRules
from support.rest_server import RestServer, Visitor

LAG = {"kind": "lag", "messages": 1000, "lasting": "1 minute", "job": "shop"}


def names(visitor: Visitor) -> dict[str, str]:
    return {each["name"]: each["origin"] for each in visitor.get("/alert-rules").json()["items"]}


def test_people_make_rules_that_count_at_once_and_after_a_restart(
    server: RestServer, developer: Visitor, viewer: Visitor
) -> None:
    made = developer.put("/alert-rules/far behind", LAG)
    assert made.status_code == 200, made.text
    assert made.json()["options"] == {"messages": 1000, "lasting": "1 minute"}
    assert (made.json()["job"], made.json()["changed_by"]) == ("shop", "dora")
    rule = LagAbove(name="far behind", job="shop", messages=1000, lasting=timedelta(minutes=1))
    assert rule in server.services.alerts.alarms.rules
    assert names(viewer) == {
        "batch stuck": "standard",
        "crash loop": "standard",
        "dead rows": "standard",
        "far behind": "server",
        "state growth": "standard",
        "watermark stuck": "standard",
    }
    server.services.alerts.alarms.rules = ()
    server.services.alert_rules.load()
    assert rule in server.services.alerts.alarms.rules
    assert developer.delete("/alert-rules/far behind").status_code == 204
    assert rule not in server.services.alerts.alarms.rules
    assert developer.delete("/alert-rules/far behind").status_code == 404


def test_a_rule_takes_the_place_of_a_standard_one(server: RestServer, developer: Visitor) -> None:
    assert developer.delete("/alert-rules/crash loop").status_code == 409
    assert developer.put("/alert-rules/crash loop", {"kind": "crash-loop", "restarts": 9}).status_code == 200
    found = [each for each in server.services.alerts.alarms.rules if isinstance(each, CrashLoop)]
    assert found == [CrashLoop(name="crash loop", restarts=9)]
    assert developer.delete("/alert-rules/crash loop").status_code == 204
    assert names(developer)["crash loop"] == "standard"


def test_rules_of_the_file_stay(tmp_path: Path) -> None:
    file = tmp_path / "alerts.yaml"
    file.write_text("rules: [{kind: lag, name: behind, messages: 5}]")
    server = RestServer(tmp_path, alerts=file)
    try:
        dora = server.visitor("dora", "developer")
        assert names(dora) == {"behind": "file"}
        for answer in (dora.put("/alert-rules/behind", LAG), dora.delete("/alert-rules/behind")):
            assert answer.status_code == 409
            assert answer.json()["title"] == 'the rule "behind" stands in the file of alerts'
        dora.put("/alert-rules/mine", LAG)
        assert names(dora) == {"behind": "file", "mine": "server"}
    finally:
        server.end()


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "lag"},
        {"kind": "lag", "messages": 1, "factor": 2},
        {"kind": "dead-rows", "within": "soon"},
        {"kind": "pie"},
        {"kind": "lag", "messages": -1},
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(developer: Visitor, wrong: dict[str, object]) -> None:
    assert developer.put("/alert-rules/wrong", wrong).status_code == 422


@pytest.mark.parametrize("value", ["many", True, -1, 2**60])
def test_numbers_in_a_file_are_checked(value: object) -> None:
    with pytest.raises(HeadraceError, match="is a number"):
        rule_of({"kind": "lag", "name": "x", "messages": value})


def test_options_are_a_rule_again() -> None:
    for rule in (
        LagAbove(name="a", messages=3, job="x*"),
        CrashLoop(name="b", within=timedelta(hours=1)),
        StateGrowth(name="c", factor=1.5, least=7),
    ):
        assert rule_of(options_of(rule)) == rule


def test_who_may_and_what_is_noted(
    server: RestServer, admin: Visitor, developer: Visitor, operator: Visitor, viewer: Visitor
) -> None:
    for visitor in (viewer, operator):
        assert visitor.put("/alert-rules/mine", LAG).status_code == 403
    assert developer.put("/alert-rules/mine", LAG).status_code == 200
    assert operator.delete("/alert-rules/mine").status_code == 403
    admin.patch("/access/job/shop", {"restricted": True})
    assert "mine" not in names(viewer)
    taken = developer.put("/alert-rules/mine", {**LAG, "job": "*"})
    assert taken.status_code == 409
    assert "shop" not in taken.text
    assert developer.delete("/alert-rules/mine").status_code == 404
    assert admin.delete("/alert-rules/mine").status_code == 204
    noted = admin.get("/audit", params={"action": "alert_rule.put", "outcome": "done"}).json()["items"]
    assert [(each["actor"], each["target_name"], each["details"]["rule"]) for each in noted] == [
        ("dora", "shop", "mine")
    ]
    assert len(admin.get("/audit", params={"action": "alert_rule.remove"}).json()["items"]) == 1


def test_alerts_of_all_jobs(server: RestServer, admin: Visitor, developer: Visitor, viewer: Visitor) -> None:
    server.submit(developer, "bad", behave="user-error")
    server.submit(developer, "good")
    server.go_until("bad", State.FAILED)
    alarms = server.services.alerts.alarms
    alarms.look(server.services.jobs.samples(SYSTEM))
    [alert] = viewer.get("/alerts").json()["items"]
    assert (alert["job"], alert["rule"], alert["over_at"]) == ("bad", "crash loop", None)
    developer.put("/alert-rules/crash loop", {"kind": "crash-loop", "job": "other"})
    alarms.look(server.services.jobs.samples(SYSTEM))
    assert viewer.get("/alerts").json()["items"] == []
    [alert] = viewer.get("/alerts", params={"over": True}).json()["items"]
    assert alert["over_at"] is not None
    admin.patch("/access/job/bad", {"restricted": True})
    assert viewer.get("/alerts", params={"over": True}).json()["items"] == []


def test_alerts_outlive_the_server(database_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def told() -> list[str]:
        return [each.getMessage().split(":")[0] for each in caplog.records if each.name == "headrace.alerts"]

    first = RestServer(tmp_path, database=database_url)
    dora = first.visitor("dora", "developer")
    first.submit(dora, "bad", behave="user-error")
    first.go_until("bad", State.FAILED)
    first.services.alerts.alarms.look(first.services.jobs.samples(SYSTEM))
    [alert] = dora.get("/alerts").json()["items"]
    acknowledged = dora.post(f"/jobs/bad/alerts/{alert['id']}/acknowledge").json()
    first.end()
    second = RestServer(tmp_path, database=database_url)
    try:
        dora = second.logged_in("dora")
        assert dora.get("/alerts").json()["items"] == [acknowledged]
        second.services.alerts.alarms.look(second.services.jobs.samples(SYSTEM))
        assert dora.get("/alerts").json()["items"] == [acknowledged]
        assert told() == ["alert crash loop"]
        dora.put("/alert-rules/crash loop", {"kind": "crash-loop", "job": "other"})
        second.services.alerts.alarms.look(second.services.jobs.samples(SYSTEM))
        assert told() == ["alert crash loop", "resolved crash loop"]
        [over] = dora.get("/jobs/bad/alerts").json()["items"]
        assert (over["id"], over["acknowledged_by"], over["over_at"] is None) == (alert["id"], "dora", False)
        dora.delete("/jobs/bad")
        second.submit(dora, "bad")
        assert dora.get("/jobs/bad/alerts").json()["items"] == [], "another job of that name has none"
    finally:
        second.end()


def test_rules_are_kept_on_every_database(database_url: str, tmp_path: Path) -> None:
    server = RestServer(tmp_path, database=database_url)
    try:
        dora = server.visitor("dora", "developer")
        assert dora.put("/alert-rules/mine", LAG).status_code == 200
        assert dora.put("/alert-rules/mine", {**LAG, "messages": 7}).status_code == 200
        other = Database(database_url)
        services = server.services
        access, alarms = services.control.access, services.alerts.alarms
        again = AlertRules((), from_file=True, alarms=alarms, database=other, access=access, clock=services.clock.now)
        assert [each.rule for each in again.all(SYSTEM)] == [
            LagAbove(name="mine", job="shop", messages=7, lasting=timedelta(minutes=1))
        ]
        other.close()
    finally:
        server.end()
