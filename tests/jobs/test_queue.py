"""Who may start when cores and memory are short."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import HeadraceError
from headrace.jobs.queue import Capacity, Claim, admit, check_fits

ROOM = Capacity(cores=4, memory=4096)


def claims(prefix):
    made = st.builds(lambda cores, memory: (cores, memory), st.integers(1, 5), st.integers(1, 5000))
    return st.lists(made, max_size=8).map(lambda found: [Claim(f"{prefix}{i}", *each) for i, each in enumerate(found)])


def fits(claim):
    return claim.cores <= ROOM.cores and claim.memory <= ROOM.memory


@given(claims("w"), claims("h"))
def test_room_is_never_given_twice_and_nobody_is_overtaken(waiting, holding):
    told = list(zip(waiting, admit(waiting, holding, ROOM), strict=True))
    started = [claim for claim, verdict in told if verdict is None]
    assert all(verdict.startswith("waits for a larger server: ") for claim, verdict in told if not fits(claim))
    verdicts = [verdict for claim, verdict in told if fits(claim)]
    assert verdicts[: len(started)] == [None] * len(started)
    if started:
        assert sum(each.cores for each in [*started, *holding]) <= ROOM.cores
        assert sum(each.memory for each in [*started, *holding]) <= ROOM.memory
    assert all(verdict.startswith("waits ") for verdict in verdicts[len(started) :])


@given(claims("w"))
def test_with_nothing_running_the_first_that_fits_always_starts(waiting):
    verdicts = admit(waiting, [], ROOM)
    assert [verdicts[number] for number, claim in enumerate(waiting) if fits(claim)][:1] in ([], [None])


def test_one_that_is_too_large_for_the_server_holds_up_nobody():
    assert admit([Claim("a", 5, 5000), Claim("b", 4, 100)], [], ROOM) == [
        "waits for a larger server: it wants 5 cores, and the server has 4 and it wants 5000 MB of memory, and the "
        "server has 4096",
        None,
    ]


def test_the_reason_names_what_is_short():
    assert admit([Claim("c", 2, 3000)], [Claim("a", 3, 2000)], ROOM) == [
        "waits for 1 core; 3 of 4 are in use, and for 904 MB of memory; 2000 of 4096 are in use by a"
    ]


def test_what_never_fits_is_refused():
    with pytest.raises(HeadraceError, match="5000 MB of memory, and the server has 4096"):
        check_fits(Claim("a", 1, 5000), ROOM)
    check_fits(Claim("a", 4, 4096), ROOM)
