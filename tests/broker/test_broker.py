"""A real Kafka: it starts and stops, is found again, survives a kill, and is reached from this machine only."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from typer.testing import CliRunner, Result

from headrace.broker import state
from headrace.broker.logs import last_lines, new_lines, said_since
from headrace.broker.ports import is_free
from headrace.broker.server import Broker, embedded_broker
from headrace.broker.settings import mark
from headrace.broker.topics import create, delete, topics
from headrace.cli.main import app
from headrace.errors import HeadraceError
from headrace.jars.home import headrace_home
from support.listening import addresses

LONG = 240.0  # seconds that a loaded machine may need for what takes one


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker that tests may stop and kill."""
    broker = Broker(tmp_path_factory.mktemp("a folder, with a näme"))
    yield broker
    broker.kill()


def client(address: str, **options: object) -> dict[str, object]:
    return {"bootstrap.servers": address, "log_level": 0, **{k.replace("_", "."): v for k, v in options.items()}}


def read(address: str, topic: str, count: int) -> list[bytes]:
    """Return the first messages of a topic that are committed."""
    consumer = Consumer(client(address, group_id="reader", isolation_level="read_committed"))
    consumer.assign([TopicPartition(topic, 0, 0)])
    values: list[bytes] = []
    until = time.monotonic() + LONG
    while len(values) < count and time.monotonic() < until:
        message = consumer.poll(1)
        if message is not None and message.error() is None:
            values.append(message.value() or b"")
    consumer.close()
    return values


def processes(broker: Broker) -> list[int]:
    """Return all processes that bear the mark of a broker."""
    if not Path("/proc/self/cmdline").exists():
        pytest.skip("needs /proc")
    found = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if os.fsencode(mark(broker.folder)) in each.read_bytes().split(b"\0"):
                found.append(int(each.parent.name))
        except OSError:
            continue
    return found


def test_a_broker_is_started_once(own: Broker) -> None:
    own.stop()
    assert own.running_address() is None
    began = time.monotonic()
    address = own.start()
    print(f"first start: {time.monotonic() - began:.1f} s")  # noqa: T201
    pid = own.pid
    assert own.running_address() == address
    assert own.start() == address
    assert own.start(int(address.rpartition(":")[2])) == address
    assert own.pid == pid
    with pytest.raises(HeadraceError, match="runs already"):
        own.start(1)


def test_one_that_was_left_while_it_started_is_taken_up(own: Broker) -> None:
    address, pid = own.start(), own.pid
    noted = state.read(own.folder)
    assert noted is not None
    state.write(own.folder, replace(noted, ready=0))
    assert own.running_address() is None
    assert own.start() == address
    assert own.pid == pid


def test_a_kill_loses_nothing_that_was_acknowledged(own: Broker) -> None:
    address = own.start()
    sent = [f"{number}".encode() for number in range(5000)]
    acknowledged: list[bytes] = []
    producer = Producer(client(address, acks="all", linger_ms=5, enable_idempotence=True))  # in order, even if repeated
    for value in sent:
        producer.produce("kept", value, on_delivery=lambda e, m: None if e else acknowledged.append(m.value() or b""))
        producer.poll(0)
    assert producer.flush(LONG) == 0
    assert acknowledged == sent
    transactional = Producer(client(address, transactional_id="t"))
    transactional.init_transactions(LONG)
    transactional.begin_transaction()
    transactional.produce("whole", b"committed")
    transactional.commit_transaction(LONG)
    transactional.begin_transaction()
    transactional.produce("whole", b"left open")
    transactional.flush(LONG)
    group = Consumer(client(address, group_id="g", enable_auto_commit=False))
    group.commit(offsets=[TopicPartition("kept", 0, 1234)], asynchronous=False)
    group.close()

    assert own.kill()
    assert own.running_address() is None
    assert own.pid is None
    began = time.monotonic()
    assert own.start() == address, "clients find it again"
    print(f"start after a kill: {time.monotonic() - began:.1f} s")  # noqa: T201

    assert read(address, "kept", len(sent)) == sent
    assert read(address, "whole", 1) == [b"committed"]
    group = Consumer(client(address, group_id="g"))
    assert group.committed([TopicPartition("kept", 0)], timeout=LONG)[0].offset == 1234
    group.close()
    again = Producer(client(address, transactional_id="t"))
    again.init_transactions(LONG)  # ends what the first left open
    again.begin_transaction()
    again.produce("whole", b"after")
    again.commit_transaction(LONG)
    assert read(address, "whole", 2) == [b"committed", b"after"]


def test_a_stop_is_clean_and_the_data_is_kept(own: Broker) -> None:
    address = own.start()
    create(address, "lasting")
    assert own.stop()
    assert (own.data_path / ".kafka_cleanshutdown").exists()
    assert own.running_address() is None
    assert not own.stop()
    assert not own.kill()
    began = time.monotonic()
    assert own.start() == address
    print(f"start after a stop: {time.monotonic() - began:.1f} s")  # noqa: T201
    assert "lasting" in {each.name for each in topics(address)}


def test_another_port_is_taken_if_somebody_has_ours(own: Broker) -> None:
    address = own.start()
    port = int(address.rpartition(":")[2])
    create(address, "found-again")
    own.stop()
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", port))
        other.listen()
        assert not is_free(port)
        with pytest.raises(HeadraceError, match=f"port {port} is taken"):
            own.start(port)
        address = own.start()
    assert address != f"127.0.0.1:{port}"
    assert "found-again" in {each.name for each in topics(address)}


def test_a_number_of_another_process_is_not_trusted(own: Broker) -> None:
    own.stop()
    with subprocess.Popen(["sleep", "600"]) as stranger:
        (own.folder / "pid").write_text(f"{stranger.pid}\n")
        assert own.running_address() is None
        assert not own.stop()
        assert not own.kill()
        address = own.start()
        assert own.running_address() == address
        assert stranger.poll() is None
        stranger.kill()
    assert own.stop()
    for stale in ("", "nonsense", "-1", "0", "99999999"):
        (own.folder / "pid").write_text(stale)
        assert own.pid is None


def test_a_start_that_fails_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broker = Broker(tmp_path)
    broker.data_path.mkdir()
    (broker.data_path / "meta.properties").write_text("version=1\nnode.id=7\ncluster.id=other\n")
    with pytest.raises(HeadraceError, match="ended while it started") as raised:
        broker.start()
    assert "node" in (raised.value.detail or "")
    assert "\tat " not in (raised.value.detail or "")
    assert broker.running_address() is None
    monkeypatch.setenv("HEADRACE_BROKER_MEMORY", "plenty")
    with pytest.raises(HeadraceError, match="no amount of memory"):
        broker.start()


def test_two_may_start_it_at_once(tmp_path: Path) -> None:
    broker = Broker(tmp_path / "new")
    program = "import sys, pathlib, headrace.broker.server as s; print(s.Broker(pathlib.Path(sys.argv[1])).start())"
    command = [sys.executable, "-c", program, str(broker.folder)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(2)]
    try:
        answers = {each.communicate(timeout=3 * LONG)[0].decode().strip() for each in running}
        assert [each.returncode for each in running] == [0, 0]
        assert answers == {broker.running_address()}
        assert processes(broker) == [broker.pid]
    finally:
        broker.kill()
    assert processes(broker) == []


def test_it_listens_to_this_machine_only(broker: Broker) -> None:
    assert broker.pid is not None
    if not Path(f"/proc/{broker.pid}/net/tcp").exists():
        pytest.skip("needs /proc")
    assert addresses(broker.pid) == {"127.0.0.1"}, "for clients and for the controller"


def test_topics_are_made_counted_and_deleted(broker: Broker) -> None:
    address = broker.start()
    create(address, "counted", 3, {"cleanup.policy": "compact"})
    producer = Producer(client(address))
    for number in range(10):
        producer.produce("counted", b"x", key=str(number))
    assert producer.flush(LONG) == 0
    found = {each.name: each for each in topics(address)}
    assert (found["counted"].partitions, found["counted"].messages) == (3, 10)
    with pytest.raises(HeadraceError, match="already exists"):
        create(address, "counted")
    with pytest.raises(HeadraceError, match="refused"):
        create(address, "wrong", options={"no.such": "option"})
    delete(address, "counted")
    assert "counted" not in {each.name for each in topics(address)}
    with pytest.raises(HeadraceError, match="no topic"):
        delete(address, "counted")


def test_old_messages_are_kept(broker: Broker) -> None:
    lines = (broker.folder / "server.properties").read_text().splitlines()
    assert "log.retention.ms=-1" in lines


def test_a_topic_is_made_by_writing_to_it(broker: Broker) -> None:
    address = broker.start()
    producer = Producer(client(address))
    producer.produce("by-writing", b"hello")
    assert producer.flush(LONG) == 0
    assert read(address, "by-writing", 1) == [b"hello"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home of its own with the jars of the real one, so that no test touches the user's broker."""
    real = headrace_home() / "jars"
    home = tmp_path_factory.mktemp("home")
    (home / "jars").symlink_to(real)
    yield home
    Broker(home / "broker").kill()


@pytest.fixture
def headrace(home: Path) -> Callable[..., Result]:
    def invoke(*arguments: str) -> Result:
        return CliRunner().invoke(app, ["broker", *arguments], env={"HEADRACE_HOME": str(home)})

    return invoke


def test_commands_say_that_it_does_not_run(headrace: Callable[..., Result], home: Path) -> None:
    assert headrace("stop").stdout == "the broker was not running\n"
    answer = headrace("status", "--output", "json")
    assert answer.exit_code == 1
    assert json.loads(answer.stdout)["running"] is False
    assert not (home / "broker").exists(), "asking leaves nothing behind"
    answer = headrace("topics")
    assert (answer.exit_code, answer.stdout) == (1, "")
    assert "hint: Start it with: headrace broker start." in answer.stderr


def test_the_commands_of_a_broker(headrace: Callable[..., Result], home: Path) -> None:
    answer = headrace("start")
    assert answer.exit_code == 0, answer.stderr
    address = Broker(home / "broker").running_address()
    assert answer.stdout.startswith(f"Kafka 4.1.0 is ready at {address}\n")

    found = headrace("status")
    assert found.exit_code == 0
    assert f"address  {address}\n" in found.stdout
    facts = json.loads(headrace("status", "--output", "json").stdout)
    assert facts["pid"] == Broker(home / "broker").pid
    assert facts["data"] == str(home / "broker" / "data")
    assert facts["size"] > 0
    assert facts["topics"] == 0

    assert headrace("topics", "create", "a", "--partitions", "2", "--config", "retention.ms=1000").exit_code == 0
    assert json.loads(headrace("topics", "--output", "json").stdout) == {"topic": "a", "partitions": 2, "messages": 0}
    assert " a     |          2 |        0\n" in headrace("topics").stdout
    assert headrace("topics", "create", "b", "--config", "nonsense").exit_code == 2
    assert headrace("topics", "delete", "a").stdout == "topic a is deleted\n"
    assert headrace("topics", "delete", "a").exit_code == 1

    logs = headrace("logs", "--lines", "1")
    assert logs.exit_code == 0
    assert logs.stdout.count("\n") == 1
    assert headrace("stop").stdout == "the broker is stopped\n"
    assert headrace("status").exit_code == 1


def test_the_embedded_broker_is_in_the_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HEADRACE_HOME", str(tmp_path))
    assert embedded_broker() == Broker(tmp_path / "broker")


def test_the_command_line_does_not_load_kafka_for_other_commands() -> None:
    program = (
        "import sys, headrace.cli.main; sys.exit(any(m.startswith(('confluent', 'pyspark')) for m in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_last_lines_reach_into_the_log_before(tmp_path: Path) -> None:
    log = tmp_path / "broker.log"
    assert last_lines(log, 3) == []
    (tmp_path / "broker.log.1").write_text("a\nb\n")
    log.write_text("c\n")
    assert last_lines(log, 2) == ["b", "c"]
    assert last_lines(log, 1) == ["c"]
    assert last_lines(log, 0) == []


def test_what_was_said_since_a_start_leaves_out_places_in_java(tmp_path: Path) -> None:
    log = tmp_path / "broker.log"
    log.write_text("old\nERROR no room\njava.io.IOException: no room\n\tat a.b.C(C.java:1)\n\n")
    assert said_since(log, 4, 10) == ["ERROR no room", "java.io.IOException: no room"]
    assert said_since(log, 4, 1) == ["java.io.IOException: no room"]


def test_a_log_is_followed_when_it_turns_over(tmp_path: Path) -> None:
    log = tmp_path / "broker.log"
    log.write_text("before\n")

    def turn_over() -> None:
        append(log, "third\n")
        log.rename(tmp_path / "broker.log.1")
        log.write_text("fourth\n")

    steps: list[Callable[[], None]] = [turn_over, lambda: append(log, "st\nsecond\n"), lambda: append(log, "fir")]

    def wait() -> None:
        steps.pop()()

    lines = new_lines(log, wait)
    assert [next(lines) for _ in range(4)] == ["first", "second", "third", "fourth"]


def append(file: Path, text: str) -> None:
    with file.open("a") as stream:
        stream.write(text)


def test_a_stopped_broker_that_hangs_is_not_a_stranger(own: Broker) -> None:
    own.start()
    pid = own.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    assert own.pid == pid
    os.kill(pid, signal.SIGCONT)
    assert own.stop()
