"""Tables: those whose changes change answers, and those that are looked up and read anew."""

import json
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

import pytest

from headrace.application import Application
from support.waiting import until

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


def history(app: Application, view: str) -> list[tuple[str, tuple[object, ...]]]:
    """What came and went in a view since it began."""
    kept = app.view(view)
    return [
        (sign, row)
        for batch in kept.store.changes(view, None)
        for sign, rows in (("-", batch.delta.deleted), ("+", batch.delta.inserted))
        for row in sorted(rows)
    ]


def test_what_is_not_touched_for_its_time_to_live_leaves_the_view_and_all_that_depends_on_it(tmp_path):
    queries = {
        "counted": "SELECT k, count(*) AS n FROM s GROUP BY k",
        "nested": "SELECT n, count(*) AS k FROM (SELECT k, count(*) AS n FROM s GROUP BY k) GROUP BY n",
        "totals": "SELECT g, count(*) AS n, sum(n) AS total, count(DISTINCT n) AS ns FROM a GROUP BY g",
        "joined": "SELECT s.k, a.n FROM s JOIN a ON a.k = s.k",
        "listed": "SELECT a.k, a.n FROM s RIGHT JOIN a ON a.k = s.k",
        "ranked": "SELECT k, rank() OVER (PARTITION BY g ORDER BY n) AS r FROM a",
    }
    app = Application(directory=tmp_path).sql("""
        SET shuffle_partitions = 1;
        CREATE STREAM s (k STRING) WITH (connector = 'memory');
        CREATE TABLE a (k STRING, g STRING, n INT, PRIMARY KEY (k)) WITH (connector = 'memory');
    """)
    for name, query in queries.items():
        app.sql(f"CREATE MATERIALIZED VIEW {name} WITH (ttl = '2 seconds') AS {query};")
    app.feed("a", [{"k": "a", "g": "x", "n": 1}, {"k": "b", "g": "x", "n": 2}])
    app.feed("s", [{"k": "a"}, {"k": "a"}])
    app.start()
    try:
        until(lambda: all(history(app, name) and not app.rows(name) for name in queries), 300)
        app.feed("a", [{"k": "a", "g": "x", "n": 5}])
        until(lambda: len(history(app, "totals")) == 4, 300)
        app.feed("s", [{"k": "a"}])
        until(lambda: len(history(app, "counted")) == 4 and not any(map(app.rows, queries)), 300)
        assert history(app, "counted") == [("+", ("a", 2)), ("-", ("a", 2)), ("+", ("a", 1)), ("-", ("a", 1))]
        assert history(app, "nested") == [("+", (2, 1)), ("-", (2, 1)), ("+", (1, 1)), ("-", (1, 1))]
        before, after = ("x", 2, 3, 2), ("x", 2, 7, 2)
        assert history(app, "totals") == [("+", before), ("-", before), ("+", after), ("-", after)]
        assert history(app, "joined") == [
            *[("+", ("a", 1))] * 2, *[("-", ("a", 1))] * 2, ("+", ("a", 5)), ("-", ("a", 5)),
        ]  # fmt: skip
        assert [each for each in history(app, "listed") if each[1][0] == "b"] == [("+", ("b", 2)), ("-", ("b", 2))]
        assert history(app, "ranked") == [
            ("+", ("a", 1)), ("+", ("b", 2)), ("-", ("a", 1)), ("-", ("b", 2)),
            ("+", ("a", 2)), ("+", ("b", 1)), ("-", ("a", 2)), ("-", ("b", 1)),
        ]  # fmt: skip
    finally:
        app.stop()
