"""What people ask of jobs: each command once, lists in pages, and refusals that say why."""

import threading
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from headrace.errors import HeadraceError
from headrace.jobs.decisions import Wanted
from headrace.jobs.jobs import NameTaken, Unknown
from headrace.jobs.queue import Capacity
from headrace.jobs.states import State
from headrace.records.database import Database
from headrace.records.job_tables import CommandRow, JobRow
from support.job_yard import APPLICATION, Yard

WRITES = """
CREATE STREAM s (k STRING, v INT) WITH (connector = 'memory');
CREATE SINK hot WITH (connector = 'kafka', topic = 'hot') AS SELECT k, v FROM s WHERE v > 10;
CREATE SINK files WITH (connector = 'files', path = 'out') AS SELECT k, v FROM s;
"""
READS = """
CREATE STREAM hot (k STRING, v INT) WITH (connector = 'kafka', topic = 'hot');
CREATE MATERIALIZED VIEW totals AS SELECT k, sum(v) AS total FROM hot GROUP BY k;
"""
READS_FILES = READS.replace("connector = 'kafka', topic = 'hot'", "connector = 'files', path = 'out/*.json'")


def test_a_command_is_applied_once_and_gives_its_first_outcome_again(yard):
    first = yard.jobs.submit("c-1", name="orders", text=APPLICATION)
    yard.tick_until("orders", State.RUNNING)
    assert yard.jobs.submit("c-1", name="orders", text=APPLICATION) == first
    assert first.state is State.SUBMITTED
    stopped = yard.jobs.stop("orders", "c-2")
    yard.tick_until("orders", State.STOPPED)
    yard.jobs.restart("orders", "c-3")
    assert yard.jobs.stop("orders", "c-2") == stopped, "a late repetition of a stop stops nothing"
    assert yard.jobs.show("orders").wanted is Wanted.RESTART


def test_an_id_cannot_be_used_for_two_commands(yard):
    yard.jobs.submit("c-1", name="orders", text=APPLICATION)
    with pytest.raises(HeadraceError, match='the id "c-1" was used for another command'):
        yard.jobs.stop("orders", "c-1")
    with pytest.raises(HeadraceError, match="needs an id"):
        yard.jobs.stop("orders", "")


def test_a_refused_command_changes_nothing_and_may_be_repeated(yard):
    with pytest.raises(Unknown, match='unknown job "orders"'):
        yard.jobs.stop("orders", "c-1")
    yard.submit()
    assert yard.jobs.stop("orders", "c-1").wanted is Wanted.STOP


@pytest.fixture
def shared(tmp_path, database_url):
    """A yard on each kind of database: on one of them several may write at a time."""
    made = Yard(tmp_path, Database.open(database_url))
    yield made
    made.end()


def at_once(*calls):
    """Do all calls at the same time; return what they gave, and what they raised."""
    found, errors, ready = [], [], threading.Barrier(len(calls))

    def run(call):
        ready.wait()
        try:
            found.append(call())
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found, errors


def test_the_same_command_from_many_threads_is_applied_once(shared):
    found, errors = at_once(*[lambda: shared.jobs.submit("c-1", name="orders", text=APPLICATION)] * 6)
    assert not errors
    assert len({each.id for each in found}) == 1
    assert len(shared.jobs.page().jobs) == 1


def test_commands_and_moves_at_the_same_time_do_not_disturb_each_other(shared):
    shared.submit()

    def command(number):
        for turn in range(8):
            shared.jobs.restart("orders", f"restart-{number}-{turn}")
            shared.jobs.stop("orders", f"stop-{number}-{turn}")

    def move():
        for turn in range(16):
            shared.jobs.store.change(shared.jobs.show("orders"), {"reason": f"moved {turn}"})

    assert at_once(*[partial(command, number) for number in range(3)], move)[1] == []


def test_of_names_that_differ_by_case_alone_only_one_comes_to_be(shared):
    _, errors = at_once(*[partial(shared.submit, name) for name in ("shop", "Shop", "SHOP", "sHOP")])
    assert len(shared.jobs.page().jobs) == 1
    assert [type(each) for each in errors] == [NameTaken] * 3


def test_old_commands_are_forgotten(yard):
    yard.submit()
    yard.time.move(days=31)
    yard.jobs.store.tidy(yard.time.clock().now())
    with yard.database.transaction() as session:
        assert session.query(CommandRow).count() == 0


def test_mistakes_are_told_at_submission(yard):
    with pytest.raises(HeadraceError) as caught:
        yard.jobs.submit("c-1", name="orders", text="SELECT nme FROM people")
    assert "orders.sql:1:" in caught.value.report()
    with pytest.raises(HeadraceError, match="nothing to run"):
        yard.jobs.submit("c-1", name="orders", text="CREATE STREAM s (x INT) WITH (connector = 'memory')")
    with pytest.raises(HeadraceError, match="the variable WHO has no value"):
        yard.jobs.submit("c-1", name="orders", text="SELECT '${WHO}' AS who")
    with pytest.raises(HeadraceError, match="is not a name for a job"):
        yard.jobs.submit("c-1", name="../orders", text=APPLICATION)
    with pytest.raises(HeadraceError, match="either as text or as a file"):
        yard.jobs.submit("c-1", name="orders")
    with pytest.raises(HeadraceError, match="can never start: it wants 5 cores, and the server has 4"):
        yard.submit(cores=5)
    with pytest.raises(HeadraceError, match="too little"):
        yard.submit(memory=100)
    yard.submit()
    with pytest.raises(HeadraceError, match='there is a job "orders" already'):
        yard.submit()
    assert len(yard.jobs.page().jobs) == 1


def test_a_submission_that_is_refused_leaves_nothing_behind(yard):
    job = yard.submit()
    with pytest.raises(NameTaken):
        yard.submit()
    yard.tick_until("orders", State.RUNNING)
    assert [each.name for each in yard.jobs.folder.iterdir()] == [job.id]
    (version,) = yard.jobs.versions("orders")
    assert Path(version.directory).is_dir(), "what it is relative to is there when it runs"


def test_a_file_is_read_at_submission_and_names_the_job(yard, tmp_path):
    folder = tmp_path / "fraud"
    folder.mkdir()
    file = folder / "application.sql"
    file.write_text("SET spark.driver.memory = '3g';" + APPLICATION)
    job = yard.jobs.submit("c-1", file=file)
    file.write_text("nonsense")
    (version,) = yard.jobs.versions("fraud")
    assert (job.name, job.memory) == ("fraud", 3072)
    assert version.text.endswith(APPLICATION)
    assert version.directory == str(folder)
    with pytest.raises(HeadraceError, match="cannot be read"):
        yard.jobs.submit("c-2", file=tmp_path / "missing.sql")


def test_pages_and_filters(yard):
    for name in ("d", "a", "c", "b", "e_1"):
        yard.submit(name, owner="ann" if name < "c" else "bob")
    first = yard.jobs.page(limit=2)
    assert ([job.name for job in first.jobs], first.next) == (["a", "b"], "b")
    second = yard.jobs.page(limit=3, after=first.next)
    assert ([job.name for job in second.jobs], second.next) == (["c", "d", "e_1"], None)
    assert [job.name for job in yard.jobs.page(owner="ann").jobs] == ["a", "b"]
    assert [job.name for job in yard.jobs.page(name_contains="_").jobs] == ["e_1"]
    assert not yard.jobs.page(states=[State.RUNNING]).jobs
    assert len(yard.jobs.page(states=[State.SUBMITTED, State.FAILED]).jobs) == 5


def test_what_others_use_is_not_deleted(yard, tmp_path):
    yard.jobs.submit("c-1", name="writer", text=WRITES, directory=tmp_path)
    yard.jobs.submit("c-2", name="reader", text=READS)
    yard.jobs.submit("c-3", name="filer", text=READS_FILES, directory=tmp_path)
    yard.jobs.stop("writer", "c-4")
    yard.tick_until("writer", State.STOPPED)
    with pytest.raises(HeadraceError, match='job "writer" is used by filer, reader') as caught:
        yard.jobs.delete("writer", "c-5")
    assert "topic embedded/hot" in str(caught.value.detail)
    assert set(yard.jobs.users("writer")) == {"filer", "reader"}
    for name in ("reader", "filer"):
        yard.jobs.stop(name, f"stop-{name}")
        yard.tick_until(name, State.STOPPED)
        yard.jobs.delete(name, f"delete-{name}")
    yard.jobs.delete("writer", "c-5")


def test_what_others_read_by_a_pattern_of_topics_is_not_deleted(yard, tmp_path):
    yard.jobs.submit("c-1", name="writer", text=WRITES, directory=tmp_path)
    yard.jobs.submit("c-2", name="reader", text=READS.replace("topic = 'hot'", "topic_pattern = 'h.t'"))
    yard.jobs.submit("c-3", name="other", text=READS.replace("topic = 'hot'", "topic_pattern = 'hot-.*'"))
    yard.jobs.stop("writer", "c-4")
    yard.tick_until("writer", State.STOPPED)
    with pytest.raises(HeadraceError, match='job "writer" is used by reader'):
        yard.jobs.delete("writer", "c-5")
    assert set(yard.jobs.users("writer")) == {"reader"}


def test_a_job_that_no_longer_fits_is_not_restarted(yard):
    yard.submit(cores=4)
    yard.jobs.stop("orders", "c-1")
    yard.tick_until("orders", State.STOPPED)
    yard.jobs = replace_capacity(yard, Capacity(2, 8192))
    with pytest.raises(HeadraceError, match="can never start"):
        yard.jobs.restart("orders", "c-2")
    with pytest.raises(HeadraceError, match="can never start"):
        yard.jobs.upgrade("orders", "c-3", text=APPLICATION + "-- newer")


def replace_capacity(yard, capacity):
    return replace(yard.jobs, capacity=capacity)


def test_log_and_history_of_a_job_that_never_ran_are_empty(yard):
    job = yard.submit()
    assert yard.jobs.log(job) == []
    assert yard.jobs.figures(job) == []
    assert not yard.jobs.history(job).points
    assert yard.jobs.follow_log(job).read() == []


def test_no_job_is_called_like_the_id_of_another(yard):
    job = yard.submit()
    with pytest.raises(HeadraceError, match=f'"{job.id}" is not a name for a job') as caught:
        yard.submit(job.id)
    assert "looks like the id" in caught.value.detail


def test_a_job_is_found_by_its_id_even_if_another_is_called_so(yard):
    orders, other = yard.submit(), yard.submit("other")
    with yard.database.transaction() as session:  # as a server of before let them be
        session.get(JobRow, other.id).name = orders.id
    assert yard.jobs.stop(orders.id, "stop-1").name == "orders"
    assert yard.jobs.show(other.id).name == orders.id


def test_the_builder_of_a_job_is_nobodys_to_find(yard):
    job = yard.submit()
    with yard.database.transaction() as session:
        session.get(JobRow, job.id).rebuild = {"of": "x", "phase": "failed"}
    for name in ("orders", job.id):
        with pytest.raises(Unknown):
            yard.jobs.show(name)


def test_names_are_unique_in_any_case(yard):
    yard.submit("shop")
    with pytest.raises(HeadraceError, match='there is a job "shop" already'):
        yard.submit("SHOP")


@pytest.mark.parametrize("master", ["blah", "local[", "local[x]", "spark:/host", "http://host", "local[2] x"])
def test_a_master_that_spark_does_not_know_is_refused(yard, master):
    with pytest.raises(HeadraceError, match="is not a master that Spark knows") as caught:
        yard.submit(master=master)
    assert "local[N]" in caught.value.hint


@pytest.mark.parametrize("master", ["local", "local[2]", "local[2,3]", "spark://a:7077,b:7077", "yarn"])
def test_masters_that_spark_knows(yard, master):
    assert yard.submit(master=master).master == master


def test_a_master_on_this_machine_says_how_many_cores_a_job_takes(yard):
    assert [yard.submit(f"job-{cores}", master=f"local[{cores}]").cores for cores in (2, 4)] == [2, 4]
    assert yard.submit("far", master="spark://a:7077", cores=3).cores == 3
    with pytest.raises(HeadraceError, match="can never start: it wants 5 cores, and the server has 4"):
        yard.submit(master="local[5]")
    with pytest.raises(HeadraceError, match="takes all cores of the machine"):
        yard.submit(master="local[*]")
    with pytest.raises(HeadraceError, match=r"has the cores that its master says: local\[2\]"):
        yard.jobs.restart("job-2", "restart-1", cores=1)
    assert yard.jobs.restart("far", "restart-2", cores=1).cores == 1


def test_a_folder_that_is_not_there_is_refused(yard, tmp_path):
    (tmp_path / "file").write_text("")
    cases = {"nowhere": "is not there", "file": "is not a folder", "a" * 500: "cannot be used"}
    for name, why in cases.items():
        with pytest.raises(HeadraceError, match=why):
            yard.submit(directory=tmp_path / name)
