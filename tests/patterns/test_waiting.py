"""Rows that wait for the watermark: many at once, such that can give nothing, and how long these are kept."""

import random
from datetime import timedelta

import pytest

from headrace import Application
from patterns.cases import SMALL, SOON, TIMES, asked
from patterns.drawing import BEGAN_AT, Batch, keyed
from patterns.running import Trial, check
from patterns.twin import Skip

SQL = """
SET shuffle_partitions = 1;
CREATE STREAM s (k STRING, at TIMESTAMP, v INT, WATERMARK FOR at AS at) WITH (connector = 'memory');
CREATE SINK found WITH (connector = 'noop') AS SELECT * FROM s MATCH_RECOGNIZE (
  PARTITION BY k ORDER BY at MEASURES a.v AS v PATTERN (a b) {within} DEFINE a AS a.v = 1, b AS b.v = 2);
"""


def _rows(values, gap):
    return tuple({"id": i, "v": v, "at": BEGAN_AT + i * gap, "tie": i} for i, v in enumerate(values))


@pytest.mark.spark
def test_more_rows_wait_than_are_read_with_every_batch(engine):
    """Hundreds of rows of a key wait at once, and more come while some of them are searched."""
    chosen = random.Random(7)
    keys = keyed(
        [
            _rows([], timedelta(0)),
            _rows([chosen.choice([0, 1, 2, 3, 4]) for _ in range(400)], timedelta(milliseconds=40)),
            _rows([chosen.choice([4, 4, 4, 1, 2]) for _ in range(300)], timedelta(milliseconds=60)),
        ]
    )
    rows = [row for each in keys.values() for row in each]
    rows.sort(
        key=lambda row: row["at"] + timedelta(seconds=8 * chosen.random())
    )  # none is late, as 10 s are waited for
    cut = [rows[i : i + 120] for i in range(0, len(rows), 120)]
    delivery = tuple(Batch(tuple(each), ("", "crash", "")[i % 3]) for i, each in enumerate(cut))
    questions = (
        asked("A B", SMALL, **SOON),
        asked("A+ B", SMALL),
        asked("A B? C", SMALL, **SOON, timeouts=True, measures=TIMES),
        asked("A B*? C", SMALL, **SOON, skip=Skip.TO_NEXT_ROW),
    )
    assert [str(each) for each in check(Trial(questions, keys, delivery), engine)] == []


@pytest.mark.spark
@pytest.mark.parametrize("within", ["", "WITHIN INTERVAL 10 SECONDS"])
def test_rows_that_can_give_nothing_are_forgotten(within, engine):
    """A key that nobody hears of again leaves no state, whether its rows began something or not."""
    at = BEGAN_AT
    app = Application().sql(SQL.format(within=within))
    app.start()
    try:
        long_ago = BEGAN_AT - timedelta(days=10_000)
        app.feed("s", [{"k": f"key {n}", "at": when, "v": 7} for n in range(20) for when in (long_ago, at)])
        if within:
            app.feed("s", [{"k": f"begun {n}", "at": at + timedelta(seconds=1), "v": 1} for n in range(20)])
        app.process_available()
        assert app.progress()[0].state_rows >= 20
        for days in (1, 2):
            app.feed("s", [{"k": "last", "at": at + timedelta(days=days), "v": 7}])
            app.process_available()
        assert app.progress()[0].state_rows <= 5  # what the last row needs
    finally:
        app.stop()
