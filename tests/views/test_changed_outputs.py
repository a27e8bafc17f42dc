"""An output more or less in an application that has run: told before anything is read a second time."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from headrace import Application
from headrace.errors import PlanError

pytestmark = pytest.mark.spark

ARCHIVE = """
CREATE STREAM bids (auction BIGINT, price BIGINT) WITH (connector = 'memory');
CREATE SINK archive WITH (connector = 'sqlite', path = 'shop.db', table = 'bids') AS SELECT * FROM bids;
"""
VIEW = "CREATE MATERIALIZED VIEW best AS SELECT auction, max(price) AS price FROM bids GROUP BY auction;"


def application(folder: Path, sql: str) -> Application:
    return Application(directory=folder, state=str(folder / "state"), name="shop").sql(sql)


def run(app: Application) -> None:
    try:
        app.start()
        app.process_available()
    finally:
        app.stop()


def archived(folder: Path) -> list[tuple[int, int]]:
    with closing(sqlite3.connect(folder / "shop.db")) as connection:
        return connection.execute("SELECT * FROM bids").fetchall()


@pytest.mark.parametrize(("before", "after"), [(ARCHIVE, ARCHIVE + VIEW), (ARCHIVE + VIEW, ARCHIVE)])
def test_an_output_more_or_less_needs_a_fresh_start(tmp_path: Path, before: str, after: str) -> None:
    app = application(tmp_path, before).feed("bids", [{"auction": 1, "price": 10}])
    run(app)
    changed = application(tmp_path, after).feed("bids", [{"auction": 1, "price": 12}])
    with pytest.raises(PlanError, match="other outputs than before") as caught:
        run(changed)
    assert caught.value.detail in {
        "It had archive; now it has archive, best.", "It had archive, best; now it has archive.",
    }  # fmt: skip
    assert archived(tmp_path) == [(1, 10)]
    run(app)
    assert archived(tmp_path) == [(1, 10), (1, 12)]


def test_after_a_fresh_start_a_store_elsewhere_has_the_views_of_the_new_query(tmp_path: Path) -> None:
    best = VIEW.replace("best AS", "best WITH (path = 'views.db') AS")
    more = best.replace("best", "lowest").replace("max", "min")
    run(application(tmp_path, ARCHIVE + best).feed("bids", [{"auction": 1, "price": 10}]))
    fresh = application(tmp_path, ARCHIVE + more + best)
    fresh.forget()
    run(fresh.feed("bids", [{"auction": 1, "price": 12}, {"auction": 1, "price": 13}]))
    assert fresh.view("best").get(1) == {"auction": 1, "price": 13}
    assert fresh.view("lowest").get(1) == {"auction": 1, "price": 12}
    assert [each.batch for each in fresh.view("best").store.changes("best", None)] == [0]
