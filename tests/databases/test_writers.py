"""Sinks into PostgreSQL, SQLite and Redis against an obvious twin, and tables that do not fit."""

import secrets
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.connectors import tables as connector_tables
from headrace.connectors.postgres.options import PostgresSink
from headrace.connectors.redis.options import RedisSink
from headrace.connectors.spark_types import parse_type
from headrace.connectors.sqlite.options import SqliteSink
from headrace.connectors.tables import TableColumn, TableSink, TableWriter
from headrace.connectors.typed_values import from_text
from headrace.errors import HeadraceError, JobFailed
from support.databases import PostgresServer, RedisServer
from support.random_rows import KEY_TYPES, TYPES, bag, batches, same, tables

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)


@dataclass
class Target:
    """A writer, and what reads its table as another client would."""

    writer: TableWriter
    rows: Callable[[list[str]], list[tuple[Any, ...]]]


NewTarget = Callable[[], Target]


OPENED: dict[TableWriter, str] = {}
"""The writers of a test, each with the name of an output that only it writes."""


def open_writer(options: TableSink, *, name: str, base: Path) -> TableWriter:
    """Return a writer that is closed at the end of the test."""
    writer = connector_tables.open_writer(options, name=name, base=base)
    OPENED[writer] = secrets.token_hex(6)
    return writer


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    while OPENED:
        OPENED.popitem()[0].close()


def output(writer: TableWriter) -> str:
    """Return the name of an output that only this writer writes."""
    return OPENED[writer]


def columns(types: list[str]) -> list[TableColumn]:
    return [TableColumn(f"c{place}", kind) for place, kind in enumerate(types)]


@pytest.fixture(scope="session")
def database(postgres: PostgresServer) -> str:
    return postgres.new_database()


def postgres_target(server: PostgresServer, database: str) -> Target:
    table = f"t{secrets.token_hex(6)}"

    def rows(types: list[str]) -> list[tuple[Any, ...]]:
        kinds = list(map(parse_type, types))
        names = [f"c{place}::text" if kind.nested else f"c{place}" for place, kind in enumerate(kinds)]
        found = server.run(f"SELECT {', '.join(names)} FROM {table}", database)
        return [
            tuple(
                from_text(kind)(value) if kind.nested and value is not None else value
                for kind, value in zip(kinds, row, strict=True)
            )
            for row in found
        ]

    return Target(open_writer(PostgresSink(url=database, table=table), name="out", base=Path()), rows)


def sqlite_target(folder: Path) -> Target:
    path = folder / f"{secrets.token_hex(6)}.db"

    def rows(types: list[str]) -> list[tuple[Any, ...]]:
        connection = sqlite3.connect(path)
        found = connection.execute('SELECT * FROM "my table"').fetchall()
        connection.close()
        return [
            tuple(None if value is None else _of_sqlite(kind, value) for kind, value in zip(types, row, strict=True))
            for row in found
        ]

    return Target(open_writer(SqliteSink(path=path.name, table="my table"), name="out", base=folder), rows)


def _of_sqlite(kind: str, value: Any) -> Any:
    if kind == "boolean":
        return bool(value)
    return from_text(parse_type(kind))(value) if isinstance(value, str) else value


def redis_target(server: RedisServer) -> Target:
    prefix = f"{secrets.token_hex(6)}:"

    def rows(types: list[str]) -> list[tuple[Any, ...]]:
        readers = [from_text(parse_type(kind)) for kind in types]
        with server.client() as client:
            found = [client.hgetall(key) for key in client.keys(f"{prefix}*")]
        return [
            tuple(read(row[f"c{place}"]) if f"c{place}" in row else None for place, read in enumerate(readers))
            for row in found
        ]

    return Target(open_writer(RedisSink(url=server.url, prefix=prefix), name="out", base=Path()), rows)


@pytest.fixture(params=["postgres", "sqlite", "redis"])
def new_target(request: pytest.FixtureRequest, tmp_path: Path) -> NewTarget:
    def make() -> Target:
        if request.param == "postgres":
            return postgres_target(request.getfixturevalue("postgres"), request.getfixturevalue("database"))
        if request.param == "sqlite":
            return sqlite_target(tmp_path)
        return redis_target(request.getfixturevalue("redis"))

    return make


@st.composite
def keyed(draw: st.DrawFn) -> tuple[list[str], int, list[tuple[list[Any], list[Any]]]]:
    types, width = draw(tables(keyed=True))
    types = [*types, "string"]
    history = draw(batches(types, width))
    # Not all NULL: a hash of Redis with no field is none.
    return (
        types,
        width,
        [([(*row[:-1], "x") for row in gone], [(*row[:-1], "x") for row in come]) for gone, come in history],
    )


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(keyed())
def test_rows_of_a_key_replace_each_other(
    new_target: NewTarget, history: tuple[list[str], int, list[tuple[list[Any], list[Any]]]]
) -> None:
    types, width, taken = history
    target = new_target()
    twin: dict[Any, Any] = {}
    for number, (gone, come) in enumerate(taken):
        target.writer.prepare(columns(types), [f"C{place}" for place in range(width)])
        for row in gone:
            del twin[same(row[:width])]
        twin.update((same(row[:width]), row) for row in come)
        for fresh in (True, False):
            assert target.writer.take(output(target.writer), number, gone, come) is fresh
        assert bag(target.rows(types)) == bag(twin.values())
        assert target.writer.last_batch(output(target.writer)) == number
    target.writer.close()


@st.composite
def appended(draw: st.DrawFn) -> tuple[list[str], list[list[Any]]]:
    types = draw(st.lists(st.sampled_from(sorted(TYPES)), min_size=1, max_size=5))
    row = st.tuples(*(st.none() | TYPES[kind] for kind in types))
    return types, draw(st.lists(st.lists(row, max_size=4), min_size=1, max_size=3))


@pytest.mark.parametrize("new_target", ["postgres", "sqlite"], indirect=True)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(appended())
def test_rows_without_a_key_are_added(new_target: NewTarget, history: tuple[list[str], list[list[Any]]]) -> None:
    types, taken = history
    target = new_target()
    target.writer.prepare(columns(types), ())
    for number, rows in enumerate(taken):
        assert target.writer.take(output(target.writer), number, [], rows)
        assert not target.writer.take(output(target.writer), number, [], rows)
    assert bag(target.rows(types)) == bag(row for rows in taken for row in rows)
    target.writer.close()


@pytest.mark.parametrize("kind", KEY_TYPES)
def test_the_last_row_of_a_key_counts(new_target: NewTarget, kind: str) -> None:
    value = {
        "bigint": 1,
        "string": "a",
        "decimal(10,2)": Decimal("1.50"),
        "boolean": False,
        "date": NOON.date(),
        "double": float("nan"),
        "timestamp": NOON,
    }[kind]
    target = new_target()
    target.writer.prepare(columns([kind, "int", "int"]), ["c0"])
    target.writer.take(output(target.writer), 0, [], [(value, 1, 1), (value, 2, 2), (None, 3, 3)])
    target.writer.take(
        output(target.writer), 1, [(value, 2, 2), (None, 3, 3)], [(value, 4, None), (None, 5, None), (None, 6, 6)]
    )
    assert bag(target.rows([kind, "int", "int"])) == bag([(value, 4, None), (None, 6, 6)])
    target.writer.take(output(target.writer), 2, [(value, 4, None), (None, 6, 6)], [])
    assert target.rows([kind, "int", "int"]) == []


def test_outputs_have_numbers_of_their_own(new_target: NewTarget) -> None:
    writer = new_target().writer
    writer.prepare(columns(["int"]), ["c0"])
    first, second = secrets.token_hex(4), secrets.token_hex(4)
    assert writer.take(first, 5, [], [(1,)])
    assert (writer.last_batch(first), writer.last_batch(second)) == (5, None)
    assert writer.take(second, 0, [], [(2,)])
    assert not writer.take(first, 4, [], [(3,)])
    assert not writer.take(first, 5, [], [(3,)])


@pytest.mark.parametrize("new_target", ["postgres", "sqlite"], indirect=True)
def test_rows_that_go_need_a_key(new_target: NewTarget) -> None:
    target = new_target()
    target.writer.prepare(columns(["int"]), ())
    with pytest.raises(HeadraceError, match="nothing says which row"):
        target.writer.take(output(target.writer), 0, [(1,)], [(2,)])
    assert target.rows(["int"]) == []
    assert target.writer.last_batch(output(target.writer)) is None


def test_a_key_that_is_none(new_target: NewTarget) -> None:
    with pytest.raises(HeadraceError, match='the key names "x", which is no column'):
        new_target().writer.prepare(columns(["int"]), ["x"])
    with pytest.raises(HeadraceError, match="nested"):
        new_target().writer.prepare(columns(["array<int>"]), ["c0"])


def test_a_type_without_a_place(new_target: NewTarget) -> None:
    with pytest.raises(HeadraceError, match="variant"):
        new_target().writer.prepare(columns(["int", "variant"]), ["c0"])


def test_redis_needs_a_key(redis: RedisServer) -> None:
    with pytest.raises(HeadraceError, match="needs a key"):
        redis_target(redis).writer.prepare(columns(["int"]), ())


def test_redis_keys_can_be_told_apart(redis: RedisServer) -> None:
    writer = open_writer(RedisSink(url=redis.url), name="apart", base=Path())
    writer.prepare(columns(["string", "string"]), ["c0", "c1"])
    writer.take(secrets.token_hex(4), 0, [], [("a:b", "c"), ("a", "b:c"), ("%N", "x"), (None, "x")])
    with redis.client() as client:
        assert sorted(client.keys("apart:*")) == ["apart:%25N:x", "apart:%N:x", "apart:a%3Ab:c", "apart:a:b%3Ac"]
        assert client.hgetall("apart:%N:x") == {"c1": "x"}


@pytest.fixture
def sink(postgres: PostgresServer, database: str) -> Callable[..., TableWriter]:
    """Return the writer of a table that a statement has made, TABLE being its name."""

    def make(statement: str, **options: Any) -> TableWriter:
        table = f"t{secrets.token_hex(6)}"
        postgres.run(statement.replace("TABLE_", table), database)
        return open_writer(PostgresSink(url=database, table=table, **options), name="out", base=Path())

    return make


COLUMNS = [TableColumn("id", "bigint"), TableColumn("name", "string")]


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("CREATE TABLE TABLE_ (id bigint PRIMARY KEY)", 'has no column "name"'),
        ("CREATE TABLE TABLE_ (id int PRIMARY KEY, name text)", 'column "id" of table .* is integer'),
        ("CREATE TABLE TABLE_ (id bigint PRIMARY KEY, name bytea)", 'column "name" of table .* is bytea'),
        ("CREATE TABLE TABLE_ (id bigint, name text)", r"no unique index over \(id\)"),
        ("CREATE TABLE TABLE_ (id bigint, name text, UNIQUE (id, name))", r"no unique index over \(id\)"),
        ("CREATE TABLE TABLE_ (id bigint PRIMARY KEY, name text, more int NOT NULL)", 'column "more" .* must have a'),
        ("CREATE VIEW TABLE_ AS SELECT 1::bigint AS id, 'a'::text AS name", "is no table that takes rows"),
    ],
)
def test_a_table_that_does_not_fit(sink: Callable[..., TableWriter], statement: str, message: str) -> None:
    with pytest.raises(HeadraceError, match=message):
        sink(statement).prepare(COLUMNS, ["id"])


def test_a_table_with_more_than_the_query_gives(
    sink: Callable[..., TableWriter], postgres: PostgresServer, database: str
) -> None:
    postgres.run("CREATE SCHEMA IF NOT EXISTS shop", database)
    postgres.run('CREATE TABLE shop.more ("ID" bigint PRIMARY KEY, name varchar(3), seen int DEFAULT 7)', database)
    writer = open_writer(PostgresSink(url=database, table="shop.more"), name="out", base=Path())
    writer.prepare(COLUMNS, ["id"])
    assert writer.take(output(writer), 0, [], [(1, "a")])
    postgres.run("UPDATE shop.more SET seen = 8", database)
    assert writer.take(output(writer), 1, [(1, "a")], [(1, "b")])
    assert postgres.run("SELECT * FROM shop.more", database) == [(1, "b", 8)]
    with pytest.raises(JobFailed, match="value too long"):
        writer.take(output(writer), 2, [], [(2, "long")])
    assert writer.last_batch(output(writer)) == 1


def test_a_missing_table_that_is_not_to_be_made(database: str, tmp_path: Path) -> None:
    for options in (
        PostgresSink(url=database, table="nowhere", create=False),
        SqliteSink(path="x.db", table="nowhere", create=False),
    ):
        with pytest.raises(HeadraceError, match="there is no table"):
            open_writer(options, name="out", base=tmp_path).prepare(COLUMNS, ["id"])


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("CREATE TABLE t (id INTEGER PRIMARY KEY)", 'has no column "name"'),
        ("CREATE TABLE t (id TEXT PRIMARY KEY, name TEXT)", 'column "id" of table t is TEXT'),
        ("CREATE TABLE t (id INTEGER, name TEXT)", r"no unique index over \(id\)"),
        ("CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, more TEXT NOT NULL)", 'column "more" .* must have a'),
    ],
)
def test_a_table_of_sqlite_that_does_not_fit(tmp_path: Path, statement: str, message: str) -> None:
    connection = sqlite3.connect(tmp_path / "x.db")
    connection.execute(statement)
    connection.close()
    writer = open_writer(SqliteSink(path="x.db", table="t"), name="out", base=tmp_path)
    with pytest.raises(HeadraceError, match=message):
        writer.prepare(COLUMNS, ["id"])


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_text("This is a text, and a long one at that. " * 100)
    with pytest.raises(JobFailed, match=r"x\.db"):
        open_writer(SqliteSink(path="x.db", table="t"), name="out", base=tmp_path).prepare(COLUMNS, ["id"])
    with pytest.raises(JobFailed, match="cannot be written"):
        open_writer(SqliteSink(path="x.db/y.db", table="t"), name="out", base=tmp_path).prepare(COLUMNS, ["id"])


@pytest.mark.parametrize("value", ["a\0b", "\ud800"])
def test_text_that_postgres_cannot_hold_is_named(sink: Callable[..., TableWriter], value: str) -> None:
    writer = sink("CREATE TABLE TABLE_ (id bigint PRIMARY KEY, name text, tags jsonb)")
    writer.prepare([*COLUMNS, TableColumn("tags", "array<string>")], ["id"])
    for row, column in (((1, value, None), "name"), ((1, "a", [value]), "tags")):
        with pytest.raises(HeadraceError, match=f'column "{column}" holds'):
            writer.take(output(writer), 0, [], [row])
    assert writer.take(output(writer), 0, [], [(1, "\\u0000", ["\\u0000"])])


def test_many_rows_at_once(sink: Callable[..., TableWriter], postgres: PostgresServer, database: str) -> None:
    writer = sink("CREATE TABLE TABLE_ (id bigint PRIMARY KEY, name text)")
    writer.prepare(COLUMNS, ["id"])
    rows = [(number, "a") for number in range(20_000)]
    assert writer.take(output(writer), 0, [], rows)
    assert writer.take(output(writer), 1, rows, [(number, "b") for number in range(0, 20_000, 2)])
    table = writer._table  # type: ignore[attr-defined]
    found = postgres.run(f"SELECT count(*), min(name), max(name) FROM {table}", database)
    assert found == [(10_000, "b", "b")]
