"""The folder of a job goes in; what is seen of its driver comes out."""

from dataclasses import dataclass, field
from datetime import timedelta

from headrace.jobs.decisions import Seen
from headrace.jobs.folder import Heartbeat, JobFolder, Outcome
from headrace.jobs.logs import tail
from headrace.jobs.states import State

__all__ = ["Sight", "Watch", "look"]


@dataclass(frozen=True, slots=True)
class Sight:
    """What lies in a folder, all read at about the same time."""

    alive: bool = False
    attempt: int = 0
    """Of the process last started."""
    heartbeat: Heartbeat | None = None
    outcome: Outcome | None = None
    last_words: str | None = None
    """The last line of the log of a driver that has ended without an outcome."""


def look(folder: JobFolder) -> Sight:
    """Return what lies in a folder.

    The lock comes first: what a dead driver wrote was written before it let go, so it is all there afterwards.
    """
    alive = folder.is_locked()
    driver = folder.driver()
    attempt = 0 if driver is None else driver.attempt
    outcome = folder.outcome()
    last_words = None
    if not alive and attempt and (outcome is None or outcome.attempt != attempt):
        last_words = next(iter(tail(folder.log_path, 1)), None)
    return Sight(alive, attempt, folder.heartbeat(), outcome, last_words)


@dataclass(slots=True)
class Watch:
    """What an observer remembers between two looks at one job: since when nothing has changed.

    It measures by time that only passes, so a clock that is set, a suspended machine or a new observer makes no driver
    look silent.
    """

    state: tuple[State, int] | None = None
    state_since: timedelta = timedelta(0)
    beat: tuple[int, int, bool] | None = None
    beat_since: timedelta = timedelta(0)
    last: Heartbeat | None = field(default=None)

    def see(self, sight: Sight, state: State, attempt: int, passed: timedelta, *, admitted: bool) -> Seen:
        """Return what is seen of the driver of an attempt."""
        if self.state != (state, attempt):
            self.state, self.state_since = (state, attempt), passed
        heartbeat = sight.heartbeat if sight.heartbeat is not None and sight.heartbeat.attempt == attempt else None
        self.last = heartbeat
        beat = (attempt, -1 if heartbeat is None else heartbeat.beat, sight.alive)
        if self.beat != beat:
            self.beat, self.beat_since = beat, passed
        outcome = sight.outcome if sight.outcome is not None and sight.outcome.attempt == attempt else None
        return Seen(
            alive=sight.alive,
            attempt=sight.attempt,
            phase=None if heartbeat is None else heartbeat.phase,
            silence=passed - self.beat_since,
            in_state=passed - self.state_since,
            outcome=outcome,
            last_words=sight.last_words,
            admitted=admitted,
        )
