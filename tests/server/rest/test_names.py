"""Jobs that read each other by name: found, refused with a place, and kept from being pulled away."""

from pathlib import Path
from typing import Any

import pytest

from headrace.catalog.imports import Import
from headrace.jobs.states import State
from headrace.server.access.decisions import SYSTEM
from support.rest_server import RestServer, Visitor

FRAUD = """
CREATE STREAM cards (card BIGINT, amount INT, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 5 SECONDS)
  WITH (connector = 'kafka', topic = 'cards', bootstrap_servers = 'b:9092', group = 'fraud');
CREATE TABLE limits (card BIGINT, most INT, PRIMARY KEY (card)) WITH (connector = 'files', path = 'limits.json');
CREATE VIEW large AS SELECT card, amount, at FROM cards WHERE amount > 100;
CREATE MATERIALIZED VIEW sums AS SELECT card, sum(amount) AS total FROM cards GROUP BY card;
CREATE SINK alerts WITH (connector = 'kafka', topic = 'alerts', bootstrap_servers = 'b:9092', format = 'json',
  guarantee = 'exactly-once', sasl_password = 'hush', security_protocol = 'sasl_ssl', sasl_username = 'u')
  AS SELECT card, amount, at FROM large;
CREATE SINK latest WITH (connector = 'kafka', topic = 'latest', bootstrap_servers = 'b:9092', format = 'upsert')
  AS SELECT card, max(amount) AS most FROM cards GROUP BY card;
CREATE SINK odd WITH (connector = 'kafka', topic = 'odd', bootstrap_servers = 'b:9092')
  AS SELECT upper(string(card)) AS name FROM cards;
"""
READER = "CREATE MATERIALIZED VIEW n AS SELECT count(*) AS n FROM fraud.{}"


@pytest.fixture
def fraud(server: RestServer, developer: Visitor, tmp_path: Path) -> dict[str, Any]:
    return server.submit(developer, "fraud", text=FRAUD, directory=str(tmp_path))


def read(server: RestServer, developer: Visitor, relation: str, name: str = "reader") -> Import:
    server.submit(developer, name, text=READER.format(relation))
    [version] = server.jobs.versions(name)
    [found] = version.imports
    return found


def mistake(visitor: Visitor, text: str, name: str = "reader") -> dict[str, Any]:
    answer = visitor.post("/check", {"text": text, "name": name}).json()
    assert answer["ok"] is False
    [found] = answer["diagnostics"]
    refused = visitor.post("/jobs", {"name": name, "text": text})
    assert refused.status_code == 422, refused.text
    assert refused.json()["title"] == found["message"]
    return found


def stopped(server: RestServer, developer: Visitor, name: str) -> None:
    server.go_until(name, State.RUNNING)
    developer.post(f"/jobs/{name}/stop", {})
    server.go_until(name, State.STOPPED)


def test_a_sink_is_read_as_a_stream_of_its_topic(server: RestServer, developer: Visitor, fraud: Any) -> None:
    found = read(server, developer, "alerts")
    assert (found.kind, found.columns) == ("sink", (("card", "BIGINT"), ("amount", "INT"), ("at", "TIMESTAMP")))
    stream = server.services.plans.of(server.jobs.show("reader")).plan.streams["fraud.alerts"]
    options = stream.options
    assert (options.topic, options.format, options.bootstrap_servers) == (("alerts",), "json", "b:9092")
    assert (options.sasl_username, options.sasl_password, options.security_protocol) == ("u", "hush", "sasl_ssl")
    assert stream.watermark is not None
    assert (stream.watermark.column, stream.watermark.delay.total_seconds()) == ("at", 5)


def test_an_upsert_sink_is_read_as_a_table(server: RestServer, developer: Visitor, fraud: Any) -> None:
    found = read(server, developer, "latest")
    assert (found.kind, found.key) == ("sink", ("card",))
    table = server.services.plans.of(server.jobs.show("reader")).plan.tables["fraud.latest"]
    assert table.live and table.options.topic == ("latest",)


def test_a_stream_and_a_table_are_the_same_again(
    server: RestServer, developer: Visitor, fraud: Any, tmp_path: Path
) -> None:
    read(server, developer, "cards", "one")
    stream = server.services.plans.of(server.jobs.show("one")).plan.streams["fraud.cards"]
    assert (stream.options.topic, stream.options.group) == (("cards",), None)  # the group is fraud's alone
    read(server, developer, "limits", "two")
    table = server.services.plans.of(server.jobs.show("two")).plan.tables["fraud.limits"]
    assert table.options.path == str(tmp_path / "limits.json")


def test_a_view_is_read_where_it_is_kept(server: RestServer, developer: Visitor, fraud: Any) -> None:
    found = read(server, developer, "sums")
    state = server.jobs.folder_of(server.jobs.show("fraud")).state_path
    assert (found.kind, found.key, found.place["path"]) == ("view", ("card",), str(state / "fraud" / "views.sqlite"))
    topology = developer.get("/jobs/reader/topology").json()
    assert topology["nodes"][0]["title"] == "read view fraud.sums"


@pytest.mark.parametrize(
    ("name", "place", "message", "hint"),
    [
        ("frod.alerts", (1, 15, 11), 'there is no job "frod"', 'Did you mean "fraud"?'),
        ("fraud.alert", (1, 15, 11), 'job "fraud" has no "alert"', 'Did you mean "alerts"?'),
        ("fraud.large", (1, 15, 11), 'view "large" of job "fraud" is not kept', "CREATE MATERIALIZED VIEW large"),
        ("fraud.odd", (1, 15, 9), 'the types of sink "odd" of job "fraud" are not known yet', "declare the columns"),
        ("reader.x", (1, 15, 8), 'there is no job "reader"', "There are: fraud."),
    ],
)
def test_mistakes_have_a_place(
    developer: Visitor, fraud: Any, name: str, place: tuple[int, ...], message: str, hint: str
) -> None:
    found = mistake(developer, f"SELECT * FROM {name} a")
    assert (found["line"], found["column"], found["length"]) == place
    assert found["message"] == message
    assert hint in found["hint"]


def test_types_are_known_once_a_job_has_run(server: RestServer, developer: Visitor, fraud: Any) -> None:
    folder = server.jobs.folder_of(server.jobs.show("fraud")).make()
    folder.write_types(1, {"odd": {"name": "string"}})
    assert read(server, developer, "odd").columns == (("name", "STRING"),)
    folder.write_types(2, {"odd": {"name": "int"}})
    assert "not known yet" in mistake(developer, "SELECT * FROM fraud.odd", "other")["message"]


def test_rights_decide_what_is_there(server: RestServer, developer: Visitor, fraud: Any, admin: Visitor) -> None:
    eve = server.visitor("eve", "developer")
    hide = {"effect": "deny", "user": "eve", "kind": "view", "pattern": "sums"}
    denied = admin.post("/access", {**hide, "actions": ["read_rows"]})
    assert denied.status_code == 201, denied.text
    found = mistake(eve, "SELECT * FROM fraud.sums")
    assert found["message"] == 'eve may not read "fraud.sums"'
    assert "denied to user eve" in found["detail"]
    assert admin.post("/access", {**hide, "actions": ["see"]}).status_code == 201
    assert mistake(eve, "SELECT * FROM fraud.sums")["message"] == 'job "fraud" has no "sums"'
    whole = {**hide, "kind": "job", "pattern": "fraud", "actions": ["see"]}
    assert admin.post("/access", whole).status_code == 201
    found = mistake(eve, "SELECT * FROM fraud.alerts")
    assert found["message"] == 'there is no job "fraud"'
    assert "fraud" not in (found["hint"] or "")
    assert read(server, developer, "sums").name == "fraud.sums"


def test_a_circle_is_refused(server: RestServer, developer: Visitor, fraud: Any) -> None:
    server.submit(developer, "b", text="CREATE MATERIALIZED VIEW x AS SELECT count(*) AS n FROM fraud.sums")
    server.submit(developer, "c", text="CREATE MATERIALIZED VIEW y AS SELECT n FROM b.x")
    text = FRAUD + "CREATE MATERIALIZED VIEW z AS SELECT n FROM c.y;"
    for path in ("/jobs/fraud/upgrade", "/jobs/fraud/upgrade?dry_run=true"):
        refused = developer.post(path, {"text": text})
        assert refused.status_code == 422, refused.text
        assert refused.json()["title"] == 'job "fraud" would read itself'
        assert refused.json()["detail"] == "fraud would read c, which reads b, which reads fraud."
    alone = developer.post("/check", {"name": "fraud", "text": "SELECT * FROM fraud.sums"}).json()["diagnostics"][0]
    assert (alone["message"], alone["hint"]) == ('job "fraud" would read itself', 'Write just "sums".')


def test_what_others_read_stays(server: RestServer, developer: Visitor, fraud: Any) -> None:
    read(server, developer, "sums", "views")
    read(server, developer, "alerts", "topics")
    stopped(server, developer, "fraud")
    refused = developer.delete("/jobs/fraud")
    assert refused.status_code == 409
    assert refused.json()["title"] == 'job "fraud" is used by topics, views'
    catalog = {each["name"]: each["used_by"] for each in developer.get("/catalog").json()["items"]}
    assert (catalog["sums"], catalog["alerts"], catalog["cards"]) == (["views"], ["topics"], [])
    assert "fraud.sums" not in catalog
    for name in ("views", "topics"):
        stopped(server, developer, name)
        assert developer.delete(f"/jobs/{name}").status_code == 202
    assert developer.delete("/jobs/fraud").status_code == 202


@pytest.mark.parametrize(
    ("relation", "old", "new", "why"),
    [
        ("sums", "VIEW sums AS", "VIEW totals AS", 'job "fraud" has no "sums"'),
        ("sums", "AS total FROM", "AS sum FROM", "sums would have no column total"),
        (
            "sums",
            "sum(amount) AS total",
            "CAST(sum(amount) AS STRING) AS total",
            "total of sums would be STRING, not BIGINT",
        ),
        ("sums", "VIEW sums AS", "VIEW sums WITH (path = 'v') AS", "sums would be somewhere else"),
        ("alerts", "topic = 'alerts'", "topic = 'alarms'", "alerts would be somewhere else"),
        ("limits", "PRIMARY KEY (card)", "PRIMARY KEY (most)", "the key of limits would be another"),
    ],
)
def test_an_upgrade_that_would_break_readers_is_refused(
    server: RestServer, developer: Visitor, fraud: Any, relation: str, old: str, new: str, why: str
) -> None:
    read(server, developer, relation)
    assert old in FRAUD
    text = FRAUD.replace(old, new)
    for path in ("/jobs/fraud/upgrade", "/jobs/fraud/upgrade?dry_run=true"):
        refused = developer.post(path, {"text": text})
        assert refused.status_code == 409, refused.text
        assert refused.json()["title"] == 'job "fraud" is read by reader, who could not go on'
        assert refused.json()["detail"] == f"{why}."
    assert server.jobs.show("fraud").version == 1


def test_an_upgrade_that_adds_is_fine(server: RestServer, developer: Visitor, fraud: Any) -> None:
    read(server, developer, "sums")
    text = FRAUD.replace("sum(amount) AS total", "sum(amount) AS total, count(*) AS n")
    report = developer.post("/jobs/fraud/upgrade?dry_run=true", {"text": text}).json()
    why = {each["output"]: each["why"] for each in report["changes"]}
    assert why["sums"].endswith("; it is read by reader: start them fresh after it")
    assert "read by" not in why["latest"]
    assert developer.post("/jobs/fraud/upgrade", {"text": text}).status_code == 202
    # a reader that is upgraded now sees the new column
    more = "CREATE MATERIALIZED VIEW n AS SELECT max(n) AS n FROM fraud.sums"
    assert developer.post("/jobs/reader/upgrade", {"text": more}).status_code == 202
    assert server.jobs.versions("reader")[0].imports[0].version == 2


def test_a_job_that_went_meanwhile_is_not_read(server: RestServer, developer: Visitor, fraud: Any) -> None:
    resolve = server.services.names.resolver(SYSTEM, "reader")

    def meanwhile(job: str, relation: str) -> Import:
        found = resolve(job, relation)
        assert developer.post("/jobs/fraud/upgrade", {"text": FRAUD + "SELECT 1 AS one;"}).status_code == 202
        return found

    with pytest.raises(Exception, match="changed by somebody else"):
        server.jobs.submit("c1", name="reader", text=READER.format("sums"), resolve=meanwhile)


def test_a_job_whose_view_others_follow_is_not_rebuilt(server: RestServer, developer: Visitor) -> None:
    text = "CREATE STREAM s (k INT) WITH (connector = 'kafka', topic = 't', bootstrap_servers = 'b:9092');\n"
    text += "CREATE MATERIALIZED VIEW sums AS SELECT k, count(*) AS n FROM s GROUP BY k;"
    server.submit(developer, "fraud", text=text)
    read(server, developer, "s", "one")
    read(server, developer, "sums", "two")
    refused = developer.post("/jobs/fraud/rebuild", {})
    assert refused.status_code == 409, refused.text
    assert refused.json()["title"] == 'views of job "fraud" are read by two'
    assert developer.get("/jobs/fraud/rebuild").json() is None
