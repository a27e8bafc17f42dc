"""One person is forgotten: in tables, views, their feeds and files, and in the log once it is compacted."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from headrace import Application
from headrace.events.current import open_view
from headrace.events.forgetting.compaction import TopicSettings
from headrace.events.forgetting.sources import sources_of
from headrace.events.forgetting.wanted import Wanted
from support import topics
from support.waiting import until

HEADRACE = str(Path(sys.executable).parent / "headrace")
APPLICATION = Path(__file__).parents[2] / "apps" / "ledger" / "application.sql"
SECRET = "Persephone"


def headrace(command, application, *arguments):
    return subprocess.run(
        [HEADRACE, command, str(application), *arguments], capture_output=True, text=True, timeout=900, check=False
    )


def forget(ledger, *arguments):
    """Forget, and return the exit code and the report by object."""
    done = headrace(
        "forget",
        APPLICATION,
        *ledger.variables,
        "--state",
        str(ledger.folder / "state"),
        "--output",
        "json",
        "--wait",
        "400",
        *arguments,
    )
    return done.returncode, {(row["what"], row["name"]): row for row in map(json.loads, done.stdout.splitlines())}, done


def run_once_through(ledger):
    """Run the application until its views show all that is there, and stop it."""
    application = ledger.application
    try:
        application.start()
        application.process_available()
    finally:
        application.stop()


def settings(ledger, topic):
    client = AdminClient({"bootstrap.servers": ledger.servers})
    [found] = client.describe_configs([ConfigResource(ResourceType.TOPIC, topic)]).values()
    names = ("segment.ms", "min.cleanable.dirty.ratio", "min.compaction.lag.ms", "cleanup.policy")
    return {name: (entry.value, entry.source) for name, entry in found.result(240).items() if name in names}


def everything(ledger):
    """All that can be seen from outside: messages, rows and feeds."""
    logs = {
        which: [(m.key(), m.value()) for m in topics.read(ledger.servers, ledger.topic(which), committed=False)]
        for which in ("commands", "events", "rejections")
    }
    views = {}
    for name in ("balances", "statement", "totals", "refusals"):
        view = open_view(ledger.application, name)
        views[name] = (list(view.rows()), [batch.delta for batch in view.store.changes(name, None)])
    return logs, views


@pytest.fixture
def filled(ledger, engine):
    ledger.send(
        *ledger.opened("A1", 100, owner=SECRET),
        *ledger.opened("A2", 50, owner="ben"),
        ledger.command("withdraw", "A1", 1000),
        ledger.command("withdraw", "A2", 1000),
    )
    ledger.handle()
    run_once_through(ledger)
    ledger.send(ledger.command("deposit", "A1", 11), ledger.command("transfer", "A1", 20, target="A2"))
    ledger.handle()
    run_once_through(ledger)
    return ledger


@pytest.mark.spark
def test_forgetting_an_account(filled):
    ledger = filled
    before = everything(ledger)
    assert {row["account"]: float(row["balance"]) for row in before[1]["balances"][0]} == {"A1": 91, "A2": 70}
    configs = {which: settings(ledger, ledger.topic(which)) for which in ("events", "rejections")}

    code, dry, _ = forget(ledger, "--key", "account=A1", "--dry-run")
    assert code == 0
    assert dry["table", "events"]["remains"] == 4
    assert everything(ledger) == before

    code, report, done = forget(ledger, "--key", "account=A1")
    assert code == 0, done.stdout + done.stderr
    assert report["table", "events"]["removed"] == 4
    assert report["table", "rejections"]["removed"] == 1
    assert report["view", "balances"]["removed"] == 1
    assert report["view", "statement"]["removed"] == 4
    assert report["changes of view", "balances"]["removed"] >= 4
    assert report["log", ledger.topic("events")]["removed"] == 4
    assert report["log", ledger.topic("rejections")]["removed"] == 1
    assert all(row["remains"] == 0 for name, row in report.items() if name[0] != "stream")
    stream = report["stream", "commands"]
    assert stream["remains"] == 5
    assert "not touched" in stream["note"]
    assert "100 batches" in report["state", "ledger"]["note"]

    logs, views = everything(ledger)
    assert [key for key, value in logs["events"] if value is not None and (b"A1" in key or b"A1" in value)] == []
    assert [value for _, value in logs["events"] if value is not None and SECRET.encode() in value] == []
    assert len([value for _, value in logs["events"] if value is not None]) == 3
    assert logs["commands"] == before[0]["commands"]
    assert "A1" not in repr(views)
    assert SECRET not in repr(views)
    assert [row["balance"] for row in views["balances"][0]] == [70]
    assert [(row["accounts"], row["total"]) for row in views["totals"][0]] == [(1, 70)]
    until(lambda: {which: settings(ledger, ledger.topic(which)) for which in configs} == configs)
    files = [path for path in (ledger.folder / "state").rglob("*.sqlite*") if path.is_file()]
    assert len(files) >= 2
    assert [path for path in files if SECRET.encode() in path.read_bytes()] == []

    code, again, _ = forget(ledger, "--key", "account=A1")
    assert code == 0
    assert not any(row["removed"] for row in again.values())

    ledger.send(*ledger.opened("A1", 5, owner="cleo"))  # a new account may have the old name
    ledger.handle()
    assert sorted(e["number"] for e in ledger.events() if e["account"] == "A1") == [1, 2]
    assert ledger.balances()["A1"] == 5


@pytest.mark.long
@pytest.mark.spark
def test_an_application_that_runs_is_waited_for(ledger):
    ledger.send(*ledger.opened("A1", 100, owner=SECRET), *ledger.opened("A2"))
    ledger.handle()
    state = ["--state", str(ledger.folder / "state")]
    with subprocess.Popen(
        [HEADRACE, "run", str(APPLICATION), *ledger.variables, *state], stdout=subprocess.DEVNULL, text=True
    ) as process:
        try:

            def there() -> bool:
                found = open_view(ledger.application, "balances")
                return found is not None and found.get("A1") is not None

            until(there, 480, process)
            view = open_view(ledger.application, "balances")
            code, report, done = forget(ledger, "--key", "account=A1")
            assert code == 0, done.stdout + done.stderr
            assert "which runs" in done.stderr
            assert (report["view", "balances"]["removed"], report["view", "statement"]["removed"]) == (1, 2)
            assert [row["account"] for row in view.rows()] == ["A2"]
            assert process.poll() is None
        finally:
            process.terminate()
    files = [path for path in (ledger.folder / "state").rglob("*.sqlite*") if path.is_file()]
    assert [path for path in files if SECRET.encode() in path.read_bytes()] == []


def test_a_topic_that_is_not_compacted_is_told(make_ledger):
    ledger = make_ledger(**{"cleanup.policy": "delete", "retention.ms": "3600000"})
    ledger.send(*ledger.opened("A1", 100))
    ledger.handle()
    code, report, _ = forget(ledger, "--key", "account=A1")
    log = report["log", ledger.topic("events")]
    assert (code, log["remains"]) == (0, 2)
    assert log["note"] == "it is not compacted: each stays for 1 hour"
    assert ledger.events() == []


def test_a_handler_that_runs_forgets_too(ledger):
    ledger.send(*ledger.opened("A1", 100))
    with ledger.handling(ledger.handler()):
        ledger.await_balance("A1", 100)
        code, report, done = forget(ledger, "--key", "account=A1")
        assert code == 0, done.stdout + done.stderr
        assert report["table", "events"]["removed"] == 2
        ledger.send(*ledger.opened("A1", 5, owner="cleo"))
        ledger.await_balance("A1", 5)
    assert ledger.rejections() == []


def test_what_nobody_has_is_refused(ledger):
    code, _, done = forget(ledger, "--key", "customer=1")
    assert code == 1
    assert 'no table, stream or view of the application has a column "customer"' in done.stderr
    code, _, done = forget(ledger, "--key", "account")
    assert (code, '"account" is not COLUMN=VALUE' in done.stderr) == (1, True)


def test_rows_of_a_database_are_to_be_deleted_there(tmp_path, ledger):
    topic = topics.new_topic(ledger.servers, "cdc")
    row = {"id": 42, "name": SECRET}
    topics.send(ledger.servers, topic, [{"op": "c", "before": None, "after": row}], key='{"id":42}')
    (tmp_path / "app.sql").write_text(
        f"CREATE TABLE people (id INT, name STRING, PRIMARY KEY (id)) WITH (connector = 'kafka', topic = '{topic}', "
        "format = 'debezium-json'); CREATE MATERIALIZED VIEW v AS SELECT id, name FROM people;"
    )
    done = headrace("forget", tmp_path / "app.sql", "--key", "id=42", "--output", "json")
    [report] = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 1
    assert (report["remains"], report["note"]) == (1, "delete it in the database: its log writes this topic")
    assert len(topics.read(ledger.servers, topic)) == 1


@pytest.mark.spark
def test_files_get_deletes_and_old_lines_are_named(tmp_path, engine):
    from headrace import Application

    people = tmp_path / "people"
    people.mkdir()
    lines = [{"id": 1, "name": SECRET}, {"id": 2, "name": "ben"}, {"id": 3, "name": "x"}]
    (people / "one.json").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "app.sql").write_text(
        "CREATE TABLE people (id INT, name STRING, PRIMARY KEY (id)) WITH (connector = 'files', path = 'people');"
        "CREATE MATERIALIZED VIEW v WITH (key = 'id') AS SELECT id, name FROM people;"
    )
    application = Application.load(tmp_path / "app.sql")
    application.start()
    application.process_available()
    application.stop()
    done = headrace("forget", tmp_path / "app.sql", "--key", "id=1", "--output", "json")
    report = {row["what"]: row for row in map(json.loads, done.stdout.splitlines())}
    assert done.returncode == 1, "the old line is still in the file"
    assert (report["file"]["name"], report["file"]["remains"]) == (str(people / "one.json"), 1)
    assert (report["table"]["removed"], report["view"]["removed"]) == (1, 1)
    assert [row["id"] for row in open_view(Application.load(tmp_path / "app.sql"), "v").rows()] == [2, 3]
    (people / "one.json").write_text("".join(json.dumps(line) + "\n" for line in lines[1:]))
    assert headrace("forget", tmp_path / "app.sql", "--key", "id=1").returncode == 0


def test_settings_of_a_topic_are_restored_after_a_failure(ledger):
    topic = topics.new_topic(ledger.servers, "kept", **{"cleanup.policy": "compact", "segment.ms": "777777"})
    before = settings(ledger, topic)
    found = TopicSettings(ledger.application.plan.tables["events"].options, Path(), topic)
    with pytest.raises(KeyError), found.eager():
        until(lambda: settings(ledger, topic)["segment.ms"][0] == "100")  # the broker tells of a change a little later
        raise KeyError
    until(lambda: settings(ledger, topic) == before)


def test_of_sinks_into_databases_it_is_said_what_they_delete_themselves():
    application = Application().sql("""
        CREATE STREAM s (account INT) WITH (connector = 'memory');
        CREATE TABLE a (account INT, n INT, PRIMARY KEY (account)) WITH (connector = 'memory');
        CREATE SINK kept WITH (connector = 'sqlite', path = 'x.db', table = 'kept') AS SELECT * FROM a;
        CREATE SINK added WITH (connector = 'sqlite', path = 'x.db', table = 'added') AS SELECT * FROM s;
    """)
    notes = {name: note for what, name, note in sources_of(application, [Wanted("account", "1")]).elsewhere}
    assert notes["kept"] == "it deletes rows of keyed tables from sqlite as the application runs: look there for others"
    assert notes["added"] == "what it wrote is kept in sqlite: delete it there"
