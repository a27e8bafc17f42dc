"""A query that has ended leaves the memory of Python's and of Java's process: a server starts many in one."""

import gc

import pytest

from headrace.errors import Source
from headrace.testing.driver import START_AT
from support.waiting import until

pytestmark = pytest.mark.spark

APPLICATION = """
CREATE STREAM s (k STRING, v INT) WITH (connector = 'memory');
CREATE VIEW sums AS SELECT k, sum(v) AS total FROM s GROUP BY k;
CREATE VIEW big AS SELECT k, v FROM s WHERE v > 1;
"""


def test_an_ended_query_leaves_no_plan_behind(engine, tmp_path):
    driver = engine.open(
        Source("app.sql", APPLICATION), directory=tmp_path, relations=["sums", "big"], clock_at=START_AT
    )
    driver.ingest([("s", ['{"k": "a", "v": 1}', '{"k": "a", "v": 2}'])])
    assert driver.rows("sums") == [{"k": "a", "total": 3}]
    assert driver.run is not None
    jvm = driver.run.spark._jvm
    kept = [jvm.java.lang.ref.WeakReference(each.active._jsq.streamingQuery()) for each in driver.run.streaming]
    assert kept
    driver.crash()  # queries that were started anew leave, too
    kept += [jvm.java.lang.ref.WeakReference(each.active._jsq.streamingQuery()) for each in driver.run.streaming]
    driver.close()
    del driver

    def gone() -> bool:
        gc.collect()
        jvm.java.lang.System.gc()
        return all(each.get() is None for each in kept)

    until(gone)
