import os
import re
import signal
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from headrace.broker.topics import topic_names
from headrace.cli import demo
from headrace.cli.java import check_java
from headrace.cli.quiet import diverted, start_spark, temporary_log
from headrace.cli.signals import Stopping
from headrace.cli.workplace import alone, run_log
from headrace.errors import HeadraceError, JobFailed


def java(folder: Path, *, release: str | None = None, says: str = "") -> dict[str, str]:
    (folder / "bin").mkdir(parents=True)
    program = folder / "bin" / "java"
    program.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
    program.chmod(0o755)
    if release is not None:
        (folder / "release").write_text(f'JAVA_VERSION="{release}"\n')
    return {"JAVA_HOME": str(folder)}


def test_a_recent_java_is_accepted(tmp_path):
    check_java(java(tmp_path / "a", release="21.0.2"))
    check_java(java(tmp_path / "b", says='openjdk version "17.0.15" 2025-04-15'))


@pytest.mark.parametrize(
    ("release", "says", "detail"),
    [
        ("11.0.1", "", "is Java 11."),
        (None, 'java version "1.8.0_402"', "is Java 8."),
        (None, "what?", "what?"),
    ],
)
def test_an_old_java_is_refused(tmp_path, release, says, detail):
    with pytest.raises(HeadraceError) as raised:
        check_java(java(tmp_path / "a", release=release, says=says))
    assert raised.value.message == "Java 17 or newer is needed"
    assert detail in (raised.value.detail or "")
    assert "JAVA_HOME" in (raised.value.hint or "")


def test_no_java_is_told_before_spark_starts(tmp_path):
    with pytest.raises(HeadraceError, match="no java on the PATH"):
        check_java({"PATH": str(tmp_path)})
    with pytest.raises(HeadraceError, match="JAVA_HOME is /nowhere"):
        check_java({"JAVA_HOME": "/nowhere"})


def test_what_a_child_prints_goes_to_the_log(tmp_path, capfd):
    log = tmp_path / "log"
    with diverted(log):
        subprocess.run(["sh", "-c", "echo noise; echo more >&2"], check=True)
    subprocess.run(["echo", "heard"], check=True)
    assert log.read_text() == "noise\nmore\n"
    assert capfd.readouterr() == ("heard\n", "")


def test_a_session_that_does_not_start_refers_to_its_log(monkeypatch):
    def fail():
        os.write(2, b"no room\n")
        raise RuntimeError("gateway exited")

    monkeypatch.setattr("headrace.cli.quiet._divert_python", lambda _: None)
    with pytest.raises(JobFailed) as raised, temporary_log() as log:
        start_spark(fail, log)
    assert "It said: no room" in raised.value.report()
    assert log.read_text() == "no room\n"
    log.unlink()
    log.parent.rmdir()


def test_a_log_that_nobody_needs_is_deleted():
    with temporary_log() as log:
        log.write_text("noise")
    assert not log.parent.exists()


def test_a_second_run_of_an_application_is_refused(tmp_path):
    state = str(tmp_path / "state" / "app")
    refused = pytest.raises(HeadraceError, match=f"Process {os.getpid()} holds its state")
    with alone(state), refused, alone(state):
        pass
    with alone(state):
        pass


def test_a_state_folder_that_cannot_be_made_is_a_users_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(HeadraceError, match="cannot be written"), alone(str(tmp_path / "file" / "app")):
        pass


def test_each_run_begins_its_log_anew(tmp_path):
    for _ in range(2):
        with run_log(str(tmp_path / "app")) as log:
            assert not log.exists()
            log.write_text("noise")
    assert log.read_text() == "noise"


def test_the_second_signal_stops_at_once():
    told = []
    stopping = Stopping(lambda: told.append(1))
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    try:
        with stopping.listening():
            signal.raise_signal(signal.SIGTERM)
            assert stopping.event.is_set()
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before[0])
        signal.signal(signal.SIGTERM, before[1])
    assert told == [1]


@pytest.fixture
def apps(tmp_path):
    app = tmp_path / "apps" / "word_count"
    app.mkdir(parents=True)
    (app / "application.sql").write_text(
        "CREATE STREAM s (x INT) WITH (connector = 'files', path = '${DATA}', format = 'json');"
        "SELECT x FROM s WHERE x <> ${PORT};"
    )
    (app / "README.md").write_text(
        "# Word count\n\nCounts words. Over a socket.\n\n## Try next\n\nMore words.\n\n## Other\n"
    )
    return tmp_path / "apps"


def test_demos_are_listed_with_their_first_sentence(apps, capsys):
    demo.list_demos(apps)
    assert capsys.readouterr().out == "word_count  Counts words.\n"


def test_a_demo_without_a_readme_still_says_what_to_try(apps):
    (apps / "word_count" / "README.md").unlink()
    assert "headrace explain" in demo.try_next(apps / "word_count")
    assert demo.summary(apps / "word_count") == ""


def test_an_unknown_demo_is_a_users_error(apps):
    with pytest.raises(HeadraceError, match="word_count"):
        demo.run_demo("word_cout", 1, apps)


def test_a_demo_runs_with_its_generator(apps, capsys, monkeypatch):
    (apps / "word_count" / "generator.py").write_text(
        "import argparse, pathlib, signal\n"
        "parser = argparse.ArgumentParser()\n"
        "parser.add_argument('--out')\n"
        "out = pathlib.Path(parser.parse_known_args()[0].out)\n"
        "(out / 'a.json').write_text('{}')\n"
        "signal.pause()\n"
    )
    seen = {}

    def run(application, output, **options):
        (path,) = {stream.options.path for stream in application.plan.streams.values()}
        seen.update(files=os.listdir(path), output=output, state=application.state, **options)

    monkeypatch.setattr(demo, "run_foreground", run)
    demo.run_demo("word-count", 2, apps)
    assert seen["files"] == ["a.json"]
    assert seen["seconds"] == 2
    assert not Path(seen["state"]).exists()
    assert capsys.readouterr().out == "\nTry next\n\nMore words.\n"


def test_a_generator_that_fails_is_reported(apps):
    (apps / "word_count" / "generator.py").write_text("raise SystemExit('no luck')")
    with pytest.raises(JobFailed, match="no luck"):
        demo.run_demo("word_count", 1, apps)


def test_the_command_lists_the_demos_of_the_checkout(headrace, apps, monkeypatch):
    monkeypatch.setattr(demo, "apps_folder", lambda: apps)
    assert headrace("demo").stdout == "word_count  Counts words.\n"


GENERATOR = """
import argparse, signal
from confluent_kafka.admin import AdminClient, NewTopic
parser = argparse.ArgumentParser()
parser.add_argument("--bootstrap")
parser.add_argument("--suffix")
given = parser.parse_known_args()[0]
client = AdminClient({"bootstrap.servers": given.bootstrap})
topics = [NewTopic(name + given.suffix, 1, 1) for name in ("bids", "odd-names")]
for made in client.create_topics(topics).values():
    made.result(240)
signal.pause()
"""


@pytest.fixture
def kafka_apps(tmp_path, broker, monkeypatch):
    """Give the folder of an application over Kafka whose embedded broker is that of the tests."""
    app = tmp_path / "apps" / "bidding"
    app.mkdir(parents=True)
    (app / "application.sql").write_text(
        "CREATE STREAM bids (x INT) WITH (connector = 'kafka', topic = '${BIDS:-bids}');"
        "CREATE TABLE odd (x INT, PRIMARY KEY (x)) WITH (connector = 'kafka', topic = '${ODD_NAMES:-odd-names}');"
        "CREATE SINK hot WITH (connector = 'kafka', topic = '${HOT:-hot}') AS SELECT x FROM bids;"
    )
    (app / "generator.py").write_text(GENERATOR)
    monkeypatch.setattr("headrace.broker.server.embedded_broker", lambda: broker)
    monkeypatch.setenv("HEADRACE_BOOTSTRAP_SERVERS", "elsewhere:9092")
    monkeypatch.setenv("BIDS", "the-users-own")
    broker.start()
    return tmp_path / "apps"


def test_a_demo_over_kafka_has_topics_of_its_own(kafka_apps, broker, capsys, monkeypatch):
    seen = {}

    def run(application, output, **options):
        plan = application.plan
        seen["read"] = {*plan.streams["bids"].options.topic, *plan.tables["odd"].options.topic}
        seen["written"] = plan.sinks["hot"].options.topic
        seen["there"] = set(topic_names(broker.start()))
        seen["servers"] = os.environ["HEADRACE_BOOTSTRAP_SERVERS"]

    monkeypatch.setattr(demo, "run_foreground", run)
    demo.run_demo("bidding", 1, kafka_apps)
    assert {re.sub("-demo-[0-9a-f]{6}$", "", name) for name in seen["read"]} == {"bids", "odd-names"}
    assert seen["read"] <= seen["there"]
    assert seen["written"].startswith("hot-demo-")
    assert seen["servers"] == broker.running_address()
    assert not seen["read"] & set(topic_names(broker.start()))
    assert os.environ["HEADRACE_BOOTSTRAP_SERVERS"] == "elsewhere:9092"
    assert capsys.readouterr().err == ""  # it ran before, so it was not started, and it runs still


def test_a_demo_over_kafka_leaves_nothing_behind_when_it_is_stopped(kafka_apps, broker, monkeypatch):
    ended = []

    def interrupt(*_, abandon, **__):
        abandon()
        assert ended == ["spark"]
        assert not [name for name in topic_names(broker.start()) if "-demo-" in name]
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "run_foreground", interrupt)
    monkeypatch.setattr(demo, "end_spark", lambda: ended.append("spark"))
    with pytest.raises(KeyboardInterrupt):
        demo.run_demo("bidding", 1, kafka_apps)


def test_a_demo_stops_the_broker_that_it_started(kafka_apps, capsys, monkeypatch):
    done = []
    unstarted = SimpleNamespace(pid=None, start=lambda: "127.0.0.1:1", stop=lambda: done.append("stopped"))
    monkeypatch.setattr("headrace.broker.server.embedded_broker", lambda: unstarted)
    monkeypatch.setattr("headrace.broker.topics.topic_names", lambda _: ())
    (kafka_apps / "bidding" / "generator.py").write_text("raise SystemExit('no luck')")
    with pytest.raises(JobFailed, match="no luck"):
        demo.run_demo("bidding", 1, kafka_apps)
    assert done == ["stopped"]
    assert capsys.readouterr().err == "starting Kafka ...\n"
