"""Stores and tables that have lost batches of their query: told with the next batch, and nothing right is refused."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from headrace import Application
from headrace.errors import HeadraceError
from headrace.views.definition import Delta, Reflects
from headrace.views.takers import TableTaker

SHOP = """
SET shuffle_partitions = 1;
CREATE STREAM bids (auction BIGINT, price BIGINT) WITH (connector = 'memory');
CREATE MATERIALIZED VIEW best WITH (path = 'views.db') AS
  SELECT auction, max(price) AS price FROM bids GROUP BY auction;
CREATE SINK shown WITH (connector = 'sqlite', path = 'shop.db', table = 'TABLE') AS SELECT * FROM best;
"""


def application(folder: Path, table: str = "best") -> Application:
    sql = SHOP.replace("TABLE", table)
    return Application(directory=folder, state=str(folder / "state"), name="shop").sql(sql)


def run(app: Application, price: int) -> None:
    try:
        app.feed("bids", [{"auction": 1, "price": price}])
        app.start()
        app.process_available()
    finally:
        app.stop()


def written(folder: Path, table: str) -> list[tuple[int, int]]:
    with closing(sqlite3.connect(folder / "shop.db")) as connection:
        return connection.execute(f"SELECT * FROM {table}").fetchall()


def gone(folder: Path, name: str) -> None:
    for path in folder.glob(f"{name}*"):
        path.unlink()


@pytest.mark.spark
def test_what_has_lost_batches_is_told_and_what_has_not_goes_on(tmp_path: Path) -> None:
    run(application(tmp_path), 10)
    run(application(tmp_path), 11)
    run(application(tmp_path, "other"), 12)  # another table begins where the query stands
    (tmp_path / "state" / "shop" / "best+1" / "name").unlink()  # as a restored savepoint does
    run(application(tmp_path, "other"), 13)
    assert written(tmp_path, "other") == [(1, 13)]
    gone(tmp_path, "shop.db")
    with pytest.raises(HeadraceError, match='the table of sink "shown" is out of step with its query') as caught:
        run(application(tmp_path, "other"), 14)
    assert "It has taken in nothing, and the query goes on with batch 4." in str(caught.value.detail)
    assert "--fresh" in str(caught.value.hint)
    fresh = application(tmp_path, "other")
    fresh.forget()
    run(fresh, 20)
    gone(tmp_path, "views.db")
    with pytest.raises(HeadraceError, match="the store of best is out of step with its query"):
        run(application(tmp_path, "other"), 21)


@pytest.mark.spark
def test_a_sink_of_tables_that_are_looked_up_is_written_once(tmp_path: Path) -> None:
    (tmp_path / "lk.json").write_text('{"k": 1, "m": {}}\n{"k": 2, "m": {"a": 1}}\n')
    sql = """
        CREATE TABLE lk (k BIGINT, m MAP<STRING, INT>) WITH (connector = 'files', path = 'lk.json');
        CREATE SINK shown WITH (connector = 'sqlite', path = 'shop.db', table = 'lk') AS SELECT * FROM lk;
    """

    def app() -> Application:
        return Application(directory=tmp_path, state=str(tmp_path / "state"), name="shop").sql(sql)

    for _ in range(2):
        started = app().start()
        started.stop()
    assert written(tmp_path, "lk") == [(1, "{}"), (2, '{"a": 1}')]
    app().run_once()
    assert len(written(tmp_path, "lk")) == 4, "a run that ends is a run of its own"


class Table:
    """A table that remembers the last batch, as long as nobody takes that from it."""

    last: int | None = None

    def last_batch(self, output: str) -> int | None:
        return self.last

    def take(self, output: str, batch: int, deleted: object, inserted: object) -> bool:
        self.last = batch
        return True


class Written:
    there = False

    def is_there(self) -> bool:
        return self.there

    def write(self) -> None:
        self.there = True


@pytest.mark.parametrize(
    ("noted", "last", "batch", "right"),
    [
        (False, None, 0, True),
        (False, None, 7, True),  # restored from a savepoint, or another table than before
        (True, None, 0, True),
        (True, None, 7, False),
        (True, 6, 7, True),
        (True, 7, 7, True),  # killed between the table and the checkpoint
        (False, 5, 7, False),
        (True, 5, 7, False),
    ],
)
def test_which_tables_are_out_of_step(noted: bool, last: int | None, batch: int, right: bool) -> None:
    table, note = Table(), Written()
    table.last, note.there = last, noted
    taker = TableTaker(table, "shop.out.1", note)  # type: ignore[arg-type]
    if right:
        taker.take(batch, {"out": Delta()}, Reflects())
        assert note.there
        taker.take(batch + 1, {"out": Delta()}, Reflects())
    else:
        with pytest.raises(HeadraceError, match="out of step"):
            taker.take(batch, {"out": Delta()}, Reflects())
        assert table.last == last
