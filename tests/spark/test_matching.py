"""Patterns in applications that run: what they keep, and what has no end."""

import pytest

from headrace.errors import Source
from headrace.testing.driver import START_AT

pytestmark = pytest.mark.spark

BY_ARRIVAL = """
CREATE STREAM s (k STRING, v INT) WITH (connector = 'memory');
CREATE VIEW r AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY ARRIVAL
  MEASURES count(*) AS n PATTERN (a b+) DEFINE a AS a.v = 1, b AS b.v = 2);
"""


def test_a_key_whose_matches_are_given_keeps_nothing(engine, tmp_path):
    driver = engine.open(Source("app.sql", BY_ARRIVAL), directory=tmp_path, relations=["r"], clock_at=START_AT)
    kept = []
    for v in (1, 2, 3):
        driver.ingest([("s", [f'{{"k": "x", "v": {v}}}'])])
        [running] = driver.run.streaming
        kept += [figures["rows"] for figures in running.observe().operators.values()]
    assert driver.rows("r") == [{"k": "x", "n": 2}]
    assert kept[0] > 0
    assert kept[-1] == 0
    driver.close()
