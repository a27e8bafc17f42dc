"""State that SET puts elsewhere: what can be done to it, and what is left of it."""

import pytest

from headrace.errors import HeadraceError
from headrace.jobs.states import State
from support.job_yard import APPLICATION

FAR = "SET state = 's3a://bucket/state';" + APPLICATION


def rounds(yard):
    for _ in range(4):
        yard.server.tick()


def gone(yard, name="orders"):
    yard.jobs.stop(name, yard.command_id())
    yard.tick_until(name, State.STOPPED)
    job = yard.jobs.delete(name, yard.command_id())
    rounds(yard)
    return job


def test_a_state_on_a_url_is_not_started_fresh(yard):
    yard.submit(text=FAR)
    yard.tick_until("orders", State.RUNNING)
    with pytest.raises(HeadraceError, match="cannot be started fresh") as caught:
        yard.jobs.restart("orders", "restart-1", fresh=True)
    assert "s3a://bucket/state" in caught.value.detail
    assert yard.jobs.show("orders").pending is None


def test_a_state_on_a_url_is_kept_by_an_upgrade_that_clears_nothing(yard):
    yard.submit(text=FAR)
    yard.tick_until("orders", State.RUNNING)
    yard.jobs.upgrade("orders", "upgrade-1", text=FAR + "-- newer")
    yard.tick_until("orders", State.STOPPING)
    assert yard.tick_until("orders", State.RUNNING).version == 2
    other = FAR.replace("sum(v)", "max(v)")
    with pytest.raises(HeadraceError, match="cannot be upgraded to this version on its state") as caught:
        yard.jobs.upgrade("orders", "upgrade-2", text=other)
    assert caught.value.detail.endswith("where only Spark can reach it: totals.")
    yard.jobs.upgrade("orders", "upgrade-3", text=other.replace("bucket/state", "bucket/other"))
    yard.tick_until("orders", State.STOPPING)
    assert yard.tick_until("orders", State.RUNNING).version == 3


def test_a_version_that_is_far_away_again_cannot_begin_anew_there(yard):
    yard.submit(text=FAR)
    yard.tick_until("orders", State.RUNNING)
    yard.jobs.upgrade("orders", "upgrade-1", text=APPLICATION)
    yard.tick_until("orders", State.STOPPING)
    yard.tick_until("orders", State.RUNNING)
    with pytest.raises(HeadraceError, match="cannot be upgraded to this version on its state"):
        yard.jobs.upgrade("orders", "upgrade-2", text=FAR)


def test_a_version_that_is_back_in_an_earlier_place_begins_anew_there(yard, tmp_path):
    job = yard.submit()
    texts = (f"SET state = '{tmp_path / 'other'}';" + APPLICATION, APPLICATION.replace("sum(v)", "max(v)"))
    state = yard.jobs.folder_of(job).state_path / "orders"
    for number, text in enumerate(texts):
        yard.tick_until("orders", State.RUNNING)
        (state / "totals" / "plan.json").write_text("of the first version")
        (state / "views.sqlite").write_text("of the first version")
        (state / "letters").mkdir(exist_ok=True)
        yard.jobs.upgrade("orders", f"upgrade-{number}", text=text)
        yard.tick_until("orders", State.STOPPING)
    yard.tick_until("orders", State.RUNNING)
    assert sorted(each.name for each in state.iterdir()) == ["letters", "totals"]
    assert [each.name for each in (state / "totals").iterdir()] == ["count"]
    assert [each.name for each in state.parent.iterdir()] == ["orders"]


def test_a_place_that_no_version_had_is_left_as_it_is(yard, tmp_path):
    yard.submit()
    plan = tmp_path / "other" / "orders" / "totals" / "plan.json"
    plan.parent.mkdir(parents=True)
    plan.write_text("of somebody")
    yard.tick_until("orders", State.RUNNING)
    yard.jobs.upgrade("orders", "upgrade-1", text=f"SET state = '{tmp_path / 'other'}';" + APPLICATION)
    yard.tick_until("orders", State.STOPPING)
    yard.tick_until("orders", State.RUNNING)
    assert plan.exists()


def test_deleting_takes_the_state_of_every_version_and_nothing_else(yard, tmp_path):
    places = [tmp_path / "first", tmp_path / "second"]
    for number, place in enumerate(places):
        text = f"SET state = '{place}';" + APPLICATION
        if number:
            yard.jobs.upgrade("orders", "upgrade-1", text=text)
        else:
            yard.submit(text=text)
        yard.tick_until("orders", State.RUNNING)
        (place / "orders" / "totals" / "checkpoint").mkdir(parents=True, exist_ok=True)
        (place / "orders" / "views.sqlite").write_text("")
    (places[0] / "other" / "totals" / "checkpoint").mkdir(parents=True)
    (places[1] / "orders" / "letters").mkdir()
    (places[1] / "orders" / "letters" / "to ann").write_text("dear Ann")
    gone(yard)
    assert [each.name for each in places[0].iterdir()] == ["other"]
    assert [each.name for each in places[1].iterdir()] == ["orders"]
    assert [each.name for each in (places[1] / "orders").iterdir()] == ["letters"]


def test_a_new_job_of_the_name_keeps_what_it_has_in_the_same_place(yard, tmp_path):
    text = f"SET state = '{tmp_path / 'shared'}';" + APPLICATION
    yard.submit(text=text)
    yard.tick_until("orders", State.RUNNING)
    yard.jobs.stop("orders", "stop-1")
    yard.tick_until("orders", State.STOPPED)
    yard.jobs.delete("orders", "delete-1")
    yard.submit(text=text)
    checkpoint = tmp_path / "shared" / "orders" / "totals" / "checkpoint"
    checkpoint.mkdir(parents=True, exist_ok=True)
    rounds(yard)
    assert checkpoint.exists()


def test_deleting_says_what_stays(yard):
    yard.submit(text=FAR)
    yard.tick_until("orders", State.RUNNING)
    assert gone(yard).reason == "deleted; its state at s3a://bucket/state stays there"
