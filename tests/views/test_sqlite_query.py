"""SQL over views: what it means is what it means in Spark, and what it may not do."""

import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest

from headrace.errors import HeadraceError, PlanError
from headrace.views.definition import Delta, Reflects, ViewColumn, ViewDefinition

ITEMS = ViewDefinition(
    "Items",
    (
        ViewColumn("id", "bigint"),
        ViewColumn("Price", "decimal(20,2)"),
        ViewColumn("at", "timestamp"),
        ViewColumn("day", "date"),
        ViewColumn("ok", "boolean"),
        ViewColumn("d", "double"),
        ViewColumn("s", "string"),
        ViewColumn("nested", "struct<a:int,b:map<string,array<int>>>"),
    ),
    key=("id",),
)
TAGS = ViewDefinition("tags", (ViewColumn("item", "bigint"), ViewColumn("tag", "string")))


def at(hour, minute=0, micros=0):
    return datetime(2024, 1, 1, hour, minute, 0, micros, tzinfo=UTC)


ROWS = [
    (1, Decimal("9.99"), at(10), date(2024, 1, 1), True, 0.5, "Apple", {"a": 1, "b": {"k": [1, 2]}}),
    (2, Decimal("10.00"), at(10, 30, 1), date(2024, 1, 2), False, float("nan"), "apple", {"a": 2, "b": {}}),
    (3, Decimal("123456789012345678.01"), at(11), None, None, float("inf"), "b_r%", None),
    (4, None, None, None, None, None, None, None),
]


@pytest.fixture
def ask(store, clock):
    clock.now = at(11)
    store.define("q", [ITEMS, TAGS])
    tags = [(1, "new"), (1, "new"), (1, "red"), (2, "red")]
    store.take("q", 0, {"items": Delta(inserted=ROWS), "tags": Delta(inserted=tags)}, Reflects())
    return lambda sql: store.query(sql)[1]


def ids(rows):
    return [row[0] for row in rows]


def test_all_of_a_view(ask, store):
    columns, rows = store.query("SELECT * FROM items ORDER BY id")
    assert columns == tuple(column.name for column in ITEMS.columns)
    assert rows[0] == ROWS[0]
    assert rows[3] == ROWS[3]
    assert math.isnan(rows[1][5])


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("price > 9.995", [2, 3]),
        ("price > 9", [1, 2, 3]),
        ("price < '10'", [1]),
        ("price = 10", [2]),
        ("price IN (10.0, 11)", [2]),
        ("price BETWEEN 9.5 AND 11", [1, 2]),
        ("price > id", [1, 2, 3]),
        ("price * 2 > 19.99", [2, 3]),
        ("price + 0.01 = 10", [1]),
        ("-price > -10", [1]),
        ("price > 123456789012345678", [3]),
        ("price > 123456789012345678.01", []),
        ("coalesce(price, 0) < 1", [4]),
        ("CASE WHEN ok THEN price ELSE 0 END > 5", [1]),
        ("price > d", [1]),
        ("price = (SELECT max(price) FROM items)", [3]),
        ("greatest(price, 50) = 50", [1, 2, 4]),
        ("at > '2024-01-01 10:00:00'", [2, 3]),
        ("at = TIMESTAMP '2024-01-01T10:00:00Z'", [1]),
        ("at >= '2024-01-01T11:00:00+01:00'", [1, 2, 3]),
        ("at < DATE '2024-01-02'", [1, 2, 3]),
        ("at > current_timestamp() - INTERVAL 31 MINUTES", [2, 3]),
        ("at + INTERVAL 1 HOUR > now()", [2, 3]),
        ("date_trunc('hour', at) = '2024-01-01 10:00:00'", [1, 2]),
        ("hour(at) = 10 AND minute(at) = 30", [2]),
        ("day = '2024-01-02'", [2]),
        ("to_date(at) = day", [1]),
        ("cast(at AS DATE) = '2024-01-01'", [1, 2, 3]),
        ("ok", [1]),
        ("ok = false", [2]),
        ("d > 1", [2, 3]),
        ("d = d", [1, 2, 3]),
        ("d + 1 IS NULL", [2, 4]),
        ("s LIKE 'a%'", [2]),
        ("s RLIKE '^[Aa]pp'", [1, 2]),
        ("nested.a = 2", [2]),
        ("nested.b['k'][1] = 2", [1]),
        ("id IN (SELECT item FROM tags WHERE tag = 'red')", [1, 2]),
        ("EXISTS (SELECT 1 FROM tags t WHERE t.item = items.id AND t.tag = 'new')", [1]),
        ("s <=> NULL", [4]),
        ("nvl(s, 'none') = 'none'", [4]),
    ],
)
def test_conditions(ask, condition, expected):
    assert ids(ask(f"SELECT id FROM Items WHERE {condition} ORDER BY id")) == expected


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT sum(price) FROM items", [(Decimal("123456789012345698.00"),)]),
        ("SELECT sum(price) AS total FROM items WHERE id < 3 HAVING sum(price) > 19", [(Decimal("19.99"),)]),
        ("SELECT sum(price) AS total FROM items WHERE id < 3 HAVING sum(price) > 20", []),
        ("SELECT avg(price) FROM items WHERE id < 3", [(9.995,)]),
        ("SELECT max(price), min(price) FROM items WHERE id < 3", [(Decimal("10.00"), Decimal("9.99"))]),
        ("SELECT max(at), max(ok) FROM items", [(at(11), True)]),
        ("SELECT price * 3 FROM items WHERE id = 1", [(Decimal("29.97"),)]),
        ("SELECT sum(d) FROM items WHERE id <> 2", [(float("inf"),)]),
        ("SELECT at - INTERVAL 90 SECONDS FROM items WHERE id = 1", [(at(9, 58) + timedelta(seconds=30),)]),
        ("SELECT id / 2 FROM items WHERE id = 1", [(0.5,)]),
        ("SELECT tag, count(*) AS n FROM tags GROUP BY tag ORDER BY tag", [("new", 2), ("red", 2)]),
        ("SELECT DISTINCT item FROM tags ORDER BY 1 DESC", [(2,), (1,)]),
        ("SELECT item FROM tags UNION SELECT id FROM items ORDER BY 1", [(1,), (2,), (3,), (4,)]),
        ("WITH x AS (SELECT price * 2 AS p, id FROM items) SELECT id FROM x WHERE p > 20 OR p < 19.99", [(1,), (3,)]),
        ("SELECT i.s, t.tag FROM items i JOIN tags t ON t.item = i.id WHERE t.tag = 'red' ORDER BY i.id",
         [("Apple", "red"), ("apple", "red")]),
        ("SELECT id FROM items ORDER BY price", [(4,), (1,), (2,), (3,)]),
        ("SELECT id, price * 1 AS p FROM items ORDER BY p DESC LIMIT 1", [(3, Decimal("123456789012345678.01"))]),
        ("SELECT id, sum(price) OVER (ORDER BY id) AS running FROM items WHERE id < 3 ORDER BY id",
         [(1, Decimal("9.99")), (2, Decimal("19.99"))]),
        ("SELECT concat(s, '!'), upper(s), length(s) FROM items WHERE id = 1", [("Apple!", "APPLE", 5)]),
        ("SELECT count_if(ok), count(DISTINCT tag) FROM items JOIN tags ON item = id", [(3, 2)]),
        ("SELECT cast('1.005' AS DECIMAL(5,2)) AS x FROM items WHERE id = 1", [(Decimal("1.01"),)]),
        ("FROM items SELECT id WHERE id = 1", [(1,)]),
        ("SELECT d % 0.2 > 0.09, id % 2 FROM items WHERE id = 1", [(True, 1)]),
        ("SELECT sum(price) FILTER (WHERE ok) AS t FROM items HAVING sum(price) FILTER (WHERE ok) > 100", []),
        ("SELECT t FROM (SELECT date_trunc('day', at) AS t FROM items WHERE id = 1) WHERE t = '2024-01-01'",
         [(at(0),)]),
        ("SELECT a.id FROM items a LEFT ANTI JOIN tags t ON t.item = a.id ORDER BY a.id", [(3,), (4,)]),
        ("SELECT id, row_number() OVER (ORDER BY price DESC) AS r FROM items QUALIFY r = 2", [(2, 2)]),
        ("SELECT current_date() AS d, now() AS n FROM items WHERE id = 1", [(date(2024, 1, 1), at(11))]),
    ],
)  # fmt: skip
def test_answers(ask, sql, expected):
    rows = ask(sql)
    assert rows == expected
    assert [tuple(map(type, row)) for row in rows] == [tuple(map(type, row)) for row in expected]


def test_nan_in_a_sum_is_nan(ask):
    [(total, average)] = ask("SELECT sum(d), avg(d) FROM items")
    assert math.isnan(total)
    assert math.isnan(average)


def test_columns_are_named_as_written(ask, store):
    columns, _ = store.query("SELECT ID, price AS Best, count(*) OVER () AS n, max(id) OVER (), id + 1 FROM items")
    assert columns[:3] == ("ID", "Best", "n")
    assert len(set(columns)) == 5


@pytest.mark.parametrize(
    ("sql", "message", "hint"),
    [
        ("SELECT * FROM itemz", 'unknown view "itemz"', 'Did you mean "Items"?'),
        ("SELECT * FROM _headrace_feed", 'unknown view "_headrace_feed"', None),
        ("SELECT * FROM main.items", 'unknown view "main.items"', None),
        ("SELECT prise FROM items", 'unknown column "prise"', 'Did you mean "Price"?'),
        ("SELECT 1; SELECT 2", "expected one query", None),
        ("", "the query is empty", None),
        ("DROP VIEW items", "only a SELECT can be asked of views", None),
        ("INSERT INTO items SELECT * FROM items", "only a SELECT can be asked of views", None),
        ("SELECT * FROM items EMIT CHANGES", "EMIT has no meaning", None),
        ("SELECT * FROM TUMBLE(items, at, INTERVAL 1 MINUTE)", "only views, joins and subqueries", None),
        ("SELECT at - at FROM items", "times can only be shifted", None),
        ("SELECT * FROM items WHERE at > 'soon'", '"soon" is not a time', None),
        ("SELECT load_extension('x') FROM items", "not authorized|not known|cannot be answered", None),
        ("SELECT percentile(d, 0.5) FROM items", "percentile is not known to queries over views", None),
        ("SELECT * FROM", "end of the statement", None),
        (
            "SELECT * FROM items WHERE s RLIKE 'a(?=b)'",
            "cannot be matched: invalid perl operator",
            "Patterns here have no look-around and no back-references.",
        ),
    ],
)
def test_mistakes(ask, sql, message, hint):
    with pytest.raises(HeadraceError, match=message) as caught:
        ask(sql)
    if hint is not None:
        assert isinstance(caught.value, PlanError)
        assert caught.value.hint == hint
        assert caught.value.span is not None


def test_a_failed_query_leaves_the_store_readable(ask, store):
    with pytest.raises(HeadraceError):
        ask("SELECT percentile(d, 0.5) FROM items")
    assert ids(ask("SELECT count(*) FROM items")) == [4]
    assert store.get("items", [1]) == [ROWS[0]]
