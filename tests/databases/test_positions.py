"""A view read from position to position, in every store, against its twin: rows after any cut are the view's."""

import random
import secrets
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from headrace.connectors.postgres.options import PostgresConnection
from headrace.connectors.redis.options import RedisConnection
from headrace.errors import HeadraceError
from headrace.views.definition import Delta, Reflects, Row, ViewColumn, ViewDefinition
from headrace.views.positions import NOTHING, Position, between, latest
from headrace.views.postgres import PostgresViewStore
from headrace.views.redis import RedisViewStore
from headrace.views.sqlite import SqliteViewStore

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
COLUMNS = (ViewColumn("k", "int"), ViewColumn("v", "string"))


class Clock:
    """A clock that tests move."""

    at = NOON

    def __call__(self) -> datetime:
        return self.at


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="session")
def database(postgres: Any) -> str:
    return postgres.new_database()


@pytest.fixture(params=["sqlite", "postgres", "redis"])
def store(request: pytest.FixtureRequest, clock: Clock, tmp_path: Path) -> Iterator[Any]:
    name = f"s{secrets.token_hex(6)}"
    made: Any
    if request.param == "sqlite":
        made = SqliteViewStore(tmp_path / "views.sqlite", clock=clock)
    elif request.param == "postgres":
        url = request.getfixturevalue("database")
        made = PostgresViewStore(PostgresConnection(url=url), schema=name, clock=clock)
    else:
        server = request.getfixturevalue("redis")
        made = RedisViewStore(RedisConnection(url=server.url), prefix=f"{name}:", clock=clock)
    yield made
    made.close()


class Writer:
    """The job that keeps the view; it knows the rows as of every batch."""

    def __init__(self, store: Any, chance: random.Random, key: tuple[str, ...], **more: Any) -> None:
        self.store, self.chance, self.key = store, chance, key
        self.definition = ViewDefinition("totals", COLUMNS, key, **more)
        self.build()

    def build(self) -> None:
        self.store.remove("q")
        self.store.define("q", [self.definition, ViewDefinition("other", COLUMNS)])
        self.rows: list[Row] = []
        self.as_of: dict[int, Counter[Row]] = {-1: Counter()}
        self.batch = -1

    def take(self) -> None:
        """Take in a batch that changes some rows, or none of this view."""
        self.batch += self.chance.choice([1, 1, 1, 2])
        gone = [row for row in self.rows if self.chance.random() < 0.4]
        kept = list((Counter(self.rows) - Counter(gone)).elements())
        taken = {row[0] for row in kept} if self.key else set()
        come: list[Row] = []
        for _ in range(self.chance.randrange(4)):
            row = (self.chance.randrange(6), self.chance.choice("ab"))
            if row[0] not in taken and row not in gone:
                come.append(row)
                taken |= {row[0]} if self.key else set()
        if self.chance.random() < 0.2:
            gone, come, kept = [], [], self.rows
        self.store.take("q", self.batch, {"totals": Delta(gone, come), "other": Delta()}, Reflects())
        self.rows = kept + come
        self.as_of[self.batch] = Counter(self.rows)

    def rows_at(self, batch: int) -> Counter[Row]:
        return self.as_of[max(each for each in self.as_of if each <= batch)]


def read(store: Any, start: Position, end: Position) -> Counter[Row]:
    """Return the weights of what is read, in which no row stands twice with different signs."""
    found: Counter[Row] = Counter()
    signs: dict[Row, set[bool]] = {}
    for row, weight in between(store, "totals", start, end):
        found[row] += weight
        signs.setdefault(row, set()).add(weight > 0)
    assert all(len(each) == 1 for each in signs.values())
    return found


def added(rows: Counter[Row], changes: Counter[Row]) -> Counter[Row]:
    total = Counter(rows)
    total.update(changes)
    assert all(count >= 0 for count in total.values())
    return +total


@pytest.mark.parametrize("key", [("k",), ()], ids=["keyed", "bag"])
@pytest.mark.parametrize("seed", range(4))
def test_what_is_read_adds_up_to_the_view(store: Any, key: tuple[str, ...], seed: int) -> None:
    chance = random.Random(seed)
    writer = Writer(store, chance, key)
    position, rows = NOTHING, Counter[Row]()
    for _ in range(25):
        for _ in range(chance.randrange(4)):
            writer.take()
        end = latest(store, "totals", position, most=chance.choice([1, 3, 100]))
        assert end.batch <= writer.batch
        if end == position:
            continue
        changes = read(store, position, end)
        if chance.random() < 0.5:  # a cut: the view goes on, and the same batch is run again
            for _ in range(chance.randrange(3)):
                writer.take()
            assert read(store, position, end) == changes
        rows = added(rows, changes)
        assert rows == writer.rows_at(end.batch)
        position = end
    while (end := latest(store, "totals", position, most=2)) != position:
        rows, position = added(rows, read(store, position, end)), end
    assert rows == Counter(writer.rows)


def test_nothing_is_read_of_a_view_without_batches(store: Any) -> None:
    writer = Writer(store, random.Random(1), ("k",))
    assert latest(store, "totals", NOTHING) == NOTHING
    assert latest(store, "elsewhere", NOTHING) == NOTHING
    writer.take()
    assert latest(store, "totals", NOTHING).batch == writer.batch


def test_a_view_that_is_built_anew_is_told(store: Any) -> None:
    writer = Writer(store, random.Random(2), ("k",))
    for _ in range(5):
        writer.take()
    end = latest(store, "totals", NOTHING)
    writer.build()
    asked: list[Callable[[], Any]] = [
        lambda: latest(store, "totals", end),
        lambda: read(store, NOTHING, end),
        lambda: read(store, Position(end.identity, end.batch - 1), end),
    ]
    for _ in range(3):  # empty, behind, and far beyond where the old one was
        for ask in asked:
            with pytest.raises(HeadraceError, match="built anew"):
                ask()
        for _ in range(10):
            writer.take()
    store.define("q", [writer.definition])  # the next start of the same job changes nothing
    again = latest(store, "totals", NOTHING)
    writer.take()
    store.define("q", [writer.definition])
    assert read(store, NOTHING, again) == writer.rows_at(again.batch)


def test_a_reader_that_is_too_far_behind_is_told(store: Any, clock: Clock) -> None:
    writer = Writer(store, random.Random(3), ("k",), retain=timedelta(hours=1))
    writer.take()
    old = latest(store, "totals", NOTHING)
    for _ in range(20):
        clock.at += timedelta(minutes=20)
        writer.take()
    for ask in (lambda: latest(store, "totals", old), lambda: read(store, NOTHING, old)):
        with pytest.raises(HeadraceError, match="no longer go back that far") as told:
            ask()
        assert "fresh" in (told.value.hint or "")
    now = latest(store, "totals", NOTHING)
    assert read(store, NOTHING, now) == Counter(writer.rows)


def test_a_restored_file_is_another_view(tmp_path: Path) -> None:
    store = SqliteViewStore(tmp_path / "views.sqlite")
    writer = Writer(store, random.Random(4), ("k",))
    writer.take()
    end = latest(store, "totals", NOTHING)
    store.renew()
    with pytest.raises(HeadraceError, match="built anew"):
        latest(store, "totals", end)
    store.close()
