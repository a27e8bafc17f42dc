"""The real supervisor and a made-up world: drivers and servers die at any moment, and the clock jumps.

Whatever happens: no job ever has two drivers, restarts are bounded, and a job that should run runs in the end.
"""

import itertools
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import create_engine, event
from sqlalchemy.pool import StaticPool

from headrace.errors import HeadraceError
from headrace.jobs.decisions import Limits, Wanted
from headrace.jobs.folder import Heartbeat, Outcome
from headrace.jobs.jobs import Jobs
from headrace.jobs.observation import Sight
from headrace.jobs.queue import Capacity
from headrace.jobs.reports import Cause, Report
from headrace.jobs.states import State
from headrace.jobs.store import JobStore
from headrace.jobs.supervisor import Supervisor
from headrace.records import database as database_module
from headrace.records.database import Database
from support.job_yard import APPLICATION, BEGIN, AtOnce, MovingClock

LIMITS = Limits()
CAPACITY = Capacity(cores=2, memory=4096)
NAMES = ("a", "b", "c")


class ServerDied(BaseException):
    """The server is killed here and now."""


@dataclass
class World:
    """Processes and folders as dictionaries; ``fatal`` says after how many deeds the server dies, None for never."""

    fatal: int | None = None
    before: bool = False
    """Whether it dies before that deed, or right after it."""
    drivers: dict[str, int] = field(default_factory=dict)
    """The attempt of the living driver of each job."""
    started: dict[str, int] = field(default_factory=dict)
    beats: dict[str, tuple[int, int]] = field(default_factory=dict)
    frozen: set[str] = field(default_factory=set)
    deaf: set[str] = field(default_factory=set)
    asked: set[tuple[str, int]] = field(default_factory=set)
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    launches: list[tuple[str, int]] = field(default_factory=list)
    saved: list[str] = field(default_factory=list)
    versions: dict[str, int] = field(default_factory=dict)
    """The version that the state of each job is of."""
    store: JobStore | None = None

    def deed(self):
        """Count one deed of the server; yields to it in between."""
        if self.fatal is not None:
            self.fatal -= 1
            if self.fatal < 0:
                self.fatal = None
                raise ServerDied

    def around(self, effect):
        """Let the server do something, and perhaps die before or after it."""
        if self.before:
            self.deed()
        result = effect()
        if not self.before:
            self.deed()
        return result

    # --- the hands of the supervisor --------------------------------------------------------------------

    def look(self, job):
        number = self.beats.get(job.id)
        heartbeat = None if number is None else Heartbeat(number[0], number[1], BEGIN, "running")
        return Sight(job.id in self.drivers, self.started.get(job.id, 0), heartbeat, self.outcomes.get(job.id))

    def held(self, job):
        return job.claim()

    def launch(self, job, version, attempt):
        def effect():
            if job.id in self.drivers or self.started.get(job.id) == attempt:
                return False
            assert self.version_of(job) == version.number, "it runs on the state of another version"
            self.drivers[job.id] = self.started[job.id] = attempt
            self.launches.append((job.id, attempt))
            self.outcomes.pop(job.id, None)
            self.frozen.discard(job.id)
            self.deaf.discard(job.id)
            return True

        return self.around(effect)

    def ask_to_stop(self, job, attempt):
        self.around(lambda: self.asked.add((job.id, attempt)))

    def terminate(self, job):
        self.around(lambda: self.asked.add((job.id, self.drivers.get(job.id, 0))))

    def kill(self, job):
        self.around(lambda: self.drivers.pop(job.id, None))

    def remove(self, job):
        raise AssertionError("nothing is deleted here")

    def reap(self):
        pass

    # --- its slow works -----------------------------------------------------------------------------------

    def take_savepoint(self, job):
        assert job.id not in self.drivers, "the state of a running job is copied"
        assert self.store.savepoint(job.savepoint).version == self.version_of(job), "it is of another version"
        self.around(lambda: self.saved.append(job.id))
        self.around(lambda: self.store.settle_savepoint(job, {}, None))

    def prepare(self, job):
        assert job.id not in self.drivers, "the state of a running job is changed"
        self.around(lambda: self.versions.update({job.id: job.version}))

    def version_of(self, job):
        return self.versions.get(job.id, 1)

    def tidy(self):
        pass

    # --- what drivers do ------------------------------------------------------------------------------------

    def live(self):
        """Let every driver do one step: it stops if it is asked to, else it beats."""
        for job, attempt in list(self.drivers.items()):
            if job in self.frozen:
                continue
            if (job, attempt) in self.asked and job not in self.deaf:
                self.end(job, "stopped", None)
                continue
            last = self.beats.get(job)
            self.beats[job] = (attempt, last[1] + 1 if last is not None and last[0] == attempt else 1)

    def end(self, job, ending, cause):
        """Let a driver end; None as its ending is a kill."""
        attempt = self.drivers.pop(job, None)
        if attempt is not None and ending is not None:
            error = Report("it broke") if ending == "failed" else None
            self.outcomes[job] = Outcome(attempt, ending, BEGIN, cause, error)


class MortalStore(JobStore):
    """Every change may be the last that the server makes."""

    def __init__(self, database, world):
        super().__init__(database)
        self.world = world

    def change(self, job, values, event=None):
        return self.world.around(lambda: super(MortalStore, self).change(job, values, event))


@pytest.fixture(scope="module")
def template():
    """A database in memory with its tables."""
    engine = create_engine("sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False})
    event.listen(engine, "connect", database_module._prepare_sqlite)
    event.listen(engine, "begin", database_module._begin_sqlite)
    made = Database("sqlite://")
    made.engine = engine
    made._writers.configure(bind=engine)
    made._readers.configure(bind=engine.execution_options(**database_module._options_for_reading(engine)))
    made.migrate()
    yield made
    made.close()


STEPS = st.one_of(
    st.tuples(st.just("pass"), st.sampled_from([0.5, 1, 5, 20, 70])),
    st.tuples(st.just("jump"), st.sampled_from([-100_000, -700, -30, 30, 700, 100_000])),
    st.tuples(st.just("kill"), st.sampled_from(NAMES)),
    st.tuples(st.just("crash"), st.sampled_from(NAMES)),
    st.tuples(st.just("away"), st.sampled_from(NAMES)),
    st.tuples(st.just("freeze"), st.sampled_from(NAMES)),
    st.tuples(st.just("stop"), st.sampled_from(NAMES)),
    st.tuples(st.just("save"), st.sampled_from(NAMES)),
    st.tuples(st.just("deafen"), st.sampled_from(NAMES)),
    st.tuples(st.sampled_from(["start", "fresh", "restore", "upgrade"]), st.sampled_from(NAMES)),
    st.tuples(st.just("server dies before deed"), st.integers(0, 6)),
    st.tuples(st.just("server dies after deed"), st.integers(0, 6)),
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps=st.lists(STEPS, max_size=40))
def test_whatever_dies_jobs_end_up_as_they_are_wanted(template, tmp_path_factory, steps):
    clear(template)
    run = Run(template, tmp_path_factory.getbasetemp() / "simulated")
    for kind, what in steps:
        run.step(kind, what)
    run.settle()


class Run:
    """One history of one world."""

    def __init__(self, database, folder):
        self.world, self.time = World(), MovingClock()
        self.jobs = Jobs(database, folder, CAPACITY, self.time.clock())
        self.store = self.world.store = MortalStore(database, self.world)
        self.commands = itertools.count()
        self.wanted = dict.fromkeys(NAMES, Wanted.RUN)
        for name in NAMES:
            self.jobs.submit(f"submit-{name}", name=name, text=APPLICATION)
            self.time.move(seconds=1)
        self.ids = {name: self.jobs.show(name).id for name in NAMES}
        self.new_server()

    def new_server(self):
        self.server = Supervisor(
            self.store,
            self.world,
            self.world,
            self.time.clock(),
            CAPACITY,
            LIMITS,
            looking=AtOnce(),
            working=AtOnce(),
        )

    def tick(self):
        try:
            self.server.tick()
        except ServerDied:
            self.new_server()
        self.world.live()
        assert len(set(self.world.launches)) == len(self.world.launches), "an attempt was started twice"
        assert len(self.world.drivers) <= CAPACITY.cores, "more run than there is room for"

    def step(self, kind, what):
        match kind:
            case "pass":
                self.time.move(seconds=what)
            case "jump":
                self.time.jumped += timedelta(seconds=what)
            case "kill":
                self.world.end(self.ids[what], None, None)
            case "crash":
                self.world.end(self.ids[what], "failed", Cause.FAILURE)
            case "away":
                self.world.end(self.ids[what], "failed", Cause.SURROUNDINGS)
            case "freeze":
                self.world.frozen.add(self.ids[what])
            case "deafen":
                self.world.deaf.add(self.ids[what])
            case "stop" | "save":
                self.jobs.stop(what, f"command-{next(self.commands)}", with_savepoint=kind == "save")
                self.wanted[what] = Wanted.STOP
            case "start" | "fresh" | "restore" | "upgrade":
                with suppress(HeadraceError):  # what is refused while its state changes has no effect
                    self.start(kind, what)
                    self.wanted[what] = Wanted.RUN
            case _:
                self.world.fatal, self.world.before = what, kind == "server dies before deed"
        self.tick()
        self.tick()

    def start(self, kind, name):
        command = f"command-{next(self.commands)}"
        ready = [each.id for each in self.jobs.savepoints(name) if each.status == "ready"]
        match kind:
            case "upgrade":
                self.jobs.upgrade(name, command, text=f"{APPLICATION}-- {command}")
            case "restore" if ready:
                self.jobs.restart(name, command, savepoint=ready[-1])
            case _:
                self.jobs.restart(name, command, fresh=kind == "fresh")

    def settle(self):
        """Let nothing else go wrong, and see that everything comes to its place."""
        self.world.fatal = None
        self.world.deaf.clear()
        for _ in range(130):
            self.time.move(seconds=3)
            self.world.frozen.clear()
            self.tick()
        found = [self.jobs.show(name) for name in NAMES]
        for job in found:
            alive = job.id in self.world.drivers
            assert job.state is not State.RUNNING or job.pending is None, job
            assert alive == (job.state is State.RUNNING)
            if self.wanted[job.name] is Wanted.STOP:
                assert job.state in {State.STOPPED, State.FAILED}, job
                assert job.savepoint is None
        running = [job for job in found if job.state is State.RUNNING]
        assert len(running) <= CAPACITY.cores
        for job in found:
            if self.wanted[job.name] is not Wanted.STOP and job.state is not State.RUNNING:
                loop = job.state is State.FAILED and job.reason.startswith("crash loop")
                waits = job.state is State.SUBMITTED and len(running) == CAPACITY.cores
                assert loop or waits, job
        for job in found:
            assert len(job.restarts) <= LIMITS.restarts


def clear(database):
    with database.transaction() as session:
        for table in ("job_events", "job_versions", "job_savepoints", "job_commands", "jobs"):
            session.connection().exec_driver_sql(f"DELETE FROM {table}")
