"""The decisions as a table: a job, what is seen of it, and what follows."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from headrace.jobs.decisions import (
    AskToStop,
    Facts,
    Kill,
    Launching,
    Limits,
    Move,
    Prepare,
    Seen,
    TakeSavepoint,
    Terminate,
    Wanted,
    decide,
)
from headrace.jobs.folder import Outcome
from headrace.jobs.reports import Cause, Report
from headrace.jobs.states import FINAL, State, is_legal

NOW = datetime(2024, 1, 1, 12, tzinfo=UTC)
LIMITS = Limits()
BROKEN = Report("it broke")


def job(state, **more):
    return Facts(**{"state": state, "wanted": Wanted.RUN, "attempt": 3, **more})


def alive(**more):
    return Seen(**{"alive": True, "attempt": 3, "phase": "running", **more})


def dead(outcome=None, **more):
    return Seen(**{"attempt": 3, "outcome": outcome, **more})


def ended(ending, cause=None):
    return Outcome(3, ending, NOW, cause, BROKEN if ending == "failed" else None)


def seconds(number):
    return timedelta(seconds=number)


def shape(action):
    return action.to if isinstance(action, Move) else type(action)


CASES = [
    # state, more facts, what is seen, what follows
    (State.SUBMITTED, {}, dead(), []),
    (State.SUBMITTED, {}, dead(admitted=True), [State.STARTING, Launching]),
    (State.SUBMITTED, {"pending": True}, dead(admitted=True), [Prepare]),
    (State.SUBMITTED, {"pending": True}, dead(), []),
    (State.SUBMITTED, {"pending": True, "begun": True, "savepoint": True, "wanted": Wanted.STOP}, dead(), [Prepare]),
    (State.SUBMITTED, {"savepoint": True}, dead(admitted=True), [TakeSavepoint]),
    (State.SUBMITTED, {"wanted": Wanted.STOP}, dead(admitted=True), [State.STOPPED]),
    (State.SUBMITTED, {}, alive(), [Kill]),
    (State.STARTING, {}, alive(phase="starting"), []),
    (State.STARTING, {}, alive(phase=None), []),
    (State.STARTING, {}, alive(phase=None, silence=seconds(61)), [Kill]),
    (State.STARTING, {}, alive(phase="starting", in_state=seconds(601)), [Kill]),
    (State.STARTING, {}, alive(), [State.RUNNING]),
    (State.STARTING, {}, dead(attempt=2), [Launching]),
    (State.STARTING, {}, dead(), [State.RESTARTING]),
    (State.STARTING, {}, alive(attempt=2), [Kill]),
    (State.STARTING, {}, alive(attempt=0, phase=None), []),
    (State.STARTING, {}, dead(ended("failed", Cause.USER)), [State.FAILED]),
    (State.STARTING, {}, dead(ended("finished")), [State.FINISHED]),
    (State.STARTING, {"wanted": Wanted.STOP}, alive(), [State.STOPPING, AskToStop]),
    (State.RUNNING, {}, alive(silence=seconds(15)), []),
    (State.RUNNING, {}, alive(silence=seconds(16)), [State.DEGRADED]),
    (State.RUNNING, {}, alive(silence=seconds(61)), [Kill]),
    (State.RUNNING, {}, dead(), [State.RESTARTING]),
    (State.RUNNING, {}, dead(ended("stopped")), [State.RESTARTING]),
    (State.RUNNING, {}, dead(ended("failed", Cause.FAILURE)), [State.RESTARTING]),
    (State.RUNNING, {}, dead(ended("failed", Cause.SURROUNDINGS)), [State.RESTARTING]),
    (State.RUNNING, {}, dead(ended("failed", Cause.USER)), [State.FAILED]),
    (State.RUNNING, {"restarts": (NOW,) * 5}, dead(), [State.FAILED]),
    (State.RUNNING, {"restarts": (NOW,) * 5}, dead(ended("failed", Cause.SURROUNDINGS)), [State.RESTARTING]),
    (State.RUNNING, {"restarts": (NOW - timedelta(minutes=11),) * 5}, dead(), [State.RESTARTING]),
    (State.RUNNING, {"wanted": Wanted.RESTART}, alive(), [State.STOPPING, AskToStop]),
    (State.DEGRADED, {}, alive(), [State.RUNNING]),
    (State.DEGRADED, {}, alive(silence=seconds(16)), []),
    (State.DEGRADED, {}, alive(silence=seconds(61)), [Kill]),
    (State.DEGRADED, {}, dead(), [State.RESTARTING]),
    (State.RESTARTING, {"launch_at": NOW + seconds(1)}, dead(), []),
    (State.RESTARTING, {"launch_at": NOW}, dead(), [State.STARTING, Launching]),
    (State.RESTARTING, {"launch_at": NOW + timedelta(hours=1)}, dead(), [State.STARTING, Launching]),
    (State.RESTARTING, {"wanted": Wanted.STOP}, dead(), [State.STOPPED]),
    (State.RESTARTING, {"wanted": Wanted.STOP, "savepoint": True}, dead(), [TakeSavepoint]),
    (State.RESTARTING, {"wanted": Wanted.RESTART}, dead(), [State.STOPPED]),
    (State.RESTARTING, {}, alive(), [Kill]),
    (State.STOPPING, {"wanted": Wanted.STOP}, alive(), [AskToStop]),
    (State.STOPPING, {"wanted": Wanted.STOP}, alive(in_state=seconds(11)), [AskToStop, Terminate]),
    (State.STOPPING, {"wanted": Wanted.STOP}, alive(in_state=seconds(11), phase="stopping"), [AskToStop]),
    (State.STOPPING, {"wanted": Wanted.STOP}, alive(in_state=seconds(121)), [Kill]),
    (State.STOPPING, {"wanted": Wanted.STOP}, alive(silence=seconds(61)), [Kill]),
    (State.STOPPING, {"wanted": Wanted.STOP}, dead(), [State.STOPPED]),
    (State.STOPPING, {"wanted": Wanted.STOP}, dead(attempt=2), [State.STOPPED]),
    (State.STOPPING, {"wanted": Wanted.STOP}, dead(ended("finished")), [State.FINISHED]),
    (State.STOPPING, {"wanted": Wanted.RESTART}, dead(ended("finished")), [State.STOPPED]),
    (State.STOPPING, {"wanted": Wanted.STOP}, dead(ended("failed", Cause.USER)), [State.STOPPED]),
    (State.STOPPING, {"wanted": Wanted.STOP, "savepoint": True}, dead(ended("stopped")), [TakeSavepoint]),
    (State.STOPPED, {"wanted": Wanted.STOP}, dead(), []),
    (State.STOPPED, {"wanted": Wanted.RESTART}, dead(), [State.SUBMITTED]),
    (State.STOPPED, {"wanted": Wanted.STOP, "savepoint": True}, dead(), [TakeSavepoint]),
    (State.STOPPED, {"wanted": Wanted.STOP}, alive(), [Kill]),
    (State.FAILED, {}, dead(), []),
    (State.FAILED, {"wanted": Wanted.RESTART}, dead(), [State.SUBMITTED]),
    (State.FINISHED, {}, dead(), []),
]


@pytest.mark.parametrize(("state", "facts", "seen", "follows"), CASES)
def test_table(state, facts, seen, follows):
    actions = decide(job(state, **facts), seen, NOW, LIMITS)
    assert [shape(action) for action in actions] == follows
    for action in actions:
        assert not isinstance(action, Move) or is_legal(state, action.to)


def test_every_state_is_in_the_table():
    assert {state for state, *_ in CASES} == set(State)


def test_delays_double_until_the_longest_and_the_last_error_is_shown():
    facts = job(State.RUNNING)
    delays = []
    for _ in range(5):
        (move,) = decide(facts, dead(ended("failed", Cause.FAILURE)), NOW, LIMITS)
        delays.append((move.launch_at - NOW).total_seconds())
        facts = replace(facts, restarts=move.restarts)
    assert delays == [1, 2, 4, 8, 16]
    (move,) = decide(facts, dead(ended("failed", Cause.FAILURE)), NOW, LIMITS)
    assert move.to is State.FAILED
    assert move.error == BROKEN
    assert move.reason == "crash loop: restarted 5 times in 10 minutes; last: it broke"


def test_a_job_that_ran_well_for_a_while_does_not_wait_long_for_what_is_away():
    away = dead(ended("failed", Cause.SURROUNDINGS))
    (move,) = decide(job(State.RUNNING, waits=6, since=NOW - timedelta(minutes=3)), away, NOW, LIMITS)
    assert (move.launch_at, move.waits) == (NOW + seconds(1), 1)
    (move,) = decide(job(State.RUNNING, waits=6, since=NOW - seconds(5)), away, NOW, LIMITS)
    assert (move.launch_at, move.waits) == (NOW + seconds(60), 7)


def test_what_was_away_once_does_not_count_when_something_else_happens_later():
    silent = alive(silence=seconds(16), in_state=timedelta(minutes=3))
    (move,) = decide(job(State.RUNNING, waits=6), silent, NOW, LIMITS)
    assert (move.to, move.waits) == (State.DEGRADED, 0)
    (move,) = decide(job(State.RUNNING, waits=6), replace(silent, in_state=seconds(20)), NOW, LIMITS)
    assert (move.to, move.waits) == (State.DEGRADED, None)
    (move,) = decide(job(State.RUNNING, waits=6), dead(ended("failed", Cause.FAILURE)), NOW, LIMITS)
    assert (move.to, move.waits) == (State.RESTARTING, 0)


def test_what_has_ended_stays_so_unless_somebody_wants_it():
    for state in FINAL:
        assert decide(job(state), dead(admitted=True), NOW, LIMITS) == ()
