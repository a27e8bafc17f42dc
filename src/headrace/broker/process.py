"""A command goes in; a process that outlives us comes out, known again by an argument that only it has."""

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

__all__ = ["POLL", "detach", "ended", "pid_of", "send"]

POLL = timedelta(milliseconds=50)

# The shell writes the number of the process down even if we die meanwhile; a broker nobody knows of cannot arise.
_SHELL = 'out=$1; note=$2; shift 2; "$@" </dev/null >"$out" 2>&1 & echo $! >"$note"'


def detach(command: Sequence[str], folder: Path, output: str, note: str) -> None:
    """Start a command in a folder, in a session of its own; its output and its number go into two files there."""
    subprocess.run(
        ["/bin/sh", "-c", _SHELL, "sh", output, note, *command],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
        check=True,
    )


def pid_of(note: Path, mark: str) -> int | None:
    """Return the noted number if the process with it lives and bears the mark; a stale number names a stranger."""
    try:
        pid = int(note.read_text("ascii"))
    except (OSError, ValueError):
        return None
    return pid if _bears(pid, mark) else None


def send(pid: int, number: signal.Signals) -> None:
    """Send a signal to a process, which may have ended by now."""
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def ended(pid: int, mark: str, within: timedelta) -> bool:
    """Wait until a process has ended, and return whether it did."""
    until = time.monotonic() + within.total_seconds()
    while _bears(pid, mark):
        if time.monotonic() > until:
            return False
        time.sleep(POLL.total_seconds())
    return True


def _bears(pid: int, mark: str) -> bool:
    """Return whether a living process has an argument; a dead one that nobody has collected has none."""
    if pid <= 0:
        return False
    if not Path("/proc/self/cmdline").exists():
        answer = subprocess.run(["ps", "-ww", "-o", "command=", "-p", str(pid)], capture_output=True, check=False)
        return f" {mark} ".encode() in answer.stdout
    for _ in range(20):
        try:
            arguments = Path(f"/proc/{pid}/cmdline").read_bytes()
            if arguments or _state(pid) in "ZX":
                return os.fsencode(mark) in arguments.split(b"\0")
        except (FileNotFoundError, ProcessLookupError):
            return False
        time.sleep(0.01)  # it has no arguments for the moment in which the shell becomes Java
    return False  # a process of the system's own


def _state(pid: int) -> str:
    """Return the letter of a process's state: Z for one that is dead but not collected."""
    return Path(f"/proc/{pid}/stat").read_text("ascii", errors="replace").rpartition(")")[2].split()[0]
