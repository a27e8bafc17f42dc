"""The states of a job and the moves between them: a state and where to go in, the new state or an error out."""

from enum import StrEnum

__all__ = ["FINAL", "HOLDING", "MOVES", "RUNS", "IllegalMove", "State", "is_legal", "move"]


class State(StrEnum):
    """How a job is doing."""

    SUBMITTED = "submitted"
    """It waits for room."""
    STARTING = "starting"
    """Its driver is on its way."""
    RUNNING = "running"
    DEGRADED = "degraded"
    """Its driver lives, but has not been heard of for a while."""
    RESTARTING = "restarting"
    """Its driver has ended by mistake; the next one starts in a moment."""
    STOPPING = "stopping"
    """It was asked to stop, and ends its batch or is copied into a savepoint."""
    STOPPED = "stopped"
    FINISHED = "finished"
    """All its input was read."""
    FAILED = "failed"


MOVES: dict[State, frozenset[State]] = {
    State.SUBMITTED: frozenset({State.STARTING, State.STOPPED, State.FAILED}),
    State.STARTING: frozenset({State.RUNNING, State.RESTARTING, State.STOPPING, State.FINISHED, State.FAILED}),
    State.RUNNING: frozenset({State.DEGRADED, State.RESTARTING, State.STOPPING, State.FINISHED, State.FAILED}),
    State.DEGRADED: frozenset({State.RUNNING, State.RESTARTING, State.STOPPING, State.FINISHED, State.FAILED}),
    State.RESTARTING: frozenset({State.STARTING, State.STOPPED, State.FAILED}),
    State.STOPPING: frozenset({State.STOPPED, State.FINISHED}),
    State.STOPPED: frozenset({State.SUBMITTED}),
    State.FINISHED: frozenset({State.SUBMITTED}),
    State.FAILED: frozenset({State.SUBMITTED}),
}
"""Where a job can go from each state."""

FINAL = frozenset({State.STOPPED, State.FINISHED, State.FAILED})
"""A job stays in these until somebody starts it again."""

HOLDING = frozenset({State.STARTING, State.RUNNING, State.DEGRADED, State.RESTARTING, State.STOPPING})
"""In these a job has its cores and memory, or keeps them for its next driver."""


RUNS = frozenset({State.RUNNING, State.DEGRADED})
"""In these a driver runs, and its figures are those of now."""


class IllegalMove(Exception):
    """A move that the table does not have: a bug, not a user's mistake."""


def is_legal(state: State, to: State) -> bool:
    """Say whether a job can go from one state into another."""
    return to in MOVES[state]


def move(state: State, to: State) -> State:
    """Return the new state; raise if there is no such move.

    >>> move(State.RUNNING, State.DEGRADED)
    <State.DEGRADED: 'degraded'>
    >>> move(State.STOPPED, State.RUNNING)
    Traceback (most recent call last):
    ...
    headrace.jobs.states.IllegalMove: a job cannot go from stopped to running
    """
    if not is_legal(state, to):
        raise IllegalMove(f"a job cannot go from {state} to {to}")
    return to
