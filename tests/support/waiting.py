"""Wait for a condition; a process that ends meanwhile, or time that runs out, fails the test."""

import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress

LOOK_AGAIN = 0.1
PATIENCE = 240.0
"""Seconds that a loaded machine may need for what takes one."""


def until(
    condition: Callable[[], object], seconds: float = PATIENCE, process: "subprocess.Popen[str] | None" = None
) -> None:
    """Return once a condition holds."""
    deadline = time.monotonic() + seconds
    quiet = threading.Event()
    while not condition():
        assert time.monotonic() < deadline, "nothing happened in time"
        if process is None:
            quiet.wait(LOOK_AGAIN)
            continue
        with suppress(subprocess.TimeoutExpired):
            process.wait(LOOK_AGAIN)
            raise AssertionError(process.stderr.read() if process.stderr is not None else "the process has ended")
