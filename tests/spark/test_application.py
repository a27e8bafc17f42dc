"""The Python API on a real session: functions, relations from and to DataFrames, generators, time."""

import json
import os
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from headrace import Application, HeadraceError

pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def session(engine):
    from headrace.plan.settings import Settings
    from headrace.spark.session import open_session

    return open_session(Settings(shuffle_partitions=1), master="local[2]")


def test_what_an_application_sets_for_itself_is_gone_with_it(session):
    from headrace.plan.settings import Settings
    from headrace.spark.session import FIXED, open_session

    policy = "spark.sql.streaming.multipleWatermarkPolicy"
    session.conf.set("spark.sql.streaming.pollingDelay", "20ms")
    own = {"spark.sql.codegen.wholeStage": "false", "spark.sql.streaming.pollingDelay": "70ms", policy: "max"}
    assert open_session(Settings(shuffle_partitions=3, spark=own)) is session
    assert {key: session.conf.get(key) for key in own} == own
    assert open_session(Settings(shuffle_partitions=1)) is session
    assert session.conf.get("spark.sql.codegen.wholeStage") == "true"
    assert session.conf.get("spark.sql.streaming.pollingDelay") == "20ms"
    assert session.conf.get(policy) == FIXED[policy]
    session.conf.unset("spark.sql.streaming.pollingDelay")


GEO = """
import math
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from units import KM


def haversine(lat1: float, lon1: float, lat2: float, lon2: float) -> float:
    a, b = math.radians(lat1), math.radians(lat2)
    half = math.sin((b - a) / 2) ** 2 + math.cos(a) * math.cos(b) * math.sin(math.radians(lon2 - lon1) / 2) ** 2
    return 2 * 6371 * KM * math.asin(math.sqrt(half))


def twice(x: pd.Series) -> pd.Series:
    return x * 2


def thrice(x: pa.Array) -> pa.Array:
    return pc.multiply(x, 3)
"""


def test_python_functions_by_row_by_series_and_by_array(tmp_path):
    (tmp_path / "geo.py").write_text(GEO)
    (tmp_path / "units.py").write_text("KM = 1\n")
    (tmp_path / "in.jsonl").write_text('{"lat": 52.5, "lon": 13.4, "n": 7}\n')
    (tmp_path / "app.sql").write_text(
        "CREATE STREAM s (lat DOUBLE, lon DOUBLE, n BIGINT) WITH (connector = 'files', path = 'in.jsonl');"
        "CREATE FUNCTION haversine(a DOUBLE, b DOUBLE, c DOUBLE, d DOUBLE) RETURNS DOUBLE"
        "  LANGUAGE PYTHON AS 'geo:haversine';"
        "CREATE FUNCTION twice(x BIGINT) RETURNS BIGINT LANGUAGE PYTHON AS 'geo:twice';"
        "CREATE FUNCTION thrice(x BIGINT) RETURNS BIGINT LANGUAGE PYTHON AS 'geo:thrice';"
        "SELECT round(haversine(lat, lon, 48.9, 2.4)) AS km, twice(n) AS two, thrice(n) AS three FROM s;"
    )
    [answer] = Application.load(tmp_path / "app.sql").run_once()
    assert answer.rows() == [{"km": 871.0, "two": 14, "three": 21}]


def test_a_function_that_is_not_there_is_found_without_running_anything(tmp_path):
    (tmp_path / "geo.py").write_text("raise SystemExit('must not be run')\n\ndef near(a):\n    return a\n")
    for name, wanted in (("far", "has no function far"), ("near", "takes 1 arguments")):
        with pytest.raises(HeadraceError, match=wanted):
            Application(directory=tmp_path).sql(
                f"CREATE FUNCTION f(a INT, b INT) RETURNS INT LANGUAGE PYTHON AS 'geo:{name}'"
            )


def test_relations_from_and_to_data_frames(session):
    frame = session.createDataFrame([("a", 1), ("b", 2)], "k STRING, n INT")
    app = (
        Application()
        .define("known", frame)
        .function("shout", lambda text: text.upper() + "!", "STRING", ["STRING"])
        .sql("CREATE STREAM s (k STRING, x INT) WITH (connector = 'memory');")
        .sql("CREATE VIEW loud AS SELECT shout(k) AS k, n FROM known WHERE n > 1;")
        .sql("SELECT s.x, known.n FROM s JOIN known USING (k);")
    )
    assert [row.asDict() for row in app.frame("loud").collect()] == [{"k": "B!", "n": 2}]
    assert app.frame("s").isStreaming
    app.feed("s", [{"k": "b", "x": 5}, {"k": "z", "x": 6}])
    [answer] = app.run_once()
    assert answer.rows() == [{"x": 5, "n": 2}]
    with pytest.raises(HeadraceError, match="unknown stream"):
        app.feed("loud", [])


def test_a_generator_gives_the_same_rows_each_time():
    text = (
        "CREATE STREAM t (n BIGINT, symbol STRING, price DOUBLE, at TIMESTAMP, WATERMARK FOR at AS at)"
        " WITH (connector = 'datagen', rows = 100, rows_per_second = 10, start = '2024-01-01T00:00:00Z',"
        " n = 'value', symbol = 'element_at(array(\"A\", \"B\"), CAST(1 + floor(rand() * 2) AS INT))',"
        " price = '100 + 10 * rand()', at = 'timestamp');"
        "SELECT window_end, symbol, count(*) AS n, avg(price) AS mean FROM TUMBLE(t, at, INTERVAL 5 SECONDS)"
        " GROUP BY window_end, symbol;"
    )
    [first] = Application().sql(text).run_once()
    [second] = Application().sql(text).run_once()
    rows = first.rows()
    assert rows == second.rows()
    assert sum(row["n"] for row in rows) == 100
    assert {row["symbol"] for row in rows} == {"A", "B"}
    assert rows[0]["window_end"] == datetime(2024, 1, 1, 0, 0, 5, tzinfo=UTC)
    endless = Application().sql(text.replace("rows = 100, ", ""))
    with pytest.raises(HeadraceError, match="never ends"):
        endless.run_once()


def test_ingestion_time_of_a_file_is_when_it_was_written(tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_text('{"x": 1}\n')
    os.utime(path, (1_700_000_000, 1_700_000_000))
    app = Application(directory=tmp_path).sql(
        "CREATE STREAM s (x INT, came_at TIMESTAMP AS INGESTION_TIME(), WATERMARK FOR came_at AS came_at)"
        " WITH (connector = 'files', path = 'in.jsonl');"
        "SELECT x, came_at FROM s;"
    )
    assert app.run_once()[0].rows() == [{"x": 1, "came_at": datetime.fromtimestamp(1_700_000_000, UTC)}]


def test_a_query_that_orders_is_in_its_order(tmp_path):
    rows = [{"k": k, "n": n} for k, n in (("a", 2), ("b", None), ("c", 9), ("d", 2))]
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, rows)))
    app = Application(directory=Path(tmp_path)).sql(
        "CREATE STREAM s (k STRING, n INT) WITH (connector = 'files', path = 'in.jsonl');"
        "SELECT k, n FROM s ORDER BY n DESC NULLS LAST, k LIMIT 2 OFFSET 1;"
        "SELECT k, n FROM s ORDER BY n NULLS FIRST, 1;"
    )
    first, second = app.run_once()
    assert [row["k"] for row in first.rows()] == ["a", "d"]
    counted = Counter(change.row["k"] for _, changes in first.changes() for change in changes)
    assert counted == {"a": 1, "d": 1}
    assert [row["k"] for row in second.rows()] == ["b", "a", "d", "c"]
