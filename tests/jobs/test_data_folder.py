"""The jobs of a database are in one data folder; a server with another one starts none of them a second time."""

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import update

from headrace.errors import HeadraceError
from headrace.jobs.claims import Claims, Unclaimed
from headrace.jobs.data_folder import NAME, is_settled
from headrace.jobs.states import State
from headrace.records.database import Database
from headrace.records.job_tables import DataFolderRow
from support.databases import PostgresServer
from support.job_yard import Yard, kill_drivers

NewYard = Callable[[str], Yard]


@pytest.fixture
def new_yard(tmp_path: Path, database_url: str) -> Iterator[NewYard]:
    """Give servers on one database, each with a folder of its own."""
    made: list[Yard] = []

    def new(name: str) -> Yard:
        made.append(Yard(tmp_path / name, Database.open(database_url)))
        return made[-1]

    yield new
    for yard in made:
        yard.server.close()
        yard.end()


def stop(yard: Yard) -> None:
    yard.jobs.stop("orders", yard.command_id())
    yard.tick_until("orders", State.STOPPED)


def refused(yard: Yard, *, moved: bool = False) -> HeadraceError:
    with pytest.raises(HeadraceError) as raised:
        yard.server.claim(moved=moved)
    assert not yard.server.is_at_work
    return raised.value


def test_another_folder_is_refused_while_there_are_jobs(new_yard: NewYard, tmp_path: Path) -> None:
    first, second = new_yard("first"), new_yard("second")
    first.server.claim()
    first.submit()
    first.tick_until("orders", State.RUNNING)
    first.server.close()
    error = refused(second)
    assert error.message == "the jobs of this database are in another data folder"
    assert error.detail.startswith(f'They are in "{tmp_path / "first"}" on ')
    assert error.detail.endswith(f'this server has "{tmp_path / "second"}".')
    assert error.hint.startswith(f"Start it with --data {tmp_path / 'first'}.")
    error = refused(second, moved=True)
    assert error.message == "the data folder cannot be moved while drivers run"
    [(_, _, pid)] = second.lives("orders") or first.lives("orders")
    assert str(pid) in error.hint
    follower = new_yard("first")
    follower.server.claim()
    assert [word for word, _, _ in follower.lives("orders")] == ["start"]


def test_a_database_without_jobs_may_be_taken_by_any_folder(new_yard: NewYard) -> None:
    first, second = new_yard("first"), new_yard("second")
    first.server.claim()
    first.server.close()
    second.server.claim()
    second.submit()
    second.server.close()
    refused(first)


def test_a_folder_that_was_moved_is_taken_with_all_its_state(new_yard: NewYard, tmp_path: Path) -> None:
    first, second = new_yard("first"), new_yard("second")
    first.server.claim()
    first.submit()
    first.tick_until("orders", State.RUNNING)
    stop(first)
    first.server.close()
    shutil.copytree(tmp_path / "first" / "jobs", tmp_path / "second" / "jobs", dirs_exist_ok=True)
    refused(second)
    error = refused(second, moved=True)
    assert error.message == f'the data folder "{tmp_path / "first"}" is still there'
    shutil.rmtree(tmp_path / "first" / "jobs")
    refused(second)
    second.server.claim(moved=True)
    job = second.jobs.show("orders")
    version = second.jobs.store.version(job.id, 1)
    assert version.state == str(tmp_path / "second" / "jobs" / job.id / "state")
    assert version.directory == str(tmp_path / "second" / "jobs" / job.id / "work")
    second.jobs.restart("orders", "restart-1")
    assert second.tick_until("orders", State.RUNNING).attempt == 2
    second.server.close()
    refused(first)
    new_yard("second").server.claim()


def test_a_folder_that_was_renamed_under_its_drivers_is_not_taken(new_yard: NewYard, tmp_path: Path) -> None:
    first = new_yard("first")
    first.server.claim()
    first.submit()
    first.tick_until("orders", State.RUNNING)
    [(_, _, pid)] = first.lives("orders")
    os.kill(pid, signal.SIGSTOP)  # lest it notices
    first.server.close()
    (tmp_path / "first").rename(tmp_path / "second")
    second = new_yard("second")
    try:
        assert refused(second, moved=True).message == "the data folder cannot be moved while drivers run"
    finally:
        kill_drivers(tmp_path / "second" / "jobs")
        (tmp_path / "first").mkdir()


def test_a_new_folder_in_the_place_of_the_old_one_is_another_one(new_yard: NewYard, tmp_path: Path) -> None:
    first = new_yard("first")
    first.server.claim()
    first.submit()
    first.server.close()
    shutil.rmtree(tmp_path / "first")
    error = refused(new_yard("first"))
    assert error.message == "the data folder is not the one that the jobs of this database are in"
    again = new_yard("first")
    again.server.claim(moved=True)
    again.tick_until("orders", State.RUNNING)


def test_another_machine_with_the_same_folder_is_noted(new_yard: NewYard) -> None:
    first = new_yard("first")
    first.server.claim()
    first.submit()
    first.server.close()
    with first.database.transaction() as session:
        session.execute(update(DataFolderRow).values(machine="another"))
    first.server.claim()
    with first.database.reading() as session:
        assert session.get_one(DataFolderRow, 1).machine != "another"


def test_who_has_lost_the_jobs_to_another_folder_does_not_get_them_back(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    url = postgres.new_database().replace("postgresql://", "postgresql+psycopg://")
    first, second = (Yard(tmp_path / name, Database.open(url)) for name in ("first", "second"))
    first.submit()
    lost = Claims.take(first.jobs.folder, first.database)
    [_, claim] = lost._held
    claim.release()
    shutil.copy(first.jobs.folder / NAME, tmp_path)
    second.server.claim(moved=True)
    second.server.close()
    with pytest.raises(Unclaimed):
        lost.regain()
    assert not claim.is_held()
    assert (is_settled(first.jobs.folder, first.database), is_settled(second.jobs.folder, second.database)) == (
        False,
        True,
    )
    lost.release()
    for yard in (first, second):
        yard.end()
