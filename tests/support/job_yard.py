"""Jobs, a supervisor and a clock that a test moves; drivers are real processes without Spark."""

import itertools
import os
import signal
import sys
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psutil

from headrace.jobs.clock import Clock
from headrace.jobs.decisions import Limits
from headrace.jobs.folder import JobFolder
from headrace.jobs.hands import Hands
from headrace.jobs.jobs import Jobs
from headrace.jobs.model import Job
from headrace.jobs.queue import Capacity
from headrace.jobs.states import State
from headrace.jobs.supervisor import Supervisor
from headrace.jobs.works import Works
from headrace.records.database import Database
from support.waiting import PATIENCE, until

FAKE = (sys.executable, str(Path(__file__).with_name("fake_driver.py")))
BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
APPLICATION = """
CREATE STREAM s (k STRING, v INT) WITH (connector = 'memory');
CREATE MATERIALIZED VIEW totals AS SELECT k, sum(v) AS total FROM s GROUP BY k;
"""


class AtOnce(Executor):
    """Does what is asked for in the thread that asks."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        try:
            future.set_result(function(*arguments, **named))
        except Exception as error:
            future.set_exception(error)
        return future


@dataclass
class MovingClock:
    """Time that passes only when a test says so; the instant may jump by itself."""

    passed: timedelta = timedelta(0)
    jumped: timedelta = timedelta(0)

    def clock(self) -> Clock:
        return Clock(lambda: BEGIN + self.passed + self.jumped, lambda: self.passed)

    def move(self, **how_far: float) -> None:
        self.passed += timedelta(**how_far)


@dataclass
class Yard:
    """A server's jobs in a folder; ``server`` can be replaced as a restart would do."""

    path: Path
    database: Database
    capacity: Capacity = field(default_factory=lambda: Capacity(cores=4, memory=8192))
    time: MovingClock = field(default_factory=MovingClock)
    limits: Limits = field(default_factory=Limits)
    command: tuple[str, ...] = FAKE
    environment: dict[str, str] | None = None
    commands: "itertools.count[int]" = field(default_factory=itertools.count)
    jobs: Jobs = field(init=False)
    server: Supervisor = field(init=False)
    hands: Hands = field(init=False)

    def __post_init__(self) -> None:
        self.jobs = Jobs(self.database, self.path / "jobs", self.capacity, self.time.clock())
        self.new_server()

    def new_server(self, working: Executor | None = None) -> None:
        """Start another server on the same folder and database; the one before is not told."""
        self.hands = Hands(self.jobs.folder, self.command, self.environment)
        works = Works(self.jobs.store, self.hands, self.time.clock())
        self.server = Supervisor(
            self.jobs.store,
            self.hands,
            works,
            self.time.clock(),
            self.capacity,
            self.limits,
            looking=AtOnce(),
            working=working or AtOnce(),
        )

    def submit(self, name: str = "orders", behave: str = "run", **more: Any) -> Job:
        arguments = {"text": APPLICATION, **more}
        return self.jobs.submit(self.command_id(), name=name, variables={"BEHAVE": behave}, **arguments)

    def command_id(self) -> str:
        return f"command-{next(self.commands)}"

    def tick_until(self, name: str, state: State, seconds: float = PATIENCE) -> Job:
        """Go round until a job is in a state; the yard's clock stands still meanwhile."""

        def there() -> bool:
            self.server.tick()
            return self.jobs.show(name).state is state

        until(there, seconds)
        return self.jobs.show(name)

    def hear(self, name: str) -> None:
        """Wait until the driver has beaten once more, and let the server see it."""
        job = self.jobs.show(name)
        last = self._beat(job)
        until(lambda: self._beat(job) > last)
        self.server.tick()

    def pass_time(self, *running: Job, **passed: float) -> None:
        """Let time pass in which the drivers of jobs go on beating, as the server sees with its next round."""
        self.time.move(**passed)
        before = [(job, self._beat(job)) for job in running]
        until(lambda: all(self._beat(job) > last for job, last in before))

    def _beat(self, job: Job) -> int:
        heartbeat = self.jobs.heartbeat(job)
        return -1 if heartbeat is None else heartbeat.beat

    def pid(self, name: str) -> int:
        driver = self.jobs.folder_of(self.jobs.show(name)).driver()
        assert driver is not None
        return driver.pid

    def kill(self, name: str) -> None:
        """Kill a driver as the system would, and see it gone."""
        folder = self.jobs.folder_of(self.jobs.show(name))
        os.kill(self.pid(name), signal.SIGKILL)
        until(lambda: not folder.is_locked())

    def lives(self, name: str) -> list[tuple[str, int, int]]:
        """Return the starts and ends of a job's drivers, as they noted them."""
        file = self.jobs.folder_of(self.jobs.show(name)).path / "lives"
        lines = [line.split() for line in file.read_text().splitlines()] if file.exists() else []
        return [(word, int(attempt), int(pid)) for word, attempt, pid in lines]

    def end(self) -> None:
        """Leave no process behind."""
        kill_drivers(self.jobs.folder)
        self.hands.reap()
        self.hands.let_go()
        self.database.close()


def kill_drivers(jobs: Path) -> None:
    """End what fake drivers have noted down as theirs in the folders of jobs; a number may be a stranger's by now."""
    for folder in jobs.glob("[0-9a-f]*"):
        file, started = folder / "lives", JobFolder(folder).driver()
        noted = {int(line.split()[2]) for line in file.read_text().splitlines()} if file.exists() else set()
        for pid in noted | ({started.pid} if started is not None and started.pid else set()):
            with suppress(psutil.Error):
                driver = psutil.Process(pid)
                if any(word.endswith(folder.name) for word in driver.cmdline()):
                    driver.kill()
