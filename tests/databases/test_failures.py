"""Wrong passwords, addresses and rights: plain words, and never the password."""

import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from headrace.catalog.view_options import ViewOptions
from headrace.connectors.postgres.options import PostgresConnection, PostgresSink
from headrace.connectors.redis.options import RedisConnection, RedisSink
from headrace.connectors.registry import sink_options
from headrace.connectors.tables import TableColumn, TableSink, installed, open_writer
from headrace.errors import HeadraceError, JobFailed, Source
from headrace.language.parser import parse
from headrace.language.statements import CreateSink
from headrace.views.definition import Delta, QueryTooLong, Reflects, ViewColumn, ViewDefinition
from headrace.views.open import open_store
from headrace.views.postgres import PostgresViewStore
from headrace.views.redis import RedisViewStore
from support.databases import PostgresServer, RedisServer

SECRET = "hush-hush-4711"
COLUMNS = [TableColumn("id", "bigint"), TableColumn("name", "string")]
VIEW = ViewDefinition("v", (ViewColumn("id", "bigint"),), ("id",))


def write(options: TableSink) -> None:
    writer = open_writer(options, name="out", base=Path())
    try:
        writer.prepare(COLUMNS, ["id"])
    finally:
        writer.close()


def keep(options: ViewOptions) -> None:
    store: Any = open_store(options, Path(), Path("views.sqlite"))
    try:
        store.define("q", [VIEW])
    finally:
        store.close()


def shown(act: Callable[[], None], kind: type[HeadraceError] = HeadraceError) -> str:
    """Return what a user sees of a failure, and what any log of the exception would hold."""
    with pytest.raises(kind) as caught:
        act()
    error = caught.value
    chain, texts = error, [error.report(), repr(error.as_dict())]
    while chain.__cause__ or (chain.__context__ and not chain.__suppress_context__):
        chain = chain.__cause__ or chain.__context__  # type: ignore[assignment]
        texts.append(repr(chain))
    text = "\n".join(texts)
    assert SECRET not in text
    return error.report()


def ways_to_postgres(url: str) -> list[Callable[[], None]]:
    return [
        lambda: write(PostgresSink(url=url, table="t")),
        lambda: keep(ViewOptions(store="postgres", url=url)),
    ]


def ways_to_redis(url: str) -> list[Callable[[], None]]:
    return [lambda: write(RedisSink(url=url)), lambda: keep(ViewOptions(store="redis", url=url))]


def test_a_wrong_password_of_postgres(postgres: PostgresServer) -> None:
    for way in ways_to_postgres(postgres.url(password=SECRET)):
        text = shown(way)
        assert f"PostgreSQL at postgres@127.0.0.1:{postgres.port}/postgres refuses the login" in text
        assert "Check user and password." in text


def test_a_wrong_password_given_apart(postgres: PostgresServer) -> None:
    options = PostgresSink(
        host="127.0.0.1", port=postgres.port, user="postgres", database="postgres", password=SECRET, table="t"
    )
    assert "refuses the login" in shown(lambda: write(options))
    write(replace(options, password=postgres.password))
    url = f"postgresql://postgres:{SECRET}@127.0.0.1:{postgres.port}/postgres"
    keep(ViewOptions(store="postgres", url=url, password=postgres.password))
    assert SECRET not in repr(options)


def test_a_database_or_user_that_is_not_there(postgres: PostgresServer) -> None:
    for way in ways_to_postgres(postgres.url("nowhere")):
        assert "there is no such database" in shown(way)
    for way in ways_to_postgres(postgres.url(user="nobody", password=SECRET)):
        assert "refuses the login" in shown(way)


@pytest.mark.parametrize("host", ["127.0.0.1:1", "no-such-host.invalid:5432"])
def test_a_wrong_address(host: str) -> None:
    for way in ways_to_postgres(f"postgresql://ann:{SECRET}@{host}/shop"):
        assert f"PostgreSQL at ann@{host}/shop cannot be reached" in shown(way, JobFailed)
    for way in ways_to_redis(f"redis://ann:{SECRET}@{host}/0"):
        assert f"Redis at {host}/0 cannot be reached" in shown(way, JobFailed)


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://a:{SECRET}@h:x{SECRET}/d",
        f"postgresql://a:{SECRET}%zz@h/d",
        f"{SECRET}://x",
        f"a {SECRET}",
        f"postgresql://a:x@{SECRET}@h/d",
        f"postgresql://a:12/{SECRET}@h/d",
    ],
)
def test_a_url_that_is_none(url: str) -> None:
    for way in ways_to_postgres(url):
        assert 'the option "url" is no address' in shown(way)


@pytest.mark.parametrize(
    "url", [f"http://a:{SECRET}@h/", f"redis://a:{SECRET}@h:x{SECRET}/0", SECRET, f"redis://a:1/{SECRET}@h/"]
)
def test_a_url_of_redis_that_is_none(url: str) -> None:
    for way in ways_to_redis(url):
        assert 'the option "url" is no address' in shown(way)


def test_a_wrong_password_of_redis(redis: RedisServer) -> None:
    for url in (f"redis://:{SECRET}@127.0.0.1:{redis.port}/0", f"redis://127.0.0.1:{redis.port}/0"):
        for way in ways_to_redis(url):
            assert f"Redis at 127.0.0.1:{redis.port}/0 refuses the login" in shown(way)
    write(RedisSink(url=f"redis://127.0.0.1:{redis.port}/0", password=redis.password))


def test_rights_that_are_missing_in_postgres(postgres: PostgresServer) -> None:
    database = postgres.new_database()
    postgres.run(f"CREATE ROLE guest LOGIN PASSWORD '{SECRET}'")
    postgres.run("CREATE TABLE t (id bigint PRIMARY KEY, name text)", database)
    guest = postgres.url(database.rpartition("/")[2], "guest", SECRET)
    for way in ways_to_postgres(guest):
        assert "permission denied for" in shown(way)
    postgres.run("CREATE TABLE headrace_batches (output text PRIMARY KEY, batch bigint NOT NULL)", database)
    text = shown(lambda: write(PostgresSink(url=guest, table="t")))
    assert "this user may not INSERT in table public.t" in text
    assert "GRANT INSERT, SELECT, UPDATE, DELETE ON public.t" in text
    postgres.run("GRANT ALL ON t, headrace_batches TO guest", database)
    write(PostgresSink(url=guest, table="t"))


def test_rights_that_are_missing_in_redis(redis: RedisServer) -> None:
    with redis.client() as client:
        client.execute_command("ACL", "SETUSER", "guest", "on", f">{SECRET}", "+ping", "+@read", "~*")
    url = f"redis://guest:{SECRET}@127.0.0.1:{redis.port}/0"
    writer = open_writer(RedisSink(url=url), name="out", base=Path())
    writer.prepare(COLUMNS, ["id"])
    shown(lambda: writer.take("out", 0, [], [(1, "a")]) and None)
    writer.close()
    shown(lambda: keep(ViewOptions(store="redis", url=url)))


def test_a_connection_that_is_lost(postgres: PostgresServer) -> None:
    database = postgres.new_database()
    store = PostgresViewStore(PostgresConnection(url=database))
    store.define("q", [VIEW])
    writer = open_writer(PostgresSink(url=database, table="t"), name="out", base=Path())
    writer.prepare(COLUMNS, ["id"])
    rows = store.rows("v")
    store.take("q", 0, {"v": Delta(inserted=[(number,) for number in range(9000)])}, Reflects())
    assert next(rows) == (0,)
    end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname IS NOT NULL"
    assert len(postgres.run(end)) >= 2
    with pytest.raises(JobFailed):
        list(rows)
    assert store.last_batch("q") == 0
    assert writer.take("out", 0, [], [(1, "a")])
    store.close()
    writer.close()


def test_a_server_that_goes_away_in_the_middle(postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    database = postgres.new_database()
    writer: Any = open_writer(PostgresSink(url=database, table="t"), name="out", base=Path())
    writer.prepare(COLUMNS, ["id"])
    written = writer._write

    def cut(connection: Any, *rows: Any) -> None:
        written(connection, *rows)
        postgres.run(f"SELECT pg_terminate_backend({connection.info.backend_pid})")

    monkeypatch.setattr(writer, "_write", cut)
    with pytest.raises(JobFailed, match="cannot be reached"):
        writer.take("out", 0, [], [(1, "a")])
    monkeypatch.undo()
    assert writer.last_batch("out") is None
    assert writer.take("out", 0, [], [(1, "a")])
    assert postgres.run("SELECT * FROM t", database) == [(1, "a")]
    writer.close()


def test_a_query_that_takes_too_long(postgres: PostgresServer) -> None:
    store = PostgresViewStore(PostgresConnection(url=postgres.new_database()), query_timeout=timedelta(seconds=3))
    store.define("q", [VIEW])
    store.take("q", 0, {"v": Delta(inserted=[(number,) for number in range(3000)])}, Reflects())
    with pytest.raises(HeadraceError, match="took longer than 3 seconds"):
        store.query("SELECT count(*) AS n FROM v a CROSS JOIN v b CROSS JOIN v c")
    assert store.query("SELECT count(*) AS n FROM v") == (("n",), [(3000,)])
    store.close()


def test_a_query_over_redis_that_takes_too_long_is_ended(redis: RedisServer) -> None:
    options = RedisConnection(url=redis.url)
    store = RedisViewStore(options, prefix="slow:", query_timeout=timedelta(0))
    store.define("q", [ViewDefinition("v", (ViewColumn("k", "string"),), ("k",))])
    with closing(store), pytest.raises(QueryTooLong):
        store.query("SELECT k FROM v")


def test_names_of_packages_that_are_missing() -> None:
    for package, extra in (("psycopg", "postgres"), ("redis", "redis")):
        with pytest.raises(HeadraceError) as caught, installed(package, extra):
            raise ModuleNotFoundError(f"No module named '{package}'", name=package)
        assert caught.value.hint == f"Run: pip install 'headrace[{extra}]'"
    with pytest.raises(ModuleNotFoundError), installed("psycopg", "postgres"):
        raise ModuleNotFoundError("No module named 'other'", name="other")


@pytest.mark.parametrize("package", ["psycopg", "redis"])
def test_checking_needs_no_driver(package: str) -> None:
    code = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "import headrace.connectors.registry, headrace.catalog.view_options, headrace.views.open\n"
        "from headrace.connectors.tables import open_writer\n"
        "from headrace.connectors.postgres.options import PostgresSink\n"
        "from headrace.connectors.redis.options import RedisSink\n"
        "from pathlib import Path\n"
        f"options = PostgresSink(table='t') if {package!r} == 'psycopg' else RedisSink()\n"
        "try: open_writer(options, name='out', base=Path())\n"
        "except Exception as error: print(error)\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert f"error: the Python package {package} is not installed" in found.stdout


def test_a_password_in_a_statement_is_not_shown() -> None:
    text = f"CREATE SINK s WITH (connector = 'postgres', url = 'postgresql://a:{SECRET}@h/d', tabel = 't') AS SELECT 1"
    (statement,) = parse(Source("app.sql", text))
    assert isinstance(statement, CreateSink)
    with pytest.raises(HeadraceError) as caught:
        sink_options(statement.options, 'sink "s"', statement.span)
    assert 'unknown option "tabel"' in caught.value.report()
    assert SECRET not in caught.value.report()


def test_stores_by_name(redis: RedisServer) -> None:
    connection = RedisConnection(url=redis.url)
    assert SECRET not in repr(RedisConnection(url=f"redis://:{SECRET}@h", password=SECRET))
    store = open_store(ViewOptions(store="redis", url=connection.url, prefix="mine:"), Path(), Path("x"))
    assert isinstance(store, RedisViewStore)
    store.define("q", [VIEW])
    with redis.client() as client:
        assert client.hkeys("mine:views") == ["v"]
    store.close()
