"""What follows in a rebuild, as a table: two jobs, how far they are, and the next step."""

from dataclasses import replace
from datetime import timedelta

import pytest

from headrace.jobs.decisions import Wanted
from headrace.jobs.figures import from_dict
from headrace.jobs.rebuilding import NEAR, Chase, Pair, Phase, Step, decide_rebuild, furthest, reached
from headrace.jobs.states import State

RUN, STOP, RESTART = Wanted.RUN, Wanted.STOP, Wanted.RESTART
RUNNING, STOPPED, FAILED, FINISHED = State.RUNNING, State.STOPPED, State.FAILED, State.FINISHED

CASES = [
    # phase, builder, what is wanted of it, job, what is wanted of it, whether it has caught up, what follows
    (Phase.BUILDING, State.SUBMITTED, RUN, RUNNING, RUN, False, Step.WAIT),
    (Phase.BUILDING, RUNNING, RUN, RUNNING, RUN, False, Step.WAIT),
    (Phase.BUILDING, RUNNING, RUN, RUNNING, RUN, True, Step.HAND_OVER),
    (Phase.BUILDING, State.DEGRADED, RUN, RUNNING, RUN, True, Step.WAIT),
    (Phase.BUILDING, RUNNING, RUN, STOPPED, STOP, True, Step.HAND_OVER),
    (Phase.BUILDING, RUNNING, RUN, FAILED, RUN, True, Step.HAND_OVER),
    (Phase.BUILDING, FINISHED, RUN, FINISHED, RUN, False, Step.HAND_OVER),
    (Phase.BUILDING, FAILED, RUN, RUNNING, RUN, False, Step.FAIL),
    (Phase.BUILDING, STOPPED, RESTART, RUNNING, RUN, False, Step.WAIT),
    (Phase.BUILDING, STOPPED, RUN, RUNNING, RUN, False, Step.FAIL),
    (Phase.HANDING_OVER, RUNNING, RUN, RUNNING, STOP, True, Step.WAIT),
    (Phase.HANDING_OVER, RUNNING, RUN, State.STOPPING, STOP, True, Step.WAIT),
    (Phase.HANDING_OVER, RUNNING, RUN, STOPPED, STOP, False, Step.WAIT),
    (Phase.HANDING_OVER, RUNNING, RUN, STOPPED, STOP, True, Step.STOP_BUILDER),
    (Phase.HANDING_OVER, FINISHED, RUN, FINISHED, STOP, False, Step.STOP_BUILDER),
    (Phase.HANDING_OVER, State.RESTARTING, RUN, STOPPED, STOP, False, Step.WAIT),
    (Phase.HANDING_OVER, FAILED, RUN, STOPPED, STOP, False, Step.FAIL),
    (Phase.HANDING_OVER, RUNNING, RUN, STOPPED, RESTART, True, Step.TAKE_BACK),
    (Phase.HANDING_OVER, RUNNING, RUN, RUNNING, RUN, True, Step.TAKE_BACK),
    (Phase.SWAPPING, State.STOPPING, STOP, STOPPED, STOP, False, Step.WAIT),
    (Phase.SWAPPING, STOPPED, STOP, STOPPED, STOP, False, Step.SWAP),
    (Phase.SWAPPING, FINISHED, STOP, FINISHED, STOP, False, Step.SWAP),
    (Phase.SWAPPING, STOPPED, STOP, State.SUBMITTED, RUN, False, Step.TAKE_BACK),
    (Phase.SWAPPED, STOPPED, STOP, State.STARTING, RUN, False, Step.WAIT),
    (Phase.SWAPPED, STOPPED, STOP, RUNNING, RUN, False, Step.REMOVE),
    (Phase.SWAPPED, STOPPED, STOP, STOPPED, STOP, False, Step.REMOVE),
    (Phase.CANCELLED, RUNNING, STOP, RUNNING, RUN, True, Step.WAIT),
    (Phase.CANCELLED, RUNNING, RUN, RUNNING, RUN, True, Step.STOP_AND_WAIT),
    (Phase.CANCELLED, STOPPED, STOP, RUNNING, RUN, False, Step.REMOVE),
    (Phase.FAILED, FAILED, STOP, RUNNING, RUN, False, Step.WAIT),
    (Phase.BUILDING, RUNNING, RUN, None, STOP, True, Step.STOP_AND_WAIT),
    (Phase.FAILED, FAILED, STOP, None, STOP, False, Step.REMOVE),
]


@pytest.mark.parametrize(("phase", "builder", "wanted", "job", "job_wanted", "caught_up", "follows"), CASES)
def test_table(phase, builder, wanted, job, job_wanted, caught_up, follows):
    assert decide_rebuild(Pair(phase, builder, wanted, job, job_wanted, caught_up)) is follows


def test_a_job_that_stands_still_for_too_long_is_taken_back_unless_it_can_be_swapped():
    pair = Pair(Phase.HANDING_OVER, RUNNING, RUN, STOPPED, STOP, overdue=True)
    assert decide_rebuild(pair) is Step.TAKE_BACK
    assert decide_rebuild(replace(pair, caught_up=True)) is Step.STOP_BUILDER


def test_every_phase_and_step_is_in_the_table():
    assert {case[0] for case in CASES} == set(Phase)
    assert {case[-1] for case in CASES} == set(Step)


def output(batch=3, idle=False, **positions):
    plain = {name.replace("_", ":"): offset for name, offset in positions.items()}
    return from_dict({"name": "v", "batch": batch, "idle": idle, "positions": plain})


@pytest.mark.parametrize(
    ("builder", "goal", "to_the_end", "there"),
    [
        ([], {}, False, False),
        ([output(t_0=5)], {"t:0": 5}, False, True),
        ([output(t_0=5)], {"t:0": 6}, False, False),
        ([output(t_0=5)], {"t:0": 5, "t:1": 1}, False, False),
        ([output(t_0=5)], {"t:0": 5, "gone:0": 9}, False, True),
        ([output(t_0=5), output(t_0=4)], {"t:0": 5}, False, False),
        ([output(-1)], {}, False, False),
        ([output(-1, idle=True)], {}, False, True),
        ([output(t_0=5)], {"t:0": 5}, True, False),
        ([output(t_0=5, idle=True)], {"t:0": 5}, True, True),
        ([replace(output(t_0=5), behind_of={"t:0": 1})], {}, False, False),
        ([replace(output(t_0=5), behind_of={"t:0": 0})], {}, False, True),
        ([replace(output(t_0=5), behind_of={"t:0": 1})], {"t:0": 5}, False, True),
    ],
)
def test_reached(builder, goal, to_the_end, there):
    assert reached(builder, goal, to_the_end=to_the_end) is there


def test_the_furthest_output_counts():
    assert furthest([output(t_0=5, t_1=1), output(t_0=4, u_0=2)]) == {"t:0": 5, "t:1": 1, "u:0": 2}


def test_a_builder_that_took_long_chases_on():
    def after(seconds):
        return timedelta(seconds=seconds)

    first = Chase(after(0), {"t:0": 100})
    assert first.go_on(False, after(5), {"t:0": 150}) == (False, first)
    near, second = first.go_on(True, after(60), {"t:0": 700})
    assert (near, second) == (False, Chase(after(60), {"t:0": 700}))
    assert second.go_on(True, after(60) + NEAR, {"t:0": 720})[0]
