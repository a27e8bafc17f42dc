"""Views in PostgreSQL and Redis against an obvious twin, and what a store promises."""

import secrets
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.connectors.postgres.options import PostgresConnection
from headrace.connectors.redis.options import RedisConnection
from headrace.errors import HeadraceError, PlanError
from headrace.views.definition import (
    AnswerTooLarge,
    Bounds,
    Delta,
    FeedBatch,
    Reflects,
    ViewColumn,
    ViewDefinition,
    ViewStore,
)
from headrace.views.postgres import PostgresViewStore
from headrace.views.redis import RedisViewStore
from support.databases import PostgresServer, RedisServer
from support.random_rows import bag, batches, same, tables

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)


class Clock:
    """A clock that tests move."""

    def __init__(self) -> None:
        self.at = NOON

    def __call__(self) -> datetime:
        return self.at


NewStore = Callable[[], ViewStore]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="session")
def database(postgres: PostgresServer) -> str:
    return postgres.new_database()


@pytest.fixture(params=["postgres", "redis"])
def new_store(request: pytest.FixtureRequest, clock: Clock) -> Iterator[NewStore]:
    """Return what makes an empty store of its own."""
    made: list[Any] = []

    def make() -> ViewStore:
        name = f"s{secrets.token_hex(6)}"
        store: Any
        if request.param == "postgres":
            url = request.getfixturevalue("database")
            store = PostgresViewStore(PostgresConnection(url=url), schema=name, clock=clock)
        else:
            server: RedisServer = request.getfixturevalue("redis")
            store = RedisViewStore(RedisConnection(url=server.url), prefix=f"{name}:", clock=clock)
        made.append(store)
        return store

    yield make
    for store in made:
        store.close()


def view(types: list[str], width: int, name: str = "Totals", **more: Any) -> ViewDefinition:
    columns = tuple(ViewColumn(f"c{place}", kind) for place, kind in enumerate(types))
    return ViewDefinition(name, columns, tuple(each.name for each in columns[:width]), **more)


COUNTS = ViewDefinition(
    "Counts", (ViewColumn("page", "string"), ViewColumn("n", "bigint")), ("page",), retain=timedelta(hours=1)
)
SEEN = ViewDefinition("seen", (ViewColumn("page", "string"), ViewColumn("at", "timestamp")))


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[str], int, list[tuple[list[Any], list[Any]]]]:
    types, width = draw(tables(keyed=draw(st.booleans())))
    return types, width, draw(batches(types, width))


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(histories())
def test_a_store_holds_what_its_twin_holds(
    new_store: NewStore, history: tuple[list[str], int, list[tuple[list[Any], list[Any]]]]
) -> None:
    types, width, taken = history
    store = new_store()
    definition = view(types, width)
    store.define("q", [definition])
    twin: list[Any] = []
    for number, (gone, come) in enumerate(taken):
        for row in gone:
            twin.pop(next(place for place, other in enumerate(twin) if same(other) == same(row)))
        twin += come
        for fresh in (True, False):
            assert store.take("q", number, {"TOTALS": Delta(gone, come)}, Reflects()) is fresh
        assert bag(store.rows("totals")) == bag(twin)
    assert store.last_batch("q") == len(taken) - 1
    feed = list(store.changes("totals", None))
    expected = [(number, *delta) for number, delta in enumerate(taken) if any(delta)]
    assert [each.batch for each in feed] == [number for number, _, _ in expected]
    for each, (_, gone, come) in zip(feed, expected, strict=True):
        assert [same(row) for row in each.delta.deleted] == [same(tuple(row)) for row in gone]
        assert [same(row) for row in each.delta.inserted] == [same(tuple(row)) for row in come]
    if width:
        for row in twin:
            assert bag(store.get("totals", row[:width])) == bag([row])
            prefix = [other for other in twin if same(other[0]) == same(row[0])]
            assert bag(store.get("totals", row[:1])) == bag(prefix)
        keys = [row[0] for row in store.rows("totals") if row[0] is not None and row[0] == row[0]]
        assert all(first <= second for first, second in pairwise(keys))
    columns, rows = store.query("SELECT * FROM totals")
    assert columns == tuple(column.name for column in definition.columns)
    assert len(rows) == len(twin)
    store.remove("q")
    assert store.views() == []
    assert store.last_batch("q") is None
    store.close()  # type: ignore[attr-defined]


def test_a_view_is_found_in_any_case_and_nothing_else(new_store: NewStore) -> None:
    store = new_store()
    assert store.views() == []
    assert store.last_batch("q") is None
    store.define("q", [COUNTS, SEEN])
    store.define("q", [COUNTS, SEEN])
    assert {each.name for each in store.views()} == {"Counts", "seen"}
    assert store.reflects("COUNTS") == Reflects()
    assert list(store.rows("counts")) == []
    for ask in (store.reflects, lambda name: list(store.rows(name)), lambda name: store.get(name, ["a"])):
        with pytest.raises(PlanError) as caught:
            ask("conts")
        assert (caught.value.message, caught.value.hint) == ('unknown view "conts"', 'Did you mean "Counts"?')


def test_a_view_has_an_owner(new_store: NewStore) -> None:
    store = new_store()
    assert store.owner("counts") is None
    store.define("shop.q", [COUNTS])
    assert (store.owner("counts"), store.owner("seen")) == ("shop.q", None)
    store.remove("shop.q")
    assert store.owner("counts") is None


def test_a_view_that_looks_different(new_store: NewStore) -> None:
    store = new_store()
    store.define("q", [COUNTS])
    other = ViewDefinition("counts", (*COUNTS.columns, ViewColumn("more", "int")), ("page",))
    with pytest.raises(HeadraceError, match="other columns"):
        store.define("q", [other])
    with pytest.raises(HeadraceError, match="another query"):
        store.define("q2", [COUNTS])
    assert [each.columns for each in store.views()] == [COUNTS.columns]


@pytest.mark.parametrize(
    ("delta", "message"),
    [
        (Delta(deleted=[("/b", 1)]), "is not there"),
        (Delta(deleted=[("/a", 1), ("/a", 1)]), "is not there"),
        (Delta(deleted=[(None, 1)]), "is not there"),
        (Delta(inserted=[("/a", 2)]), "have the same key"),
        (Delta(inserted=[("/b", 2), ("/b", 3)]), "have the same key"),
        (Delta(inserted=[(None, 2), (None, 3)]), "have the same key"),
    ],
)
def test_a_batch_that_does_not_fit_leaves_nothing(new_store: NewStore, delta: Delta, message: str) -> None:
    store = new_store()
    store.define("q", [COUNTS, SEEN])
    store.take("q", 0, {"counts": Delta(inserted=[("/a", 1)])}, Reflects())
    with pytest.raises(HeadraceError, match=message):
        store.take("q", 1, {"seen": Delta(inserted=[("/a", NOON)]), "counts": delta}, Reflects())
    assert store.last_batch("q") == 0
    assert list(store.rows("counts")) == [("/a", 1)]
    assert list(store.rows("seen")) == []
    assert list(store.changes("seen", None)) == []
    assert store.take("q", 1, {"counts": Delta([("/a", 1)], [("/a", 2)])}, Reflects())


def test_null_is_a_key_like_any_other(new_store: NewStore) -> None:
    store = new_store()
    store.define("q", [COUNTS])
    store.take("q", 0, {"counts": Delta(inserted=[(None, 1), ("", 2), ("%N", 3)])}, Reflects())
    with pytest.raises(HeadraceError, match="same key"):
        store.take("q", 1, {"counts": Delta(inserted=[(None, 9)])}, Reflects())
    store.take("q", 1, {"counts": Delta(deleted=[(None, 1)], inserted=[(None, 4)])}, Reflects())
    assert list(store.rows("counts")) == [(None, 4), ("", 2), ("%N", 3)]
    assert store.get("counts", [None]) == [(None, 4)]


def test_copies_of_a_row_go_one_by_one(new_store: NewStore) -> None:
    store = new_store()
    store.define("q", [SEEN])
    row = ("/a", NOON)
    store.take("q", 0, {"seen": Delta(inserted=[row, row, row])}, Reflects())
    store.take("q", 1, {"seen": Delta(deleted=[row])}, Reflects())
    assert list(store.rows("seen")) == [row, row]
    assert store.query("SELECT count(*) AS n FROM seen") == (("n",), [(2,)])
    with pytest.raises(HeadraceError, match="is not there"):
        store.take("q", 2, {"seen": Delta(deleted=[row, row, row])}, Reflects())
    with pytest.raises(HeadraceError, match="has no key"):
        store.get("seen", ["/a"])


def test_a_view_of_another_query_is_not_changed(new_store: NewStore) -> None:
    store = new_store()
    store.define("q", [COUNTS])
    store.define("other", [SEEN])
    for name in ("seen", "nothing"):
        with pytest.raises(HeadraceError, match=f'query "q" has no view "{name}"'):
            store.take("q", 0, {name: Delta()}, Reflects())
    store.take("q", 0, {"counts": Delta(inserted=[("/a", 1)])}, Reflects())
    store.take("other", 5, {"seen": Delta(inserted=[("/a", NOON)])}, Reflects())
    store.remove("q")
    assert [each.name for each in store.views()] == ["seen"]
    assert (store.last_batch("q"), store.last_batch("other")) == (None, 5)
    store.define("q", [COUNTS])
    assert list(store.rows("counts")) == []
    assert list(store.changes("counts", None)) == []


def test_what_a_view_reflects(new_store: NewStore, clock: Clock) -> None:
    store = new_store()
    store.define("q", [COUNTS])
    watermark = NOON - timedelta(seconds=5, microseconds=1)
    store.take("q", 7, {}, Reflects(watermark, {"clicks": '{"0": 12}'}))
    assert store.reflects("counts") == Reflects(watermark, {"clicks": '{"0": 12}'}, 7, NOON)
    clock.at += timedelta(minutes=1)
    store.take("q", 8, {}, Reflects(None, {}))
    assert store.reflects("counts") == Reflects(None, {}, 8, clock.at)


def numbers(feed: Iterator[FeedBatch]) -> list[int]:
    return [each.batch for each in feed]


def test_a_feed_forgets_in_time_but_keeps_the_last_batch(new_store: NewStore, clock: Clock) -> None:
    store = new_store()
    store.define("q", [COUNTS, SEEN])
    for batch in range(4):
        store.take("q", batch, {"counts": Delta(inserted=[(str(batch), 1)])}, Reflects())
        clock.at += timedelta(minutes=20)
    assert numbers(store.changes("counts", None)) == [0, 1, 2, 3]
    assert numbers(store.changes("counts", 1)) == [2, 3]
    clock.at = NOON + timedelta(minutes=81)
    store.take("q", 4, {"counts": Delta(inserted=[("4", 1)])}, Reflects())
    assert numbers(store.changes("counts", 1)) == [2, 3, 4]
    for after in (0, None):
        with pytest.raises(HeadraceError, match="no longer go back that far"):
            list(store.changes("counts", after))
    clock.at += timedelta(days=30)
    store.take("q", 5, {"seen": Delta(inserted=[("/a", NOON)])}, Reflects())
    assert numbers(store.changes("counts", 3)) == [4]
    assert numbers(store.changes("counts", 5)) == []
    assert list(store.changes("seen", None)) == [
        FeedBatch(5, clock.at, Delta(deleted=[], inserted=[("/a", NOON)])),
    ]
    with pytest.raises(HeadraceError, match="was built anew"):
        list(store.changes("counts", 6))


def test_long_feeds_come_whole(new_store: NewStore) -> None:
    store = new_store()
    store.define("q", [COUNTS])
    for batch in range(3):
        rows = [(f"{batch}/{place}", place) for place in range(2500)]
        store.take("q", batch, {"counts": Delta(inserted=rows)}, Reflects())
    for batch in range(3, 250):
        store.take("q", batch, {"counts": Delta(inserted=[(f"{batch}", batch)])}, Reflects())
    feed = list(store.changes("counts", 1))
    assert [each.batch for each in feed] == list(range(2, 250))
    assert [row[1] for row in feed[0].delta.inserted] == list(range(2500))


ORDERS = ViewDefinition(
    "Orders",
    (
        ViewColumn("id", "bigint"),
        ViewColumn("customerName", "string"),
        ViewColumn("price", "decimal(10,2)"),
        ViewColumn("weight", "double"),
        ViewColumn("placed_at", "timestamp"),
    ),
    ("id",),
    indexes=(("customerName",), ("price", "placed_at")),
)


@pytest.fixture
def orders(new_store: NewStore) -> ViewStore:
    store = new_store()
    store.define("q", [ORDERS, COUNTS])
    rows = [
        (1, "ann", Decimal("1.50"), 0.5, NOON),
        (2, "bob", Decimal("2.25"), float("nan"), NOON + timedelta(hours=1)),
        (3, "ann", None, 2.0, NOON + timedelta(hours=2)),
    ]
    store.take("q", 0, {"orders": Delta(inserted=rows), "counts": Delta(inserted=[("ann", 7)])}, Reflects())
    return store


@pytest.mark.parametrize(
    ("sql", "columns", "rows"),
    [
        ("SELECT id FROM orders WHERE CustomerName = 'ann' ORDER BY id DESC", ("id",), [(3,), (1,)]),
        ("SELECT customername FROM ORDERS WHERE id = 2", ("customername",), [("bob",)]),
        ("SELECT price, placed_at FROM orders WHERE id = 1", ("price", "placed_at"), [(Decimal("1.50"), NOON)]),
        (
            "SELECT customerName, count(*) AS n, sum(id) AS total, avg(id) AS mean FROM orders GROUP BY 1 ORDER BY 1",
            ("customerName", "n", "total", "mean"),
            [("ann", 2, 4, 2.0), ("bob", 1, 2, 2.0)],
        ),
        (
            "SELECT o.id, c.n FROM orders o JOIN counts c ON c.page = o.customerName ORDER BY o.id",
            ("id", "n"),
            [(1, 7), (3, 7)],
        ),
        ("WITH big AS (SELECT * FROM orders WHERE price > 2) SELECT id FROM big", ("id",), [(2,)]),
        ("SELECT count(*) AS n FROM (SELECT id FROM orders UNION ALL SELECT n FROM counts) AS x", ("n",), [(4,)]),
        ("SELECT id FROM orders ORDER BY price LIMIT 1", ("id",), [(3,)]),
        ("SELECT id FROM orders WHERE placed_at >= TIMESTAMP '2024-01-01 13:00:00' ORDER BY id", ("id",), [(2,), (3,)]),
        ("SELECT id / 2 AS half FROM orders WHERE id = 3", ("half",), [(1.5,)]),
        ("SELECT 1 AS one", ("one",), [(1,)]),
        (r"""SELECT 'a\\\'; --"b' AS `it's "q"` FROM orders WHERE id = 1""", ('it\'s "q"',), [("a\\'; --\"b",)]),
        ("SELECT /* */ id /* ; DROP */ -- x\n FROM orders WHERE id = 1", ("id",), [(1,)]),
        ("SELECT count(*) FROM orders", ("count(*)",), [(3,)]),
        (
            "SELECT a.id FROM orders a LEFT JOIN orders b ON b.id = a.id + 1 WHERE b.id IS NULL",
            ("id",),
            [(3,)],
        ),
        (
            "SELECT id, row_number() OVER (ORDER BY id DESC) AS place FROM orders ORDER BY id LIMIT 1",
            ("id", "place"),
            [(1, 3)],
        ),
        ("SELECT max(id) AS m FROM orders HAVING max(id) > 1", ("m",), [(3,)]),
        ("SELECT DISTINCT CustomerName FROM orders ORDER BY customername", ("CustomerName",), [("ann",), ("bob",)]),
    ],
)
def test_queries(orders: ViewStore, sql: str, columns: tuple[str, ...], rows: list[Any]) -> None:
    assert orders.query(sql) == (columns, rows)


def test_a_query_of_all_columns_has_their_names(orders: ViewStore) -> None:
    columns, rows = orders.query("SELECT * FROM orders WHERE id = 1")
    assert columns == ("id", "customerName", "price", "weight", "placed_at")
    assert rows == [(1, "ann", Decimal("1.50"), 0.5, NOON)]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM pg_user",
        "SELECT * FROM pg_catalog.pg_user",
        "SELECT * FROM _headrace_views",
        "SELECT * FROM sqlite_master",
        "SELECT * FROM orders, (WITH pg_user AS (SELECT 1 AS x) SELECT x FROM pg_user) t, pg_user",
        "SELECT * FROM generate_series(1, 10)",
        "SELECT pg_sleep(60)",
        "SELECT pg_read_file('/etc/passwd')",
        "SELECT query_to_xml('select 1', true, true, '')",
        "SELECT set_config('role', 'postgres', false) FROM orders",
        "SELECT load_extension('x')",
        "SELECT 1; SELECT 2",
        "DROP VIEW orders",
        "INSERT INTO orders SELECT * FROM orders",
        "SELECT id FROM orders EMIT CHANGES",
        "SELECT nothing FROM orders",
        "SELECT id FROM orders WHERE",
        "",
        "SELECT _headrace_hash FROM orders",
    ],
)
def test_what_is_no_query_over_views(orders: ViewStore, sql: str) -> None:
    with pytest.raises(HeadraceError):
        orders.query(sql)
    assert orders.query("SELECT count(*) AS n FROM orders") == (("n",), [(3,)])


def test_a_misspelt_name_in_a_query(orders: ViewStore) -> None:
    with pytest.raises(PlanError) as caught:
        orders.query("SELECT id FROM ordrs")
    assert (caught.value.message, caught.value.hint) == ('unknown view "ordrs"', 'Did you mean "Orders"?')
    with pytest.raises(PlanError) as caught:
        orders.query("SELECT prise FROM orders")
    assert (caught.value.message, caught.value.hint) == ('unknown column "prise"', 'Did you mean "price"?')


def test_fields_of_nested_columns(new_store: NewStore) -> None:
    store = new_store()
    columns = (
        ViewColumn("id", "int"),
        ViewColumn("who", "struct<name:string,Born:date>"),
        ViewColumn("tags", "array<string>"),
        ViewColumn("scores", "map<string,double>"),
    )
    store.define("q", [ViewDefinition("people", columns, ("id",))])
    born = datetime(1990, 5, 1, tzinfo=UTC).date()
    row = (1, {"name": "ann", "Born": born}, ["x", "y"], {"a": 0.5})
    store.take("q", 0, {"people": Delta(inserted=[row])}, Reflects())
    assert list(store.rows("people")) == [row]
    assert store.query("SELECT who.name AS name FROM people WHERE who.name = 'ann'") == (("name",), [("ann",)])
    if isinstance(store, PostgresViewStore):
        sql = "SELECT p.who.born AS born, tags[1] AS tag, scores['a'] AS score FROM people p"
        assert store.query(sql) == (("born", "tag", "score"), [(born, "y", 0.5)])


def test_a_key_may_be_given_as_text(new_store: NewStore) -> None:
    store = new_store()
    store.define("q", [view(["bigint", "timestamp", "decimal(10,2)"], 3)])
    row = (5, NOON, Decimal("1.50"))
    store.take("q", 0, {"totals": Delta(inserted=[row])}, Reflects())
    assert store.get("totals", ["5", "2024-01-01T12:00:00Z", "1.5"]) == [row]
    assert store.get("totals", [5, NOON.replace(tzinfo=None)]) == [row]
    assert store.get("totals", [6]) == []
    with pytest.raises(HeadraceError, match="value of the key"):
        store.get("totals", ["many"])
    with pytest.raises(HeadraceError, match="4 values were given"):
        store.get("totals", [1, 2, 3, 4])


def test_a_query_within_bounds_reads_some_views_and_some_rows(new_store: NewStore) -> None:
    store = new_store()
    store.define("q", [COUNTS, SEEN])
    store.take("q", 0, {"counts": Delta(inserted=[("a", 1), ("b", 2), ("c", 3)])}, Reflects())
    bounds = Bounds(frozenset({"counts"}), rows=2)
    assert store.query("SELECT page FROM counts ORDER BY page", bounds)[1] == [("a",), ("b",)]
    with pytest.raises(PlanError, match='unknown view "seen"'):
        store.query("SELECT page FROM seen", bounds)
    with pytest.raises(HeadraceError):
        store.query("SELECT c.page FROM counts c WHERE EXISTS (SELECT 1 FROM seen)", bounds)
    with pytest.raises(AnswerTooLarge):
        store.query("SELECT page FROM counts", Bounds(frozenset({"counts"}), rows=9, answer_bytes=2))


def test_what_is_to_be_forgotten_is_taken_out_of_the_feed(new_store: NewStore) -> None:
    store = new_store()
    store.define("q", [view(["bigint", "string", "map<string,bigint>"], 1)])
    ann, bob, later = (1, "Ann", {}), (2, "Bob", {"a": 1}), (2, "Bo", {})
    store.take("q", 0, {"totals": Delta(inserted=[ann, bob])}, Reflects())
    store.take("q", 1, {"totals": Delta(deleted=[ann])}, Reflects())
    store.take("q", 2, {"totals": Delta([bob], [later])}, Reflects())
    purge: Callable[[str, str, Any], int] = store.purge  # type: ignore[attr-defined]
    assert (purge("TOTALS", "C1", "Ann"), purge("totals", "c1", "Ann"), purge("totals", "c0", 9)) == (2, 0, 0)
    feed = [(each.batch, list(each.delta.deleted), list(each.delta.inserted)) for each in store.changes("totals", None)]
    assert feed == [(0, [], [bob]), (2, [bob], [later])]
    store.take("q", 3, {"totals": Delta([later], [bob])}, Reflects())
    assert [each.batch for each in store.changes("totals", 0)] == [2, 3]
    assert list(store.rows("totals")) == [bob]
    store.close()  # type: ignore[attr-defined]
