"""What OBSERVE measures, and what it refuses, at its place."""

from pathlib import Path

import pytest

from headrace.errors import HeadraceError
from headrace.jobs.texts import plan_text
from headrace.jobs.upgrade import compare
from headrace.plan.observing import Measure, adding_up

STREAM = "CREATE STREAM orders (k STRING, amount INT, at TIMESTAMP) WITH (connector = 'memory');\n"
VIEW = "CREATE MATERIALIZED VIEW totals AS SELECT k, sum(amount) AS total FROM orders GROUP BY k;\n"


def planned(statement):
    return plan_text(STREAM + VIEW + statement, "t", Path("/tmp"), {})


def test_figures_of_a_stream():
    plan = planned(
        "OBSERVE Value AS SELECT count(*) AS n, max(amount) AS largest, sum(amount) AS total, "
        "count_if(amount > 10) AS big, avg(amount) / 2 AS half FROM orders;"
    )
    found = plan.observations["value"]
    assert (found.name, found.stream) == ("Value", "orders")
    assert found.measures[:2] == (Measure("n", "COUNT(*)", True), Measure("largest", "MAX(amount)", False))
    assert adding_up([found]) == {("Value", "n"), ("Value", "total"), ("Value", "big")}


def test_it_changes_no_plan_and_so_no_checkpoint():
    with_it, without = planned("OBSERVE value AS SELECT count(*) AS n FROM orders;"), planned("")
    assert [str(each.fate) for each in compare(without, with_it).changes] == ["keeps"]


@pytest.mark.parametrize(
    ("statement", "message", "place"),
    [
        ("OBSERVE o AS SELECT count(*) FROM orders", "a figure needs a name", "count(*)"),
        ("OBSERVE o AS SELECT amount AS a FROM orders", "OBSERVE takes aggregates only", "amount AS a"),
        ("OBSERVE o AS SELECT count(*) AS n FROM orders WHERE amount > 1", "OBSERVE takes no WHERE", "amount > 1"),
        ("OBSERVE o AS SELECT count(*) AS n FROM orders GROUP BY k", "OBSERVE takes no GROUP BY", "k"),
        ("OBSERVE o AS SELECT count(DISTINCT k) AS n FROM orders", "OBSERVE takes no FILTER and no DISTINCT", None),
        ("OBSERVE o AS SELECT max(k) AS n FROM orders", 'figure "n" is STRING, not a number', None),
        ("OBSERVE o AS SELECT max(amoun) AS n FROM orders", 'unknown column "amoun"', "amoun"),
        ("OBSERVE o AS SELECT count(*) AS n FROM totals", "OBSERVE reads a stream", "totals"),
        ("OBSERVE o AS SELECT count(*) AS n FROM nowhere", 'unknown table or stream "nowhere"', "nowhere"),
        ("OBSERVE o AS VALUES (1)", "OBSERVE takes one SELECT over a stream", None),
        (
            "OBSERVE o AS SELECT count(*) AS n FROM orders; OBSERVE o AS SELECT count(*) AS n FROM orders",
            '"o" is observed twice',
            "o",
        ),
        (
            "CREATE STREAM idle (x INT) WITH (connector = 'memory'); OBSERVE o AS SELECT count(*) AS n FROM idle",
            'no output reads stream "idle", so "o" would never be measured',
            None,
        ),
    ],
)
def test_mistakes_are_told_at_their_place(statement, message, place):
    with pytest.raises(HeadraceError) as caught:
        planned(statement)
    assert caught.value.message == message
    assert caught.value.span is not None
    if place is not None:
        assert caught.value.span.text == place
