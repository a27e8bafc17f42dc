"""The table of moves: what it allows, and what it must never allow."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.jobs.states import FINAL, HOLDING, MOVES, IllegalMove, State, is_legal, move


def test_every_state_has_its_moves_and_belongs_somewhere():
    assert set(MOVES) == set(State)
    assert set(State) - FINAL - HOLDING == {State.SUBMITTED}
    assert not FINAL & HOLDING


@given(st.lists(st.sampled_from(State), max_size=60))
def test_a_walk_never_leaves_the_table(wishes):
    state = State.SUBMITTED
    before = None
    for wish in wishes:
        if not is_legal(state, wish):
            with pytest.raises(IllegalMove):
                move(state, wish)
            continue
        before, state = state, move(state, wish)
        if before in FINAL:
            assert state is State.SUBMITTED, "what has ended begins again in the queue"
        if state is State.STARTING:
            assert before in {State.SUBMITTED, State.RESTARTING}, "a driver is launched where none can be"
        if state in {State.RUNNING, State.DEGRADED}:
            assert before in {State.STARTING, State.RUNNING, State.DEGRADED}
        assert state is not before


def test_a_final_state_can_be_reached_from_everywhere():
    for state in State:
        reached, border = {state}, {state}
        while border:
            border = {to for each in border for to in MOVES[each]} - reached
            reached |= border
        assert reached >= FINAL
