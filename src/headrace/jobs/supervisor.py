"""All jobs go in, round by round; each is looked at, decided on and acted on, and may be left alone at any moment.

What is noted in the database comes before the deed, and every deed may be repeated: a server that dies between the two
is followed by one that sees the note, looks whether the deed was done, and does it if it was not.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial

from headrace.errors import HeadraceError
from headrace.jobs.claims import Claims, Unclaimed
from headrace.jobs.clock import Clock
from headrace.jobs.decisions import (
    Action,
    AskToStop,
    Kill,
    Launching,
    Limits,
    Move,
    Prepare,
    TakeSavepoint,
    Terminate,
    Wanted,
    decide,
    not_launched,
)
from headrace.jobs.handover import Handover
from headrace.jobs.hands import DRIVER, Hands
from headrace.jobs.jobs import Jobs
from headrace.jobs.leftovers import remove_state
from headrace.jobs.model import Job
from headrace.jobs.observation import Sight, Watch
from headrace.jobs.queue import Capacity, Claim, admit
from headrace.jobs.rebuilding import stands_still
from headrace.jobs.reports import Report, internal, report_of
from headrace.jobs.states import FINAL, HOLDING, State
from headrace.jobs.store import JobStore
from headrace.jobs.works import Works

__all__ = ["Supervisor", "supervisor_of"]

TICK = timedelta(seconds=0.5)
LOOKS = 8
"""How many folders are looked at at a time: one on a slow disk holds up no other."""
LONGEST = 0.4
"""Seconds after which a round does not begin with another job."""
TIDY = timedelta(hours=1)

_log = logging.getLogger("headrace.jobs")


def supervisor_of(jobs: Jobs, limits: Limits | None = None, command: Sequence[str] = DRIVER) -> "Supervisor":
    """Return the supervisor that keeps jobs as people want them; it works when it is run, in a thread of its own."""
    hands = Hands(jobs.folder, command)
    works = Works(jobs.store, hands, jobs.clock)
    return Supervisor(jobs.store, hands, works, jobs.clock, jobs.capacity, limits)


class Supervisor:
    """Keeps the jobs of a server as people want them; only one at a time works on a folder and on a database."""

    def __init__(
        self,
        store: JobStore,
        hands: Hands,
        works: Works,
        clock: Clock,
        capacity: Capacity,
        limits: Limits | None = None,
        *,
        looking: Executor | None = None,
        working: Executor | None = None,
        look_within: timedelta = timedelta(seconds=0.3),
    ) -> None:
        self._store, self._hands, self._works = store, hands, works
        self._clock, self._capacity, self._limits = clock, capacity, limits or Limits()
        self._looking = looking or ThreadPoolExecutor(LOOKS, "look")
        self._working = working or ThreadPoolExecutor(2, "work")
        self._look_within = look_within.total_seconds()
        self._handover = Handover(store, hands, clock)
        self._watches: dict[str, Watch] = {}
        self._looks: dict[str, tuple[int, Future[Sight]]] = {}
        self._busy: dict[str, Future[None]] = {}
        self._first = True
        self._tidied: timedelta | None = None
        self._claims: Claims | None = None
        """None if rounds are gone one by one, by one who knows that nobody else is at work."""
        self.last_tick = timedelta(0)
        """How long the last round took."""

    # --- rounds ---------------------------------------------------------------------------------------------

    def run(self, stopping: threading.Event) -> None:
        """Go round after round until told to stop; drivers are left running."""
        self.claim()
        try:
            while not stopping.is_set():
                try:
                    with suppress(Unclaimed):  # the next round may have them again
                        self._regain()
                        self.tick()
                except Exception:  # a database that does not answer now may do so in the next round
                    _log.exception("a round failed")
                stopping.wait(max(0.05, (TICK - self.last_tick).total_seconds()))
        finally:
            self.close()

    @property
    def is_at_work(self) -> bool:
        """Whether it looks after the jobs: not before it has claimed them, and not while a claim is lost."""
        return self._claims is not None and self._claims.are_held

    def claim(self, *, moved: bool = False) -> None:
        """Take the folder and the database of the jobs for this server, unless it has them; raise if another does.

        Raise also if the jobs are in another folder, unless that was ``moved`` to this one.
        """
        if self._claims is None:
            self._claims = Claims.take(self._hands.root, self._store.database, moved=moved)

    def _require(self) -> None:
        """Raise if another server may be at work: asked before every deed, since a round may last."""
        if self._claims is not None:
            self._claims.require()

    def _regain(self) -> None:
        """Take again what was lost; another server may have been at work, so begin as if this one were new."""
        if self._claims is not None and self._claims.regain():
            self._first = True
            self._watches.clear()
            self._looks.clear()

    def close(self) -> None:
        """Let go of everything; drivers live on."""
        self._looking.shutdown(wait=False, cancel_futures=True)
        self._working.shutdown(wait=True, cancel_futures=True)
        self._hands.let_go()
        if self._claims is not None:
            self._claims.release()
            self._claims = None

    def tick(self) -> None:
        """Go once over all jobs about which something may be to be done."""
        began = time.monotonic()
        self._hands.reap()
        jobs = self._store.all() if self._first else self._store.active()
        self._first = False
        self._forget(jobs)
        verdicts = self._admissions(jobs)
        idle = [job for job in jobs if not self._is_busy(job)]
        for job, sight in self._sights(idle):
            if job.id in self._busy:
                continue  # its rebuild has just begun to change its state
            try:
                self._handle(job, sight, verdicts.get(job.id, ""))
                if job.rebuild is not None and job.deleted_at is None:
                    self._step(job)
            except Unclaimed:  # what is noted and not done is done by whoever has them
                raise
            except Exception:  # one job's trouble is not another's
                _log.exception("job %s could not be looked after", job.name)
            if time.monotonic() - began > LONGEST:
                break  # many drivers are started at once: the others have their turn in the next round
        self._tidy()
        self.last_tick = timedelta(seconds=time.monotonic() - began)

    def _admissions(self, jobs: Sequence[Job]) -> dict[str, str | None]:
        """Return for each job that waits None if it may start, else what it waits for; and note that for people."""
        waiting = [job for job in jobs if _waits(job)]
        verdicts = admit([job.claim() for job in waiting], self._held(jobs), self._capacity)
        found: dict[str, str | None] = {}
        for job, verdict in zip(waiting, verdicts, strict=True):
            found[job.id] = verdict
            if job.state is not State.SUBMITTED:
                continue
            if verdict is not None and job.reason != verdict and self._store.change(job, {"reason": verdict}) is None:
                continue  # somebody changed the job meanwhile; the next round sees that
        return found

    def _held(self, jobs: Sequence[Job]) -> list[Claim]:
        """Return what is in use; a job that its rebuild has stopped will have again what it had, as its builder has."""
        still = [job for job in jobs if job.rebuild is not None and stands_still(job.rebuild)]
        counted = {job.id for job in jobs if job.state in HOLDING or _waits(job)}
        kept = [replace(job.claim(), name=job.application) for job in still if (job.rebuild or {})["of"] not in counted]
        return [self._hands.held(job) for job in jobs if job.state in HOLDING] + kept

    def _sights(self, jobs: Iterable[Job]) -> list[tuple[Job, Sight]]:
        """Return what is seen of those jobs that could be looked at in time."""
        asked = list(jobs)
        for job in asked:
            if job.id not in self._looks:
                self._looks[job.id] = (job.revision, self._looking.submit(self._hands.look, job))
        wait([self._looks[job.id][1] for job in asked], timeout=self._look_within)
        found = []
        for job in asked:
            revision, future = self._looks[job.id]
            if not future.done():
                continue
            del self._looks[job.id]
            if revision == job.revision:  # what was seen before a change says nothing about what follows it
                try:
                    found.append((job, future.result()))
                except Exception:  # whatever lies in one folder, the others are looked after
                    _log.exception("the folder of job %s cannot be read", job.name)
        return found

    def _handle(self, job: Job, sight: Sight, verdict: str | None) -> None:
        if job.deleted_at is not None and not sight.alive:
            self._in_background(job, self._remove)
            return
        watch = self._watches.setdefault(job.id, Watch())
        seen = watch.see(sight, job.state, job.attempt, self._clock.passed(), admitted=verdict is None)
        current: Job | None = job
        for action in decide(job.facts(), seen, self._clock.now(), self._limits):
            if current is None:
                return  # somebody changed the job meanwhile; the next round decides anew
            current = self._apply(current, action)

    def _apply(self, job: Job, action: Action) -> Job | None:
        if not isinstance(action, Move):
            self._require()
        match action:
            case Move():
                _log.info("job %s: %s, %s", job.name, action.to, action.reason)
                return self._store.move(job, action, self._clock.now())
            case Launching(attempt):
                return self._launched(job, attempt)
            case AskToStop(attempt):
                self._hands.ask_to_stop(job, attempt)
            case Terminate():
                self._hands.terminate(job)
            case Kill(reason):
                _log.warning("job %s: its driver is killed: %s", job.name, reason)
                self._hands.kill(job)
            case TakeSavepoint():
                self._in_background(job, self._works.take_savepoint)
            case Prepare():
                self._in_background(job, self._prepare)
        return job

    def _launched(self, job: Job, attempt: int) -> Job | None:
        """Start a driver; what keeps it from starting, such as a full disk, is shown and tried again after a while."""
        try:
            self._hands.launch(job, self._store.version(job.id, job.version), attempt)
        except (OSError, HeadraceError) as error:
            _log.exception("the driver of job %s could not be started", job.name)
            why = f"{error.strerror or error}." if isinstance(error, OSError) else error.message
            report = Report("the driver could not be started", detail=why)
            return self._store.move(
                job, not_launched(job.facts(), report, self._clock.now(), self._limits), self._clock.now()
            )
        return job

    # --- what takes long ----------------------------------------------------------------------------------------

    def _in_background(self, job: Job, work: Callable[[Job], None]) -> None:
        self._busy[job.id] = self._working.submit(self._claimed, work, job)

    def _claimed(self, work: Callable[[Job], None], job: Job) -> None:
        """Do what has waited for its turn; if a claim was lost meanwhile it is left to a later round."""
        with suppress(Unclaimed):
            self._require()
            work(job)

    def _is_busy(self, job: Job) -> bool:
        """Say whether work on a job is under way; until it has ended nothing else is done to it."""
        future = self._busy.get(job.id)
        if future is None:
            return False
        if not future.done():
            return True
        del self._busy[job.id]
        if future.exception() is not None:
            _log.error("work on job %s failed", job.name, exc_info=future.exception())
        return True  # what it changed is seen by the next round

    def _prepare(self, asked: Job) -> None:
        """Bring the state of a job to what was asked for; once that has begun, nobody takes it for what it was."""
        job = self._store.change(asked, {"pending": {**(asked.pending or {}), "begun": True}})
        if job is None:
            return  # somebody changed the job meanwhile; the next round decides anew
        try:
            self._works.prepare(job)
        except Exception as error:
            report = report_of(error) if isinstance(error, HeadraceError) else internal(error)
            _log.exception("job %s could not be prepared", job.name)
            before = {"pending": None, "version": (job.pending or {}).get("from", job.version)}  # its state is of that
            self._store.move(job, Move(State.FAILED, report.message, report), self._clock.now(), before)
            return
        self._store.change(job, {"pending": None})

    def _step(self, builder: Job) -> None:
        """Bring a rebuild one step further, unless its builder has just moved."""
        if builder.id in self._busy or self._store.get(builder.id) != builder:
            return
        job = self._handover.step(builder)
        if job is not None and not self._is_busy(job):
            self._in_background(builder, partial(self._handover.swap, job=job))
            self._busy[job.id] = self._busy[builder.id]

    def _remove(self, job: Job) -> None:
        self._hands.end_remains(job)
        if job.rebuild is not None:
            self._handover.remove_state(job)
        remove_state(self._store, job, self._hands.folder(job.id).path)
        self._hands.remove(job)
        self._store.purge(job)

    def _forget(self, jobs: Iterable[Job]) -> None:
        """Forget what was seen of jobs that are at rest."""
        known = {job.id for job in jobs}
        for job_id in self._watches.keys() - known:
            del self._watches[job_id]
        for job_id in self._looks.keys() - known:
            if self._looks[job_id][1].done():
                del self._looks[job_id]

    def _tidy(self) -> None:
        passed = self._clock.passed()
        if self._tidied is None or passed - self._tidied > TIDY:
            self._tidied = passed
            self._store.tidy(self._clock.now())
            self._works.tidy()


def _waits(job: Job) -> bool:
    """Say whether a job is in the queue: also one that has just stopped to start again, which keeps its place."""
    if job.deleted_at is not None:
        return False
    return (job.state is State.SUBMITTED and job.wanted is not Wanted.STOP) or (
        job.state in FINAL and job.wanted is Wanted.RESTART
    )
