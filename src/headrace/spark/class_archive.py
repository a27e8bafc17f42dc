"""A Java goes in; where the archive of Spark's classes for it is, with which Spark starts sooner, comes out.

A JVM that starts Spark reads and checks some fifteen thousand classes, which is most of what it does until the first
row. It can keep them in an archive when it ends, and the next one maps that into memory. The archive fits one Java, one
Spark and one library; a JVM to which it does not fit passes over it.
"""

import hashlib
import os
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

import pyspark

from headrace.errors import HeadraceError
from headrace.jars.home import headrace_home, locked
from headrace.jars.java import find_java
from headrace.operators.library import library

__all__ = ["archive", "java_options", "make_archive"]

ENDING = ".jsa"
QUIET = "-Xlog:disable -Xlog:all=error:stderr"
"""A JVM would say on stdout that an archive does not fit."""
PATIENCE = 600.0
"""Seconds for the archive to be made."""


def archive() -> Path:
    """Return where the archive is kept, if it is there."""
    digest = hashlib.sha256(version("pyspark").encode())
    for path in (find_java().resolve(), Path(pyspark.__file__).parent / "jars", library([]).resolve()):
        digest.update(f"{path} {path.stat().st_mtime_ns}\n".encode())
    return headrace_home() / "classes" / f"{digest.hexdigest()[:16]}{ENDING}"


def java_options() -> str:
    """Return what lets a JVM use the archive, nothing if there is none."""
    with suppress(HeadraceError, OSError):
        path = archive()
        if path.is_file():
            return f'"-XX:SharedArchiveFile={path.resolve()}" -Xshare:auto {QUIET}'
    return ""


def make_archive(command: Sequence[str]) -> bool:
    """Make the archive of the classes that a command needs which runs Spark; False if it is there already.

    Archives for others than this Java, Spark and library are removed.
    """
    path = archive()
    path.parent.mkdir(exist_ok=True)
    with locked(path.parent / "lock"):
        if path.is_file():
            return False
        new = path.with_suffix(".new")
        new.unlink(missing_ok=True)
        options = f'{os.environ.get("SPARK_SUBMIT_OPTS", "")} "-XX:ArchiveClassesAtExit={new}" {QUIET}'
        try:
            # The JVM has our end of the pipe too: what is printed ends when it has ended, its archive written.
            done = subprocess.run(
                command,
                env={**os.environ, "SPARK_SUBMIT_OPTS": options.strip()},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=PATIENCE,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise HeadraceError("Spark does not end, so that its classes cannot be kept") from error
        if done.returncode or not new.is_file():
            lines = [line for line in done.stdout.splitlines() if line.strip()]
            raise HeadraceError(
                "the classes of Spark cannot be kept",
                detail=f"{lines[-1]}." if lines else "This Java does not write such an archive.",
                hint="Nothing depends on it: Spark only starts more slowly.",
            )
        for other in path.parent.glob(f"*{ENDING}"):
            other.unlink(missing_ok=True)
        new.replace(path)
        return True
