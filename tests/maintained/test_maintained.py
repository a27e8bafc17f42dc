"""What is kept current equals what is computed from scratch: after every batch, crashes and restarts included."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from maintained.drawing import drawn
from maintained.oracle import Oracle, unmatched
from maintained.running import check_group, refusal
from maintained.sequences import Batch, printed, shorter, write
from maintained.templates import ALL

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
CLASSIC = (
    Batch(
        (
            write("a", k=1, g="a", n=3, x=0.0, m=Decimal("1.10"), due=NOON, tags=["a", "b"]),
            write("a", k=2, g="a", n=1, x=-0.0, m=Decimal("2.05"), due=NOON, tags=["a"]),
            write("a", k=3, g="b", n=2, x=1.5, m=Decimal("99999999.99"), tags=[]),
            write("a", k=4, g="b", n=2, x=2.0**40, m=Decimal("99999999.99")),
            write("a", k=5, n=1, x=2.0**-10),
            write("b", k=1, g="a", n=2, y=-0.0),
            write("b", k=2, g="a", n=1, y=float("nan")),
            write("b", k=6, g="c", n=3, y=1e300),
            write("c", g="a", h=1, label="x", w=1),
            write("c", g="b", h=2, label="y", w=2),
            write("e", k=1, g="a", n=2, x=0.0),
            write("e", k=1, g="a", n=2, x=-0.0),
            write("e", k=6, n=1, x=1.5),
        )
    ),
    Batch(  # the greatest goes, a row moves to another group, partners come and go, a key that was never there goes
        (
            write("a", removed=True, k=1),
            write("a", k=3, g="a", n=2, x=1.5, m=Decimal("99999999.99"), tags=[]),
            write("a", removed=True, k=77),
            write("b", removed=True, k=1),
            write("b", k=3, g="b", n=None, y=float("-inf")),
            write("c", removed=True, g="a", h=1),
            write("e", k=4, g="b", n=3, x=None),
        ),
        "crash",
    ),
    Batch(  # several words on one key, the last of which counts; a key changes; nothing changes
        (
            write("a", removed=True, k=2),
            write("a", k=2, g="b", n=9),
            write("a", k=2, g="a", n=1, x=-0.0, m=Decimal("2.05"), due=NOON, tags=["a"]),
            write("a", removed=True, k=4),
            write("a", k=6, g="b", n=2, x=2.0**40, m=Decimal("99999999.99"), tags=[None, "b"]),
            write("b", k=6, g="c", n=3, y=1e300),
            write("b", removed=True, k=2),
            write("b", k=2, g="b", n=1, y=0.0),
        )
    ),
    Batch((), "resume"),
    Batch(  # all rows of a table go, and those of another come back
        (
            *(write("a", removed=True, k=k) for k in (2, 3, 5, 6)),
            write("b", k=1, g="a", n=2, y=-0.0),
            write("c", g="a", h=1, label=None, w=None),
        )
    ),
    Batch(
        (write("a", k=1, g="a", n=3, x=0.0), write("a", k=9, g=None, n=None), write("e", k=9, g="b", n=0, x=2.0**40)),
    ),
)
ALWAYS = [
    "extremes",
    "count_distinct_double",
    "filtered_extreme",
    "having",
    "global",
    "most_of_sums",
    "left",
    "full",
    "full_residual",
    "semi_residual",
    "left_no_equality",
    "null_safe_full",
    "self_left",
    "three_full",
    "sums_joined",
    "stream_anti",
    "distinct_double",
    "except_all",
    "intersect_all",
    "lag_lead",
    "rows_frame",
    "qualify_rank",
    "top_offset",
    "not_exists",
    "scalar_where",
    "explode_count",
]
"""The templates that every change of the operators is tried on, every second of them without ``--long``."""


def _check(templates, sequence, engine):
    mismatches = check_group(templates, sequence, engine)
    assert not mismatches, "\n\n".join([*map(str, mismatches), printed(sequence)])


def test_the_names_of_templates_differ():
    assert len({each.name for each in ALL}) == len(ALL)
    assert {each.name for each in ALL} >= {*ALWAYS}


def test_templates_are_planned_but_those_that_say_why_not():
    answers = {each.name: refusal(each) for each in ALL}
    assert {name: why for name, why in answers.items() if why} == {
        each.name: each.refused for each in ALL if each.refused
    }


def test_duckdb_answers_every_template():
    oracle = Oracle()
    for batch in CLASSIC:
        oracle.take(batch)
        for each in ALL:
            if not each.by_spark:
                oracle.answer(each)


def test_the_comparison_sees_a_row_too_many_and_a_missing_one():
    assert unmatched([(1, 0.1 + 0.2), (1, 0.3)], [(1, 0.3), (1, 0.3)]) == ([], [])
    assert unmatched([(1, "a"), (1, "a")], [(1, "a"), (None, "a")]) == ([(1, "a")], [(None, "a")])


def test_a_shorter_sequence_has_one_thing_less():
    def size(sequence):
        return sum(1 + len(batch.writes) + bool(batch.after) for batch in sequence)

    assert all(size(each) < size(CLASSIC) for each in shorter(CLASSIC))


@pytest.mark.spark
def test_the_classic_hard_cases(engine, request):
    names = ALWAYS if request.config.getoption("--long") else ALWAYS[::2]
    _check([each for each in ALL if each.name in names], CLASSIC, engine)


@pytest.mark.spark
def test_random_changes(engine):
    others = [each for each in ALL if each.name not in ALWAYS and each.refused is None]
    (sequence,) = drawn(1, most=3, start=20240101)
    _check(others[::13], sequence, engine)
