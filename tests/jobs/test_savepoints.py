"""Copies of a state: whole or not at all, on the way there and on the way back."""

import os
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from headrace.errors import HeadraceError
from headrace.jobs import savepoints, works
from headrace.jobs.decisions import Wanted
from headrace.jobs.states import State
from headrace.records.job_tables import SavepointRow
from support.job_yard import APPLICATION
from support.waiting import until


@pytest.fixture
def state(tmp_path):
    made = tmp_path / "state" / "orders"
    (made / "totals" / "checkpoint" / "offsets").mkdir(parents=True)
    (made / "totals" / "checkpoint" / "offsets" / "0").write_text("v1\n7")
    (made / "totals" / "name").write_text("lineage")
    (made / "empty").mkdir()
    with closing(sqlite3.connect(made / "views.sqlite")) as views:
        views.execute("PRAGMA journal_mode = WAL")
        views.execute("CREATE TABLE totals (k TEXT, total INT)")
        views.execute("INSERT INTO totals VALUES ('a', 1)")
        views.commit()
    return made


def total(state):
    with closing(sqlite3.connect(state / "views.sqlite")) as views:
        return views.execute("SELECT total FROM totals").fetchone()[0]


def change(state):
    (state / "totals" / "checkpoint" / "offsets" / "1").write_text("v1\n9")
    with closing(sqlite3.connect(state / "views.sqlite")) as views:
        views.execute("UPDATE totals SET total = 2")
        views.commit()


def offsets(state):
    return sorted(each.name for each in (state / "totals" / "checkpoint" / "offsets").iterdir())


def test_there_and_back(state, tmp_path):
    target = tmp_path / "savepoints" / "one"
    with closing(sqlite3.connect(state / "views.sqlite")) as open_reader:
        open_reader.execute("SELECT * FROM totals").fetchall()
        manifest = savepoints.take(state, target, {"job": "orders"})
    assert manifest["job"] == "orders"
    assert manifest["size"] > 0
    change(state)
    savepoints.restore(target, state)
    assert (total(state), offsets(state)) == (1, ["0"])
    assert (state / "empty").is_dir()
    assert (state / "totals" / "name").exists()
    assert sorted(each.name for each in state.parent.iterdir()) == ["orders"]
    savepoints.restore(target, state, ran_since=True)
    assert not (state / "totals" / "name").exists(), "tables take what comes again as something new"


def test_a_damaged_savepoint_is_refused_and_the_state_stays(state, tmp_path):
    target = tmp_path / "one"
    savepoints.take(state, target, {})
    change(state)
    (target / "state" / "totals" / "name").write_text("other")
    with pytest.raises(HeadraceError, match="savepoint one is damaged") as caught:
        savepoints.restore(target, state)
    assert "totals/name" in caught.value.detail
    assert (total(state), offsets(state)) == (2, ["0", "1"])
    (target / "manifest.json").unlink()
    with pytest.raises(HeadraceError, match="cannot be read"):
        savepoints.restore(target, state)


class Died(BaseException):
    """The server is killed here."""


def dying(monkeypatch, module, name, at):
    """Let the ``at``-th call of a function be the last thing that happens, counted from 0; it is not done."""
    real, calls = getattr(module, name), []

    def call(*arguments, **named):
        calls.append(1)
        if len(calls) > at:
            raise Died
        return real(*arguments, **named)

    monkeypatch.setattr(module, name, call)


@pytest.mark.parametrize(("name", "at"), [("rename", 0), ("rename", 1), ("rename", 2), ("fsync", 0), ("fsync", 1)])
def test_a_restore_that_is_cut_off_is_all_or_nothing(state, tmp_path, monkeypatch, name, at):
    target = tmp_path / "one"
    savepoints.take(state, target, {})
    change(state)
    with monkeypatch.context() as patched:
        dying(patched, os, name, at)
        done = False
        try:
            savepoints.restore(target, state)
            done = True
        except Died:
            pass
    savepoints.recover(state)
    assert (total(state), offsets(state)) == ((1, ["0"]) if done else (2, ["0", "1"]))
    savepoints.restore(target, state)
    assert (total(state), offsets(state)) == (1, ["0"])


def test_a_restore_that_is_cut_off_while_it_removes_the_old_state_is_done(state, tmp_path, monkeypatch):
    target = tmp_path / "one"
    savepoints.take(state, target, {})
    change(state)
    with monkeypatch.context() as patched:
        dying(patched, shutil, "rmtree", 2)
        with pytest.raises(Died):
            savepoints.restore(target, state)
    savepoints.recover(state)
    assert (total(state), offsets(state)) == (1, ["0"])
    savepoints.restore(target, state)
    assert sorted(each.name for each in state.parent.iterdir()) == ["orders"]


def test_a_savepoint_that_is_cut_off_is_not_there(state, tmp_path, monkeypatch):
    target = tmp_path / "one"
    with monkeypatch.context() as patched:
        dying(patched, os, "rename", 0)
        with pytest.raises(Died):
            savepoints.take(state, target, {})
    assert not target.exists()
    savepoints.take(state, target, {})
    assert target.exists()


def test_stop_with_a_savepoint_and_start_from_it(yard):
    job = yard.submit()
    yard.tick_until("orders", State.RUNNING)
    yard.jobs.stop("orders", "stop-1", with_savepoint=True)
    job = yard.tick_until("orders", State.STOPPED)
    (savepoint,) = yard.jobs.savepoints("orders")
    assert (savepoint.status, savepoint.version, job.savepoint) == ("ready", 1, None)
    assert savepoint.manifest["positions"]["totals"]["offsets"]["t:0"] > 0
    count = yard.jobs.folder_of(job).state_path / "orders" / "totals" / "count"
    then = count.read_text()
    count.write_text("something else")
    yard.jobs.restart("orders", "restart-1", savepoint=savepoint.id)
    with pytest.raises(HeadraceError, match="is in use"):
        yard.jobs.delete_savepoint(savepoint.id, "delete-1")
    seen = []
    launch = yard.hands.launch
    yard.hands.launch = lambda *arguments: seen.append(count.read_text()) or launch(*arguments)
    job = yard.tick_until("orders", State.RUNNING)
    assert seen == [then]
    assert (job.attempt, job.pending) == (2, None)
    yard.jobs.delete_savepoint(savepoint.id, "delete-1")
    assert yard.jobs.savepoints("orders") == ()
    assert not (yard.jobs.folder_of(job).savepoints_path / savepoint.id).exists()


def test_what_a_server_left_that_died_while_it_deleted_a_savepoint_goes(yard, monkeypatch):
    yard.submit()
    job = yard.tick_until("orders", State.RUNNING)
    for number in range(2):
        yard.jobs.savepoint("orders", f"savepoint-{number}")
        until(lambda: yard.server.tick() or not [each for each in yard.jobs.savepoints("orders") if not each.manifest])
    kept, gone = yard.jobs.savepoints("orders")
    folder = yard.jobs.folder_of(job).savepoints_path
    (folder / ".0123456789ab.partial").mkdir()
    with monkeypatch.context() as patched:
        dying(patched, shutil, "rmtree", 0)
        with pytest.raises(Died):
            yard.jobs.delete_savepoint(gone.id, "delete-1")
    assert (folder / gone.id).exists()
    yard.new_server()
    yard.server.tick()
    assert [each.name for each in folder.iterdir()] == [kept.id]


def test_a_savepoint_that_fails_says_so_and_the_job_stops_all_the_same(yard):
    yard.submit()
    yard.tick_until("orders", State.RUNNING)
    folder = yard.jobs.folder_of(yard.jobs.show("orders"))
    folder.savepoints_path.write_text("in the way")
    yard.jobs.stop("orders", "stop-1", with_savepoint=True)
    job = yard.tick_until("orders", State.STOPPED)
    (savepoint,) = yard.jobs.savepoints("orders")
    assert savepoint.status == "failed"
    assert job.error.message == "the savepoint could not be written"
    with pytest.raises(HeadraceError, match="could not be taken"):
        yard.jobs.restart("orders", "restart-1", savepoint=savepoint.id)


def test_a_restore_that_fails_is_told(yard):
    yard.submit()
    yard.tick_until("orders", State.RUNNING)
    yard.jobs.stop("orders", "stop-1", with_savepoint=True)
    job = yard.tick_until("orders", State.STOPPED)
    (savepoint,) = yard.jobs.savepoints("orders")
    shutil.rmtree(yard.jobs.folder_of(job).savepoints_path)
    yard.jobs.restart("orders", "restart-1", savepoint=savepoint.id)
    job = yard.tick_until("orders", State.FAILED)
    assert job.error.message == f"savepoint {savepoint.id} cannot be read"
    yard.jobs.restart("orders", "restart-2")
    yard.tick_until("orders", State.RUNNING)


def test_a_restore_that_fails_leaves_the_version_that_the_state_is_of(yard):
    yard.submit()
    yard.tick_until("orders", State.RUNNING)
    yard.jobs.stop("orders", "stop-1", with_savepoint=True)
    job = yard.tick_until("orders", State.STOPPED)
    (savepoint,) = yard.jobs.savepoints("orders")
    yard.jobs.upgrade("orders", "upgrade-1", text=APPLICATION + "-- newer")
    yard.tick_until("orders", State.RUNNING)
    shutil.rmtree(yard.jobs.folder_of(job).savepoints_path)
    assert yard.jobs.restart("orders", "restart-1", savepoint=savepoint.id).version == 1
    yard.jobs.stop("orders", "stop-2", with_savepoint=True)  # of the state as it is, not as it is to be
    yard.tick_until("orders", State.STOPPED)
    assert sorted(each.version for each in yard.jobs.savepoints("orders")) == [1, 2]
    yard.jobs.restart("orders", "restart-2")
    job = yard.tick_until("orders", State.FAILED)
    assert (job.version, job.pending) == (2, None)


@pytest.mark.parametrize("server_dies", [False, True])
def test_a_savepoint_is_of_the_version_that_was_put_back_meanwhile(yard, server_dies):
    yard.submit()
    yard.tick_until("orders", State.RUNNING)
    yard.jobs.stop("orders", "stop-1", with_savepoint=True)
    yard.tick_until("orders", State.STOPPED)
    (first,) = yard.jobs.savepoints("orders")
    yard.jobs.upgrade("orders", "upgrade-1", text=APPLICATION + "-- newer")
    yard.tick_until("orders", State.RUNNING)
    real = yard.server._works.prepare

    def prepare(job):
        real(job)
        for command in (
            lambda: yard.jobs.upgrade("orders", "c", text=APPLICATION),
            lambda: yard.jobs.restart("orders", "c", fresh=True),
            lambda: yard.jobs.restart("orders", "c", savepoint=first.id),
        ):
            with pytest.raises(HeadraceError, match="is just being changed"):
                command()
        yard.jobs.stop("orders", "stop-2", with_savepoint=True)
        if server_dies:
            raise Died

    yard.server._works.prepare = prepare
    yard.jobs.restart("orders", "restart-1", savepoint=first.id)
    if server_dies:
        with pytest.raises(Died):
            until(yard.server.tick)
        yard.new_server()
    else:
        until(lambda: yard.server.tick() or len(yard.jobs.savepoints("orders")) == 2)
        yard.server._works.prepare = real
    job = yard.tick_until("orders", State.STOPPED)
    assert (job.version, job.pending) == (1, None)
    found = yard.jobs.savepoints("orders")
    assert {each.version for each in found} == {each.manifest["version"] for each in found} == {1}
    assert len({each.manifest["size"] for each in found}) == 1, "it holds what was put back"


def test_a_savepoint_before_a_fresh_start_is_of_the_version_that_the_state_is_of(yard):
    yard.submit()
    yard.tick_until("orders", State.RUNNING)
    yard.jobs.upgrade("orders", "upgrade-1", text=APPLICATION.replace("sum(v)", "max(v)"))
    yard.jobs.restart("orders", "restart-1", fresh=True)
    yard.jobs.stop("orders", "stop-1", with_savepoint=True)
    yard.tick_until("orders", State.STOPPED)
    assert [each.version for each in yard.jobs.savepoints("orders")] == [1]


def test_an_upgrade_that_fails_leaves_the_version_of_before(yard, monkeypatch):
    yard.submit()
    yard.tick_until("orders", State.RUNNING)
    monkeypatch.setattr(works, "clear", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    yard.jobs.upgrade("orders", "upgrade-1", text=APPLICATION.replace("sum(v)", "max(v)"))
    assert yard.tick_until("orders", State.FAILED).version == 1


def test_a_savepoint_of_a_running_job_is_one_command_and_keeps_its_place(yard):
    yard.capacity = replace(yard.capacity, cores=1)
    yard.new_server()
    yard.submit()
    yard.tick_until("orders", State.RUNNING)
    yard.time.move(seconds=1)
    yard.submit("waits")
    yard.time.move(seconds=1)
    job = yard.jobs.savepoint("orders", "savepoint-1")
    assert job.savepoint is not None and job.wanted is Wanted.RESTART
    assert yard.jobs.savepoint("orders", "savepoint-1") == job
    until(lambda: yard.server.tick() or yard.jobs.show("orders").attempt == 2)
    assert yard.jobs.show("waits").state is State.SUBMITTED
    assert yard.jobs.savepoints("orders")[0].status == "ready"
    yard.jobs.stop("orders", "stop-1")
    yard.tick_until("waits", State.RUNNING)
    yard.time.move(seconds=1)
    assert yard.jobs.restart("orders", "restart-1").queued_at == yard.time.clock().now(), "who rested goes to the end"


def test_a_savepoint_of_a_job_at_rest_leaves_it_at_rest(yard):
    yard.submit()
    yard.tick_until("orders", State.RUNNING)
    yard.jobs.stop("orders", "stop-1")
    yard.tick_until("orders", State.STOPPED)
    yard.jobs.savepoint("orders", "savepoint-1")
    until(lambda: yard.server.tick() or yard.jobs.savepoints("orders")[0].status == "ready")
    assert yard.jobs.show("orders").state is State.STOPPED


def test_fresh_forgets_the_state(yard):
    job = yard.submit()
    yard.tick_until("orders", State.RUNNING)
    old = yard.jobs.folder_of(job).state_path / "orders" / "old"
    old.write_text("")
    yard.jobs.restart("orders", "restart-1", fresh=True)
    yard.tick_until("orders", State.STOPPING)
    yard.tick_until("orders", State.RUNNING)
    assert not old.exists()


def test_what_a_savepoint_does_not_hold(yard):
    text = APPLICATION + (
        "CREATE MATERIALIZED VIEW far WITH (store = 'redis') AS SELECT k, count(*) AS n FROM s GROUP BY k;"
        "CREATE SINK out WITH (connector = 'files', path = 'out') AS SELECT k FROM s;"
    )
    yard.submit(text=text)
    yard.tick_until("orders", State.RUNNING)
    yard.jobs.stop("orders", "stop-1", with_savepoint=True)
    yard.tick_until("orders", State.STOPPED)
    (savepoint,) = yard.jobs.savepoints("orders")
    assert savepoint.manifest["not_in_it"] == [
        "View far is in Redis; its rows stay as they are there.",
        "Sink out (files) keeps what it got after the savepoint, and gets it again.",
    ]
    yard.jobs.restart("orders", "restart-1")
    yard.tick_until("orders", State.RUNNING)
    with pytest.raises(HeadraceError, match="does not hold all views") as caught:
        yard.jobs.restart("orders", "restart-2", savepoint=savepoint.id)
    assert caught.value.detail.startswith("far went on since")


def test_no_savepoint_of_a_state_that_is_elsewhere(yard):
    yard.submit(text="SET state = 's3a://bucket/state';" + APPLICATION)
    with pytest.raises(HeadraceError, match="no savepoint can be taken") as caught:
        yard.jobs.stop("orders", "stop-1", with_savepoint=True)
    assert "s3a://bucket/state" in caught.value.detail
    with yard.database.transaction() as session:
        assert session.query(SavepointRow).count() == 0
