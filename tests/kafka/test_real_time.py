"""Rows pass from topic to topic as they come; a crash repeats some and loses none."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from support.listening import addresses, family
from support.topics import new_topic, read, rows, send
from support.waiting import until

pytestmark = pytest.mark.spark

APPLICATION = """
SET latency = 'real-time';
SET checkpoint_interval = '5 seconds';
CREATE STREAM s (id BIGINT NOT NULL, k STRING)
  WITH (connector = 'kafka', topic = '{source}', bootstrap_servers = '{servers}');
CREATE SINK copy WITH (connector = 'kafka', topic = '{copy}', bootstrap_servers = '{servers}') AS SELECT id FROM s;
CREATE SINK counts
  WITH (connector = 'kafka', topic = '{counts}', format = 'upsert', key = 'k', bootstrap_servers = '{servers}')
  AS SELECT k, count(*) AS n FROM s GROUP BY k;
"""


def start(folder: Path) -> subprocess.Popen:
    command = [str(Path(sys.executable).parent / "headrace"), "run", "app.sql"]
    return subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True, start_new_session=True)


def end(process: subprocess.Popen, number: int) -> str:
    if number == signal.SIGKILL:
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)  # Spark is the command's to stop
    with process.stderr:
        text = process.stderr.read()
    process.wait(timeout=120)
    return text


def test_rows_pass_in_real_time_and_survive_a_kill(tmp_path, servers):
    source, copy, counts = new_topic(servers, "in", 2), new_topic(servers, "copy"), new_topic(servers, "counts")
    (tmp_path / "app.sql").write_text(APPLICATION.format(source=source, copy=copy, counts=counts, servers=servers))

    def copied() -> Counter:
        return Counter(row["id"] for row in rows(servers, copy))

    def last_counts() -> dict[str, int]:
        return {m.key().decode(): json.loads(m.value())["n"] for m in read(servers, counts)}

    def give(first: int, last: int) -> None:
        send(servers, source, [{"id": i, "k": f"k{i % 3}"} for i in range(first, last)])

    process = start(tmp_path)
    try:
        give(0, 30)
        send(servers, source, [b"not JSON"])
        until(lambda: len(copied()) == 30 and sum(last_counts().values()) == 30, 180, process)
        if sys.platform == "linux":  # where sockets of a process can be looked at
            listening = set().union(*(addresses(pid) for pid in family(process.pid)))
            assert listening <= {"127.0.0.1", "::1"}
            assert listening
        give(30, 60)
        until(lambda: len(copied()) == 60, 180, process)
    finally:
        end(process, signal.SIGKILL)
    give(60, 90)
    process = start(tmp_path)
    try:
        until(lambda: set(copied()) == set(range(90)) and sum(last_counts().values()) == 90, 180, process)
        assert last_counts() == {"k0": 30, "k1": 30, "k2": 30}
    finally:
        said = end(process, signal.SIGTERM)
    assert process.returncode == 0, said


def test_too_few_slots_are_told_before_the_start(tmp_path, servers):
    source, copy, counts = new_topic(servers, "in", 4), new_topic(servers, "copy"), new_topic(servers, "counts")
    (tmp_path / "app.sql").write_text(APPLICATION.format(source=source, copy=copy, counts=counts, servers=servers))
    command = [str(Path(sys.executable).parent / "headrace"), "run", "app.sql", "--master", "local[2]"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 1
    assert "real-time mode needs 10 slots, and Spark has 2" in done.stderr
