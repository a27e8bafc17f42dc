"""A driver's process: found again by number and start time, asked to end, ended with all that it started."""

import os
import signal
import time
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import psutil

from headrace.jobs.folder import Driver

__all__ = ["MARK", "driven_in", "end_remains", "give_way", "identity", "is_alive", "kill", "remains", "terminate"]

MARK = "HEADRACE_JOB_FOLDER"
"""The environment variable by which everything that a driver starts is known, Java and Python functions too."""
POLL = 0.02


def identity(pid: int, attempt: int) -> Driver | None:
    """Return a process as it is noted, None if it has ended."""
    started_at = _started_at(pid)
    return None if started_at is None else Driver(attempt, pid, started_at)


def is_alive(driver: Driver) -> bool:
    """Say whether the noted process lives; a stranger that has its number now is another one."""
    return _started_at(driver.pid) == driver.started_at


def _started_at(pid: int) -> float | None:
    """Return when a process started, None if it has ended; since the machine's start, which no clock's jump changes."""
    if not Path("/proc/self/stat").exists():
        try:
            process = psutil.Process(pid)
            return None if process.status() == psutil.STATUS_ZOMBIE else process.create_time()
        except psutil.NoSuchProcess:
            return None
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("ascii", errors="replace").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else float(fields[19])


def terminate(driver: Driver) -> None:
    """Ask the driver alone to end; its Java it ends itself."""
    if is_alive(driver):
        with suppress(ProcessLookupError):
            os.kill(driver.pid, signal.SIGTERM)


def kill(driver: Driver) -> None:
    """End the driver and its group at once."""
    if not is_alive(driver):
        return
    with suppress(ProcessLookupError, PermissionError):
        if os.getpgid(driver.pid) == driver.pid:
            os.killpg(driver.pid, signal.SIGKILL)
            return
    with suppress(ProcessLookupError):
        os.kill(driver.pid, signal.SIGKILL)


def give_way(pid: int, nice: int) -> bool:
    """Let a new session, with all that it will start, yield to this process; False if it is to be tried again.

    Linux may share the cores between sessions first, and heeds the niceness of a process only within its own; then it
    is the session's that counts, and users may change one only now and then.
    """
    with suppress(OSError):  # it has ended already, or is as nice as can be
        os.setpriority(os.PRIO_PROCESS, pid, os.getpriority(os.PRIO_PROCESS, 0) + nice)
    try:
        Path(f"/proc/{pid}/autogroup").write_text(str(nice), "ascii")
    except BlockingIOError:
        return False
    except OSError:  # there are no such groups here
        return True
    return True


def remains(folder: Path) -> list[psutil.Process]:
    """Return what a dead driver of a folder left running, this process apart."""
    found = []
    for process in psutil.process_iter():
        if process.pid == os.getpid():
            continue
        with suppress(psutil.Error, OSError):
            if process.environ().get(MARK) == str(folder):
                found.append(process)
    return found


def driven_in(root: Path) -> list[psutil.Process]:
    """Return what the drivers of all folders below a root have started, and themselves, wherever those are now."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.pid != os.getpid() and Path(process.environ().get(MARK, "")).parent == root:
                found.append(process)
    return found


def end_remains(folder: Path, within: timedelta = timedelta(seconds=10)) -> int:
    """End what a dead driver left running, wait until it is gone, and return how much there was.

    A Java without its driver ends by itself, but later than the next one starts; two on one checkpoint would spoil it.
    """
    count = 0
    deadline = time.monotonic() + within.total_seconds()
    while found := remains(folder):
        count = max(count, len(found))
        for process in found:
            with suppress(psutil.Error):
                process.kill()
        time.sleep(POLL)
        if time.monotonic() > deadline:
            raise TimeoutError(f"processes of an earlier driver do not end: {[each.pid for each in found]}")
    return count
