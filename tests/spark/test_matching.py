"""Patterns in applications that run: what they keep, and what has no end."""

import pytest

from headrace import Application
from headrace.errors import HeadraceError, Source
from headrace.plan.settings import Settings
from headrace.spark.session import open_session
from headrace.testing.driver import START_AT

pytestmark = pytest.mark.spark


@pytest.fixture
def session(engine):
    return open_session(Settings(shuffle_partitions=1), master="local[2]")


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


def test_a_pattern_over_a_streaming_dataframe_is_not_run_to_its_end(session, tmp_path):
    for number, v in enumerate((1, 2)):
        (tmp_path / f"{number}.json").write_text(f'{{"k": "x", "v": {v}}}\n')
    read = session.readStream.schema("k STRING, v INT").option("maxFilesPerTrigger", 1).json(str(tmp_path))
    app = Application(directory=tmp_path).define("s", read).sql(BY_ARRIVAL.partition(";")[2] + "SELECT * FROM r;")
    with pytest.raises(HeadraceError, match="rows that do not tell when they have ended"):
        app.run_once()


def test_the_end_of_a_stream_that_never_ends_is_not_sought(session, tmp_path):
    app = Application(directory=tmp_path).sql(BY_ARRIVAL.replace("a b+", "a b+ $") + "SELECT * FROM r;")
    with pytest.raises(HeadraceError, match="in a pattern over a stream that never ends"):
        app.start()
    app.feed("s", [{"k": "x", "v": 1}, {"k": "x", "v": 2}])
    [answer] = app.run_once()
    assert answer.rows() == [{"k": "x", "n": 2}]
