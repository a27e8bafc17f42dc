"""A server that is killed while it starts jobs, again and again: none is lost, none runs twice."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

import support.job_server as server_script
from headrace.jobs.clock import system_clock
from headrace.jobs.states import State
from support.job_yard import Yard
from support.waiting import until

NAMES = [f"job-{number}" for number in range(6)]


@contextmanager
def server(folder: Path):
    with subprocess.Popen([sys.executable, server_script.__file__, str(folder)]) as process:
        try:
            yield process
        finally:
            process.kill()


def started(yard: Yard) -> int:
    return sum(word == "start" for name in NAMES for word, _, _ in yard.lives(name))


def check(yard: Yard) -> None:
    """See that no job has two drivers, nor an attempt two processes."""
    for name in NAMES:
        starts = [(attempt, pid) for word, attempt, pid in yard.lives(name) if word == "start"]
        assert len({attempt for attempt, _ in starts}) == len(starts), (name, starts)
        alive = [pid for _, pid in starts if _lives(pid)]
        assert len(alive) <= 1, (name, alive)


def _lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _runs(yard: Yard, name: str) -> bool:
    return yard.jobs.show(name).state is State.RUNNING and _lives(yard.pid(name))


@pytest.mark.parametrize("kills", [5])
def test_five_kills_of_the_server_and_one_of_each_driver(yard, kills):
    yard.jobs.clock = system_clock()
    for name in NAMES:
        yard.submit(name)
    for number in range(kills):
        with server(yard.path) as process:
            wanted = started(yard) + 1
            until(lambda wanted=wanted: started(yard) >= wanted, process=process)
            process.kill()
        check(yard)
        victim = next((pid for word, _, pid in yard.lives(NAMES[number]) if word == "start" and _lives(pid)), None)
        if victim is not None:
            os.kill(victim, signal.SIGKILL)
    with server(yard.path) as process:
        # The last victim counts as running until the new server has looked.
        until(lambda: all(_runs(yard, name) for name in NAMES), process=process)
        check(yard)
        for name in NAMES:
            yard.jobs.stop(name, f"stop-{name}")
        until(lambda: all(yard.jobs.show(name).state is State.STOPPED for name in NAMES), process=process)
    check(yard)
