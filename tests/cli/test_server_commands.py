"""Every route of REST has a command: commands ask a real server, which notes what it answered."""

import json
import re
import signal
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from headrace.broker.server import Broker
from headrace.broker.topics import create
from support.job_yard import APPLICATION
from support.served import Served
from support.waiting import PATIENCE, until

NO_COMMAND = {
    ("GET", "/health/live"): "for whoever watches the process, not for users",
    ("GET", "/health/ready"): "for whoever watches the process, not for users",
    ("GET", "/metrics"): "for Prometheus; headrace job show tells the same figures",
    ("POST", "/try/events"): "headrace try, which runs Spark: tests/server/test_spark_server.py",
    ("GET", "/jobs/{job}/figures/events"): "headrace job show asks for the same figures, at once",
    ("GET", "/views/{view}/changes/events"): "headrace view follow asks for the same changes, again and again",
}
"""Routes that no command asks, and why."""
DASHBOARD = "title: Sales\npanels: []\n"
OWN = "several words of ann"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    (folder / "shop.sql").write_text(APPLICATION)
    (folder / "new.sql").write_text(APPLICATION.replace("sum(v)", "max(v)"))
    made = Served(folder)
    yield made
    made.end()


def test_every_route_has_a_command(server: Served, broker: Broker) -> None:
    for part in (account, people, access_lists, texts, jobs, alerts, views):
        part(server)
    topics(server, broker)
    audit(server)
    ends(server)
    missing = server.routes() - server.answered
    assert missing == set(NO_COMMAND)


def account(server: Served) -> None:
    assert server.run("whoami") == f"chief is admin at {server.url}\n"
    first = server.run("user", "add", "ann", "--role", "developer").split()[-1]
    given = {"HEADRACE_PASSWORD": first, "HEADRACE_NEW_PASSWORD": OWN}
    assert server.run("password", "--user", "ann", **given) == "the password of ann is changed\n"
    wrong = server.refused("password", "--user", "ann", **given)
    assert wrong == "error: the name or the password is wrong\n"
    given = {"HEADRACE_PASSWORD": OWN, "HEADRACE_NEW_PASSWORD": "short"}
    assert server.refused("password", "--user", "ann", **given).startswith("error: ")
    own = {"HEADRACE_PASSWORD": OWN}
    token = server.run("token", "create", "ci", "--user", "ann", **own).strip()
    assert server.run("whoami", HEADRACE_TOKEN=token) == f"ann is developer at {server.url}\n"
    [line] = server.run("token", "list", "--user", "ann", "--output", "json", **own).splitlines()
    server.run("token", "revoke", json.loads(line)["id"], "--user", "ann", **own)
    assert server.refused("whoami", HEADRACE_TOKEN=token).startswith("error: nobody is logged in")


def people(server: Served) -> None:
    shown = server.run("user", "show", "ann")
    assert re.search(r"^name +ann\nrole +developer\n", shown)
    assert json.loads(server.run("user", "show", "ann", "--output", "json"))["groups"] == []
    assert re.search(r"ann +\| developer", server.run("user", "list"))
    assert server.run("user", "change", "ann", "--role", "operator") == "user ann is operator\n"
    server.run("user", "add", "bob")
    server.run("user", "password", "bob")
    assert server.run("user", "logout", "bob") == "user bob is logged out\n"
    assert server.run("group", "add", "ops") == "group ops is added\n"
    listed = server.run("group", "members", "ops", "--add", "ann", "--add", "bob", "--output", "csv")
    assert listed == "member\nann\nbob\n"
    assert server.run("group", "members", "ops", "--remove", "bob", "--output", "csv") == "member\nann\n"
    assert re.search(r"ops +\| ann +\|", server.run("group", "list"))
    server.run("user", "delete", "bob")
    assert server.refused("group", "members", "ops", "--add", "bob").startswith('error: there is no user "bob"')


def access_lists(server: Served) -> None:
    made = server.run("access", "allow", "view", "sales-*", "--group", "ops", "--role", "viewer")
    assert re.fullmatch(r"line \d+ is added\n", made)
    denied = server.run("access", "deny", "job", "shop", "--user", "ann", "--action", "stop", "--action", "delete")
    number = denied.split()[1]
    assert re.search(
        rf"{number} \| deny +\| job +\| shop +\| user +\| ann +\| NULL +\| delete, stop", server.run("access", "list")
    )
    [line] = server.run("access", "list", "--kind", "view", "--output", "json").splitlines()
    assert json.loads(line)["grantee"] == "ops"
    changed = server.run("access", "change", "job", "shop", "--restrict", "--owner", "ann")
    assert changed.startswith("owner       ann\nrestricted  yes\n")
    assert f" {number} | deny" in changed
    found = json.loads(server.run("access", "change", "job", "shop", "--open", "--owner", "", "--output", "json"))
    assert (found["owner"], found["restricted"]) == (None, False)
    assert server.run("access", "delete", number) == f"line {number} is deleted\n"
    assert server.run("access", "show", "job", "shop").endswith("(0 rows)\n")


def texts(server: Served) -> None:
    assert server.run("application", "save", "shop.sql") == "application shop has version 1\n"
    saved = server.run("application", "save", "new.sql", "--name", "shop", "--expected", "1")
    assert saved == "application shop has version 2\n"
    server.refused("application", "save", "shop.sql", "--expected", "1")
    assert re.search(r"shop +\| +2 \| .*chief", server.run("application", "list"))
    assert server.run("application", "versions", "shop", "--output", "csv").splitlines()[1].startswith("2,")
    assert server.run("application", "show", "shop") == APPLICATION.replace("sum(v)", "max(v)")
    assert server.run("application", "show", "shop", "--version", "1") == APPLICATION
    (server.folder / "board").mkdir()
    (server.folder / "board" / "dashboard.yaml").write_text(DASHBOARD)
    assert server.run("dashboard", "save", "board/dashboard.yaml", "--name", "shop") == "dashboard shop is saved\n"
    assert server.run("dashboard", "show", "shop") == DASHBOARD
    assert re.search(r"shop +\| .*chief", server.run("dashboard", "list"))
    assert server.run("application", "delete", "shop") == "application shop is deleted\n"
    assert server.run("application", "list").endswith("(0 rows)\n")


def jobs(server: Served) -> None:
    assert "is running" in server.run("job", "submit", "shop.sql", "--wait")
    assert re.search(r"shop +\| running", server.run("job", "list", "--owner", "chief"))
    assert server.run("job", "list", "--owner", "ann").endswith("(0 rows)\n")
    server.run("job", "show", "shop")
    assert re.search(r" running +\| running", server.run("job", "events", "shop"))
    assert "rebuilt" in server.run("job", "upgrade", "shop", "new.sql", "--dry-run")
    assert re.search(r"\n +1 \| .*chief", server.run("job", "versions", "shop"))
    assert server.run("job", "versions", "shop", "--text", "1") == APPLICATION
    table = server.run("job", "topology", "shop")
    assert re.search(r"n2 +\| n1 +\| ", table)
    assert server.run("job", "topology", "shop", "--output", "mermaid").startswith("flowchart LR\n  n1[(")
    assert "materialized view totals" in server.run("job", "topology", "shop", "--output", "svg")
    assert json.loads(server.run("job", "topology", "shop", "--output", "json"))["edges"][0] == {
        "from": "n1",
        "to": "n2",
    }
    server.run("job", "logs", "shop")
    server.run("job", "rows", "shop")
    server.run("job", "rejected", "shop")
    server.run("job", "savepoints", "shop", "--make")
    until(lambda: "ready" in server.run("job", "savepoints", "shop"))
    [line] = server.run("job", "savepoints", "shop", "--output", "json").splitlines()
    assert server.run("job", "savepoints", "shop", "--delete", json.loads(line)["id"]).endswith("(0 rows)\n")


def alerts(server: Served) -> None:
    server.run("alert", "set", "far behind", "--kind", "lag", "--messages", "1000", "--lasting", "1 minute")
    server.run("alert", "remove", "far behind")
    server.run("alert", "rules")
    (server.folder / "wrong.sql").write_text(APPLICATION)
    server.run("job", "submit", "wrong.sql", "--var", "BEHAVE=user-error")
    until(lambda: "failed" in server.run("job", "list", "--state", "failed"))
    assert "it broke in attempt 1" in server.run("job", "events", "wrong", "--output", "json")
    server.look_for_alerts()
    [line] = server.run("alert", "list", "--output", "json").splitlines()
    found = json.loads(line)
    assert (found["rule"], found["acknowledged_by"]) == ("crash loop", None)
    [behind] = server.run("alert", "evidence", found["id"], "--output", "json").splitlines()
    assert json.loads(behind)["error"] == "it broke in attempt 1"
    assert server.run("alert", "acknowledge", found["id"]) == "chief has taken note of crash loop of wrong\n"
    assert re.search(rf"{found['id']} \| wrong .*\| chief", server.run("job", "alerts", "wrong"))
    assert server.run("job", "alerts", "shop").endswith("(0 rows)\n")
    server.run("job", "delete", "wrong")


def views(server: Served) -> None:
    there = ("--server", server.url)
    until(lambda: server.run("job", "list", "--name", "wrong").endswith("(0 rows)\n"))
    with server.totals() as totals:
        totals.take([("a", "1.50"), ("b", "2.00")])
        last = totals.take([("a", "12345678901234567.25")], [("a", "1.50")])
    assert re.search(r"totals +\| shop +\| sqlite +\| k ", server.run("view", "list", *there))
    assert re.search(r"columns +k string, total decimal\(20,2\)", server.run("view", "show", "totals"))
    assert server.run("view", "get", "totals", "a", *there, "--output", "csv") == "k,total\na,12345678901234567.25\n"
    page = server.run(
        "view", "rows", "shop.totals", "--order-by", "k", "--descending", "--limit", "1", "--output", "json"
    )
    assert page == '{"k": "b", "total": 2.00}\n'
    assert server.run("view", "rows", "totals", "--search", "nothing").endswith("(0 rows)\n")
    answer = server.run("view", "query", "SELECT k AS name FROM shop.totals ORDER BY k", *there, "--output", "csv")
    assert answer == "name\na\nb\n"
    changes = server.run("view", "follow", "totals", *there, "--from", "0", "--for", "0.1", "--output", "json")
    assert [json.loads(each)["_change"] for each in changes.splitlines()] == ["delete", "insert"]
    assert {json.loads(each)["_batch"] for each in changes.splitlines()} == {last}
    assert server.run("view", "follow", "totals", *there, "--for", "0.1") == ""

    (server.folder / "reader.sql").write_text("SELECT k FROM shop.totals;")
    assert server.run("check", "reader.sql", *there) == "ok\n"
    assert "totals" in server.run("explain", "reader.sql", *there)
    assert server.run("explain", "reader.sql", *there, "--output", "mermaid").startswith("flowchart LR\n")
    assert json.loads(server.run("explain", "reader.sql", *there, "--output", "json"))["edges"]
    (server.folder / "reader.sql").write_text("SELECT nme FROM shop.totals;")
    assert "(reader.sql:1:8)\n" in server.refused("check", "reader.sql", *there)


def topics(server: Served, broker: Broker) -> None:
    address = broker.running_address()
    assert address is not None
    create(address, "commands-orders", 1, {})
    producer = Producer({"bootstrap.servers": address})
    producer.produce("commands-orders", '{"id": 1, "price": 2.5}', key="one")
    producer.produce("commands-orders", b"not json")
    assert producer.flush(PATIENCE) == 0
    (server.folder / "orders.sql").write_text(
        f"""CREATE STREAM orders (id INT) WITH (
          connector = 'kafka', topic = 'commands-orders', format = 'json', bootstrap_servers = '{address}');
        CREATE MATERIALIZED VIEW big AS SELECT id FROM orders WHERE id > 3;"""
    )
    server.run("job", "submit", "orders.sql", "--wait")
    assert server.run("job", "rebuild", "orders").startswith("the rebuild of orders is building: ")
    assert server.run("job", "rebuild", "orders", "--cancel") == "the rebuild of orders is given up\n"
    listed = server.run("catalog", "list")
    assert re.search(r"orders +\| stream +\| orders +\| kafka +\| id INT ", listed)
    assert re.search(r"totals +\| materialized view +\| shop ", listed)
    shown = server.run("catalog", "show", "orders")
    assert re.search(r"^name +orders\nkind +stream\n", shown)
    assert re.search(r"^topic +commands-orders$", shown, re.MULTILINE)
    assert json.loads(server.run("catalog", "show", "shop.s", "--output", "json"))["connector"] == "memory"
    first, second = map(json.loads, server.run("catalog", "recent", "orders", "--output", "json").splitlines())
    assert (first["position"], first["key"], first["row"]) == ("commands-orders:0:0", "one", {"id": 1, "price": 2.5})
    assert second["row"] == "not json"
    assert '| {"id": 1, "price": 2.5}\n' in server.run("catalog", "recent", "orders")
    assert server.run("catalog", "recent", "orders", "--limit", "1").endswith("(1 row)\n")
    assert "hint: Keep its rows" in server.refused("catalog", "recent", "s")
    places = ("commands-orders:0:0", "commands-orders:0:1", "commands-orders:0:2")
    found = [
        json.loads(line) for line in server.run("job", "records", "orders", *places, "--output", "json").splitlines()
    ]
    assert [each["record"] for each in found] == ['{"id": 1, "price": 2.5}', "not json", None]
    assert [each["place"] for each in found] == list(places)
    assert [each["stream"] for each in found] == ["orders", "orders", None]
    [line] = server.run("catalog", "follow", "orders", "--rows", "1").splitlines()
    assert json.loads(line)["row"] == {"id": 1, "price": 2.5}
    assert "hint: Keep its rows" in server.refused("catalog", "follow", "s")


def audit(server: Served) -> None:
    [line] = server.run("audit", "--action", "group.create", "--output", "json").splitlines()
    assert (json.loads(line)["actor"], json.loads(line)["target_name"]) == ("chief", "ops")
    assert server.run("audit", "--limit", "3").endswith("(3 rows)\n")
    assert server.run("audit", "--until", "2024-01-01T00:00:00Z").endswith("(0 rows)\n")
    refused = server.run("audit", "--kind", "user", "--name", "ann", "--outcome", "refused")
    assert "ann" in refused
    assert server.refused("audit", "--since", "2024-01-01T00:00:00").startswith(
        "error: an instant needs its time zone\n"
    )


def ends(server: Served) -> None:
    """What goes on until it is told to stop, or until what it follows is gone."""
    log = server.jobs.folder_of(server.jobs.show("shop")).log_path
    with log.open("a") as file:
        file.write("a line\n")
    with server.running("job", "logs", "shop", "--follow", "-n", "1") as following:
        assert following.stdout is not None
        assert following.stdout.readline() == "a line\n"
        following.send_signal(signal.SIGINT)
        assert following.wait(PATIENCE) == 130
    server.run("job", "stop", "shop", "--wait")
    with server.running("job", "events", "shop", "--follow") as following:
        assert following.stdout is not None
        assert " submitted: " in following.stdout.readline()
        assert server.run("job", "delete", "shop") == "job shop is deleted\n"
        assert following.wait(PATIENCE) == 0
        assert " stopped: " in following.stdout.read()
    assert server.run("group", "delete", "ops") == "group ops is deleted\n"
    assert "job orders is " in server.run("job", "restart", "orders")


MISTAKES = {
    "application show nothing": 'there is no application "nothing"',
    "application show kept --version 7": 'application "kept" has no version 7',
    "application versions nothing": 'there is no application "nothing"',
    "application delete nothing": 'there is no application "nothing"',
    "application save nothing.sql": 'file "nothing.sql" cannot be read',
    "application show no/thing?": "not found",
    "dashboard show nothing": 'there is no dashboard "nothing"',
    "dashboard save nothing.yaml": 'file "nothing.yaml" cannot be read',
    "catalog show nothing": 'there is no stream, table, view or sink "nothing"',
    "catalog recent nothing": 'there is no stream, table, view or sink "nothing"',
    "access allow job shop --user nobody --role viewer": 'there is no user "nobody"',
    "access allow job shop --user chief": "an entry has either a role or actions",
    "access deny job shop --user chief --action fly": "the request is not as it should be",
    "access change job shop --owner nobody": 'there is no user "nobody"',
    "access delete 4711": "there is no such entry",
    "group add ???": "the request is not as it should be",
    "group members nothing": 'there is no group "nothing"',
    "group members nothing --add chief": 'there is no group "nothing"',
    "group delete nothing": 'there is no group "nothing"',
    "audit --since yesterday": "the request is not as it should be",
    "job records shop orders:7": '"orders:7" is no place',
    "alert evidence 0123456789abcdef": 'there is no alert "0123456789abcdef"',
    "alert acknowledge 0123456789abcdef": 'there is no alert "0123456789abcdef"',
    "job alerts nothing": 'there is no job "nothing"',
    "job events nothing": 'there is no job "nothing"',
    "job events nothing --follow": 'there is no job "nothing"',
    "job versions nothing": 'there is no job "nothing"',
    "job topology nothing": 'there is no job "nothing"',
    "user show nothing": 'there is no user "nothing"',
    "view show nothing": 'there is no view "nothing"',
    "view rows nothing": 'there is no view "nothing"',
    "view list --server http://127.0.0.1:1": "the server at http://127.0.0.1:1 cannot be reached",
    "view get nothing 1 --server URL": 'there is no view "nothing"',
    "view get nothing --server URL": "a server is asked for the rows of a key",
    "view query SELECT --server URL": "expected an expression but found the end of the statement (query:1:7)",
    "view follow nothing --server URL": 'there is no view "nothing"',
    "check nothing.sql --server URL": 'file "nothing.sql" cannot be read',
    "explain nothing.sql --server URL": 'file "nothing.sql" cannot be read',
    "explain wrong.sql --server URL": 'unknown table or stream "nowhere" (wrong.sql:1:17)',
}


@pytest.mark.parametrize("command", MISTAKES)
def test_a_mistake_is_told_in_words(server: Served, command: str) -> None:
    (server.folder / "wrong.sql").write_text("SELECT nme FROM nowhere;")
    if "kept" in command:
        server.run("application", "save", "shop.sql", "--name", "kept")
    told = server.refused(*command.replace("URL", server.url).split())
    assert told.splitlines()[0] == f"error: {MISTAKES[command]}", told


def test_a_server_and_an_application_exclude_each_other(server: Served) -> None:
    for command in (["list"], ["get", "totals", "a"], ["query", "SELECT 1"], ["follow", "totals"]):
        done = server.invoked("view", *command, "--server", server.url, "--application", "shop")
        assert done.exit_code == 2, done.output
        assert "JOB.NAME" in done.stderr
