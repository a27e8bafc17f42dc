"""A folder goes in; a server with a console in a process of its own, and a client for it, come out.

Nothing of it outlives the demo: at the end its jobs are stopped, and their processes ended if they did not.
"""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headrace.cli.client import Client
from headrace.cli.demo_kafka import SERVERS
from headrace.errors import HeadraceError, JobFailed

__all__ = ["DemoServer", "Login", "check_port", "server_starting"]

STOP = 10
"""Seconds that a job and the server each have to end in good order; nothing of them is kept."""
POLL = 0.3
FINAL = {"stopped", "finished", "failed"}


@dataclass(frozen=True, slots=True)
class Login:
    """Where the console is, and who can log in there."""

    url: str
    name: str
    password: str


@dataclass(slots=True)
class DemoServer:
    """A server that was started; ``login`` waits until it can be reached."""

    process: "subprocess.Popen[str]"
    data: Path
    log: Path
    client: Client | None = None
    submitted: list[str] = field(default_factory=list)

    def login(self) -> Login:
        """Wait until the server can be reached, and return what it says."""
        import httpx

        said: dict[str, str] = {}
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if words := line.split():
                said[words[0]] = words[-1]
            if "password" in said:
                break
        if "password" not in said:
            self.process.wait()
            raise _why(self.log)
        token = (self.data / "local-token").read_text("utf-8").strip()
        http = httpx.Client(base_url=said["Headrace"], headers={"Authorization": f"Bearer {token}"}, timeout=30)
        self.client = Client(said["Headrace"], http)
        return Login(said["Headrace"], said["log"], said["password"])

    def submit(self, wish: Mapping[str, Any]) -> None:
        """Submit a job."""
        assert self.client is not None
        self.submitted.append(wish["name"])
        self.client.change("POST", "/jobs", wish)

    def state(self, job: str) -> str:
        """Return the state of a job; raise what it failed of."""
        assert self.client is not None
        found = self.client.get(f"/jobs/{job}")
        if found["state"] == "failed":
            error = found["error"] or {}
            raise JobFailed(
                f"job {job} failed: {error.get('message') or found['reason']}",
                detail=error.get("detail"),
                hint=error.get("hint"),
            )
        return str(found["state"])

    def end(self) -> None:
        """Stop the jobs, then the server; end what is left of either."""
        if self.client is not None and self.process.poll() is None:
            with suppress(HeadraceError, OSError):
                self._stop_jobs(self.client)
            self.client.http.close()
        self.process.terminate()
        try:
            self.process.wait(STOP)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()
        self._end_drivers()

    def _stop_jobs(self, client: Client) -> None:
        for job in self.submitted:
            client.change("POST", f"/jobs/{job}/stop", {})
        until = time.monotonic() + STOP
        for job in self.submitted:
            while client.get(f"/jobs/{job}")["state"] not in FINAL and time.monotonic() < until:
                time.sleep(POLL)

    def _end_drivers(self) -> None:
        """End drivers that a stop did not end; with the server gone, nobody starts them anew."""
        from headrace.jobs.folder import JobFolder
        from headrace.jobs.processes import end_remains, kill

        for folder in (self.data / "jobs").glob("*"):
            driver = JobFolder(folder).driver() if folder.is_dir() else None
            if driver is not None:
                kill(driver)
                with suppress(TimeoutError):
                    end_remains(folder)


def check_port(port: int) -> None:
    """Raise if the console cannot be there, before anything is started for it."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise HeadraceError(
                f"127.0.0.1:{port} cannot be listened on",
                detail=f"{error.strerror or error}.",
                hint="Choose another with --port; 0 takes a free one.",
            ) from error


@contextmanager
def server_starting(scratch: Path, port: int) -> Iterator[DemoServer]:
    """Start a server that keeps its data in a folder; end it with all its jobs."""
    data, log = scratch / "server", scratch / "server.log"
    command = [sys.executable, "-m", "headrace.cli.main", "serve", "--port", str(port), "--data", str(data)]
    environment = {name: value for name, value in os.environ.items() if name != SERVERS}  # jobs use the embedded broker
    with log.open("wb") as errors:
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,  # Ctrl-C is for the demo, which ends its server itself
        )
    server = DemoServer(process, data, log)
    try:
        yield server
    finally:
        server.end()


def _why(log: Path) -> HeadraceError:
    """Return the error that a server wrote before it ended."""
    said = log.read_text("utf-8", errors="replace")
    parts: dict[str, str] = {}
    for line in said.splitlines():
        name, found, text = line.partition(": ")
        if found and name in {"error", "detail", "hint"}:
            parts[name] = text
    if "error" in parts:
        return HeadraceError(parts["error"], detail=parts.get("detail"), hint=parts.get("hint"))
    return JobFailed("the server ended while it started", detail=said.strip()[-500:] or "It said nothing.")
