"""Tables: those whose changes change answers, and those that are looked up and read anew."""

import json
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

import pytest

from headrace.application import Application

pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def _session():
    from headrace.plan.settings import Settings
    from headrace.spark.session import open_session

    open_session(Settings(shuffle_partitions=1), master="local[2]")


def put(folder: Path, name: str, *rows: dict[str, object]) -> None:
    folder.mkdir(exist_ok=True)
    hidden = folder / f".{name}"
    hidden.write_text("".join(json.dumps(row) + "\n" for row in rows))
    hidden.rename(folder / name)


def test_files_are_written_into_a_table_in_the_order_of_their_lines(tmp_path):
    app = Application(directory=tmp_path).sql("""
        SET shuffle_partitions = 1;
        CREATE TABLE prices (item STRING, price INT, PRIMARY KEY (item)) WITH (connector = 'files', path = 'prices');
        CREATE MATERIALIZED VIEW known AS SELECT item, price FROM prices;
        CREATE MATERIALIZED VIEW sums AS SELECT count(*) AS n, sum(price) AS total FROM prices;
    """)
    put(
        tmp_path / "prices",
        "1.json",
        {"item": "a", "price": 1},
        {"item": "b", "price": 5},
        {"item": "a", "price": 2},
        {"item": "b", "_change": "delete"},
        {"item": "c", "price": 7},
    )
    app.start()
    try:
        app.process_available()
        assert app.rows("known") == [{"item": "a", "price": 2}, {"item": "c", "price": 7}]
        assert app.rows("sums") == [{"n": 2, "total": 9}]
        put(tmp_path / "prices", "2.json", {"item": "c", "_change": "delete"}, {"price": 3}, {"item": "c", "price": 8})
        app.process_available()
        assert app.rows("known") == [{"item": "a", "price": 2}, {"item": "c", "price": 8}]
        assert app.view("known").get("c") == {"item": "c", "price": 8}
        assert [c.change for c in islice(app.view("known").follow(after=0), 2)] == ["delete", "insert"]
        assert sum(each.dead for each in app.progress()) == 1, "a line without the key is dead, not lost"
        reflects = app.view("sums").reflects()
        assert reflects.positions.keys() == {"prices"}
        assert reflects.at is not None
    finally:
        app.stop()


def test_a_table_is_read_anew_when_its_time_has_come(tmp_path):
    put(tmp_path / "names", "1.json", {"id": 1, "name": "Ann"})
    app = Application(directory=tmp_path).sql("""
        SET shuffle_partitions = 1;
        CREATE STREAM seen (id INT) WITH (connector = 'memory');
        CREATE TABLE names (id INT, name STRING, PRIMARY KEY (id))
          WITH (connector = 'files', path = 'names', refresh = '10 minutes');
        CREATE MATERIALIZED VIEW named AS SELECT s.id, n.name FROM seen s LEFT JOIN names n ON n.id = s.id;
    """)
    assert app.explain("named").startswith("append")
    app.feed("seen", [{"id": 1}, {"id": 2}])
    app.start()
    try:
        app.process_available()
        put(tmp_path / "names", "2.json", {"id": 2, "name": "Bob"})
        app.feed("seen", [{"id": 2}]).process_available()
        run = app._run
        assert run is not None
        assert run.lowering.refreshing.refresh(datetime.now(UTC)) == 0
        assert run.lowering.refreshing.refresh(datetime.now(UTC) + timedelta(minutes=10)) == 1
        app.feed("seen", [{"id": 2}]).process_available()
        found = sorted(app.rows("named"), key=lambda row: (row["id"], row["name"] or ""))
        assert found == [{"id": 1, "name": "Ann"}, *[{"id": 2, "name": None}] * 2, {"id": 2, "name": "Bob"}]
    finally:
        app.stop()


def test_a_view_forgets_what_is_not_touched_for_its_time_to_live(tmp_path):
    app = Application(directory=tmp_path).sql("""
        SET shuffle_partitions = 1;
        CREATE STREAM s (k STRING) WITH (connector = 'memory');
        CREATE MATERIALIZED VIEW counted WITH (ttl = '1 second') AS SELECT k, count(*) AS n FROM s GROUP BY k;
    """)
    app.feed("s", [{"k": "a"}, {"k": "a"}])
    app.start()
    try:
        app.process_available()
        assert app.rows("counted") == [{"k": "a", "n": 2}]
        first = app.view("counted").reflects().at
        assert first is not None
        while datetime.now(UTC) - first < timedelta(seconds=1.2):
            app.feed("s", [{"k": "b"}]).process_available()
        app.feed("s", [{"k": "a"}]).process_available()
        assert {"k": "a", "n": 1} in app.rows("counted"), "what was not touched for a second is forgotten"
    finally:
        app.stop()
