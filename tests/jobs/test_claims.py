"""Servers with folders of their own on one database: only one of them looks after the jobs."""

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import support.job_server as server_script
from headrace.errors import HeadraceError
from headrace.jobs.claims import Claims, Unclaimed
from headrace.jobs.clock import system_clock
from headrace.jobs.states import State
from headrace.records.claims import SessionClaim, claim_on
from headrace.records.database import Database
from support.databases import PostgresServer
from support.job_yard import Yard
from support.waiting import until

NewYard = Callable[[str, str], Yard]


@pytest.fixture
def new_yard(tmp_path: Path) -> Iterator[NewYard]:
    made: list[Yard] = []

    def new(name: str, url: str) -> Yard:
        made.append(Yard(tmp_path / name, Database.open(url)))
        return made[-1]

    yield new
    for yard in made:
        yard.server.close()
        yard.end()


@pytest.fixture
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SessionClaim, "patience", SessionClaim.patience * 0)


@pytest.mark.usefixtures("_at_once")
def test_one_database_is_looked_after_by_one_server(new_yard: NewYard, database_url: str, tmp_path: Path) -> None:
    first, second = new_yard("first", database_url), new_yard("second", database_url)
    first.server.claim()
    with pytest.raises(HeadraceError) as raised:
        second.server.claim()
    assert raised.value.message == "another server looks after these jobs"
    shown = f'the database "{first.database.url.render_as_string(hide_password=True)}"'
    assert raised.value.detail == f"It holds {shown.replace('sqlite:///', '')}."
    assert raised.value.hint == "Stop it first, or give this one a database of its own."
    assert (first.server.is_at_work, second.server.is_at_work) == (True, False)
    # one that was refused holds nothing
    third = new_yard("second", f"sqlite:///{tmp_path / 'another.db'}")
    third.server.claim()
    third.server.close()
    first.server.close()
    second.server.claim()
    assert (first.server.is_at_work, second.server.is_at_work) == (False, True)


def test_a_killed_server_is_followed_at_once_while_its_drivers_live(new_yard: NewYard, database_url: str) -> None:
    first, second = new_yard("first", database_url), new_yard("second", database_url)
    first.jobs.clock = system_clock()
    first.submit()
    command = [sys.executable, server_script.__file__, str(first.path), database_url]
    with subprocess.Popen(command) as process:
        try:
            until(lambda: first.jobs.show("orders").state is State.RUNNING, process=process)
        finally:
            process.kill()
    follower = new_yard("first", database_url)
    follower.server.claim()
    assert first.jobs.folder_of(first.jobs.show("orders")).is_locked(), "its driver lives"
    follower.server.close()
    with pytest.raises(HeadraceError, match="the jobs of this database are in another data folder"):
        second.server.claim()


@pytest.fixture
def shared(new_yard: NewYard, postgres: PostgresServer) -> Yard:
    return new_yard("first", postgres.new_database().replace("postgresql://", "postgresql+psycopg://"))


@pytest.fixture
def rival(shared: Yard) -> Iterator[SessionClaim]:
    """The claim of another server on the same database."""
    made = claim_on(shared.database)
    assert isinstance(made, SessionClaim)
    yield made
    made.release()


def take_over(postgres: PostgresServer, shared: Yard, rival: SessionClaim) -> None:
    """Let a server lose its connection, and another one be quicker."""
    url = shared.database.url.set(drivername="postgresql").render_as_string(hide_password=False)
    holders = "FROM pg_stat_activity WHERE application_name = 'headrace supervisor' AND datname = current_database()"
    postgres.run(f"SELECT pg_terminate_backend(pid, 240000) {holders}", url)
    until(rival.take)  # a round of the one that lost it may come between


def test_without_its_claim_a_server_starts_nothing(shared: Yard, postgres: PostgresServer, rival: SessionClaim) -> None:
    shared.submit()
    shared.server.claim()
    take_over(postgres, shared, rival)
    with pytest.raises(Unclaimed):
        shared.tick_until("orders", State.RUNNING)
    assert shared.lives("orders") == []
    assert not shared.jobs.folder_of(shared.jobs.show("orders")).is_locked()
    rival.release()
    with pytest.raises(Unclaimed):  # what was lost counts only when it was taken again, with a fresh look at all jobs
        shared.server.tick()
    shared.server._regain()
    assert shared.tick_until("orders", State.RUNNING).attempt == 1


def test_without_its_claim_a_server_kills_nothing(shared: Yard, postgres: PostgresServer, rival: SessionClaim) -> None:
    shared.submit(behave="deaf")
    shared.server.claim()
    shared.tick_until("orders", State.RUNNING)
    take_over(postgres, shared, rival)
    shared.jobs.stop("orders", "stop-1")
    for _ in range(3):
        with pytest.raises(Unclaimed):
            until(shared.server.tick)
        shared.time.move(hours=1)
    assert shared.jobs.folder_of(shared.jobs.show("orders")).is_locked()
    assert [word for word, _, _ in shared.lives("orders")] == ["start"]


def test_work_that_waited_for_its_turn_is_not_done_without_the_claim(
    shared: Yard, postgres: PostgresServer, rival: SessionClaim
) -> None:
    shared.server.claim()
    job = shared.submit()
    done: list[str] = []
    shared.server._in_background(job, lambda each: done.append(each.name))
    take_over(postgres, shared, rival)
    shared.server._in_background(job, lambda each: done.append("without"))
    assert done == ["orders"]


def test_a_server_that_lost_its_claim_waits_and_goes_on(
    shared: Yard, postgres: PostgresServer, rival: SessionClaim, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It runs in its thread, as in a server."""
    refused: list[None] = []
    regain = Claims.regain

    def counted(claims: Claims) -> bool:
        try:
            return regain(claims)
        except Unclaimed:
            refused.append(None)
            raise

    monkeypatch.setattr(Claims, "regain", counted)
    stopping = threading.Event()
    thread = threading.Thread(target=shared.server.run, args=(stopping,))
    thread.start()
    try:
        until(lambda: shared.server.is_at_work)
        take_over(postgres, shared, rival)
        shared.submit()
        until(lambda: len(refused) >= 3)
        assert not shared.server.is_at_work
        assert shared.jobs.show("orders").state is State.SUBMITTED
        rival.release()
        until(lambda: shared.jobs.show("orders").state is State.RUNNING)
        assert shared.server.is_at_work
        assert not rival.take()
    finally:
        stopping.set()
        thread.join()
    assert rival.take(), "one that has stopped has let go"
