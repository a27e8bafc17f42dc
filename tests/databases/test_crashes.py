"""A writing process that is killed inside a batch leaves all of it or nothing; readers see whole batches."""

import secrets
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from databases import killed_writer
from headrace.views.definition import Delta, Reflects
from support.databases import PostgresServer, RedisServer
from support.waiting import PATIENCE, until

BATCHES, LOOKS = 60, 6

PLACES = {
    "postgres-store": [
        "before:headrace.views.postgres:change_rows",
        "after:headrace.views.postgres:change_rows",
        "after:headrace.views.postgres:note_changes",
        "before:headrace.views.postgres:PostgresViewStore._notify",
        "after:headrace.views.postgres:PostgresViewStore._notify",
        "after:headrace.views.postgres:PostgresViewStore.take",
    ],
    "redis-store": [
        "before:headrace.views.redis:queue_change",
        "after:headrace.views.redis:queue_prune",
        "before:redis.client:Pipeline.execute",
        "after:redis.client:Pipeline.execute",
    ],
    "postgres-sink": [
        "before:headrace.connectors.postgres.sink:PostgresWriter._write",
        "after:headrace.connectors.postgres.sink:PostgresWriter._copy",
        "after:headrace.connectors.postgres.sink:PostgresWriter._write",
        "after:headrace.connectors.postgres.sink:PostgresWriter.take",
    ],
    "redis-sink": ["before:redis.client:Pipeline.execute", "after:redis.client:Pipeline.execute"],
    "sqlite-sink": [
        "before:headrace.connectors.sqlite.sink:SqliteWriter._write",
        "after:headrace.connectors.sqlite.sink:SqliteWriter._write",
        "after:headrace.connectors.sqlite.sink:SqliteWriter.take",
    ],
}


@pytest.fixture
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], str]:
    """Return what gives an empty database of a kind."""

    def give(kind: str) -> str:
        where = kind.partition("-")[0]
        if where == "postgres":
            server: PostgresServer = request.getfixturevalue("postgres")
            return server.new_database()
        if where == "redis":
            with request.getfixturevalue("redis").client() as client:
                client.flushall()
            found: RedisServer = request.getfixturevalue("redis")
            return found.url
        return str(tmp_path / f"{secrets.token_hex(4)}.db")

    return give


def start(kind: str, url: str, place: str) -> subprocess.Popen[str]:
    command = [sys.executable, killed_writer.__file__, kind, url, place]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def found_totals(kind: str, url: str) -> list[tuple[Any, ...]]:
    """Return the rows of the totals as another client sees them."""
    if kind == "sqlite-sink":
        connection = sqlite3.connect(url)
        rows = connection.execute("SELECT id, batch FROM totals ORDER BY id").fetchall()
        connection.close()
        return rows
    if kind.startswith("postgres"):
        schema = "headrace" if kind.endswith("store") else "public"
        return PostgresServer(0, "").run(f"SELECT id, batch FROM {schema}.totals ORDER BY id", url)
    import redis

    beginning = "headrace:row:totals:" if kind.endswith("store") else "totals:"
    with redis.Redis.from_url(url, decode_responses=True) as client:
        hashes = [client.hgetall(key) for key in client.keys(f"{beginning}*")]
    return sorted((int(each["id"]), int(each["batch"])) for each in hashes)  # type: ignore[index]


def connected(kind: str, url: str) -> set[int]:
    """Return the connections of others to a database."""
    if kind.startswith("postgres"):
        others = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        return {pid for (pid,) in PostgresServer(0, "").run(others, url)}
    if kind.startswith("redis"):
        import redis

        with redis.Redis.from_url(url, decode_responses=True) as client:
            return {int(each["id"]) for each in client.client_list()} - {int(client.client_id())}  # type: ignore
    return set()


def check(kind: str, url: str) -> int:
    """Check that all of the last batch is there and nothing else; return its number after taking it again."""
    target, take = killed_writer.open_target(kind, url)
    last = target.last_batch("q")
    assert last is not None
    for _ in range(2):
        assert found_totals(kind, url) == [(key, last) for key in range(killed_writer.KEYS)]
        assert take(last) is False
    if kind.endswith("store"):
        store: Any = target
        expected = [(batch, "x") for batch in range(last + 1) for _ in range(5)]
        assert sorted(store.rows("log")) == expected
        assert [each.batch for each in store.changes("totals", None)] == list(range(last + 1))
        assert [len(each.delta.inserted) for each in store.changes("log", None)] == [5] * (last + 1)
    assert take(last + 1) is True
    target.close()  # type: ignore[union-attr]
    return last


@pytest.mark.parametrize(("kind", "place"), [(kind, place) for kind, places in PLACES.items() for place in places])
def test_a_process_that_is_killed_inside_a_batch(kind: str, place: str, url: Callable[[str], str]) -> None:
    where = url(kind)
    before = connected(kind, where)
    process = start(kind, where, place)
    told, failed = process.communicate(timeout=PATIENCE)
    assert process.returncode == -signal.SIGKILL, failed
    until(lambda: connected(kind, where) <= before)  # the server may still be at what it was sent last
    last = check(kind, where)
    assert last - (len(told.split()) - 1) in {0, 1}  # what was told is there; one more may be


@pytest.mark.parametrize("kind", list(PLACES))
def test_a_process_that_is_killed_at_any_moment(kind: str, url: Callable[[str], str]) -> None:
    where = url(kind)
    for kill in range(5):
        before = connected(kind, where)
        process = start(kind, where, "never")
        assert process.stdout is not None
        for _ in range(3 + kill):
            assert process.stdout.readline(), process.stderr.read() if process.stderr else ""
        process.kill()
        told = process.communicate(timeout=PATIENCE)[0].split()
        until(lambda before=before: connected(kind, where) <= before)
        last = check(kind, where)
        assert not told or int(told[-1]) <= last


@pytest.mark.parametrize("kind", ["postgres-store", "redis-store"])
def test_two_views_never_disagree(kind: str, url: Callable[[str], str]) -> None:
    where = url(kind)
    writing, _ = killed_writer.open_target(kind, where)
    reading, _ = killed_writer.open_target(kind, where)
    store: Any = writing
    wrong: list[Any] = []
    done, looked = threading.Event(), threading.Semaphore(0)

    def write() -> None:
        try:
            old: list[Any] = []
            for batch in range(BATCHES + LOOKS):
                if batch >= BATCHES:  # however slowly the other looks: there are as many looks as this meanwhile
                    looked.acquire()
                new = [(key, batch) for key in range(batch % 7 + 1)]
                deltas = {
                    "totals": Delta(deleted=old, inserted=new),
                    "log": Delta(
                        deleted=[(number, "x") for _, number in old], inserted=[(number, "x") for _, number in new]
                    ),
                }
                store.take("q", batch, deltas, Reflects())
                old = new
        finally:
            done.set()

    thread = threading.Thread(target=write)
    thread.start()
    asked: Any = reading
    try:
        while not done.is_set():
            _, rows = asked.query(
                "SELECT batch, count(*) AS n FROM totals GROUP BY batch UNION ALL "
                "SELECT batch, count(*) FROM log GROUP BY batch"
            )
            looked.release()
            if rows and (len(rows) != 2 or rows[0] != rows[1]):
                wrong.append(rows)
    finally:
        looked.release(LOOKS)
        thread.join()
    assert not wrong
    assert asked.last_batch("q") == BATCHES + LOOKS - 1
    for each in (store, asked):
        each.close()


def test_listeners_are_told_of_a_batch(postgres: PostgresServer) -> None:
    import psycopg

    where = postgres.new_database()
    target, take = killed_writer.open_target("postgres-store", where)
    with psycopg.connect(where, autocommit=True) as listening:
        listening.execute("LISTEN headrace")
        take(0)
        told = next(iter(listening.notifies(timeout=PATIENCE, stop_after=1)))
    assert told.payload == '{"schema": "headrace", "query": "q", "batch": 0}'
    target.close()  # type: ignore[union-attr]
