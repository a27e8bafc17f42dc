"""The state of each pattern of a query is told apart from the others', whatever stands around it."""

from datetime import UTC, datetime

import pytest

from headrace.errors import Source

APPLICATION = """
CREATE STREAM s (k INT, at TIMESTAMP, v INT, WATERMARK FOR at AS at) WITH (connector = 'memory');
CREATE VIEW pairs AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY at
  MEASURES b.v AS v PATTERN (a b) WITHIN INTERVAL 1 DAY DEFINE a AS a.v = 2, b AS b.v = 99);
CREATE VIEW triples AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY at
  MEASURES c.v AS v PATTERN (a b c) WITHIN INTERVAL 1 DAY DEFINE a AS a.v > 0, b AS b.v = 99);
CREATE VIEW both AS SELECT k, v FROM triples UNION ALL SELECT k, v FROM pairs
  UNION ALL SELECT k, v FROM (SELECT k, at, v FROM s WHERE v = 1) MATCH_RECOGNIZE (PARTITION BY k ORDER BY at
    MEASURES b.v AS v PATTERN (a b) WITHIN INTERVAL 1 DAY);
CREATE VIEW twice AS SELECT * FROM pairs UNION ALL SELECT * FROM pairs;
CREATE MATERIALIZED VIEW counts AS SELECT k, count(*) AS n FROM both GROUP BY k;
"""


@pytest.fixture
def driver(engine, tmp_path):
    opened = engine.open(
        Source("app.sql", APPLICATION),
        directory=tmp_path,
        relations=("both", "twice", "counts"),
        clock_at=datetime(2024, 1, 2, tzinfo=UTC),
    )
    yield opened
    opened.close()


@pytest.mark.spark
def test_each_pattern_has_its_own_state(driver):
    # ten keys of which nothing comes again: five begin a triple, two of these a pair, one the pattern over v = 1
    values = [-1, -1, -1, -1, -1, 1, 2, 2, 3, 3]
    rows = [f'{{"k": {k}, "at": "2024-01-01T10:00:00Z", "v": {v}}}' for k, v in enumerate(values)]
    driver.ingest([("s", rows)])
    driver.ingest([("s", ['{"k": 0, "at": "2024-01-01T10:00:01Z", "v": 0}'])])
    seen = {running.output.name: running.observe().operators for running in driver.run.streaming}

    patterns = {"pattern triples", "pattern pairs", "pattern both"}
    assert set(seen["both"]) == patterns
    grows = {name: figures["rows"] for name, figures in seen["both"].items()}
    # a key that begins nothing keeps nothing
    assert grows["pattern both"] < grows["pattern pairs"] < grows["pattern triples"]
    assert set(seen["twice"]) == {"pattern pairs"}
    assert seen["twice"]["pattern pairs"]["rows"] == 2 * grows["pattern pairs"]
    assert patterns < set(seen["counts"])
    assert {name: seen["counts"][name]["rows"] for name in patterns} == grows

    driver.stop_and_resume()
    driver.ingest([("s", ['{"k": 9, "at": "2024-01-01T10:00:02Z", "v": -1}'])])
    assert patterns < set(
        {running.output.name: running.observe() for running in driver.run.streaming}["counts"].operators
    )
