"""The demo with a console, whole: a real broker, a real server, a real job; and nothing of it is left."""

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from headrace.server.services.dashboards import parse
from support.homes import own_home
from support.waiting import until

ALERT = re.compile(r"\d\d:\d\d:\d\d  [A-Z]\d+ +\S.*\((?:card blocked|flagged for review)\)\n")
FOUND = re.compile(r"(\d+) of (\d+) planted cases? w(?:as|ere) found, and nothing else")


class Demo:
    """A demo in a process of its own, in whose home and folder of temporary files nothing else is."""

    def __init__(self, folder: Path, *arguments: str, **variables: str) -> None:
        self.temporary = folder / "temporary"
        self.temporary.mkdir()
        everything = {**own_home(folder), "TMPDIR": str(self.temporary), **variables}
        self.environment = {
            key: value for key, value in everything.items() if not key.startswith(("PYTEST", "NICEGUI"))
        }
        self.home = Path(self.environment["HEADRACE_HOME"])
        self.process = subprocess.Popen(
            [sys.executable, "-m", "headrace.cli.main", "demo", *arguments],
            cwd=folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.printed = ""

    def lines(self) -> Iterator[str]:
        """Yield what is printed until the end."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.printed += line
            yield line

    def value(self, word: str) -> str:
        """Return what stands behind a word at the beginning of a line."""
        found = re.search(rf"^{word} +(\S+)$", self.printed, re.MULTILINE)
        assert found is not None, self.printed
        return found[1]

    def until_alert(self) -> None:
        """Read until the first alert."""
        assert any(ALERT.fullmatch(line) for line in self.lines()), self.said()

    def said(self) -> str:
        """Return all that was printed, and what was complained of."""
        assert self.process.stderr is not None
        return self.printed + self.process.stderr.read()

    def end(self) -> tuple[int, str, str]:
        """Wait for the end; return the code, all that was printed, and what was complained of."""
        printed, complaints = self.process.communicate(timeout=900)
        self.printed += printed
        return self.process.returncode, self.printed, complaints

    def remains(self) -> list[psutil.Process]:
        """Return the processes that know the demo's home."""
        found = []
        for process in psutil.process_iter():
            try:
                if (
                    process.environ().get("HEADRACE_HOME") == str(self.home)
                    and process.status() != psutil.STATUS_ZOMBIE
                ):
                    found.append(process)
            except (psutil.Error, OSError):
                continue
        return found

    def check_nothing_is_left(self) -> None:
        """Check that no process, no temporary file and no note is left."""
        until(lambda: self.remains() == [])  # what was ended may take a moment
        assert [each.name for each in self.temporary.iterdir() if "hsperfdata" not in each.name] == []
        assert not (self.home / "local-server.json").exists()
        assert list(self.home.glob("views/*")) == []


@pytest.fixture
def demos() -> Iterator[list[Demo]]:
    """Give a list for demos; what is left of them after a failure is ended."""
    started: list[Demo] = []
    yield started
    for demo in started:
        for process in demo.remains():
            process.kill()
        demo.process.communicate()


@pytest.mark.spark
@pytest.mark.long
def test_a_demo_that_stays_until_it_is_told_to_stop(tmp_path: Path, demos: list[Demo]) -> None:
    demo = Demo(tmp_path, "fraud_detection", "--stay", "--port", "0")
    demos.append(demo)
    demo.until_alert()
    url, page = demo.value("console").split("/dashboards/")
    assert page == "fraud_detection"
    with httpx.Client(base_url=url, timeout=120) as http:
        login = {"name": demo.value("log in"), "password": demo.value("password")}
        assert http.post("/api/v1/login", json=login).json()["role"] == "admin"
        until(lambda: http.get("/api/v1/jobs/fraud_detection").json()["state"] == "running")
        dashboard = parse(http.get("/api/v1/dashboards/fraud_detection").json()["text"])
        csrf = {"X-CSRF-Token": http.get("/api/v1/me").json()["csrf_token"]}
        for panel in dashboard.panels:
            asked = {"json": {"sql": panel.query}, "headers": csrf}
            until(lambda asked=asked: http.post("/api/v1/views/query", **asked).json().get("rows"))
    demo.process.send_signal(signal.SIGTERM)
    code, printed, complaints = demo.end()
    assert code == 0, complaints
    assert re.search(r"^[\d,]+ transactions, \d+ alerts? in \d+ seconds$", printed, re.MULTILINE)
    assert "Try next" in printed
    demo.check_nothing_is_left()


@pytest.mark.spark
def test_a_demo_ends_by_itself_and_has_found_what_was_planted(tmp_path: Path, demos: list[Demo]) -> None:
    demo = Demo(tmp_path, "fraud_detection", "--seconds", "2", "--port", "0")
    demos.append(demo)
    code, printed, complaints = demo.end()
    assert code == 0, complaints
    assert len(ALERT.findall(printed)) > 0
    found = FOUND.search(printed)
    assert found is not None, printed
    assert found[1] == found[2] != "0"
    assert "Traceback" not in complaints
    demo.check_nothing_is_left()


def test_a_demo_is_interrupted_before_anything_runs(tmp_path: Path, demos: list[Demo]) -> None:
    demo = Demo(tmp_path, "fraud_detection", "--port", "0")
    demos.append(demo)
    assert demo.process.stderr is not None
    assert demo.process.stderr.readline() == "starting Kafka ...\n"
    demo.process.send_signal(signal.SIGINT)
    code, printed, complaints = demo.end()
    assert (code, printed, complaints) == (130, "", "")
    demo.check_nothing_is_left()


def test_a_port_that_is_taken_is_told_at_once(tmp_path: Path, demos: list[Demo]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        demo = Demo(tmp_path, "fraud_detection", "--port", str(port))
        demos.append(demo)
        code, printed, complaints = demo.end()
    assert (code, printed) == (1, "")
    assert complaints.startswith(f"error: 127.0.0.1:{port} cannot be listened on\n")
    demo.check_nothing_is_left()


def test_without_the_jars_of_kafka_nothing_is_started(tmp_path: Path, demos: list[Demo]) -> None:
    (tmp_path / "empty").mkdir()
    demo = Demo(tmp_path, "fraud_detection", "--port", "0", HEADRACE_JARS=str(tmp_path / "empty"))
    demos.append(demo)
    code, printed, complaints = demo.end()
    assert (code, printed) == (1, "")
    assert complaints.startswith("error: there are no jars where HEADRACE_JARS says\n")
    demo.check_nothing_is_left()
