"""A job, what is seen of its driver and the time go in; what is to be done about it comes out. Nothing else is asked.

Whether a driver is to be killed depends only on durations that the observer has measured, which no clock changes;
when the next one is launched depends on instants, since these outlive the server.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from headrace.jobs.folder import Outcome, Phase
from headrace.jobs.reports import Cause, Report
from headrace.jobs.states import FINAL, RUNS, State

__all__ = [
    "Action",
    "AskToStop",
    "Facts",
    "Kill",
    "Launching",
    "Limits",
    "Move",
    "Prepare",
    "Seen",
    "TakeSavepoint",
    "Terminate",
    "Wanted",
    "decide",
    "delay",
    "has_settled",
    "not_launched",
]


class Wanted(StrEnum):
    """What people want of a job."""

    RUN = "run"
    STOP = "stop"
    RESTART = "restart"
    """To stop, and to run again once it has."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How patient a supervisor is."""

    first_delay: timedelta = timedelta(seconds=1)
    longest_delay: timedelta = timedelta(seconds=60)
    restarts: int = 5
    within: timedelta = timedelta(minutes=10)
    degraded_after: timedelta = timedelta(seconds=15)
    lost_after: timedelta = timedelta(seconds=60)
    start_within: timedelta = timedelta(minutes=10)
    terminate_after: timedelta = timedelta(seconds=10)
    """A driver that was asked to stop and has not begun to by then is sent a signal."""
    stop_within: timedelta = timedelta(seconds=120)
    settled_after: timedelta = timedelta(minutes=2)
    """A job that ran for so long has got over what held it up before."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a job, as far as decisions need it."""

    state: State
    wanted: Wanted
    attempt: int = 0
    restarts: tuple[datetime, ...] = ()
    """When it was restarted after failures of its own, lately."""
    waits: int = 0
    """How often in a row something outside did not answer."""
    since: datetime | None = None
    """When it went into its state."""
    launch_at: datetime | None = None
    """When the next driver is due, while it restarts."""
    savepoint: bool = False
    """Whether its state is to be copied once no driver runs."""
    pending: bool = False
    """Whether its state is to be put back or changed before the next driver starts."""
    begun: bool = False
    """Whether that has begun: it is brought to its end before anything else happens."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What is seen of a driver; ``attempt`` is that of the process last started, 0 for none."""

    alive: bool = False
    attempt: int = 0
    phase: Phase | None = None
    """What the heartbeat of this attempt says, None before the first."""
    silence: timedelta = timedelta(0)
    """For how long no new heartbeat was seen."""
    in_state: timedelta = timedelta(0)
    """For how long the job was seen in its state."""
    outcome: Outcome | None = None
    """How this attempt ended, if its driver said so."""
    last_words: str | None = None
    """The last line of its log, if it ended without an outcome."""
    admitted: bool = False
    """Whether there is room for it."""


@dataclass(frozen=True, slots=True)
class Move:
    """Go into a state; what is not None is noted with it."""

    to: State
    reason: str
    error: Report | None = None
    attempt: int | None = None
    launch_at: datetime | None = None
    restarts: tuple[datetime, ...] | None = None
    waits: int | None = None
    wanted: Wanted | None = None


@dataclass(frozen=True, slots=True)
class Launching:
    """Start the driver of an attempt, unless one lives."""

    attempt: int


@dataclass(frozen=True, slots=True)
class AskToStop:
    """Put a request to stop into the folder."""

    attempt: int


@dataclass(frozen=True, slots=True)
class Terminate:
    """Send the driver a signal to stop."""


@dataclass(frozen=True, slots=True)
class Kill:
    """End the driver at once."""

    reason: str


@dataclass(frozen=True, slots=True)
class TakeSavepoint:
    """Copy the state."""


@dataclass(frozen=True, slots=True)
class Prepare:
    """Put the state back, or bring it to a new version of the application."""


Action = Move | Launching | AskToStop | Terminate | Kill | TakeSavepoint | Prepare


def decide(job: Facts, seen: Seen, now: datetime, limits: Limits) -> tuple[Action, ...]:
    """Return what is to be done, in this order; nothing most of the time."""
    if job.state in FINAL or job.state in {State.SUBMITTED, State.RESTARTING}:
        if seen.alive:
            return (Kill(f"a driver lives, though the job is {job.state}"),)
        return _without_driver(job, seen, now, limits)
    if job.state is State.STOPPING:
        return _stopping(job, seen, limits)
    if job.wanted is not Wanted.RUN:
        return (Move(State.STOPPING, "asked to stop"), AskToStop(job.attempt))
    if seen.alive:
        return _living(job, seen, limits)
    if seen.attempt != job.attempt:
        if job.state is State.STARTING:  # the server ended between its note and the deed
            return (Launching(job.attempt),)
        return _ended(job, None, seen.last_words, now, limits)
    return _ended(job, seen.outcome, seen.last_words, now, limits)


def _without_driver(job: Facts, seen: Seen, now: datetime, limits: Limits) -> tuple[Action, ...]:
    if job.begun:
        return (Prepare(),)
    if job.savepoint:
        return (TakeSavepoint(),)
    if job.state in FINAL:
        if job.wanted is Wanted.RESTART:
            return (Move(State.SUBMITTED, "waits for its turn", restarts=(), waits=0, wanted=Wanted.RUN),)
        return ()
    if job.wanted is Wanted.STOP or (job.wanted is Wanted.RESTART and job.state is State.RESTARTING):
        return (Move(State.STOPPED, "stopped before it started"),)
    if job.state is State.SUBMITTED and not seen.admitted:
        return ()
    if job.pending:
        return (Prepare(),)
    if job.state is State.RESTARTING and not _is_due(job.launch_at, now, limits):
        return ()
    attempt = job.attempt + 1
    return (Move(State.STARTING, "its driver starts", attempt=attempt), Launching(attempt))


def _is_due(launch_at: datetime | None, now: datetime, limits: Limits) -> bool:
    """Say whether the time has come; an instant further away than any delay is due to a clock that was set back."""
    return launch_at is None or not now < launch_at <= now + limits.longest_delay


def _living(job: Facts, seen: Seen, limits: Limits) -> tuple[Action, ...]:
    if seen.attempt not in {job.attempt, 0}:
        return (Kill(f"it is the driver of attempt {seen.attempt}, not of {job.attempt}"),)
    if seen.silence > limits.lost_after:
        return (Kill(f"no heartbeat for {seen.silence.total_seconds():.0f} s"),)
    if job.state is State.STARTING:
        if seen.phase in {"running", "stopping"}:
            return (Move(State.RUNNING, "running"),)
        if seen.in_state > limits.start_within:
            return (Kill(f"it did not start within {limits.start_within.total_seconds():.0f} s"),)
        return ()
    late = seen.silence > limits.degraded_after
    if job.state is State.RUNNING and late:
        waits = 0 if seen.in_state > limits.settled_after else None
        return (Move(State.DEGRADED, f"no heartbeat for {seen.silence.total_seconds():.0f} s", waits=waits),)
    if job.state is State.DEGRADED and not late:
        return (Move(State.RUNNING, "running"),)
    return ()


def _stopping(job: Facts, seen: Seen, limits: Limits) -> tuple[Action, ...]:
    if seen.alive:
        if seen.in_state > limits.stop_within or seen.silence > limits.lost_after:
            return (Kill("it did not stop"),)
        actions: list[Action] = [AskToStop(job.attempt)]
        if seen.phase != "stopping" and seen.in_state > limits.terminate_after:
            actions.append(Terminate())
        return tuple(actions)
    if job.savepoint:
        return (TakeSavepoint(),)
    outcome = seen.outcome if seen.attempt == job.attempt else None
    if outcome is not None and outcome.ending == "finished" and job.wanted is Wanted.STOP:
        return (Move(State.FINISHED, "all its input was read"),)
    if outcome is not None and outcome.ending == "failed":
        return (Move(State.STOPPED, "stopped; it failed meanwhile", outcome.error),)
    return (Move(State.STOPPED, "stopped" if outcome is not None else "stopped at once, between two heartbeats"),)


def _ended(
    job: Facts, outcome: Outcome | None, last_words: str | None, now: datetime, limits: Limits
) -> tuple[Action, ...]:
    """Return what follows the end of a driver that should have gone on."""
    if outcome is None:
        said = f" The last line of its log: {last_words[:300]}" if last_words else ""
        died = Report("the driver ended without a word", detail=f"It was killed, or had no memory left.{said}")
        return (_again(job, died, now, limits),)
    if outcome.ending == "finished":
        return (Move(State.FINISHED, "all its input was read"),)
    if outcome.ending == "stopped":
        return (_again(job, Report("the driver was told to stop by somebody else"), now, limits),)
    error = outcome.error or Report("the driver failed")
    if outcome.cause is Cause.USER:
        return (Move(State.FAILED, error.message, error),)
    if outcome.cause is Cause.SURROUNDINGS:
        return (_later(0 if has_settled(job, now, limits) else job.waits, error, now, limits),)
    return (_again(job, error, now, limits),)


def has_settled(job: Facts, now: datetime, limits: Limits) -> bool:
    """Say whether a job has run for so long that it has got over what held it up before."""
    return job.state in RUNS and job.since is not None and now - job.since > limits.settled_after


def not_launched(job: Facts, error: Report, now: datetime, limits: Limits) -> Move:
    """Return what follows a driver that could not even be started: the machine has no room, and may have it later."""
    return _later(job.waits, error, now, limits)


def _later(waits: int, error: Report, now: datetime, limits: Limits) -> Move:
    wait = delay(waits, limits)
    reason = f"{error.message}; tries again in {wait.total_seconds():.0f} s"
    return Move(State.RESTARTING, reason, error, launch_at=now + wait, waits=waits + 1)


def _again(job: Facts, error: Report, now: datetime, limits: Limits) -> Move:
    recent = tuple(each for each in job.restarts if abs(now - each) <= limits.within)
    if len(recent) >= limits.restarts:
        minutes = limits.within.total_seconds() / 60
        reason = f"crash loop: restarted {len(recent)} times in {minutes:.0f} minutes; last: {error.message}"
        return Move(State.FAILED, reason, error, restarts=recent)
    wait = delay(len(recent), limits)
    reason = f"{error.message}; starts again in {wait.total_seconds():.0f} s"
    return Move(State.RESTARTING, reason, error, launch_at=now + wait, restarts=(*recent, now), waits=0)


def delay(before: int, limits: Limits) -> timedelta:
    """Return how long to wait before the next start, twice as long after each one before.

    >>> [delay(n, Limits()).seconds for n in range(8)]
    [1, 2, 4, 8, 16, 32, 60, 60]
    """
    return min(limits.longest_delay, limits.first_delay * float(2 ** min(before, 20)))
