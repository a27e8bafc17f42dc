"""The name of an application that comes along goes in; it runs for a while on generated rows.

An application is a folder with ``application.sql`` and, if it wants rows, ``generator.py``. The generator
is started with ``--out DIR --port PORT --seconds N``: it writes files into the folder or listens on the port,
ignores what it does not need, and runs until it is stopped or the seconds have passed. The application finds
the same places as ``${DATA}`` and ``${PORT}``. The section "Try next" of its README is printed at the end.

An application over Kafka runs on the embedded broker and names each topic by a variable: ``${BIDS:-bids}`` is the
topic "bids". Its generator is started with ``--bootstrap HOST:PORT --suffix=TEXT`` too: it puts the suffix behind the
names of the topics that the application reads, and makes those of streams last, when those of tables are written.
"""

import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from headrace.application import Application
from headrace.cli.demo_kafka import await_topics, kafka_running, topics_of
from headrace.cli.foreground import run_foreground
from headrace.cli.quiet import end_spark
from headrace.cli.signals import terminable
from headrace.cli.variables import variables_of
from headrace.errors import HeadraceError, JobFailed
from headrace.language.mistakes import did_you_mean

__all__ = ["apps_folder", "demos", "list_demos", "run_demo", "summary", "try_next"]

STARTUP = 300
"""Seconds that a generator goes on beyond the run, at most: Spark has to start first."""
FIRST_FILE = 15


def apps_folder() -> Path:
    """Return the folder of the applications: beside ``src`` in a checkout, in the package when installed."""
    package = Path(__file__).resolve().parents[1]
    checkout = package.parents[1] / "apps"
    return checkout if checkout.is_dir() else package / "apps"


def demos(folder: Path) -> dict[str, Path]:
    """Return the applications in a folder by name."""
    if not folder.is_dir():
        return {}
    return {each.parent.name: each.parent for each in sorted(folder.glob("*/application.sql"))}


def list_demos(folder: Path | None = None) -> None:
    """Print the applications that can be run."""
    found = demos(folder or apps_folder())
    if not found:
        raise HeadraceError("there are no demos", detail=f"None in {folder or apps_folder()}.")
    width = max(map(len, found))
    for name, path in found.items():
        sys.stdout.write(f"{name:<{width}}  {summary(path)}".rstrip() + "\n")


def summary(path: Path) -> str:
    """Return the first sentence of an application's README."""
    readme = path / "README.md"
    lines = readme.read_text("utf-8").splitlines() if readme.is_file() else []
    paragraph = next((line.strip() for line in lines if line.strip() and not line.startswith("#")), "")
    return re.split(r"(?<=[.!?])\s", paragraph)[0]


def try_next(path: Path) -> str:
    """Return what a user can do after the demo: a section of the README, or a few commands."""
    readme = path / "README.md"
    if readme.is_file():
        found = re.search(
            r"^#+ *try next *$\n(.*?)(?=^#|\Z)",
            readme.read_text("utf-8"),
            re.MULTILINE | re.DOTALL | re.IGNORECASE,
        )
        if found and found[1].strip():
            return found[1].strip()
    file = path / "application.sql"
    return f"headrace explain {file}\nheadrace test {path}\nheadrace demo"


def run_demo(name: str, seconds: float, folder: Path | None = None) -> None:
    """Run an application with its generator for a while, then say what to try next."""
    found = demos(folder or apps_folder())
    path = found.get(name.replace("-", "_")) or found.get(name)
    if path is None:
        hint = did_you_mean(name, found, f"There are: {', '.join(found) or 'none'}.")
        raise HeadraceError(f'there is no demo "{name}"', hint=hint)
    with terminable(), ExitStack() as stack:
        _run(path, seconds, stack)
    sys.stdout.write(f"\nTry next\n\n{try_next(path)}\n")


def _run(path: Path, seconds: float, stack: ExitStack) -> None:
    """Run an application; the stack takes what must be ended and deleted after it."""
    scratch = Path(
        stack.enter_context(tempfile.TemporaryDirectory(prefix="headrace-demo-", ignore_cleanup_errors=True))
    )
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
    application = Application.load(
        file, variables_of([f"{n}={v}" for n, v in places.items()]), state=f"{scratch}/state"
    )
    application.name = path.name
    generator = stack.enter_context(_generating(path, arguments, scratch / "generator.log"))
    if generator is not None and "${DATA" in file.read_text("utf-8"):
        _await_file(data, generator)
    if generator is not None and topics is not None and address is not None:
        await_topics(address, topics, generator)

    def abandon() -> None:
        end_spark()  # first: while it lives it makes its topics and folders anew
        stack.close()

    run_foreground(application, "table", changes=False, fresh=False, seconds=seconds, resumes=False, abandon=abandon)


@contextmanager
def _generating(path: Path, arguments: list[str], log: Path) -> "Iterator[subprocess.Popen[bytes] | None]":
    """Keep the generator of an application running, if it has one; report what it died of."""
    script = path / "generator.py"
    if not script.is_file():
        yield None
        return
    with (
        log.open("wb") as output,
        subprocess.Popen(
            [sys.executable, str(script), *arguments],
            cwd=path,
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
