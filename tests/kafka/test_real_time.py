"""Rows pass from topic to topic as they come; a crash repeats some and loses none."""

import json
import os
import signal
import subprocess
import sys
import uuid
from collections import Counter
from pathlib import Path

import pytest

from support.listening import addresses, family
from support.topics import new_topic, read, rows, send
from support.waiting import until

pytestmark = pytest.mark.spark

PATIENCE = 480
APPLICATION = """
SET latency = 'real-time';
SET checkpoint_interval = '5 seconds';
CREATE STREAM s (id BIGINT NOT NULL, k STRING)
  WITH (connector = 'kafka', topic = '{source}', bootstrap_servers = '{servers}');
CREATE SINK copy WITH (connector = 'kafka', topic = '{copy}', bootstrap_servers = '{servers}') AS SELECT id FROM s;
CREATE SINK counts
  WITH (connector = 'kafka', topic = '{counts}', format = 'upsert', key = 'k', bootstrap_servers = '{servers}')
  AS SELECT k, count(*) AS n FROM s GROUP BY k;
CREATE SINK pairs WITH (connector = 'kafka', topic = '{pairs}', bootstrap_servers = '{servers}')
  AS SELECT * FROM s MATCH_RECOGNIZE (
    PARTITION BY k ORDER BY ARRIVAL MEASURES a.id AS first_id, b.id AS second_id
    AFTER MATCH SKIP TO NEXT ROW PATTERN (a b));
"""


def write(folder: Path, servers: str, partitions: int) -> tuple[str, str, str, str]:
    """Write the application and return its topics."""
    source = new_topic(servers, "in", partitions)
    names = [source, *(new_topic(servers, name) for name in ("copy", "counts", "pairs"))]
    named = dict(zip(("source", "copy", "counts", "pairs"), names, strict=True))
    (folder / "app.sql").write_text(APPLICATION.format(**named, servers=servers))
    return tuple(names)


def start(folder: Path) -> subprocess.Popen:
    command = [str(Path(sys.executable).parent / "headrace"), "run", "app.sql"]
    with (folder / "log").open("w") as log:  # a pipe that nobody reads might fill
        return subprocess.Popen(command, cwd=folder, stderr=log, start_new_session=True)


def end(process: subprocess.Popen, number: int) -> None:
    if number == signal.SIGKILL:
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)  # Spark is the command's to stop
    process.wait(timeout=PATIENCE)


def undo_first_commit(checkpoint: Path) -> None:
    """Leave a checkpoint as a kill does in the middle of its first commit."""
    for file in [*(checkpoint / "offsets").iterdir(), *(checkpoint / "commits").iterdir()]:
        file.unlink()
    (checkpoint / "commits" / f".0.{uuid.uuid4()}.tmp").touch()


def test_rows_pass_in_real_time_and_survive_a_kill(tmp_path, servers):
    source, copy, counts, pairs = write(tmp_path, servers, 2)

    def copied() -> Counter:
        return Counter(row["id"] for row in rows(servers, copy))

    def last_counts() -> dict[str, int]:
        return {m.key().decode(): json.loads(m.value())["n"] for m in read(servers, counts)}

    def followers() -> set[int]:
        return {row["second_id"] for row in rows(servers, pairs)}

    def give(first: int, last: int) -> None:
        send(servers, source, [{"id": i, "k": f"k{i % 3}"} for i in range(first, last)])

    process = start(tmp_path)
    try:
        give(0, 30)
        send(servers, source, [b"not JSON"])
        until(lambda: len(copied()) == 30 and sum(last_counts().values()) == 30, PATIENCE, process)
        if sys.platform == "linux":  # where sockets of a process can be looked at
            listening = set().union(*(addresses(pid) for pid in family(process.pid)))
            assert listening <= {"127.0.0.1", "::1"}
            assert listening
        give(30, 60)
        until(lambda: len(copied()) == 60 and len(followers()) == 57, PATIENCE, process)
    finally:
        end(process, signal.SIGKILL)
    undo_first_commit(tmp_path / ".headrace" / "app" / "copy" / "checkpoint")
    give(60, 90)
    process = start(tmp_path)
    try:
        until(lambda: set(copied()) == set(range(90)) and sum(last_counts().values()) == 90, PATIENCE, process)
        assert last_counts() == {"k0": 30, "k1": 30, "k2": 30}
        # a key's first row may differ after the kill
        until(lambda: followers() >= set(range(60, 90)), PATIENCE, process)
    finally:
        end(process, signal.SIGTERM)
    assert process.returncode == 0, (tmp_path / "log").read_text()


def test_too_few_slots_are_told_before_the_start(tmp_path, servers):
    write(tmp_path, servers, 4)
    command = [str(Path(sys.executable).parent / "headrace"), "run", "app.sql", "--master", "local[2]"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 1
    assert "real-time mode needs 16 slots, and Spark has 2" in done.stderr
