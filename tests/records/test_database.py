"""Transactions are whole, one writes at a time, and readers wait for nobody."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, text
from sqlalchemy.exc import DBAPIError, StatementError

from headrace.records import database as database_module
from headrace.records.access_tables import GroupRow
from headrace.records.database import Database, take_turns
from support.waiting import until

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let SQLite wait longer for a writer than the server does: a busy disk is no failure."""

    def prepare(connection: Any, record: Any) -> None:
        prepared(connection, record)
        connection.execute("PRAGMA busy_timeout = 240000")

    prepared = database_module._prepare_sqlite
    monkeypatch.setattr(database_module, "_prepare_sqlite", prepare)


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database.open(database_url)
    yield database
    database.close()


def names(database: Database) -> list[str]:
    with database.reading() as session:
        return list(session.scalars(select(GroupRow.name).order_by(GroupRow.name)))


def test_a_transaction_is_whole_or_nothing(database: Database) -> None:
    with database.transaction() as session:
        session.add(GroupRow(name="kept", created_at=NOON))
    with pytest.raises(RuntimeError), database.transaction() as session:
        session.add(GroupRow(name="lost", created_at=NOON))
        session.flush()
        raise RuntimeError
    assert names(database) == ["kept"]


def test_instants_keep_their_moment(database: Database) -> None:
    there = NOON.astimezone(timezone(timedelta(hours=5, minutes=30)))
    with database.transaction() as session:
        session.add(GroupRow(name="a", created_at=there))
    with database.reading() as session:
        found = session.scalars(select(GroupRow)).one().created_at
        assert (found, found.tzinfo) == (NOON, UTC)
    with pytest.raises(StatementError, match="without a time zone"), database.transaction() as session:
        session.add(GroupRow(name="b", created_at=NOON.replace(tzinfo=None)))


def test_readers_go_on_while_one_writes(database: Database) -> None:
    """The writer is in the middle of its transaction; a reader that waited for it would wait for ever."""
    with database.transaction() as session:
        session.add(GroupRow(name="a", created_at=NOON))
        session.flush()
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(lambda _: names(database), range(16), timeout=240)) == [[]] * 16
    assert names(database) == ["a"]


def test_a_reader_sees_one_moment(database: Database) -> None:
    with database.reading() as session:
        assert session.scalars(select(GroupRow.name)).all() == []
        with database.transaction() as writer:
            writer.add(GroupRow(name="a", created_at=NOON))
        assert session.scalars(select(GroupRow.name)).all() == []
    assert names(database) == ["a"]


def test_reading_cannot_write_and_does_not_hinder_writing_later(database: Database) -> None:
    for _ in range(20):  # more often than the pool has connections
        with pytest.raises(DBAPIError, match=r"read-?only"), database.reading() as session:
            session.add(GroupRow(name="a", created_at=NOON))
            session.flush()
    with database.transaction() as session:
        session.add(GroupRow(name="b", created_at=NOON))
    assert names(database) == ["b"]


def test_writers_take_turns(database: Database) -> None:
    """Each reads how many there are and adds the next: a lost update would give a name twice."""
    ready = threading.Barrier(4)

    def add(_: int) -> None:
        ready.wait()
        for _ in range(5):
            with database.transaction() as session:
                take_turns(session, "count")
                count = len(session.scalars(select(GroupRow.id)).all())
                session.add(GroupRow(name=f"{count:02}", created_at=NOON))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(add, range(4)))
    assert names(database) == [f"{number:02}" for number in range(20)]


def test_the_audit_log_cannot_be_rewritten(database: Database) -> None:
    insert = """INSERT INTO audit (at, actor_name, action, target_kind, target_name, outcome, details)
                VALUES (:at, 'ann', 'x', 'user', 'ann', 'done', '{}')"""
    with database.transaction() as session:
        for days in (29, 31):
            # the database goes by its own clock, for it does not trust the program's
            at = (datetime.now(UTC) - timedelta(days=days)).strftime("%Y-%m-%d %H:%M:%S.%f")
            session.execute(text(insert), {"at": at})
    for statement in ("UPDATE audit SET actor_name = 'bob'", "DELETE FROM audit"):
        with pytest.raises(DBAPIError, match="append-only"), database.transaction() as session:
            session.execute(text(statement))
    with database.transaction() as session:
        session.execute(text("DELETE FROM audit WHERE id = 2"))
    with database.reading() as session:
        assert session.execute(text("SELECT id FROM audit")).scalars().all() == [1]


def test_errors_do_not_tell_values(database: Database) -> None:
    with pytest.raises(DBAPIError) as raised, database.transaction() as session:
        session.execute(text("INSERT INTO nowhere VALUES (:value)"), {"value": "hush-hush"})
    assert "hush-hush" not in str(raised.value)


def test_many_who_wait_for_the_writer_keep_no_reader_waiting(tmp_path: Path) -> None:
    database = Database.open(f"sqlite:///{tmp_path / 'server.sqlite'}")
    waiting = 20

    def write(number: int) -> None:
        with database.transaction() as session:
            session.add(GroupRow(name=f"group {number:02d}", created_at=NOON))

    with ThreadPoolExecutor(waiting) as writers:
        with database.transaction() as first:
            first.add(GroupRow(name="first", created_at=NOON))
            first.flush()
            asked = [writers.submit(write, number) for number in range(waiting)]
            until(lambda: database.engine.pool.status().endswith(f"Current Checked out connections: {waiting + 1}"))
            assert names(database) == []
            assert not any(each.done() for each in asked)
        for each in asked:
            each.result()
    assert len(names(database)) == waiting + 1
    database.close()
