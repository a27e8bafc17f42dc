"""The driver as far as it goes without Spark: the lock, users' mistakes, and whose fault an error is."""

import os
import subprocess

import pytest

from headrace.errors import HeadraceError, JobFailed, PlanError
from headrace.jobs.driver import Life, prepared
from headrace.jobs.folder import JobFolder, Launch
from headrace.jobs.hands import DRIVER
from headrace.jobs.reports import Cause
from headrace.jobs.states import State
from support.job_yard import APPLICATION


def launch(folder, text, **more):
    folder.make()
    folder.application_path.write_text(text)
    values = {"attempt": 1, "name": "orders", "application": str(folder.application_path), **more}
    made = Launch(directory=str(folder.path), state=str(folder.state_path), **values)
    folder.write_launch(made)
    return made


def run(folder):
    return subprocess.run([*DRIVER, str(folder.path)], capture_output=True, text=True, check=False, timeout=240)


def test_a_users_mistake_is_told_in_three_parts_without_a_traceback(tmp_path):
    folder = JobFolder(tmp_path / "job")
    launch(folder, "CREATE VIEW v AS\nSELECT nme FROM people")
    done = run(folder)
    assert done.returncode == 1
    outcome = folder.outcome()
    assert (outcome.attempt, outcome.ending, outcome.cause) == (1, "failed", Cause.USER)
    assert outcome.error.message == 'unknown table or stream "people"'
    assert outcome.error.place == {"file": "orders.sql", "line": 2, "column": 17}
    assert "Traceback" not in done.stderr
    assert "2 | SELECT nme FROM people" in done.stderr
    assert folder.driver().attempt == 1
    assert folder.heartbeat().attempt == 1


def test_a_second_driver_ends_at_once_and_touches_nothing(tmp_path):
    folder = JobFolder(tmp_path / "job")
    launch(folder, APPLICATION)
    lock = folder.take_lock()
    try:
        done = run(folder)
    finally:
        os.close(lock)
    assert done.returncode == 1
    assert "a driver of this job runs already" in done.stderr
    assert folder.driver() is None
    assert folder.outcome() is None


def test_an_empty_folder_and_wrong_usage(tmp_path):
    assert run(JobFolder(tmp_path)).returncode == 1
    usage = subprocess.run(DRIVER, capture_output=True, text=True, check=False, timeout=240)
    assert usage.returncode == 2
    assert "usage" in usage.stderr


def test_an_application_is_made_as_the_launch_says(tmp_path, monkeypatch):
    monkeypatch.setenv("FROM_ENVIRONMENT", "7")
    folder = JobFolder(tmp_path / "job")
    text = f"SET spark.driver.memory = '9g';{APPLICATION}SELECT k FROM s WHERE v > ${{LEAST}} + ${{FROM_ENVIRONMENT}};"
    made = prepared(launch(folder, text, variables={"LEAST": "3"}, cores=2, memory=700))
    assert made.master == "local[2]"
    assert made.plan.settings.spark["spark.driver.memory"] == "700m"
    assert made.state_folder() == str(folder.state_path / "orders")
    assert made.durable
    assert prepared(launch(folder, APPLICATION, master="spark://host:7077")).master == "spark://host:7077"


@pytest.mark.parametrize(
    ("error", "loaded", "has_run", "cause"),
    [
        (PlanError("no"), False, True, Cause.USER),
        (HeadraceError("no path"), True, False, Cause.USER),
        (HeadraceError("no path"), True, True, Cause.SURROUNDINGS),
        (PlanError("another checkpoint"), True, True, Cause.USER),
        (HeadraceError("no broker answers", passing=True), True, False, Cause.SURROUNDINGS),
        (JobFailed("it broke"), True, True, Cause.FAILURE),
        (JobFailed("refused", passing=True), True, True, Cause.SURROUNDINGS),
    ],
)
def test_whose_fault_it_is(tmp_path, error, loaded, has_run, cause):
    life = Life(JobFolder(tmp_path), Launch(1, "orders", "a.sql", "/", "/", has_run=has_run))
    assert life._cause(error, loaded=loaded) is cause


def test_a_bug_is_told_as_one_and_its_traceback_is_logged(tmp_path, caplog):
    life = Life(JobFolder(tmp_path), Launch(1, "orders", "a.sql", "/", "/"))

    def broken(_launch):
        raise ZeroDivisionError("by nought")

    outcome = life.run(broken)
    assert (outcome.ending, outcome.cause) == ("failed", Cause.FAILURE)
    assert outcome.error.message == "internal error, please report it: ZeroDivisionError: by nought"
    assert [record.exc_info and record.exc_info[0] for record in caplog.records] == [ZeroDivisionError]


def test_a_mistake_that_only_the_driver_sees_fails_the_job_at_once(yard):
    """The text was right when it was submitted, with a variable of the environment that the driver has not."""
    yard.command = DRIVER
    yard.new_server()
    os.environ["ONLY_HERE"] = "1"
    try:
        yard.hands._environment.pop("ONLY_HERE", None)
        yard.submit(text=f"{APPLICATION}SELECT k FROM s WHERE v > ${{ONLY_HERE}};")
    finally:
        del os.environ["ONLY_HERE"]
    job = yard.tick_until("orders", State.FAILED)
    assert job.error.message == "the variable ONLY_HERE has no value"
    assert job.error.place["line"] == 4
    assert any("the variable ONLY_HERE has no value" in line for line in yard.jobs.log(job))
