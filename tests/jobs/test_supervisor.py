"""Real processes are started, killed, adopted and stopped; the clock is the test's."""

import os
import signal
import subprocess
import threading
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from headrace.errors import HeadraceError
from headrace.jobs import hands, processes
from headrace.jobs.clock import system_clock
from headrace.jobs.states import State
from headrace.jobs.supervisor import Supervisor, supervisor_of
from headrace.jobs.works import Works
from support.job_yard import FAKE, AtOnce
from support.waiting import until


def starts(yard, name):
    return [attempt for word, attempt, _ in yard.lives(name) if word == "start"]


def test_a_job_runs_and_stops(yard):
    yard.submit()
    job = yard.tick_until("orders", State.RUNNING)
    assert (job.attempt, job.ran_version, job.error) == (1, 1, None)
    until(lambda: yard.jobs.figures(job) and yard.jobs.figures(job)[0].rows_in > 2)
    yard.jobs.stop("orders", "stop-1")
    job = yard.tick_until("orders", State.STOPPED)
    assert job.reason == "stopped"
    assert [word for word, _, _ in yard.lives("orders")] == ["start", "end"]
    assert [event.state for event in yard.jobs.events("orders")] == [
        State.SUBMITTED,
        State.STARTING,
        State.RUNNING,
        State.STOPPING,
        State.STOPPED,
    ]


def test_drivers_give_way_to_the_server(yard):
    yard.hands._nice = 3
    yard.submit()
    yard.tick_until("orders", State.RUNNING)
    pid = yard.pid("orders")
    assert os.getpriority(os.PRIO_PROCESS, pid) == min(19, os.getpriority(os.PRIO_PROCESS, 0) + 3)
    session = Path(f"/proc/{pid}/autogroup")  # which another process may keep us from changing for a moment
    until(lambda: yard.server.tick() or not session.exists() or session.read_text().split()[1:] in ([], ["nice", "3"]))


def test_a_session_that_cannot_be_told_now_is_told_later(yard, monkeypatch):
    told = []
    monkeypatch.setattr(processes, "give_way", lambda pid, nice: told.append((pid, nice)) or len(told) == 3)
    yard.hands._nice = 3
    yard.submit()
    yard.tick_until("orders", State.RUNNING)
    until(lambda: yard.server.tick() or len(told) == 3)
    yard.server.tick()
    assert told == [(yard.pid("orders"), 3)] * 3


def test_a_killed_driver_is_followed_by_another_after_a_while(yard):
    yard.submit()
    yard.tick_until("orders", State.RUNNING)
    yard.kill("orders")
    job = yard.tick_until("orders", State.RESTARTING)
    assert job.reason == "the driver ended without a word; starts again in 1 s"
    for _ in range(3):
        yard.server.tick()
    assert starts(yard, "orders") == [1], "it waits for its time"
    yard.time.move(seconds=1)
    job = yard.tick_until("orders", State.RUNNING)
    assert (job.attempt, job.restart_count) == (2, 1)
    assert starts(yard, "orders") == [1, 2]


def test_a_crash_loop_ends_with_the_last_error(yard):
    yard.submit(behave="crash")
    for restart in range(5):
        yard.tick_until("orders", State.RESTARTING)
        yard.time.move(seconds=2**restart)
    job = yard.tick_until("orders", State.FAILED)
    assert job.reason == "crash loop: restarted 5 times in 10 minutes; last: it broke in attempt 6"
    assert job.error is not None
    assert job.error.detail == "On purpose."
    assert starts(yard, "orders") == [1, 2, 3, 4, 5, 6]
    yard.time.move(hours=1)
    yard.server.tick()
    assert yard.jobs.show("orders").state is State.FAILED


def test_a_users_error_is_not_tried_again(yard):
    yard.submit(behave="user-error")
    job = yard.tick_until("orders", State.FAILED)
    assert (job.reason, job.attempt) == ("it broke in attempt 1", 1)


def test_what_is_away_is_tried_for_as_long_as_it_takes(yard):
    yard.submit(behave="away")
    for _ in range(9):
        job = yard.tick_until("orders", State.RESTARTING)
        yard.time.move(seconds=60)
        yard.server.tick()
        assert yard.jobs.show("orders").state is State.STARTING
    assert job.reason == "it broke in attempt 9; tries again in 60 s"


def test_an_application_that_ends_has_finished(yard):
    yard.submit(behave="finish")
    assert yard.tick_until("orders", State.FINISHED).reason == "all its input was read"


def test_a_silent_driver_is_degraded_then_killed_and_restarted(yard):
    yard.submit(behave="hang")
    job = yard.tick_until("orders", State.RUNNING)
    until(lambda: yard.jobs.heartbeat(job).beat == 2)
    yard.server.tick()
    yard.time.move(seconds=16)
    assert yard.tick_until("orders", State.DEGRADED).reason == "no heartbeat for 16 s"
    yard.time.move(seconds=45)
    job = yard.tick_until("orders", State.RESTARTING)
    assert job.attempt == 1


def test_a_driver_that_is_heard_again_is_no_longer_degraded(yard):
    yard.submit()
    yard.tick_until("orders", State.RUNNING)
    os.kill(yard.pid("orders"), signal.SIGSTOP)
    until(lambda: psutil.Process(yard.pid("orders")).status() == psutil.STATUS_STOPPED)  # it may just be writing
    yard.server.tick()
    yard.server.tick()
    yard.time.move(seconds=20)
    yard.tick_until("orders", State.DEGRADED)
    os.kill(yard.pid("orders"), signal.SIGCONT)
    yard.tick_until("orders", State.RUNNING)
    assert starts(yard, "orders") == [1]


def test_a_deaf_driver_is_killed_after_a_grace(yard):
    yard.submit(behave="deaf")
    yard.tick_until("orders", State.RUNNING)
    yard.jobs.stop("orders", "stop-1")
    yard.tick_until("orders", State.STOPPING)
    yard.server.tick()
    for _ in range(4):
        yard.time.move(seconds=29)
        yard.hear("orders")
        assert yard.jobs.show("orders").state is State.STOPPING
    yard.time.move(seconds=10)
    yard.tick_until("orders", State.STOPPED)


def test_a_jump_of_the_clock_harms_nobody(yard):
    yard.submit()
    yard.tick_until("orders", State.RUNNING)
    for hours in (48, -96):
        yard.time.jumped = type(yard.time.jumped)(hours=hours)
        for _ in range(3):
            yard.server.tick()
    yard.kill("orders")
    yard.tick_until("orders", State.RESTARTING)
    yard.time.jumped = type(yard.time.jumped)(hours=-200)  # its time is 104 hours away now
    yard.tick_until("orders", State.RUNNING)
    assert starts(yard, "orders") == [1, 2]


def test_a_new_server_adopts_what_runs(yard):
    for name in "abc":
        yard.submit(name)
    for name in "abc":
        yard.tick_until(name, State.RUNNING)
    before = [yard.pid(name) for name in "abc"]
    yard.hands.let_go()
    yard.new_server()
    yard.time.move(minutes=10)
    for _ in range(3):
        yard.server.tick()
    assert [yard.jobs.show(name).state for name in "abc"] == [State.RUNNING] * 3
    assert [yard.pid(name) for name in "abc"] == before
    yard.jobs.stop("a", "stop-a")
    yard.tick_until("a", State.STOPPED)
    assert starts(yard, "a") == [1]


def test_ended_drivers_are_no_zombies(yard):
    yard.submit(behave="finish")
    yard.tick_until("orders", State.FINISHED)
    yard.server.tick()
    pid = yard.lives("orders")[0][2]
    until(lambda: yard.server.tick() or not psutil.pid_exists(pid))


def test_a_second_driver_never_lives(yard):
    yard.submit()
    job = yard.tick_until("orders", State.RUNNING)
    version = yard.jobs.versions("orders")[0]
    assert not yard.hands.launch(job, version, 2)
    assert not yard.hands.launch(job, version, 1)
    yard.kill("orders")
    assert not yard.hands.launch(job, version, 1), "this attempt was started before"
    assert starts(yard, "orders") == [1]


def test_a_driver_that_cannot_be_started_is_a_failure_like_any(yard):
    yard.command = ("/nowhere/python",)
    yard.new_server()
    yard.submit()
    job = yard.tick_until("orders", State.RESTARTING)
    assert job.error.message == "the driver could not be started"
    assert job.error.detail == "No such file or directory."


def test_a_disk_without_room_is_shown_and_waited_for(yard, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(hands, "write_whole", full)
    yard.submit()
    job = yard.tick_until("orders", State.RESTARTING)
    assert job.reason == "the driver could not be started; tries again in 1 s"
    assert job.error.detail == "No space left on device."
    yard.server.tick()
    assert yard.jobs.show("orders").attempt == 1, "not before its time"
    yard.time.move(seconds=2)
    until(lambda: yard.server.tick() or yard.jobs.show("orders").attempt == 2)
    assert yard.jobs.show("orders").reason.endswith("tries again in 2 s")
    monkeypatch.undo()
    yard.time.move(seconds=3)
    yard.tick_until("orders", State.RUNNING)


def test_jobs_wait_for_room_in_the_order_in_which_they_came(yard):
    yard.capacity = replace(yard.capacity, cores=2)
    yard.new_server()
    for name in "abcd":
        yard.submit(name)
        yard.time.move(seconds=1)
    for name in "ab":
        yard.tick_until(name, State.RUNNING)
    assert yard.jobs.show("c").reason == "waits for 1 core; 2 of 2 are in use by a, b"
    assert yard.jobs.show("d").reason == "waits behind c"
    yard.kill("a")
    yard.tick_until("a", State.RESTARTING)
    yard.server.tick()
    assert yard.jobs.show("c").state is State.SUBMITTED, "a keeps its place while it restarts"
    yard.jobs.stop("a", "stop-a")
    yard.tick_until("c", State.RUNNING)
    assert yard.jobs.show("d").state is State.SUBMITTED


def test_one_that_a_smaller_server_cannot_run_holds_up_nobody(yard):
    yard.submit("large", cores=4)
    yard.submit("small")
    yard.capacity = replace(yard.capacity, cores=2)
    yard.new_server()
    yard.tick_until("small", State.RUNNING)
    large = yard.jobs.show("large")
    assert (large.state, large.reason) == (
        State.SUBMITTED,
        "waits for a larger server: it wants 4 cores, and the server has 2",
    )


def test_a_job_can_be_stopped_before_it_starts(yard):
    yard.submit()
    yard.jobs.stop("orders", "stop-1")
    assert yard.tick_until("orders", State.STOPPED).attempt == 0
    yard.jobs.restart("orders", "restart-1")
    assert yard.tick_until("orders", State.RUNNING).attempt == 1


def test_a_running_job_is_restarted_once_it_has_stopped(yard):
    yard.submit()
    yard.tick_until("orders", State.RUNNING)
    yard.jobs.restart("orders", "restart-1")
    until(lambda: yard.server.tick() or yard.jobs.show("orders").attempt == 2)
    yard.tick_until("orders", State.RUNNING)
    assert [word for word, _, _ in yard.lives("orders")] == ["start", "end", "start"]


def test_a_restart_gives_it_other_cores_and_memory_and_it_waits_for_them(yard):
    yard.capacity = replace(yard.capacity, cores=3)
    yard.jobs = replace(yard.jobs, capacity=yard.capacity)
    yard.new_server()
    for name in ("orders", "other"):
        yard.submit(name)
        yard.tick_until(name, State.RUNNING)
    with pytest.raises(HeadraceError, match="can never start: it wants 4 cores, and the server has 3"):
        yard.jobs.restart("orders", "restart-1", cores=4)
    with pytest.raises(HeadraceError, match="100 MB of memory are too little"):
        yard.jobs.restart("orders", "restart-2", memory=100)
    with pytest.raises(HeadraceError, match="at least one core"):
        yard.jobs.restart("orders", "restart-3", cores=0)
    assert yard.jobs.show("orders").attempt == 1
    yard.jobs.restart("orders", "restart-4", cores=3)
    with pytest.raises(HeadraceError, match="another"):
        yard.jobs.restart("orders", "restart-4", cores=2)
    until(lambda: yard.server.tick() or yard.jobs.show("orders").state is State.SUBMITTED)
    yard.server.tick()
    assert yard.jobs.show("orders").reason == "waits for 1 core; 1 of 3 are in use by other"
    yard.jobs.stop("other", "stop-1")
    yard.tick_until("orders", State.RUNNING)
    yard.jobs.restart("orders", "restart-5", memory=2048)
    until(lambda: yard.server.tick() or yard.jobs.show("orders").attempt == 3)
    started = yard.jobs.show("orders")
    assert (started.cores, started.memory) == (3, 2048)
    launch = yard.jobs.folder_of(started).launch()
    assert (launch.cores, launch.memory) == (3, 2048)


def test_one_that_is_to_have_less_has_what_it_had_until_it_has_stopped(yard):
    yard.submit(cores=3, memory=4096, behave="deaf")
    yard.tick_until("orders", State.RUNNING)
    yard.submit("next", cores=2, memory=5000)
    yard.jobs.restart("orders", "restart-1", cores=1, memory=1024)
    yard.tick_until("orders", State.STOPPING)
    yard.jobs.stop("orders", "stop-1")
    yard.server.tick()
    reason = "waits for 1 core; 3 of 4 are in use, and for 904 MB of memory; 4096 of 8192 are in use by orders"
    assert yard.jobs.show("next").reason == reason
    yard.jobs.restart("orders", "restart-2")
    yard.kill("orders")
    yard.tick_until("next", State.RUNNING)
    assert yard.tick_until("orders", State.RUNNING).cores == 1


def test_deleting_removes_the_folder_and_frees_the_name(yard):
    job = yard.submit()
    yard.tick_until("orders", State.RUNNING)
    with pytest.raises(HeadraceError, match='job "orders" is running'):
        yard.jobs.delete("orders", "delete-1")
    yard.jobs.stop("orders", "stop-1")
    yard.tick_until("orders", State.STOPPED)
    yard.jobs.delete("orders", "delete-2")
    yard.submit()  # the name is free at once
    for _ in range(3):
        yard.server.tick()
    assert not yard.jobs.folder_of(job).path.exists()
    assert [each.name for each in yard.jobs.page().jobs] == ["orders"]
    assert yard.jobs.show("orders").id != job.id


@pytest.fixture
def java(yard):
    """What a killed driver left running: it ends by itself too late."""
    yard.submit()
    job = yard.tick_until("orders", State.RUNNING)
    mark = {processes.MARK: str(yard.jobs.folder_of(job).path)}
    with subprocess.Popen(["sleep", "600"], env={**os.environ, **mark}) as left:
        yard.kill("orders")
        yield left
        left.kill()


@pytest.mark.parametrize("command", ["savepoint", "fresh", "delete"])
def test_no_state_is_touched_while_a_dead_drivers_java_runs(yard, java, command):
    yard.jobs.stop("orders", "stop-1", with_savepoint=command == "savepoint")
    yard.tick_until("orders", State.STOPPED)
    assert (java.poll() is None) == (command != "savepoint")
    if command == "fresh":
        yard.jobs.restart("orders", "restart-1", fresh=True)
        yard.tick_until("orders", State.RUNNING)
    elif command == "delete":
        yard.jobs.delete("orders", "delete-1")
        until(lambda: yard.server.tick() or not yard.jobs.store.all())
    assert java.poll() is not None


def test_only_one_server_looks_after_a_folder(yard):
    yard.server.claim()
    works = Works(yard.jobs.store, yard.hands, yard.time.clock())
    other = Supervisor(yard.jobs.store, yard.hands, works, yard.time.clock(), yard.capacity)
    with pytest.raises(HeadraceError, match="another server looks after these jobs"):
        other.claim()
    yard.server.close()
    other.claim()
    other.close()


def test_a_folder_that_cannot_be_read_in_time_holds_up_nobody(yard):
    """Looks are real threads here: the one at job a waits until the test lets it go."""
    for name in "ab":
        yard.submit(name)
    let_go = threading.Event()
    look, first = yard.hands.look, yard.jobs.show("a").id

    def slow(job):
        if job.id == first:
            let_go.wait(240)
        return look(job)

    yard.hands.look = slow
    works = Works(yard.jobs.store, yard.hands, yard.time.clock())
    yard.server = Supervisor(
        yard.jobs.store, yard.hands, works, yard.time.clock(), yard.capacity, yard.limits, working=AtOnce()
    )
    yard.tick_until("b", State.RUNNING)
    assert yard.jobs.show("a").state is State.SUBMITTED
    let_go.set()
    yard.tick_until("a", State.RUNNING)
    yard.server.close()


def test_a_folder_in_which_nobody_finds_his_way_holds_up_nobody(yard):
    for name in "ab":
        yard.submit(name)
    look, first = yard.hands.look, yard.jobs.show("a").id

    def lost(job):
        if job.id == first:
            raise ValueError("what is this?")
        return look(job)

    yard.hands.look = lost
    yard.tick_until("b", State.RUNNING)
    assert yard.jobs.show("a").state is State.SUBMITTED


def test_a_quiet_round_over_fifty_jobs_reads_once_and_writes_nothing(yard):
    yard.capacity = replace(yard.capacity, cores=1)
    yard.new_server()
    for number in range(50):
        yard.submit(f"job-{number:02d}")
        yard.time.move(seconds=1)
    yard.tick_until("job-00", State.RUNNING)
    used = []
    reading, transaction = yard.database.reading, yard.database.transaction
    yard.database.reading = lambda: used.append("read") or reading()
    yard.database.transaction = lambda: used.append("write") or transaction()
    for _ in range(3):
        yard.server.tick()
    assert used == ["read"] * 3


def test_a_server_thread_runs_jobs_and_leaves_them_running(yard):
    """The clock is the machine's here; the server is told to stop, the driver is not."""
    jobs = replace(yard.jobs, clock=system_clock())
    server = supervisor_of(jobs, command=FAKE)
    stopping = threading.Event()
    thread = threading.Thread(target=server.run, args=(stopping,))
    thread.start()
    try:
        yard.submit()
        until(lambda: jobs.show("orders").state is State.RUNNING)
    finally:
        stopping.set()
        thread.join()
    assert jobs.folder_of(jobs.show("orders")).is_locked()
    yard.jobs.stop("orders", "stop-1")
    assert yard.tick_until("orders", State.STOPPED).attempt == 1, "another server took it over"
