"""A state folder goes in; a log beside the checkpoints and a lock against a second run come out."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headrace.cli.quiet import temporary_log
from headrace.errors import HeadraceError

__all__ = ["alone", "run_log"]


@contextmanager
def alone(state: str) -> Iterator[None]:
    """Hold an application's state for this process; two runs on one checkpoint would spoil it."""
    if "://" in state:
        yield
        return
    lock = Path(state + ".lock")
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise HeadraceError(
            f'state folder "{lock.parent}" cannot be written',
            detail=f"{error.strerror}.",
            hint="Choose another with --state DIR.",
        ) from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(handle, 32, 0).decode("ascii", errors="replace").strip()
            raise HeadraceError(
                "the application is running already",
                detail=f"Process {holder or 'unknown'} holds its state in {state}.",
                hint="Stop it first, or give this run a state of its own with --state DIR.",
            ) from error
        os.truncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode("ascii"), 0)
        yield
    finally:
        os.close(handle)


@contextmanager
def run_log(state: str) -> Iterator[Path]:
    """Yield the file for Spark's own messages: in the state folder if it is on this machine."""
    if "://" in state:
        with temporary_log() as log:
            yield log
        return
    folder = Path(state)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HeadraceError(f'state folder "{folder}" cannot be written', detail=f"{error.strerror}.") from error
    log = folder / "spark.log"
    log.unlink(missing_ok=True)
    yield log
