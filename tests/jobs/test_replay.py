"""A job that starts from a time: what is noted in its state, and that nothing loses it."""

import json
from datetime import UTC, datetime

import pytest

from headrace.errors import HeadraceError
from headrace.jobs.states import State

AT = datetime(2023, 5, 1, tzinfo=UTC)
TEXT = """
CREATE STREAM s (k STRING, v INT) WITH (connector = 'files', path = 'in');
CREATE STREAM other (k STRING, v INT) WITH (connector = 'files', path = 'other');
CREATE MATERIALIZED VIEW totals AS SELECT k, sum(v) AS total FROM s GROUP BY k;
CREATE MATERIALIZED VIEW others AS SELECT k, sum(v) AS total FROM other GROUP BY k;
"""


def state(yard):
    return yard.jobs.folder_of(yard.jobs.show("orders")).state_path / "orders"


def noted(yard):
    file = state(yard) / "begin.json"
    return json.loads(file.read_text()) if file.exists() else None


@pytest.fixture
def running(yard):
    yard.submit(text=TEXT)
    yard.tick_until("orders", State.RUNNING)
    (state(yard) / "old").write_text("of before")
    return yard


def restarted(yard):
    yard.tick_until("orders", State.STOPPING)
    return yard.tick_until("orders", State.RUNNING)


def test_the_state_is_dropped_and_says_where_it_begins(running):
    running.jobs.restart("orders", "again", from_time=AT, sources=["s"])
    restarted(running)
    assert noted(running) == {"at": AT.isoformat(), "streams": ["s"]}
    assert not (state(running) / "old").exists()


def test_it_is_kept_over_restarts_of_driver_and_server_until_the_state_goes(running):
    running.jobs.restart("orders", "again", from_time=AT)
    running.tick_until("orders", State.STARTING)  # its state is prepared, and it has no batch yet
    running.tick_until("orders", State.RUNNING)
    (state(running) / "mark").write_text("of this state")
    running.kill("orders")
    running.hands.let_go()
    running.new_server()
    running.tick_until("orders", State.RESTARTING)
    running.time.move(seconds=2)
    running.tick_until("orders", State.RUNNING)
    assert noted(running) == {"at": AT.isoformat(), "streams": ["other", "s"]}
    assert (state(running) / "mark").exists(), "it is done once, not at every start"
    running.jobs.restart("orders", "fresh", fresh=True)
    restarted(running)
    assert noted(running) is None


def test_a_server_that_dies_while_it_prepares_does_it_anew(running, monkeypatch):
    import headrace.jobs.works as works

    class Died(BaseException):
        pass

    def die(*_, **__):
        raise Died

    running.jobs.restart("orders", "again", from_time=AT)
    running.tick_until("orders", State.SUBMITTED)
    with monkeypatch.context() as patched:
        patched.setattr(works, "write_whole", die)
        with pytest.raises(Died):
            running.server.tick()
    assert noted(running) is None
    running.hands.let_go()
    running.new_server()
    running.tick_until("orders", State.RUNNING)
    assert noted(running)["streams"] == ["other", "s"]


def test_a_command_is_applied_once_and_its_time_is_part_of_it(running):
    first = running.jobs.restart("orders", "again", from_time=AT)
    assert running.jobs.restart("orders", "again", from_time=AT) == first
    with pytest.raises(HeadraceError, match="was used for another command"):
        running.jobs.restart("orders", "again", from_time=AT.replace(month=6))


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({"from_time": AT, "savepoint": "abc"}, "a savepoint and a fresh start do not go together"),
        ({"sources": ["s"]}, "sources are named, but no time"),
        ({"from_time": AT, "sources": ["z"]}, 'reads no source "z"'),
        ({"from_time": AT.replace(year=2030)}, "has not come yet"),
    ],
)
def test_what_is_refused_changes_nothing(running, wish, message):
    before = running.jobs.show("orders")
    with pytest.raises(HeadraceError, match=message):
        running.jobs.restart("orders", "again", **wish)
    assert running.jobs.show("orders") == before


def test_what_cannot_begin_at_a_time_is_told_beforehand(yard):
    yard.submit()
    with pytest.raises(HeadraceError, match="no source of the application can begin at a time"):
        yard.jobs.begins("orders", AT)
