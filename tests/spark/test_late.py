"""Rows behind the watermark have a home: a twin in Python says which they are."""

import json
import random
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from headrace import Application
from headrace.errors import Source

pytestmark = pytest.mark.spark

START = datetime(2024, 1, 1, 10, tzinfo=UTC)
DELAY = 5_000
STREAM = """
CREATE STREAM s (id INT, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 5 SECONDS) WITH (connector = 'memory');
"""
APPLICATION = (
    STREAM
    + """
CREATE VIEW late AS SELECT id, _watermark FROM s.late WHERE id % 2 = 0;
CREATE VIEW counts AS SELECT window_end, count(*) AS n FROM TUMBLE(s, at, INTERVAL 10 SECONDS) GROUP BY window_end;
CREATE VIEW by_second AS SELECT date_trunc('second', at) AS second, count(*) AS n FROM s.late GROUP BY 1;
"""
)


def instant(millis: int) -> datetime:
    return START + timedelta(milliseconds=millis)


def line(number: int, millis: int) -> str:
    return json.dumps({"id": number, "at": instant(millis).isoformat()})


def plain(millis: int) -> str:
    """Return an instant as Spark writes one."""
    text = f"{instant(millis):%Y-%m-%d %H:%M:%S.%f}"
    return text.rstrip("0").rstrip(".")


@pytest.mark.parametrize("seed", [1, 2])
def test_late_rows_are_those_that_the_watermark_had_passed(engine, tmp_path, seed):
    random_ = random.Random(seed)
    driver = engine.open(
        Source("app.sql", APPLICATION), directory=tmp_path, relations=["s.late", "late", "by_second"], clock_at=START
    )
    expected, latest, number = [], 0, 0
    for batch in range(7):
        moments = [max(0, batch * 4_000 + random_.randrange(-15_000, 4_000)) for _ in range(random_.choice([1, 9, 40]))]
        rows = list(enumerate(moments, number))
        number += len(rows)
        passed = latest - DELAY
        expected += [(each, millis, passed) for each, millis in rows if millis < passed]
        latest = max(latest, *moments)
        driver.ingest([("s", [line(each, millis) for each, millis in rows])])
        if batch == 4:
            driver.crash()
    assert len(expected) > 5
    assert sorted((row["id"], row["at"], row["_watermark"]) for row in driver.rows("s.late")) == [
        (each, instant(millis), instant(passed)) for each, millis, passed in sorted(expected)
    ]
    assert {row["_reason"] for row in driver.rows("s.late")} == {
        f"event time {plain(millis)} is behind the watermark {plain(passed)}" for _, millis, passed in expected
    }
    assert sorted(row["id"] for row in driver.rows("late")) == [each for each, *_ in sorted(expected) if each % 2 == 0]
    seconds = Counter(instant(millis // 1000 * 1000) for _, millis, _ in expected)
    assert {row["second"]: row["n"] for row in driver.rows("by_second")} == seconds
    figures = [running.observe() for running in driver.run.streaming]
    operators = {name: values for each in figures for name, values in each.operators.items()}
    assert {name: set(values) for name, values in operators.items()} == {
        f"{number} transformWithStateExec": {"rows", "updated", "bytes", "memory", "seconds"} for number in range(2)
    }
    assert all(each.latency > timedelta(0) for each in figures)
    driver.close()


def test_a_stream_keeps_its_late_rows_in_a_view_with_their_places(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    (tmp_path / "app.sql").write_text(
        STREAM.replace("'memory'", "'files', path = 'in', late = 'keep'")
        + "CREATE MATERIALIZED VIEW n AS SELECT count(*) AS n\n"
        "FROM TUMBLE(s, at, INTERVAL 10 SECONDS) GROUP BY window_end;"
    )
    application = Application.load(tmp_path / "app.sql")
    application.start()
    for name, rows in (("1.json", [(1, 0), (2, 60_000)]), ("2.json", [(3, 61_000), (4, 2_000)]), ("3.json", [(5, 0)])):
        (tmp_path / name).write_text("".join(f"{line(*each)}\n" for each in rows))
        (tmp_path / name).rename(folder / name)
        application.process_available()
    found = sorted(application.view("s_late").rows(), key=lambda row: row["id"])
    application.stop()
    assert [(row["id"], row["at"]) for row in found] == [(4, START + timedelta(seconds=2)), (5, START)]
    assert [row["_position"] for row in found] == [f"{folder / '2.json'}:0:2", f"{folder / '3.json'}:0:1"]
    assert {row["_watermark"] for row in found} == {START + timedelta(seconds=55), START + timedelta(seconds=56)}
