"""What a view is given comes back: every type, alone and inside others."""

import math
import tempfile
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.errors import HeadraceError
from headrace.views.definition import Delta, Reflects, ViewColumn, ViewDefinition
from headrace.views.sqlite import SqliteViewStore

INSTANTS = st.datetimes(timezones=st.just(UTC))
DOUBLES = st.floats().map(lambda value: value + 0.0)  # -0.0 is kept as 0.0
DECIMALS = st.decimals(min_value=-(10**7), max_value=10**7, places=2, allow_nan=False)

SIMPLE = {
    "tinyint": st.integers(-128, 127),
    "int": st.integers(-(2**31), 2**31 - 1),
    "bigint": st.integers(-(2**63), 2**63 - 1),
    "double": DOUBLES,
    "float": st.floats(width=32).map(lambda value: value + 0.0),
    "boolean": st.booleans(),
    "string": st.text(),
    "varchar(20)": st.text(max_size=20),
    "decimal(10,2)": DECIMALS,
    "decimal(38,18)": st.integers(-(10**37), 10**37).map(lambda digits: Decimal(f"{digits}E-18")),
    "binary": st.binary(),
    "date": st.dates(),
    "timestamp": INSTANTS,
    "timestamp_ntz": st.datetimes(),
    "time(6)": st.times(),
    "interval day to second": st.timedeltas(timedelta(days=-(10**8)), timedelta(days=10**8)),
}
NESTED = {
    "array<double>": st.lists(st.none() | DOUBLES),
    "map<string,decimal(10,2)>": st.dictionaries(st.text(), st.none() | DECIMALS),
    "map<bigint,timestamp>": st.dictionaries(st.integers(-(2**63), 2**63 - 1), INSTANTS),
    "map<double,boolean>": st.dictionaries(st.floats(allow_nan=False).map(lambda v: v + 0.0), st.booleans()),
    "map<date,binary>": st.dictionaries(st.dates(), st.binary()),
    "struct<a:int,b:struct<c:timestamp,d:array<string>>>": st.fixed_dictionaries(
        {
            "a": st.none() | st.integers(-5, 5),
            "b": st.none() | st.fixed_dictionaries({"c": INSTANTS, "d": st.lists(st.text())}),
        }
    ),
    "variant": st.recursive(
        st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=5,
    ),
}
TYPES = {**SIMPLE, **NESTED}


def same(left, right):
    """Say whether two values are equal and of one type, NaN being equal to itself."""
    if isinstance(left, float) and isinstance(right, float):
        return left == right or (math.isnan(left) and math.isnan(right))
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    return type(left) is type(right) and left == right


@pytest.mark.parametrize("type_", TYPES)
@given(data=st.data())
@settings(max_examples=30, deadline=None)
def test_values_come_back_from_rows_feed_and_query(type_, data):
    values = data.draw(st.lists(st.none() | TYPES[type_], max_size=5))
    columns = (ViewColumn("n", "int"), ViewColumn("x", type_))
    keyed, bag = ViewDefinition("keyed", columns, ("n",)), ViewDefinition("bag", columns)
    rows = list(enumerate(values))
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteViewStore(Path(folder) / "v.sqlite")
        store.define("q", [keyed, bag])
        store.take("q", 0, {"keyed": Delta(inserted=rows), "bag": Delta(inserted=rows * 2)}, Reflects())
        assert same(list(store.rows("keyed")), rows)
        assert same(sorted(store.rows("bag"), key=lambda row: row[0]), sorted(rows * 2, key=lambda row: row[0]))
        assert same(store.query("SELECT n, x FROM keyed ORDER BY n")[1], rows)
        assert same(store.query("SELECT * FROM bag WHERE n = 0")[1], [row for row in rows * 2 if row[0] == 0])
        if rows:
            [batch] = store.changes("keyed", None)
            assert same(batch.delta.inserted, rows)
        store.take("q", 1, {"keyed": Delta(deleted=rows), "bag": Delta(deleted=rows)}, Reflects())
        assert list(store.rows("keyed")) == []
        assert same(sorted(store.rows("bag"), key=lambda row: row[0]), rows)
        store.close()


@pytest.mark.parametrize("type_", SIMPLE)
@given(data=st.data())
@settings(max_examples=20, deadline=None)
def test_every_simple_value_can_be_a_key_and_null_too(type_, data):
    values = data.draw(st.lists(SIMPLE[type_], max_size=4, unique_by=repr))
    view = ViewDefinition("v", (ViewColumn("k", type_), ViewColumn("n", "int")), ("k",))
    rows = [(value, n) for n, value in enumerate([*values, None])]
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteViewStore(Path(folder) / "v.sqlite")
        store.define("q", [view])
        store.take("q", 0, {"v": Delta(inserted=rows)}, Reflects())
        for value, n in rows:
            assert [row[1] for row in store.get("v", [value])] == [n]
        with pytest.raises(HeadraceError, match="same key"):
            store.take("q", 1, {"v": Delta(inserted=[(None, 9)])}, Reflects())
        store.take("q", 1, {"v": Delta(deleted=rows[-1:], inserted=[(None, 9)])}, Reflects())
        assert [row[1] for row in store.get("v", [None])] == [9]
        store.close()


def test_instants_of_any_zone_are_kept_in_utc(tmp_path):
    store = SqliteViewStore(tmp_path / "v.sqlite")
    store.define("q", [ViewDefinition("v", (ViewColumn("at", "timestamp"),), ("at",))])
    paris = timezone(timedelta(hours=2))
    store.take("q", 0, {"v": Delta(inserted=[(datetime(2024, 6, 1, 12, tzinfo=paris),)])}, Reflects())
    [(back,)] = store.rows("v")
    assert (back, back.utcoffset()) == (datetime(2024, 6, 1, 10, tzinfo=UTC), timedelta(0))
    assert store.get("v", [back.replace(tzinfo=None)]) == [(back,)]
    store.close()


def test_maps_given_as_pairs_are_maps(tmp_path):
    store = SqliteViewStore(tmp_path / "v.sqlite")
    columns = (ViewColumn("m", "map<int,string>"), ViewColumn("s", "map<struct<a:int>,date>"))
    store.define("q", [ViewDefinition("v", columns)])
    pairs = ([(2, "b"), (1, "a")], [({"a": 1}, date(2024, 1, 1))])
    store.take("q", 0, {"v": Delta(inserted=[pairs])}, Reflects())
    assert list(store.rows("v")) == [({1: "a", 2: "b"}, [({"a": 1}, date(2024, 1, 1))])]
    store.take("q", 1, {"v": Delta(deleted=[({1: "a", 2: "b"}, pairs[1])])}, Reflects())
    assert list(store.rows("v")) == []
    store.close()


def test_types_that_cannot_be_read_are_kept_as_json(tmp_path):
    store = SqliteViewStore(tmp_path / "v.sqlite")
    store.define("q", [ViewDefinition("v", (ViewColumn("x", "struct<a b:int>"), ViewColumn("y", "void")))])
    store.take("q", 0, {"v": Delta(inserted=[({"a b": 1}, None)])}, Reflects())
    assert list(store.rows("v")) == [({"a b": 1}, None)]
    store.close()


def test_times_of_day_sort_as_text(tmp_path):
    store = SqliteViewStore(tmp_path / "v.sqlite")
    store.define("q", [ViewDefinition("v", (ViewColumn("t", "time(6)"),), ("t",))])
    times = [time(9), time(9, 0, 0, 1), time(10)]
    store.take("q", 0, {"v": Delta(inserted=[(each,) for each in reversed(times)])}, Reflects())
    assert [row[0] for row in store.rows("v")] == times
    store.close()
