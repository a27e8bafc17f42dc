"""A log that is emptied under those who write and read it."""

import os

from hypothesis import given
from hypothesis import strategies as st

from headrace.jobs.logs import Follower, rotate, tail


def appended(log, text):
    with log.open("ab") as writer:
        writer.write(text.encode())


def test_a_small_log_stays_and_a_missing_one_is_empty(tmp_path):
    log = tmp_path / "driver.log"
    assert not rotate(log)
    assert tail(log) == []
    assert Follower(log).read() == []
    assert tail(tmp_path / "missing" / "driver.log") == []
    appended(log, "one\n")
    assert not rotate(log, largest=10)
    assert tail(log) == ["one"]


def test_who_holds_the_file_open_writes_on_in_the_emptied_one(tmp_path):
    log = tmp_path / "driver.log"
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        os.write(handle, b"before\n")
        assert rotate(log, largest=3)
        os.write(handle, b"after\n")
    finally:
        os.close(handle)
    assert log.read_text() == "after\n"
    assert (tmp_path / "driver.log.1").read_text() == "before\n"
    assert tail(log, 10) == ["before", "after"]
    assert tail(log, 1) == ["after"]


def test_only_so_many_older_files_are_kept(tmp_path):
    log = tmp_path / "driver.log"
    for number in range(9):
        appended(log, f"line {number}\n")
        assert rotate(log, largest=1, kept=2)
    assert sorted(each.name for each in tmp_path.glob("driver.log*")) == [
        "driver.log",
        "driver.log.1",
        "driver.log.2",
        "driver.log.lock",
    ]
    assert tail(log) == ["line 7", "line 8"]


def test_a_follower_begins_with_the_last_lines_also_right_after_a_rotation(tmp_path):
    log = tmp_path / "driver.log"
    for number in range(7):
        appended(log, f"line {number}\n")
        if number in {1, 3, 5}:
            rotate(log, largest=1)
    assert Follower.from_last(log, 1).read() == ["line 6"]
    assert Follower.from_last(log, 3).read()[-3:] == tail(log, 3) == ["line 4", "line 5", "line 6"]
    follower = Follower.from_last(log, 100)
    appended(log, "line 7\n")
    rotate(log, largest=1)
    appended(log, "line 8\n")
    assert follower.read() == [f"line {number}" for number in range(9)]
    assert Follower.from_last(tmp_path / "missing" / "driver.log", 5).read() == []


@given(st.lists(st.sampled_from(["write", "rotate", "read", "half"]), max_size=40))
def test_a_follower_misses_nothing_and_repeats_nothing(tmp_path_factory, steps):
    log = tmp_path_factory.mktemp("log") / "driver.log"
    follower = Follower.from_end(log)
    written, read, pending, rotations = [], [], "", 0
    for number, step in enumerate(steps):
        match step:
            case "write":
                appended(log, f"line {number}\n")
                written.append(f"{pending}line {number}")
                pending = ""
            case "half":
                appended(log, f"half {number} ")
                pending += f"half {number} "
            case "rotate" if rotations < 4:
                rotations += rotate(log, largest=0)
            case "read":
                read += follower.read()
                rotations = 0
    read += follower.read()
    assert read == written


def test_a_follower_from_the_end_begins_there(tmp_path):
    log = tmp_path / "driver.log"
    appended(log, "old\n")
    follower = Follower.from_end(log)
    appended(log, "new\n")
    assert follower.read() == ["new"]
