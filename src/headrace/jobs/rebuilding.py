"""A job, the one that is built beside it and how far each has read go in; what is to be done next comes out.

The builder is a job of its own, hidden, on a state of its own. It takes over in steps, each noted before it is done:

    building -> handing over -> swapping -> swapped, and the builder goes
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any

from headrace.jobs.decisions import Wanted
from headrace.jobs.figures import Figures
from headrace.jobs.states import FINAL, State

__all__ = [
    "NEAR",
    "REBUILT",
    "UNDER_WAY",
    "Chase",
    "Pair",
    "Phase",
    "Step",
    "decide_rebuild",
    "furthest",
    "reached",
    "stands_still",
]

REBUILT = "/.rebuilt-"
"""What the folder of a rebuilt state begins with, below the state that the job had first."""
NEAR = timedelta(seconds=10)
"""A builder that is not further behind than this takes over: for about so long the views stand still."""


class Phase(StrEnum):
    """How far a rebuild is."""

    BUILDING = "building"
    """The builder reads what the job has read; that runs on."""
    HANDING_OVER = "handing over"
    """The job stops; the builder reads the rest of what it has read."""
    SWAPPING = "swapping"
    """The builder stops too."""
    SWAPPED = "swapped"
    """The job has the builder's state, and starts on it."""
    CANCELLED = "cancelled"
    FAILED = "failed"


UNDER_WAY = frozenset({Phase.BUILDING, Phase.HANDING_OVER, Phase.SWAPPING})
"""In these the state of the job may still be replaced."""


def stands_still(facts: Mapping[str, Any]) -> bool:
    """Say whether a job is stopped only until its rebuild has taken over: it keeps its room and its place."""
    return bool(facts.get("resume")) and facts["phase"] in {Phase.HANDING_OVER, Phase.SWAPPING}


class Step(StrEnum):
    """What is to be done next."""

    WAIT = "wait"
    HAND_OVER = "hand over"
    """Stop the job."""
    TAKE_BACK = "take back"
    """Somebody started the job meanwhile, or it stood still for too long and is started: build on."""
    STOP_BUILDER = "stop builder"
    SWAP = "swap"
    """Give the job the builder's state; it starts if it ran before."""
    FAIL = "fail"
    """Note why, and let the job go on as it was."""
    STOP_AND_WAIT = "stop and wait"
    """The builder is not needed any more, and still runs."""
    REMOVE = "remove"
    """The builder goes, with the state that nobody needs."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A rebuild as far as decisions need it; ``job`` is None if it was deleted."""

    phase: Phase
    builder: State
    builder_wanted: Wanted
    job: State | None
    job_wanted: Wanted
    caught_up: bool = False
    """In `BUILDING`: nearly where the job is. In `HANDING_OVER`: where it stopped."""
    overdue: bool = False
    """Whether the job has stood still for too long."""


def decide_rebuild(pair: Pair) -> Step:
    """Return what is to be done; nothing most of the time."""
    if pair.job is None:
        return _gone(pair)
    match pair.phase:
        case Phase.BUILDING:
            return _building(pair)
        case Phase.HANDING_OVER:
            return _handing_over(pair)
        case Phase.SWAPPING:
            if pair.job_wanted is not Wanted.STOP:
                return Step.TAKE_BACK
            return Step.SWAP if pair.builder in FINAL and pair.job in FINAL else Step.WAIT
        case Phase.SWAPPED:
            started = pair.job in FINAL or pair.job in {State.RUNNING, State.DEGRADED}
            return Step.REMOVE if started and pair.builder in FINAL else Step.WAIT
        case Phase.CANCELLED:
            return _gone(pair)
    return Step.WAIT


def _building(pair: Pair) -> Step:
    if pair.builder in {State.FAILED, State.STOPPED} and pair.builder_wanted is not Wanted.RESTART:
        return Step.FAIL
    if pair.builder is State.FINISHED or (pair.builder is State.RUNNING and pair.caught_up):
        return Step.HAND_OVER
    return Step.WAIT


def _handing_over(pair: Pair) -> Step:
    if pair.builder in {State.FAILED, State.STOPPED}:
        return Step.FAIL
    if pair.job_wanted is not Wanted.STOP:
        return Step.TAKE_BACK
    if pair.job in FINAL and (pair.builder is State.FINISHED or pair.caught_up):
        return Step.STOP_BUILDER
    return Step.TAKE_BACK if pair.overdue else Step.WAIT


def _gone(pair: Pair) -> Step:
    if pair.builder in FINAL and pair.builder_wanted is not Wanted.RESTART:
        return Step.REMOVE
    return Step.WAIT if pair.builder_wanted is Wanted.STOP else Step.STOP_AND_WAIT


# --- how far each has read ------------------------------------------------------------------------------------


def furthest(outputs: Iterable[Figures]) -> dict[str, int]:
    """Return how far Kafka is read by any output, by topic, colon, partition."""
    found: dict[str, int] = {}
    for each in outputs:
        for place, offset in each.positions.items():
            found[place] = max(offset, found.get(place, 0))
    return found


def reached(builder: Iterable[Figures], goal: Mapping[str, int], *, to_the_end: bool) -> bool:
    """Say whether every output of a builder has read as far as a goal says of the topics that it reads.

    Of a partition that the goal does not know, since the job has read nothing of it since it started, it must have read
    all. With ``to_the_end`` it reads what has no positions: then it must have found nothing more to read.
    """
    outputs = list(builder)
    for each in outputs:
        if (each.batch < 0 or to_the_end) and not each.idle:
            return False
        topics = {place.rpartition(":")[0] for place in each.positions}
        wanted = {place: offset for place, offset in goal.items() if place.rpartition(":")[0] in topics}
        if any(each.positions.get(place, 0) < offset for place, offset in wanted.items()):
            return False
        if any(each.behind_of.get(place, 0) > 0 for place in each.positions if place not in goal):
            return False
    return bool(outputs)


@dataclass(frozen=True, slots=True)
class Chase:
    """Where the job was at some moment: who gets there soon after it is nearly where the job is now."""

    since: timedelta
    goal: Mapping[str, int]

    def go_on(self, arrived: bool, now: timedelta, goal: Mapping[str, int]) -> "tuple[bool, Chase]":
        """Return whether the builder is near, and what it is to chase next."""
        if not arrived:
            return False, self
        return (True, self) if now - self.since <= NEAR else (False, Chase(now, goal))
