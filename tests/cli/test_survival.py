"""What a killed process and a full disk leave: nothing lost, nothing doubled, and a plain message."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from support.waiting import until

pytestmark = pytest.mark.spark

FILES, ROWS = 30, 20
PATIENCE = 480
APPLICATION = """
SET shuffle_partitions = 1;
CREATE STREAM s (id BIGINT, at TIMESTAMP, WATERMARK FOR at AS at)
  WITH (connector = 'files', path = 'in', max_files_per_batch = 1);
CREATE SINK copy WITH (connector = 'files', path = 'copy') AS SELECT id FROM s;
CREATE SINK counts WITH (connector = 'files', path = 'counts') AS
  SELECT window_start, count(*) AS n FROM TUMBLE(s, at, INTERVAL 10 SECONDS) GROUP BY window_start;
"""


def prepare(folder: Path) -> None:
    (folder / "app.sql").write_text(APPLICATION)
    (folder / "in").mkdir()
    for number in range(FILES):
        first = number * ROWS
        lines = [
            json.dumps({"id": i, "at": f"2024-01-01T00:{i // 60:02d}:{i % 60:02d}Z"})
            for i in range(first, first + ROWS)
        ]
        path = folder / "in" / f"{number:03d}.jsonl"
        path.write_text("\n".join(lines) + "\n")
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))


def start(folder: Path, *options: str) -> subprocess.Popen:
    command = [str(Path(sys.executable).parent / "headrace"), "run", "app.sql", *options]
    return subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def lines_of(folder: Path) -> list[dict]:
    found = []
    for file in sorted(folder.glob("*.json")):
        found += [json.loads(line) for line in file.read_text().splitlines()]
    return found


def ids(folder: Path) -> Counter:
    try:
        return Counter(row["id"] for row in lines_of(folder / "copy"))
    except (FileNotFoundError, json.JSONDecodeError):
        return Counter()


def counted(folder: Path) -> int:
    try:
        return len(lines_of(folder / "counts"))
    except (FileNotFoundError, json.JSONDecodeError):
        return 0


def finish(folder: Path) -> None:
    """Run until everything is read, then stop in good order."""
    process = start(folder)
    closed = FILES * ROWS // 10 - 1  # the last window stays open: no row is later
    try:
        until(lambda: len(ids(folder)) == FILES * ROWS and counted(folder) >= closed, PATIENCE, process)
    finally:
        process.terminate()
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors


def check(folder: Path) -> None:
    assert ids(folder) == Counter(range(FILES * ROWS))
    counts = lines_of(folder / "counts")
    assert len({row["window_start"] for row in counts}) == len(counts)
    assert {row["n"] for row in counts} == {10}


@pytest.mark.long
def test_a_process_killed_again_and_again_loses_and_doubles_nothing(tmp_path):
    prepare(tmp_path)
    for goal in (3, 12):
        process = start(tmp_path)
        until(lambda goal=goal: len(ids(tmp_path)) >= goal * ROWS, PATIENCE, process)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=PATIENCE)
    finish(tmp_path)
    check(tmp_path)


def test_a_full_disk_is_told_and_once_there_is_room_the_run_goes_on(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(disk)], check=False, capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip("only root can make a disk that is small")
    try:
        work = disk / "work"
        work.mkdir()
        prepare(work)
        ballast = disk / "ballast"
        with ballast.open("wb") as out:
            used = os.statvfs(disk)
            out.write(b"0" * (used.f_bavail * used.f_frsize - 120_000))
        process = start(work)
        _, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == 3, errors
        assert "no space left on the disk" in errors
        assert "Traceback" not in errors
        ballast.unlink()
        subprocess.run(["mount", "-o", "remount,size=200m", str(disk)], check=True)
        finish(work)
        check(work)
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)
