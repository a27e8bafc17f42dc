"""Another job's view as an input: its changes change answers, cuts lose and double nothing, and resets are told."""

import json
from decimal import Decimal
from pathlib import Path

import pytest

from headrace.application import Application
from headrace.catalog.imports import Import
from headrace.errors import PlanError
from headrace.views.definition import Delta, Reflects, Row, ViewColumn, ViewDefinition
from headrace.views.sqlite import SqliteViewStore

pytestmark = pytest.mark.spark

COLUMNS = (
    ViewColumn("card", "bigint"),
    ViewColumn("total", "decimal(20,2)"),
    ViewColumn("at", "timestamp"),
    ViewColumn("tags", "array<string>"),
    ViewColumn("added", "int"),  # by a version of the other job that this one does not know
)
TEXT = """
SET shuffle_partitions = 1;
SET trigger = '100 milliseconds';
CREATE STREAM cards (card BIGINT) WITH (connector = 'memory');
CREATE MATERIALIZED VIEW sums AS
  SELECT tags[0] AS tag, count(*) AS n, sum(total) AS total FROM fraud.totals GROUP BY tags[0];
CREATE MATERIALIZED VIEW largest AS SELECT card, total FROM fraud.totals ORDER BY total DESC LIMIT 1;
CREATE SINK seen WITH (connector = 'files', path = 'out', format = 'json')
  AS SELECT c.card, t.total FROM cards c JOIN fraud.totals t ON t.card = c.card;
"""


class Fraud:
    """The other job, as far as its view goes."""

    def __init__(self, folder: Path, key: tuple[str, ...] = ("card",)) -> None:
        self.file = folder / "fraud.sqlite"
        self.store = SqliteViewStore(self.file)
        self.key = key
        self.define()

    def define(self) -> None:
        self.store.remove("q")
        self.store.define("q", [ViewDefinition("totals", COLUMNS, self.key)])
        self.batch = -1

    def take(self, inserted: list[Row] = (), deleted: list[Row] = ()) -> None:  # type: ignore[assignment]
        self.batch += 1
        self.store.take("q", self.batch, {"totals": Delta(deleted, inserted)}, Reflects())

    def imported(self) -> Import:
        known = (("card", "BIGINT"), ("total", ""), ("tags", "ARRAY<STRING>"))
        place = {"store": "sqlite", "path": str(self.file)}
        return Import("fraud", "totals", "view", 1, known, self.key, place=place)


def row(card: int, total: str, tag: str) -> Row:
    from datetime import UTC, datetime

    return card, Decimal(total), datetime(2024, 1, 1, tzinfo=UTC), [tag, "x"], 1


def reader(folder: Path, fraud: Fraud) -> Application:
    application = Application(directory=folder, state=str(folder / "state"), name="reader", durable=True)
    return application.reading([fraud.imported()]).sql(TEXT)


def sums(application: Application) -> dict[str, tuple[int, Decimal]]:
    application.process_available()
    return {each["tag"]: (each["n"], each["total"]) for each in application.rows("sums")}


def test_a_view_is_followed_over_cuts(tmp_path: Path) -> None:
    fraud = Fraud(tmp_path)
    fraud.take([row(1, "1.50", "a"), row(2, "2.00", "b")])
    fraud.take([row(1, "1.75", "a")], [row(1, "1.50", "a")])
    application = reader(tmp_path, fraud)
    text = application.explain("sums")
    assert "read view fraud.totals\n" in text and "its changes are followed" in text
    assert "looked up as it stands" in application.explain("seen")
    application.feed("cards", [{"card": 1}]).start()
    try:
        assert sums(application) == {"a": (1, Decimal("1.75")), "b": (1, Decimal("2.00"))}
        assert [each["card"] for each in application.rows("largest")] == [2]
        fraud.take([row(3, "9.00", "b")])
        fraud.take([], [row(2, "2.00", "b")])
        fraud.take([])
        assert sums(application) == {"a": (1, Decimal("1.75")), "b": (1, Decimal("9.00"))}
        assert [each["card"] for each in application.rows("largest")] == [3]
        application.feed("cards", [{"card": 3}]).process_available()
        application.stop()
        fraud.take([row(4, "0.25", "a")], [row(3, "9.00", "b")])
        fraud.take([row(5, "5.00", "c")])

        application = reader(tmp_path, fraud).start()
        assert sums(application) == {"a": (2, Decimal("2.00")), "c": (1, Decimal("5.00"))}
        assert [each["card"] for each in application.rows("largest")] == [5]
        lines = [json.loads(line) for file in tmp_path.glob("out/*.json") for line in file.read_text().splitlines()]
        assert sorted((each["card"], each["total"]) for each in lines) == [(1, 1.75), (3, 9.0)]
        application.stop()

        fraud.define()
        for number in range(9):
            fraud.take([row(number, "1.00", "z")])
        application = reader(tmp_path, fraud).start()
        with pytest.raises(PlanError, match="was built anew") as told:
            application.process_available()
        assert "fresh" in (told.value.hint or "")
    finally:
        application.stop()
        fraud.store.close()
