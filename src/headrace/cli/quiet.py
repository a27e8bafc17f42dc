"""What opens a Spark session goes in, it comes up; what Java prints goes to a log, not to the terminal."""

import logging
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from headrace.cli.java import check_java
from headrace.errors import HeadraceError, JobFailed

__all__ = ["diverted", "end_spark", "start_spark", "temporary_log"]


@contextmanager
def diverted(log: Path) -> Iterator[None]:
    """Point stdout and stderr of this process, and of what it starts meanwhile, at a file."""
    sys.stdout.flush()
    sys.stderr.flush()
    saved = os.dup(1), os.dup(2)
    target = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.dup2(target, 1)
        os.dup2(target, 2)
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for number, original in enumerate(saved, 1):
            os.dup2(original, number)
            os.close(original)
        os.close(target)


@contextmanager
def temporary_log() -> Iterator[Path]:
    """Yield a file for Spark's own messages, deleted at the end unless an error refers the user to it."""
    folder = Path(tempfile.mkdtemp(prefix="headrace-"))
    log = folder / "spark.log"
    wanted = False
    try:
        yield log
    except HeadraceError as error:
        wanted = str(log) in error.report()
        raise
    finally:
        if not wanted:
            shutil.rmtree(folder, ignore_errors=True)


def start_spark(open_session: Callable[[], object], log: Path) -> None:
    """Start a Spark session; its noise goes to the log for as long as it lives."""
    check_java()
    _divert_python(log)
    try:
        with diverted(log):
            open_session()
    except HeadraceError:
        raise
    except Exception as error:
        last = [line for line in log.read_text("utf-8", errors="replace").splitlines() if line.strip()][-1:]
        raise JobFailed(
            "Spark could not be started",
            detail=f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0][:300]}."
            + (f" It said: {last[0][:300]}" if last else ""),
            hint=f"All it said is in {log}.",
        ) from error


def end_spark() -> None:
    """End Spark's process without waiting for what it does; nothing in this process can use Spark afterwards."""
    from pyspark import SparkContext

    process = getattr(SparkContext._gateway, "proc", None)
    if process is None:
        return
    process.terminate()
    try:
        process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _divert_python(log: Path) -> None:
    """Send what py4j and pyspark say in this process to the log too: Headrace reports failures itself."""
    from pyspark.logger import PySparkLogger

    warnings.simplefilter("ignore")
    logging.raiseExceptions = False  # a log that cannot be written, on a full disk, is nobody's concern
    own = [PySparkLogger.getLogger(name) for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger")]
    for logger in (logging.getLogger(), logging.getLogger("py4j"), logging.getLogger("pyspark"), *own):
        logger.handlers.clear()
        logger.addHandler(logging.FileHandler(log, delay=True))
        logger.propagate = False
