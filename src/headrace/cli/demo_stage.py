"""The folder of an application goes in; its rows are on their way, and the places where it finds them come out."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from headrace.application import Application
from headrace.cli.demo_kafka import await_topics, kafka_running, topics_of
from headrace.errors import HeadraceError, JobFailed

__all__ = ["Stage", "set_stage"]

STARTUP = 300
"""Seconds that a generator goes on beyond the run, at most: Spark has to start first."""
FIRST_FILE = 60
PLANTED = "--planted"


@dataclass(frozen=True, slots=True)
class Stage:
    """An application with all that it reads: its file, its variables, and what the generator says."""

    file: Path
    variables: Mapping[str, str]
    log: Path


def set_stage(path: Path, seconds: float, scratch: Path, stack: ExitStack, *, planted: bool = False) -> Stage:
    """Start the broker and the generator that an application needs; the stack takes what must be ended after it.

    With ``planted``, a generator that can tell which cases it plants does so in its log.
    """
    file, data, port = path / "application.sql", scratch / "data", _free_port()
    data.mkdir()
    places = {"DATA": str(data), "PORT": str(port)}
    arguments = ["--out", str(data), "--port", str(port), "--seconds", str(int(seconds) + STARTUP)]
    as_written = Application.load(file, places).plan
    topics = topics_of(as_written) if as_written.uses("kafka") else None
    address = None
    if topics is not None:
        address = stack.enter_context(kafka_running(topics))
        places |= topics.variables
        arguments += ["--bootstrap", address, f"--suffix={topics.suffix}"]
    script, log = path / "generator.py", scratch / "generator.log"
    if planted and script.is_file() and PLANTED in script.read_text("utf-8"):
        arguments.append(PLANTED)
    generator = stack.enter_context(_generating(script, arguments, log))
    if generator is not None and "${DATA" in file.read_text("utf-8"):
        _await_file(data, generator)
    if generator is not None and topics is not None and address is not None:
        await_topics(address, topics, generator)
    return Stage(file, places, log)


@contextmanager
def _generating(script: Path, arguments: list[str], log: Path) -> "Iterator[subprocess.Popen[bytes] | None]":
    """Keep the generator of an application running, if it has one; report what it died of."""
    if not script.is_file():
        yield None
        return
    with (
        log.open("wb") as output,
        subprocess.Popen(
            [sys.executable, str(script), *arguments],
            cwd=script.parent,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C is for the application, which stops its generator itself
        ) as process,
    ):
        try:
            yield process
        except HeadraceError as error:
            if process.poll():
                raise _generator_failed(script, log) from error
            raise
        finally:
            process.terminate()
            try:
                process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                process.kill()


def _await_file(data: Path, generator: "subprocess.Popen[bytes]") -> None:
    """Wait for the first file, so that the application finds what it reads."""
    ends = time.monotonic() + FIRST_FILE
    while not any(data.iterdir()):
        if generator.poll() is not None or time.monotonic() > ends:
            raise JobFailed("the generator writes nothing", detail=f"Nothing came into {data}.")
        time.sleep(0.05)


def _generator_failed(script: Path, log: Path) -> JobFailed:
    said = [line for line in log.read_text("utf-8", errors="replace").splitlines() if line.strip()]
    return JobFailed(f"{script} failed", detail=f"It said: {said[-1] if said else 'nothing'}.")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
