"""Views for Python users: rows, tables of them, and their changes as they happen."""

import subprocess
import sys
import threading
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from headrace.errors import HeadraceError, PlanError
from headrace.views.definition import Delta, Reflects, ViewColumn, ViewDefinition
from headrace.views.reading import View
from headrace.views.reading_keys import key_from_text

COLUMNS = (ViewColumn("page", "string"), ViewColumn("at", "timestamp"), ViewColumn("n", "decimal(5,1)"))
AT = datetime(2024, 1, 1, 10, tzinfo=UTC)


@pytest.fixture
def view(store):
    store.define("q", [ViewDefinition("Counts", COLUMNS, key=("page", "at"))])
    return View(store, "counts")


def take(view, batch, deleted=(), inserted=()):
    view.store.take("q", batch, {"counts": Delta(list(deleted), list(inserted))}, Reflects())


A, B = ("/a", AT, Decimal("1.0")), ("/b", AT, Decimal("2.5"))


def test_rows_are_dictionaries(view):
    take(view, 0, inserted=[B, A])
    first = {"page": "/a", "at": AT, "n": Decimal("1.0")}
    assert view.name == "Counts"
    assert view.get("/a", AT) == first
    assert view.get("/a") == [first]
    assert view.get("/c", AT) is None
    assert view.get("/c") == []
    assert [row["page"] for row in view.rows()] == ["/a", "/b"]
    reflects, rows = view.snapshot()
    assert (reflects.batch, rows[0]) == (0, first)


def test_an_unknown_view_is_told(view):
    with pytest.raises(PlanError) as caught:
        View(view.store, "count")
    assert caught.value.hint == 'Did you mean "Counts"?'


def test_tables_have_the_types_of_the_view(view):
    empty = view.to_arrow()
    take(view, 0, inserted=[A, B])
    table = view.to_arrow()
    assert table.schema.types == [pa.string(), pa.timestamp("us", "UTC"), pa.decimal128(5, 1)]
    assert (empty.schema, empty.num_rows) == (table.schema, 0)
    assert table.to_pylist()[1] == {"page": "/b", "at": AT, "n": Decimal("2.5")}
    assert list(view.to_pandas()["page"]) == ["/a", "/b"]


def test_nested_columns_become_arrow(store):
    kinds = ("struct<a:int,b:array<date>>", "map<string,double>", "binary", "boolean", "void")
    columns = tuple(ViewColumn(f"c{n}", kind) for n, kind in enumerate(kinds))
    store.define("q", [ViewDefinition("v", columns)])
    row = ({"a": 1, "b": [AT.date()]}, {"k": 0.5}, b"x", True, None)
    store.take("q", 0, {"v": Delta(inserted=[row])}, Reflects())
    [back] = View(store, "v").to_arrow().to_pylist()
    assert tuple(back.values()) == ({"a": 1, "b": [AT.date()]}, [("k", 0.5)], b"x", True, None)


def test_changes_from_the_start_a_batch_or_now(view):
    take(view, 0, inserted=[A])
    take(view, 1, deleted=[A], inserted=[B])
    stop = threading.Event()
    told = []
    for change in view.follow(stop=stop):
        told.append((change.batch, change.change, change.row["page"]))
        if len(told) == 3:
            stop.set()
    assert told == [(0, "insert", "/a"), (1, "delete", "/a"), (1, "insert", "/b")]
    assert next(view.follow(after=0)).batch == 1
    batches = view.follow_batches("now")
    take(view, 2, inserted=[A])
    assert next(batches).batch == 2


def test_changes_of_another_process_come_as_they_happen(tmp_path):
    from headrace.views.sqlite import SqliteViewStore

    path = tmp_path / "bank.sqlite"
    command = [sys.executable, str(Path(__file__).parent / "writer.py"), str(path), "40", "50"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    store = SqliteViewStore(path, read_only=True)
    stop = threading.Event()
    told = []
    for batch in View(store, "total").follow_batches(None, stop):
        told.append(batch.batch)
        if batch.batch == 39:
            stop.set()
    process.communicate()
    assert told == list(range(40))
    store.close()


class Bare:
    """A store that cannot say cheaply whether anything has changed."""

    def __init__(self, store):
        self.views, self.changes, self.reflects = store.views, store.changes, store.reflects


def test_any_store_can_be_followed(view):
    take(view, 0, inserted=[A])
    changes = View(Bare(view.store), "counts").follow()
    assert next(changes).batch == 0
    take(view, 1, inserted=[B])
    assert next(changes).batch == 1


def test_a_stopped_follower_ends(view):
    stop = threading.Event()
    stop.set()
    assert list(view.follow(stop=stop)) == []


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        ("bigint", "42", 42),
        ("double", "0.5", 0.5),
        ("decimal(5,2)", "9.99", Decimal("9.99")),
        ("string", " x ", " x "),
        ("boolean", "TRUE", True),
        ("timestamp", "2024-01-01T10:00:00Z", AT),
        ("timestamp", "2024-01-01 10:00", AT),
        ("date", "2024-01-01", AT.date()),
        ("binary", "ab01", b"\xab\x01"),
        ("int", "NULL", None),
    ],
)
def test_keys_from_text(type_, text, value):
    assert key_from_text(ViewDefinition("v", (ViewColumn("k", type_),), ("k",)), [text]) == (value,)


@pytest.mark.parametrize("type_", ["bigint", "decimal(5,2)", "boolean", "timestamp", "date", "binary"])
def test_texts_that_are_no_keys(type_):
    with pytest.raises(HeadraceError, match='"maybe" is not a value of the key column "k"') as caught:
        key_from_text(ViewDefinition("v", (ViewColumn("k", type_),), ("k",)), ["maybe"])
    assert caught.value.hint.startswith("Write it as ")
