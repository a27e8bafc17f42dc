"""What one process has at a time is had by nobody else, and by the next at once."""

from datetime import timedelta
from pathlib import Path

import pytest

from headrace.errors import HeadraceError
from headrace.records.claims import FileClaim, SessionClaim, claim_on, taken_within
from headrace.records.database import Database
from support.databases import PostgresServer

HOLDERS = "FROM pg_stat_activity WHERE application_name = 'headrace supervisor' AND datname = current_database()"


@pytest.fixture
def url(postgres: PostgresServer) -> str:
    return postgres.new_database().replace("postgresql://", "postgresql+psycopg://")


def claim(url: str) -> SessionClaim:
    database = Database.open(url)
    found = claim_on(database)
    database.close()
    assert isinstance(found, SessionClaim)
    return found


def end_sessions(postgres: PostgresServer, url: str) -> None:
    """End the connections of claims as a Postgres that is restarted does, and see them gone."""
    ended = postgres.run(f"SELECT pg_terminate_backend(pid, 240000) {HOLDERS}", url.replace("+psycopg", ""))
    assert ended == [(True,)]


def test_a_database_is_claimed_by_one_at_a_time(database_url: str) -> None:
    database = Database.open(database_url)
    first, second = claim_on(database), claim_on(database)
    assert first is not None
    assert second is not None
    assert (first.is_held(), first.take(), first.take(), first.is_held()) == (False, True, True, True)
    assert (second.take(), second.is_held(), first.is_held()) == (False, False, True)
    assert not taken_within(second, timedelta(0))
    first.release()
    assert (first.is_held(), second.take(), second.is_held(), first.take()) == (False, True, True, False)
    second.release()
    database.close()


def test_a_file_is_the_same_by_each_of_its_names(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "other").symlink_to(tmp_path / "real")
    (tmp_path / "third.db").symlink_to(tmp_path / "real" / "a.db")
    names = ["real/a.db", "other/a.db", "third.db"]
    claims = []
    for url in [*(f"sqlite:///{tmp_path / name}" for name in names), f"sqlite:///file:{tmp_path}/real/a.db?uri=true"]:
        database = Database(url)
        claims.append(claim_on(database))
        database.close()
    assert [each is not None and each.take() for each in claims] == [True, False, False, False]
    assert claims[0] is not None
    claims[0].release()


def test_a_database_in_memory_is_reached_by_nobody_else() -> None:
    database = Database("sqlite://")
    assert claim_on(database) is None
    database.close()


def test_a_file_that_cannot_be_opened_is_told(tmp_path: Path) -> None:
    with pytest.raises(HeadraceError) as raised:
        FileClaim(tmp_path / "none" / "lock", "it").take()
    assert raised.value.message == f'the file "{tmp_path}/none/lock" cannot be opened'
    assert raised.value.detail == "No such file or directory."


def test_a_lost_connection_is_a_lost_claim(postgres: PostgresServer, url: str) -> None:
    first, second = claim(url), claim(url)
    assert first.take()
    end_sessions(postgres, url)
    assert not first.is_held()
    assert second.take(), "the next has it at once"
    assert (first.take(), first.is_held()) == (False, False)
    second.release()
    assert (first.take(), first.is_held()) == (True, True)
    first.release()


def test_a_lock_that_is_gone_is_a_lost_claim_though_the_connection_is_there(url: str) -> None:
    """As with a pooler between, that gives each transaction another connection."""
    first = claim(url)
    assert first.take()
    assert first._connection is not None
    first._connection.exec_driver_sql("SELECT pg_advisory_unlock_all()")
    assert not first.is_held()


def test_a_claim_is_on_the_tables_not_on_all_of_a_database(postgres: PostgresServer, url: str) -> None:
    for name in ("one", "two"):
        postgres.run(f"CREATE SCHEMA {name}", url.replace("+psycopg", ""))
    one, two, again = (claim(f"{url}?options=-csearch_path%3D{path}") for path in ("one", "two", "public,one"))
    assert (one.take(), two.take()) == (True, True)
    one.release()
    two.release()
    assert again.take()
    again.release()


def test_a_postgres_that_does_not_answer_is_told(url: str) -> None:
    with pytest.raises(HeadraceError, match="cannot be used") as raised:
        SessionClaim(Database(url).url.set(port=1)).take()
    assert "refused" in str(raised.value.detail)
    assert ":***@" in raised.value.message
