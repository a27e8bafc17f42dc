"""A driver without Spark: holds the lock, beats, and misbehaves as the variable BEHAVE of its launch says.

    python fake_driver.py FOLDER [HANDLE OF THE LOCK]

It uses nothing of Headrace, so it starts at once and shows what the files must look like.
"""

import contextlib
import fcntl
import json
import os
import signal
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path

BEAT = 0.02


def written(file: Path, values: dict) -> None:
    fresh = file.with_suffix(".fake")
    fresh.write_text(json.dumps(values))
    os.replace(fresh, file)


def note(folder: Path, word: str, attempt: int) -> None:
    with (folder / "lives").open("a") as lives:
        lives.write(f"{word} {attempt} {os.getpid()}\n")


def main() -> int:
    folder = Path(sys.argv[1])
    if len(sys.argv) == 3:
        os.set_inheritable(int(sys.argv[2]), False)
    else:
        handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return 1
    launch = json.loads((folder / "launch.json").read_text())
    attempt, behave = launch["attempt"], launch["variables"].get("BEHAVE", "run")
    pause = float(launch["variables"].get("BEAT", BEAT))
    note(folder, "start", attempt)
    asked = threading.Event()
    signal.signal(signal.SIGTERM, signal.SIG_IGN if behave == "deaf" else lambda *_: asked.set())
    stat = Path(f"/proc/{os.getpid()}/stat").read_text().rpartition(")")[2].split()
    written(folder / "driver.json", {"attempt": attempt, "pid": os.getpid(), "started_at": float(stat[19])})

    beside = launch.get("beside", False)

    def position(number: int) -> int:
        """Return how far it has read: what a test says, else as many rows as beats; a rebuild waits for the test."""
        told = folder / "position"
        return int(told.read_text() or 0) if told.exists() else 0 if beside else number

    def beat(number: int, phase: str) -> None:
        at = datetime.now(UTC).isoformat()
        outputs = [{"name": "totals", "batch": number, "rows_in": number, "positions": {"t:0": position(number)}}]
        written(
            folder / "heartbeat.json",
            {"attempt": attempt, "beat": number, "at": at, "phase": phase, "outputs": outputs},
        )

    def end(ending: str, **more: object) -> int:
        at = datetime.now(UTC).isoformat()
        written(folder / "outcome.json", {"attempt": attempt, "ending": ending, "at": at, **more})
        note(folder, "end", attempt)
        return 0

    error = {"message": f"it broke in attempt {attempt}", "detail": "On purpose.", "hint": None, "place": None}
    if behave == "user-error" or (behave == "user-error-beside" and beside):
        return end("failed", cause="user", error=error)
    if behave == "crash" or behave == f"crash-once-{attempt}":
        return end("failed", cause="failure", error=error)
    if behave == "away":
        return end("failed", cause="surroundings", error=error)
    if behave == "finish":
        beat(1, "running")
        return end("finished")
    state = Path(launch["state"]) / launch["name"] / "totals"
    state.mkdir(parents=True, exist_ok=True)
    number = 0
    while True:
        number += 1
        if behave != "hang" or number < 3:
            beat(number, "running")
        (state / "count").write_text(str(number))
        if behave != "deaf" and (asked.is_set() or (folder / "requests" / f"stop-{attempt}.json").exists()):
            with contextlib.suppress(OSError):
                beat(number + 1, "stopping")
            return end("stopped")
        asked.wait(pause)


if __name__ == "__main__":
    sys.exit(main())
