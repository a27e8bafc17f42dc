"""The files that server and driver share."""

import os
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from headrace.jobs import processes
from headrace.jobs.figures import History
from headrace.jobs.folder import Driver, Heartbeat, JobFolder, Launch, Outcome
from headrace.jobs.reports import Cause, Report

NOW = datetime(2024, 1, 1, tzinfo=UTC)


@pytest.fixture
def folder(tmp_path):
    return JobFolder(tmp_path / "job").make()


def test_everything_comes_back_as_it_was_written(folder):
    launch = Launch(3, "orders", "a.sql", "/apps", "/state", {"PASSWORD": "hush"}, "local[2]", 2, 2048, True)
    launch = replace(launch, version=4, imports=({"job": "fraud", "relation": "alerts"},))
    heartbeat = Heartbeat(3, 7, NOW, "running", ({"name": "totals", "batch": 1},))
    outcome = Outcome(3, "failed", NOW, Cause.USER, Report("no", "Because.", "Do.", {"file": "a", "line": 1}))
    folder.write_launch(launch)
    folder.write_driver(Driver(3, 99, 12.0))
    folder.write_heartbeat(heartbeat)
    folder.write_outcome(outcome)
    assert folder.launch() == launch
    assert folder.driver() == Driver(3, 99, 12.0)
    assert folder.heartbeat() == heartbeat
    assert folder.outcome() == outcome
    history = History()
    history.add([{"name": "totals", "lag": 1.0}], NOW)
    folder.write_history(history)
    assert folder.history().points == history.points


def test_only_its_owner_can_read_it(folder):
    folder.write_launch(Launch(1, "orders", "a.sql", "/apps", "/state"))
    assert oct(folder.path.stat().st_mode)[-3:] == "700"
    assert oct((folder.path / "launch.json").stat().st_mode)[-3:] == "600"


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"attempt": 1}', '{"attempt": 1, "at": "yesterday"}'])
def test_what_is_no_such_file_reads_as_none(folder, text):
    for name in ("launch", "driver", "heartbeat", "outcome"):
        (folder.path / f"{name}.json").write_text(text)
    assert (folder.launch(), folder.driver(), folder.heartbeat(), folder.outcome()) == (None,) * 4
    assert JobFolder(folder.path / "missing").launch() is None


def test_fields_of_a_newer_version_are_left_out(folder):
    (folder.path / "driver.json").write_text('{"attempt": 1, "pid": 2, "started_at": 3.0, "mood": "fine"}')
    assert folder.driver() == Driver(1, 2, 3.0)


def test_a_launch_clears_what_earlier_attempts_left(folder):
    folder.write_outcome(Outcome(1, "stopped", NOW))
    folder.write_heartbeat(Heartbeat(1, 1, NOW, "running"))
    folder.ask("stop", 1)
    folder.write_launch(Launch(2, "orders", "a.sql", "/apps", "/state"))
    assert folder.outcome() is None
    assert folder.heartbeat() is None
    assert not folder.is_asked("stop", 1)


def test_a_request_is_for_one_attempt(folder):
    folder.ask("stop", 2)
    folder.ask("stop", 2)
    assert folder.is_asked("stop", 2)
    assert not folder.is_asked("stop", 3)


def started(**more):
    """Start a process that says so and stays until its input ends."""
    command = [sys.executable, "-c", "import sys; print('here', flush=True); sys.stdin.read()"]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **more)


def test_the_lock_is_held_by_one_and_let_go_by_death(folder):
    assert not JobFolder(folder.path / "missing").is_locked()
    assert not folder.is_locked()
    held = folder.take_lock()
    assert held is not None
    assert folder.is_locked()
    assert folder.take_lock() is None
    with started(pass_fds=(held,)) as child:
        os.close(held)
        assert child.stdout.readline() == b"here\n"
        assert folder.is_locked(), "it has passed on to the child"
        child.kill()
        child.wait()
    assert not folder.is_locked()


def test_a_process_is_known_by_its_number_and_its_start(folder):
    environment = {**os.environ, processes.MARK: str(folder.path)}
    with started(env=environment) as child:
        assert child.stdout.readline() == b"here\n"
        driver = processes.identity(child.pid, 1)
        assert processes.is_alive(driver)
        stranger = Driver(1, child.pid, driver.started_at + 1)
        assert not processes.is_alive(stranger)
        processes.kill(stranger)
        assert child.poll() is None
        assert [each.pid for each in processes.remains(folder.path)] == [child.pid]
        assert processes.end_remains(folder.path) == 1
        assert child.wait() == -9
    assert not processes.is_alive(driver)
    assert processes.identity(child.pid, 1) is None
    assert processes.end_remains(folder.path) == 0
