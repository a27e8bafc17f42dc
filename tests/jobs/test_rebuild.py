"""A job that is built anew beside itself: swapped, cancelled, failed, and with a server that dies at every step."""

import os
import shutil
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import select

import headrace.jobs.store as store_module
from headrace.errors import HeadraceError
from headrace.jobs import processes, rebuilds
from headrace.jobs.jobs import Unknown
from headrace.jobs.offers import Offers
from headrace.jobs.rebuilding import Phase
from headrace.jobs.states import State
from headrace.jobs.store import job_of
from headrace.jobs.texts import planned
from headrace.records.job_tables import JobRow
from support.waiting import until

TEXT = """
CREATE STREAM s (k STRING, v INT) WITH (connector = 'kafka', topic = 't', format = 'json');
CREATE MATERIALIZED VIEW totals AS SELECT k, sum(v) AS total FROM s GROUP BY k;
"""
NEWER = TEXT.replace("sum(v)", "max(v)")
NEAR, FAR = 1_000_000, 2_000_000
"""Positions beyond all that the job reads by itself before a test tells it how far it is."""


class Shop:
    """A running job and the one that builds it, as a test looks at them."""

    def __init__(self, yard, text=TEXT):
        self.yard = yard
        self.job = yard.submit(text=text)

    @property
    def jobs(self):
        return self.yard.jobs

    def now(self):
        return self.jobs.show("orders")

    def builder(self):
        with self.jobs.store.reading() as session:
            row = session.scalars(select(JobRow).where(JobRow.name == "orders#rebuild")).first()
            return None if row is None else job_of(row)

    def phase(self):
        found = self.jobs.rebuild_of(self.now())
        return None if found is None else found.phase

    def read_up_to(self, job, position):
        folder = self.jobs.folder_of(job).path
        (folder / "position.new").write_text(str(position))
        (folder / "position.new").rename(folder / "position")

    def until(self, what):
        def there():
            self.yard.server.tick()
            return what()

        until(there)

    def state(self):
        job = self.now()
        return Path(self.jobs.store.version(job.id, job.version).state) / "orders"

    def builds(self, **more):
        """Begin a rebuild, and let the builder run."""
        self.yard.tick_until("orders", State.RUNNING)
        self.jobs.rebuild("orders", self.yard.command_id(), **more)
        self.until(lambda: self.builder().state is State.RUNNING)
        return self.builder()

    def hands_over(self):
        """Begin a rebuild that comes near while the job reads on: twenty messages are left to the builder."""
        builder = self.builds()
        self.read_up_to(self.now(), NEAR)
        self.read_up_to(builder, NEAR)
        self.until(lambda: self.phase() is Phase.HANDING_OVER)
        self.read_up_to(self.now(), NEAR + 20)
        return builder


@pytest.fixture
def shop(yard):
    return Shop(yard)


def test_it_takes_over_when_it_has_caught_up(shop):
    builder = shop.builds()
    old = shop.state()
    shop.yard.hear("orders")
    assert (shop.phase(), shop.now().state) == (Phase.BUILDING, State.RUNNING), "it has read nothing yet"
    assert old.is_dir()
    assert [job.name for job in shop.jobs.page().jobs] == ["orders"]
    shop.read_up_to(builder, FAR)
    shop.until(lambda: shop.builder() is None)
    job = shop.now()
    assert (job.state, job.version, job.attempt) == (State.RUNNING, 2, 2)
    assert shop.state().parent.name == f".rebuilt-{builder.id}"
    assert (shop.state() / "totals" / "count").is_file()
    shop.until(lambda: not old.exists())
    assert not shop.jobs.folder_of(builder).path.exists()
    assert [version.text for version in shop.jobs.versions("orders")] == [TEXT, TEXT]
    reasons = [event.reason for event in shop.jobs.events("orders")]
    assert "is rebuilt beside itself" in reasons
    assert "has the rebuilt state" in reasons


def test_the_job_stops_only_when_the_builder_is_near_and_waits_for_the_last_of_it(shop):
    builder = shop.hands_over()
    shop.yard.tick_until("orders", State.STOPPED)
    for _ in range(3):
        shop.yard.server.tick()
    assert shop.phase() is Phase.HANDING_OVER, "twenty messages that the job has shown are missing"
    shop.read_up_to(builder, NEAR + 20)
    shop.until(lambda: shop.builder() is None)
    assert shop.now().version == 2


def test_another_version_beside(shop):
    builder = shop.builds(text=NEWER)
    assert shop.jobs.versions("orders")[0].text == TEXT
    shop.read_up_to(builder, FAR)
    shop.until(lambda: shop.builder() is None)
    assert shop.jobs.versions("orders")[0].text == NEWER
    changes = shop.jobs.upgrade_report("orders", text=NEWER + "-- the same")
    assert [str(change.fate) for change in changes] == ["keeps"], "its state is where the rebuild has put it"


def test_one_that_was_stopped_stays_so(shop):
    shop.yard.tick_until("orders", State.RUNNING)
    shop.jobs.stop("orders", "stop")
    shop.yard.tick_until("orders", State.STOPPED)
    shop.jobs.rebuild("orders", "rebuild")
    shop.until(lambda: shop.builder().state is State.RUNNING)
    shop.read_up_to(shop.builder(), FAR)
    shop.until(lambda: shop.builder() is None)
    assert (shop.now().state, shop.now().version) == (State.STOPPED, 2)


def test_one_that_is_stopped_while_it_is_taken_over_stays_so(shop):
    builder = shop.hands_over()
    shop.jobs.stop("orders", "stop")
    shop.yard.tick_until("orders", State.STOPPED)
    shop.read_up_to(builder, NEAR + 20)
    shop.until(lambda: shop.builder() is None)
    assert (shop.now().state, shop.now().version) == (State.STOPPED, 2)


def test_one_that_is_started_while_it_is_taken_over_goes_on_and_is_built_on(shop):
    builder = shop.hands_over()
    shop.yard.tick_until("orders", State.STOPPED)
    shop.jobs.restart("orders", "restart")
    shop.until(lambda: shop.phase() is Phase.BUILDING)
    assert shop.yard.tick_until("orders", State.RUNNING).version == 1
    shop.read_up_to(builder, FAR)
    shop.until(lambda: shop.builder() is None)
    assert shop.now().version == 2


def test_one_that_would_stand_still_for_too_long_goes_on_and_is_taken_over_later(shop):
    builder = shop.hands_over()
    shop.yard.tick_until("orders", State.STOPPED)
    shop.yard.server.tick()
    shop.yard.pass_time(shop.builder(), minutes=2)
    shop.yard.server.tick()
    assert shop.phase() is Phase.HANDING_OVER
    shop.yard.time.move(seconds=1)
    shop.until(lambda: shop.phase() is Phase.BUILDING)
    assert shop.yard.tick_until("orders", State.RUNNING).version == 1
    assert "goes on as it was" in " ".join(event.reason for event in shop.jobs.events("orders"))
    shop.read_up_to(builder, FAR)
    shop.yard.hear("orders")
    assert shop.phase() is Phase.BUILDING, "not again at once"
    shop.yard.pass_time(shop.now(), shop.builder(), minutes=10)
    shop.until(lambda: shop.builder() is None)
    assert shop.now().version == 2


def test_one_that_nobody_wants_to_run_is_waited_for(shop):
    shop.hands_over()
    shop.jobs.stop("orders", "stop")
    shop.yard.tick_until("orders", State.STOPPED)
    for _ in range(2):
        shop.yard.time.move(minutes=3)
        shop.yard.server.tick()
    assert (shop.phase(), shop.now().state) == (Phase.HANDING_OVER, State.STOPPED)


@pytest.mark.parametrize("phase", [Phase.BUILDING, Phase.HANDING_OVER, Phase.SWAPPING])
def test_cancelled(shop, phase):
    builder = shop.builds()
    old = shop.state()
    if phase is not Phase.BUILDING:
        shop.read_up_to(shop.now(), NEAR)
        shop.read_up_to(builder, NEAR)
        shop.until(lambda: shop.phase() is Phase.HANDING_OVER)
    if phase is Phase.SWAPPING:
        shop.until(lambda: shop.phase() is Phase.SWAPPING)
    shop.jobs.cancel_rebuild("orders", "cancel")
    assert shop.jobs.cancel_rebuild("orders", "cancel").name == "orders"
    shop.until(lambda: shop.builder() is None)
    job = shop.yard.tick_until("orders", State.RUNNING)
    shop.until(lambda: not shop.jobs.folder_of(builder).path.exists())
    assert (job.version, shop.state()) == (1, old)
    assert list(old.parent.iterdir()) == [old], "nothing of the rebuild is left"
    with pytest.raises(HeadraceError, match='job "orders" is not being rebuilt'):
        shop.jobs.cancel_rebuild("orders", "cancel-again")


def test_one_that_fails_leaves_the_job_as_it_is_and_tells_why(yard):
    shop = Shop.__new__(Shop)
    shop.yard, shop.job = yard, yard.submit(text=TEXT, behave="user-error-beside")
    yard.tick_until("orders", State.RUNNING)
    shop.jobs.rebuild("orders", "rebuild")
    shop.until(lambda: shop.phase() is Phase.FAILED)
    job = shop.now()
    assert (job.state, job.version, job.attempt) == (State.RUNNING, 1, 1)
    assert shop.jobs.rebuild_of(job).error.message == "it broke in attempt 1"
    last = shop.jobs.events("orders")[-1]
    assert (last.reason, last.error.detail) == ("its rebuild failed: it broke in attempt 1", "On purpose.")
    shop.jobs.rebuild("orders", "another")  # the one that failed makes room
    assert shop.phase() is Phase.BUILDING
    shop.until(lambda: shop.phase() is Phase.FAILED)
    shop.jobs.cancel_rebuild("orders", "forget")
    shop.until(lambda: shop.builder() is None)


def test_what_would_change_the_state_is_refused_meanwhile(shop):
    shop.builds()
    for command in (
        lambda: shop.jobs.rebuild("orders", "c"),
        lambda: shop.jobs.upgrade("orders", "c", text=NEWER),
        lambda: shop.jobs.restart("orders", "c", fresh=True),
        lambda: shop.jobs.stop("orders", "c", with_savepoint=True),
    ):
        with pytest.raises(HeadraceError, match='job "orders" is being rebuilt'):
            command()


def test_a_command_is_applied_once(shop):
    shop.yard.tick_until("orders", State.RUNNING)
    first = shop.jobs.rebuild("orders", "rebuild")
    assert shop.jobs.rebuild("orders", "rebuild") == first
    with shop.jobs.store.reading() as session:
        assert len(list(session.scalars(select(JobRow)))) == 2


def test_it_goes_with_its_job(shop):
    shop.builds()
    shop.jobs.stop("orders", "stop")
    shop.yard.tick_until("orders", State.STOPPED)
    with pytest.raises(HeadraceError, match="is being rebuilt"):
        shop.jobs.delete("orders", "delete")
    shop.jobs.cancel_rebuild("orders", "cancel")
    shop.jobs.delete("orders", "delete")
    shop.until(lambda: not list(shop.jobs.folder.glob("[0-9a-f]*")))
    with pytest.raises(Unknown):
        shop.now()


@pytest.mark.parametrize(
    ("more", "detail", "hint"),
    [
        (
            "CREATE SINK out WITH (connector = 'sqlite', path = 'o.db', table = 'o') AS SELECT k FROM s;",
            "totals and out share a source, so they are one query, and two drivers would write the same at once: "
            "sink out writes to sqlite.",
            "Give out a job of its own; it can read totals by name.",
        ),
        (
            "CREATE MATERIALIZED VIEW w WITH (path = 'w.sqlite') AS SELECT k, count(*) AS n FROM s GROUP BY k;",
            "totals and w share a source, so they are one query, and two drivers would write the same at once: "
            "view w is kept outside of the job's state.",
            "Give w a job of its own; it can read totals by name.",
        ),
        (
            "CREATE STREAM i (k STRING, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 1 SECOND IDLE AFTER INTERVAL 9 "
            "SECONDS) WITH (connector = 'kafka', topic = 'i', format = 'json');"
            "CREATE SINK out WITH (connector = 'kafka', topic = 'o', format = 'json') AS SELECT k FROM i;",
            "Sink out reads stream i, whose watermark follows the clock while no row comes: that binds its state to "
            "where it is.",
            "Give it a job of its own; it can read views and streams of this one by name.",
        ),
        (
            "CREATE STREAM m (k STRING) WITH (connector = 'memory');"
            "CREATE MATERIALIZED VIEW n AS SELECT k, count(*) AS n FROM m GROUP BY k;",
            "Stream m cannot be read a second time: it is of connector memory.",
            "Streams from Kafka and from files can be.",
        ),
    ],
)
def test_what_two_drivers_cannot_run_at_once_is_refused(yard, more, detail, hint):
    yard.submit(text=TEXT + more)
    with pytest.raises(HeadraceError, match="cannot be rebuilt beside itself") as caught:
        yard.jobs.rebuild("orders", "rebuild")
    assert (caught.value.detail, caught.value.hint) == (detail, hint)


SINK = "CREATE SINK out WITH (connector = 'kafka', topic = 'o', format = 'json') AS SELECT k FROM s;"


def test_only_sinks_are_nothing_to_rebuild(yard):
    yard.submit(text=TEXT.partition("CREATE MATERIALIZED")[0] + SINK)
    with pytest.raises(HeadraceError, match="cannot be rebuilt beside itself") as caught:
        yard.jobs.rebuild("orders", "rebuild")
    assert caught.value.detail == "It has nothing that could be: sink out writes to kafka."


def test_a_sink_goes_on_from_its_own_state(yard):
    shop = Shop(yard, TEXT + SINK)
    builder = shop.builds()
    assert shop.jobs.folder_of(builder).launch().only == ("totals",)
    kept = shop.state() / "out" / "checkpoint"
    kept.mkdir(parents=True)
    (kept / "offsets").write_text("as far as it was")
    left = shop.jobs.store.version(builder.id, builder.version).state
    half = Path(left) / "orders" / ".out.carried"
    half.mkdir()
    (half / "rest").write_text("of a server that died")
    old = shop.state()
    shop.read_up_to(builder, FAR)
    shop.until(lambda: shop.builder() is None)
    assert shop.now().version == 2
    assert shop.jobs.folder_of(shop.now()).launch().only == ()
    assert (shop.state() / "out" / "checkpoint" / "offsets").read_text() == "as far as it was"
    assert sorted(each.name for each in (shop.state() / "out").iterdir()) == ["checkpoint"]
    assert not (shop.state() / ".out.carried").exists()
    assert (shop.state() / "totals" / "count").is_file()
    shop.until(lambda: not old.exists())


@pytest.fixture
def copying(yard, monkeypatch):
    """A rebuild whose copy of a sink's state has begun and goes on until the test ends it; works are real threads."""
    shop = Shop(yard, TEXT + SINK)
    builder = shop.builds()
    (shop.state() / "out").mkdir(parents=True)
    (shop.state() / "out" / "offsets").write_text("as far as it was")
    begun, let_go, copy = threading.Event(), threading.Event(), shutil.copytree

    def slow(*arguments):
        begun.set()
        assert let_go.wait(240)
        return copy(*arguments)

    monkeypatch.setattr("headrace.jobs.handover.shutil.copytree", slow)
    yard.hands.let_go()
    yard.new_server(working=ThreadPoolExecutor(2))
    shop.read_up_to(builder, FAR)
    shop.until(begun.is_set)
    shop.let_go = let_go
    yield shop
    let_go.set()
    yard.server.close()


def test_a_large_state_of_a_sink_holds_up_no_other_job(copying):
    copying.yard.submit("other")
    copying.yard.tick_until("other", State.RUNNING)
    assert (copying.phase(), copying.now().version) == (Phase.SWAPPING, 1)
    copying.let_go.set()
    copying.until(lambda: copying.builder() is None)
    job = copying.yard.tick_until("orders", State.RUNNING)
    assert job.version == 2
    assert (copying.state() / "out" / "offsets").read_text() == "as far as it was"


def test_a_job_does_not_start_while_its_state_is_copied(copying):
    copying.jobs.restart("orders", "restart-1")
    copying.yard.submit("other")
    copying.yard.tick_until("other", State.RUNNING)
    job = copying.now()
    assert job.state is State.STOPPED
    assert not copying.jobs.folder_of(job).is_locked()
    copying.let_go.set()
    assert copying.yard.tick_until("orders", State.RUNNING).version == 1, "somebody wanted it as it was: it is built on"
    assert copying.phase() is Phase.BUILDING


def test_a_sink_that_changes_is_not_built_beside(yard):
    shop = Shop(yard, TEXT + SINK)
    with pytest.raises(HeadraceError, match="cannot be rebuilt beside itself") as caught:
        shop.builds(text=NEWER + SINK.replace("SELECT k", "SELECT v"))
    assert caught.value.detail.startswith("out writes to the outside, and would begin anew: its query changed")
    builder = shop.builds(text=NEWER + SINK)
    assert shop.jobs.folder_of(builder).launch().only == ("totals",)


def test_without_room_for_two_it_is_refused_and_else_it_waits_its_turn(yard):
    yard.submit(text=TEXT, cores=3)
    with pytest.raises(HeadraceError, match="can never start"):
        yard.jobs.rebuild("orders", "rebuild")
    yard.submit("small", text=TEXT)
    yard.tick_until("orders", State.RUNNING)
    yard.tick_until("small", State.RUNNING)
    yard.jobs.rebuild("small", "rebuild")
    yard.server.tick()
    waiting = yard.jobs.rebuild_of(yard.jobs.show("small"))
    assert (waiting.state, waiting.reason) == (
        State.SUBMITTED,
        "waits for 1 core; 4 of 4 are in use by orders, small",
    )


def test_no_java_of_the_two_writes_on_when_the_state_changes_hands(shop):
    builder = shop.builds()
    marks = [{processes.MARK: str(shop.jobs.folder_of(each).path)} for each in (builder, shop.now())]
    with ExitStack() as stack:
        left = [stack.enter_context(subprocess.Popen(["sleep", "600"], env={**os.environ, **mark})) for mark in marks]
        for each in left:
            stack.callback(each.kill)
        shop.read_up_to(builder, FAR)
        shop.until(lambda: shop.now().version == 2)
        assert all(each.poll() is not None for each in left)


@pytest.fixture
def crowded(yard):
    """A job that is rebuilt on a machine with room for these two alone; two others wait."""
    yard.capacity = replace(yard.capacity, cores=2)
    yard.jobs = replace(yard.jobs, capacity=yard.capacity)
    yard.new_server()
    shop = Shop(yard)
    builder = shop.builds()
    for name in "cd":
        yard.time.move(seconds=1)
        yard.submit(name)
    shop.read_up_to(shop.now(), NEAR)
    shop.read_up_to(builder, NEAR)
    shop.until(lambda: shop.phase() is Phase.HANDING_OVER)
    shop.read_up_to(shop.now(), NEAR + 20)
    yard.time.move(seconds=1)
    yard.tick_until("orders", State.STOPPED)
    yard.server.tick()
    assert yard.jobs.show("c").reason == "waits for 1 core; 2 of 2 are in use by orders, orders#rebuild"
    return shop


def test_one_that_is_taken_over_loses_its_room_to_nobody(crowded):
    crowded.read_up_to(crowded.builder(), NEAR + 20)
    crowded.until(lambda: crowded.builder() is None)
    assert (crowded.now().state, crowded.now().version) == (State.RUNNING, 2)
    crowded.yard.tick_until("c", State.RUNNING)
    assert crowded.jobs.show("d").state is State.SUBMITTED


def test_nor_if_its_rebuild_is_given_up(crowded):
    crowded.jobs.cancel_rebuild("orders", "cancel")
    crowded.until(lambda: crowded.builder() is None)
    assert crowded.yard.tick_until("orders", State.RUNNING).version == 1
    crowded.yard.tick_until("c", State.RUNNING)
    assert crowded.jobs.show("d").state is State.SUBMITTED


def test_nor_if_somebody_starts_it(crowded):
    crowded.jobs.restart("orders", "restart")
    assert crowded.yard.tick_until("orders", State.RUNNING).version == 1
    assert (crowded.phase(), crowded.jobs.show("c").state) == (Phase.BUILDING, State.SUBMITTED)


def test_one_that_is_stopped_while_it_is_taken_over_makes_room(crowded):
    crowded.jobs.stop("orders", "stop")
    crowded.yard.tick_until("c", State.RUNNING)
    assert crowded.jobs.show("d").state is State.SUBMITTED


class Died(BaseException):
    """The server is killed here."""


@pytest.mark.parametrize("after", range(14))
def test_a_server_that_dies_after_any_change_is_followed_by_one_that_ends_it(shop, monkeypatch, after):
    """Each change of the database is a step: the server dies right before the ``after``-th one of a rebuild."""
    builder = shop.builds()
    shop.read_up_to(builder, FAR)
    old, real, calls = shop.state(), store_module.change, []

    def change(*arguments):
        calls.append(arguments)
        if len(calls) > after:
            raise Died
        return real(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(store_module, "change", change)
        patched.setattr("headrace.jobs.handover.change", change)
        with suppress(Died):
            shop.until(lambda: shop.builder() is None)
    views = shop.state() / "totals" / "count"
    assert views.is_file(), "whatever the job points at is whole"
    shop.yard.hands.let_go()
    shop.yard.new_server()
    shop.until(lambda: shop.builder() is None)
    job = shop.yard.tick_until("orders", State.RUNNING)
    assert job.version == 2
    shop.until(lambda: not old.exists())
    starts = [attempt for word, attempt, _ in shop.yard.lives("orders") if word == "start"]
    assert starts == sorted(set(starts)), "no attempt ran twice"


def test_back_to_a_savepoint_of_before_a_rebuild(shop):
    shop.yard.tick_until("orders", State.RUNNING)
    shop.jobs.stop("orders", "stop", with_savepoint=True)
    shop.yard.tick_until("orders", State.STOPPED)
    (savepoint,) = shop.jobs.savepoints("orders")
    shop.jobs.restart("orders", "go")
    old = shop.state()
    shop.read_up_to(shop.builds(), FAR)
    shop.until(lambda: shop.builder() is None)
    shop.until(lambda: not old.exists())
    rebuilt = shop.state().parent
    assert rebuilt.name.startswith(".rebuilt-")
    shop.jobs.restart("orders", "back", savepoint=savepoint.id)
    shop.yard.tick_until("orders", State.STOPPING)
    job = shop.yard.tick_until("orders", State.RUNNING)
    assert (job.version, shop.state()) == (1, old)
    assert (old / "totals" / "count").is_file()
    assert not rebuilt.exists(), "nobody needs what was built any more"


READER = "CREATE MATERIALIZED VIEW mine AS SELECT k, total FROM orders.totals;"


def reading(shop):
    """Return what finds the views of the job for readers."""
    return lambda job, name: Offers(job, shop.jobs.versions(job)[0], planned(shop.jobs.versions(job)[0])).of(name)


def test_nobody_begins_to_read_a_view_that_is_being_rebuilt(shop):
    shop.yard.tick_until("orders", State.RUNNING)
    shop.builds()
    with pytest.raises(HeadraceError, match='job "orders" is being rebuilt'):
        shop.yard.submit("reader", text=READER, resolve=reading(shop))
    shop.jobs.cancel_rebuild("orders", "cancel")
    shop.yard.submit("reader", text=READER, resolve=reading(shop))


def test_a_rebuild_ends_if_somebody_reads_the_view_all_the_same(shop, monkeypatch):
    shop.yard.tick_until("orders", State.RUNNING)
    builder = shop.builds()
    monkeypatch.setattr(rebuilds, "check_settled", lambda *_: None)  # as a server of before let him
    shop.yard.submit("reader", text=READER, resolve=reading(shop))
    shop.read_up_to(builder, FAR)
    shop.until(lambda: shop.phase() is Phase.FAILED)
    assert shop.jobs.rebuild_of(shop.now()).error.message == "views of the job are read by reader"
    assert (shop.now().state, shop.now().version) == (State.RUNNING, 1)
