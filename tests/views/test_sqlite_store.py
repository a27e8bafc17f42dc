"""Batches into views: what is kept, what is refused, and that a refused batch leaves nothing."""

import sqlite3
import tempfile
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.errors import HeadraceError, PlanError
from headrace.views.definition import Delta, Reflects, ViewColumn, ViewDefinition
from headrace.views.sqlite import SqliteViewStore

COLUMNS = (ViewColumn("a", "int"), ViewColumn("b", "string"), ViewColumn("n", "double"))
KEYED = ViewDefinition("Keyed", COLUMNS, key=("a", "b"))
BAG = ViewDefinition("Bag", COLUMNS)


def state(store):
    return (
        list(store.rows("keyed")),
        sorted(store.rows("bag"), key=repr),
        store.last_batch("q"),
        [each.batch for each in store.changes("keyed", None)],
    )


class Twin:
    """Views as dictionaries and lists: slow, and obviously right."""

    def __init__(self):
        self.keyed, self.bag, self.feed = {}, Counter(), []

    def take(self, keyed, bag):
        for row in keyed.deleted:
            del self.keyed[row[:2]]
        for row in keyed.inserted:
            assert row[:2] not in self.keyed
            self.keyed[row[:2]] = row
        self.bag -= Counter(bag.deleted)
        self.bag += Counter(bag.inserted)
        self.feed.append((Counter(bag.deleted), Counter(bag.inserted)))


KEYS = st.tuples(st.none() | st.integers(0, 3), st.none() | st.sampled_from("xyz"))
NUMBERS = st.sampled_from([0.0, 1.5, float("inf"), None])


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_views_are_as_their_twins(data):
    twin = Twin()
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteViewStore(Path(folder) / "v.sqlite")
        store.define("q", [KEYED, BAG])
        for batch in range(data.draw(st.integers(1, 6))):
            gone = data.draw(st.lists(st.sampled_from(sorted(twin.keyed, key=repr)), unique=True)) if twin.keyed else []
            free = KEYS.filter(lambda key, gone=gone: key not in twin.keyed or key in gone)
            come = {key: (*key, data.draw(NUMBERS)) for key in data.draw(st.lists(free, max_size=4))}
            keyed = Delta([twin.keyed[key] for key in gone], list(come.values()))
            there = list(twin.bag.elements())
            places = data.draw(st.lists(st.sampled_from(range(len(there))), unique=True)) if there else []
            out = [there[place] for place in places]
            fresh = data.draw(st.lists(st.tuples(st.integers(0, 1), st.just("x"), NUMBERS), max_size=5))
            bag = Delta(out, [row for row in fresh if row not in out])
            assert store.take("q", batch, {"keyed": keyed, "BAG": bag}, Reflects())
            twin.take(keyed, bag)
            assert not store.take("q", batch, {"keyed": keyed, "bag": bag}, Reflects())
            assert set(store.rows("keyed")) == set(twin.keyed.values())
            assert len(list(store.rows("keyed"))) == len(twin.keyed)
            assert Counter(store.rows("bag")) == twin.bag
            assert store.query("SELECT count(*) FROM bag")[1] == [(twin.bag.total(),)]
            for key in twin.keyed:
                assert store.get("keyed", key) == [twin.keyed[key]]
        told = {
            each.batch: (Counter(each.delta.deleted), Counter(each.delta.inserted))
            for each in store.changes("bag", None)
        }
        assert told == {batch: each for batch, each in enumerate(twin.feed) if each != (Counter(), Counter())}
        store.close()


def test_a_key_that_does_not_identify_rows_is_refused_and_the_batch_leaves_nothing(store):
    store.define("q", [KEYED, BAG])
    store.take("q", 0, {"keyed": Delta(inserted=[(1, "x", 1.0)])}, Reflects())
    before = state(store)
    for rows in ([(2, "y", 0.0), (1, "x", 2.0)], [(2, "y", 0.0), (2, "y", 2.0)]):
        deltas = {"bag": Delta(inserted=[(7, "z", 0.0)]), "keyed": Delta(inserted=rows)}
        with pytest.raises(HeadraceError, match="same key") as caught:
            store.take("q", 1, deltas, Reflects())
        assert caught.value.detail in {"The key is a = 1, b = 'x'.", "The key is a = 2, b = 'y'."}
        assert state(store) == before


@pytest.mark.parametrize(
    "deltas",
    [
        {"keyed": Delta(deleted=[(2, "y", 0.0)])},
        {"keyed": Delta(deleted=[(2, "y", 0.0)], inserted=[(2, "y", 1.0)])},
        {"keyed": Delta(deleted=[(1, "x", 1.0), (1, "x", 1.0)])},
        {"bag": Delta(deleted=[(1, "x", 2.0)])},
        {"bag": Delta(deleted=[(1, "x", 1.0), (1, "x", 1.0)])},
    ],
)
def test_a_row_that_leaves_but_is_not_there_is_refused_and_the_batch_leaves_nothing(store, deltas):
    store.define("q", [KEYED, BAG])
    store.take("q", 0, {name: Delta(inserted=[(1, "x", 1.0)]) for name in ("keyed", "bag")}, Reflects())
    before = state(store)
    with pytest.raises(HeadraceError, match="is not there") as caught:
        store.take("q", 1, {"keyed": Delta(inserted=[(9, "n", 0.0)]), **deltas}, Reflects())
    assert "--fresh" in caught.value.hint
    assert state(store) == before


def test_a_view_of_a_whole_row_as_key_can_be_changed_to_itself(store):
    view = ViewDefinition("v", COLUMNS[:1], key=("a",))
    store.define("q", [view])
    store.take("q", 0, {"v": Delta(inserted=[(1,)])}, Reflects())
    store.take("q", 1, {"v": Delta(deleted=[(1,)], inserted=[(2,)])}, Reflects())
    assert list(store.rows("v")) == [(2,)]


def test_rows_come_by_key_and_by_its_first_columns(store):
    store.define("q", [KEYED])
    rows = [(1, "x", 1.0), (1, "y", 2.0), (2, "x", 3.0)]
    store.take("q", 0, {"keyed": Delta(inserted=rows)}, Reflects())
    assert store.get("KEYED", [1]) == rows[:2]
    assert store.get("keyed", [1, "y"]) == [rows[1]]
    assert store.get("keyed", [3]) == []
    with pytest.raises(HeadraceError, match="3 values were given for a key of 2"):
        store.get("keyed", [1, "x", 2])
    with pytest.raises(PlanError, match="unknown view") as caught:
        store.get("keyd", [1])
    assert caught.value.hint == 'Did you mean "Keyed"?'


def test_a_bag_has_no_key_and_a_key_has_its_type(store):
    dated = ViewDefinition("dated", (ViewColumn("day", "date"),), key=("day",))
    store.define("q", [BAG, dated])
    with pytest.raises(HeadraceError, match="has no key"):
        store.get("bag", [1])
    with pytest.raises(HeadraceError, match="not a value of the key column"):
        store.get("dated", ["tomorrow"])


def test_keys_of_decimals_are_in_order_of_size(store):
    store.define("q", [ViewDefinition("v", (ViewColumn("d", "decimal(5,1)"),), key=("d",))])
    store.take("q", 0, {"v": Delta(inserted=[(10,), (9,), (-1,)])}, Reflects())
    assert [row[0] for row in store.rows("v")] == [-1, 9, 10]


def test_a_view_that_looks_different_is_refused(store):
    store.define("q", [KEYED])
    store.define("q", [KEYED])
    with pytest.raises(HeadraceError, match="other columns or another key"):
        store.define("q", [ViewDefinition("keyed", COLUMNS, key=("a",))])
    with pytest.raises(HeadraceError, match="another query"):
        store.define("r", [KEYED])


def test_indexes_follow_the_definition(store):
    store.define("q", [KEYED])
    store.define("q", [ViewDefinition("Keyed", COLUMNS, ("a", "b"), indexes=(("n",), ("b", "n")))])
    assert _index_of(store, "SELECT * FROM Keyed WHERE n = 1.0") == "_headrace_on_0_Keyed"
    store.define("q", [KEYED])
    assert _index_of(store, "SELECT * FROM Keyed WHERE n = 1.0") is None


@pytest.mark.parametrize("statement", ["DELETE FROM Keyed", "SELECT * FROM Keyed"])
def test_a_key_is_looked_up_by_its_index(store, statement):
    store.define("q", [KEYED])
    assert (
        _index_of(store, f"{statement} WHERE a COLLATE BINARY IS 1 AND b COLLATE BINARY IS NULL")
        == "_headrace_key_Keyed"
    )


def _index_of(store, sql):
    connection = sqlite3.connect(store.path)
    connection.create_collation("headrace_decimal", lambda left, right: 0)
    plan = " ".join(row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}"))
    connection.close()
    return plan.split("INDEX ")[1].split(" ")[0] if "INDEX " in plan else None


def test_queries_share_a_store_and_one_is_removed(store):
    store.define("q", [KEYED])
    store.define("r", [BAG])
    store.take("q", 5, {"keyed": Delta(inserted=[(1, "x", 1.0)])}, Reflects())
    store.take("r", 0, {"bag": Delta(inserted=[(1, "x", 1.0)])}, Reflects())
    assert (store.last_batch("q"), store.last_batch("r"), store.last_batch("s")) == (5, 0, None)
    store.remove("q")
    assert [view.name for view in store.views()] == ["Bag"]
    assert (store.last_batch("q"), store.last_batch("r")) == (None, 0)
    store.define("q", [KEYED])
    assert list(store.rows("keyed")) == []
    assert list(store.changes("keyed", None)) == []


def test_what_a_view_reflects(store, clock):
    store.define("q", [KEYED])
    assert store.reflects("keyed") == Reflects()
    watermark = datetime(2023, 12, 31, 23, 59, 59, 500000, tzinfo=UTC)
    store.take("q", 3, {}, Reflects(watermark, {"bids": '{"0": 12}'}))
    assert store.reflects("keyed") == Reflects(watermark, {"bids": '{"0": 12}'}, 3, clock.now)


def test_the_feed_is_kept_as_long_as_the_view_says_and_the_last_batch_for_ever(store, clock):
    short = ViewDefinition("short", COLUMNS[:1], key=("a",), retain=timedelta(hours=1))
    long = ViewDefinition("long", COLUMNS[:1], key=("a",))
    store.define("q", [short, long])
    for batch in range(3):
        store.take("q", batch, {name: Delta(inserted=[(batch,)]) for name in ("short", "long")}, Reflects())
        clock.move(minutes=40)
    assert [each.batch for each in store.changes("short", 0)] == [1, 2]
    with pytest.raises(HeadraceError, match="no longer go back that far"):
        list(store.changes("short", None))
    assert [each.batch for each in store.changes("long", None)] == [0, 1, 2]
    clock.move(days=8)
    store.take("q", 3, {}, Reflects())
    assert [each.batch for each in store.changes("short", 1)] == [2]
    assert [each.batch for each in store.changes("long", 2)] == []
    assert [each.batch for each in store.changes("long", 1)] == [2]
    with pytest.raises(HeadraceError, match="no longer go back that far"):
        list(store.changes("long", 0))
    assert len(list(store.rows("short"))) == 3


def test_a_position_of_a_view_that_was_built_anew_is_refused(store):
    store.define("q", [KEYED])
    store.take("q", 0, {}, Reflects())
    assert list(store.changes("keyed", 0)) == []
    with pytest.raises(HeadraceError, match="built anew"):
        list(store.changes("keyed", 1))


def test_large_batches_keep_their_order_in_the_feed(store):
    store.define("q", [KEYED])
    rows = [(n, "x", float(n)) for n in range(2500)]
    store.take("q", 0, {"keyed": Delta(inserted=rows)}, Reflects())
    store.take("q", 1, {"keyed": Delta(rows[:1500], [(n, "x", -1.0) for n in range(1200)])}, Reflects())
    first, second = store.changes("keyed", None)
    assert first.delta.inserted == rows
    assert (second.delta.deleted, len(second.delta.inserted)) == (rows[:1500], 1200)
    assert len(list(store.rows("keyed"))) == 2200


def test_names_of_any_characters(store):
    view = ViewDefinition('a "b" `c`', (ViewColumn('x"y', "int"), ViewColumn("select", "int")), key=('x"y',))
    store.define("q", [view, ViewDefinition("it's", view.columns)])
    store.take("q", 0, {view.name: Delta(inserted=[(1, 2)]), "it's": Delta(inserted=[(1, 2)] * 2)}, Reflects())
    assert store.query('SELECT `select` FROM `a "b" ``c```') == (("select",), [(2,)])
    assert store.query("SELECT `x\"y` FROM `it's`")[1] == [(1,), (1,)]
    for name in ("sqlite_x", "_headrace_views"):
        with pytest.raises(HeadraceError, match="cannot be called"):
            store.define("r", [ViewDefinition(name, view.columns)])


def test_readers_do_not_make_a_store(tmp_path):
    store = SqliteViewStore(tmp_path / "none.sqlite", read_only=True)
    with pytest.raises(HeadraceError, match="there are no views"):
        store.views()
    assert not store.made()
    assert list(tmp_path.iterdir()) == []
    sqlite3.connect(store.path).execute("PRAGMA journal_mode = WAL").connection.close()  # as far as a writer may be
    assert not store.made()
    with pytest.raises(HeadraceError, match="there are no views"):
        store.views()
    SqliteViewStore(store.path).close()
    assert store.made()
    assert store.views() == []


def test_files_that_are_no_stores_of_this_version_are_refused(tmp_path):
    (tmp_path / "text").write_text("no database, but long enough to be looked at " * 50)
    with pytest.raises(HeadraceError, match="cannot be used"):
        SqliteViewStore(tmp_path / "text")
    other = sqlite3.connect(tmp_path / "other")
    other.execute("CREATE TABLE t (x)")
    other.close()
    with pytest.raises(HeadraceError, match="not one of views"):
        SqliteViewStore(tmp_path / "other")
    SqliteViewStore(tmp_path / "new").close()
    newer = sqlite3.connect(tmp_path / "new")
    newer.execute("PRAGMA user_version = 99")
    newer.close()
    for read_only in (False, True):
        with pytest.raises(HeadraceError, match="newer Headrace"):
            SqliteViewStore(tmp_path / "new", read_only=read_only).views()


def test_a_store_whose_file_was_deleted_is_made_anew(store):
    reader = SqliteViewStore(store.path, read_only=True)
    store.define("q", [KEYED])
    store.take("q", 0, {}, Reflects())
    assert reader.last_batch("q") == 0
    for file in store.path.parent.glob("views.sqlite*"):
        file.unlink()
    store.define("q", [KEYED])
    assert (store.last_batch("q"), reader.last_batch("q")) == (None, None)
    reader.close()
