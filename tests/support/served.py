"""A whole server on a real port, in this process: commands ask it, and it notes which of its routes it answered."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from typer.testing import CliRunner, Result

from headrace.cli.main import app
from headrace.server.access.decisions import SYSTEM
from headrace.server.access.roles import Role
from headrace.server.application import PREFIX
from headrace.server.local import forget_local
from headrace.server.local_token import note_local
from support.rest_server import PASSWORD, RestServer
from support.waiting import until

HERE = ("HEADRACE_SERVER", "HEADRACE_TOKEN", "HEADRACE_PASSWORD", "HEADRACE_NEW_PASSWORD")
"""What the one who runs the tests may have chosen for their own commands."""


class Served(RestServer):
    """A server that commands of the same user find; its jobs are looked after, by drivers without Spark."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.folder = folder
        self.answered: set[tuple[str, str]] = set()
        self.services.control.users.create(SYSTEM, "chief", Role.ADMIN, PASSWORD)
        # uvloop would let a child process tidy up after our threads, and so end the connection of this one to Spark
        config = uvicorn.Config(
            self._noting, interface="asgi3", port=0, log_config=None, loop="asyncio", timeout_graceful_shutdown=1
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run)
        self._thread.start()
        until(lambda: self._server.started)
        [listener] = self._server.servers[0].sockets
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        self._local = note_local(self.services, self.url)

    async def _noting(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer, and note the route unless it is a problem that was answered."""

        async def noted(message: Any) -> None:
            if message["type"] == "http.response.start" and message["status"] < 300:
                self.answered.add((scope["method"], scope["route"].path.removeprefix(PREFIX)))
            await send(message)

        await self.app(scope, receive, noted if scope["type"] == "http" else send)

    def routes(self) -> set[tuple[str, str]]:
        """Return all routes that OpenAPI tells, without the prefix that most have."""
        paths = self.app.openapi()["paths"]
        return {(method.upper(), path.removeprefix(PREFIX)) for path, methods in paths.items() for method in methods}

    def run(self, *arguments: str, **variables: str) -> str:
        """Return what a command prints that ends well."""
        done = self.invoked(*arguments, **variables)
        assert done.exit_code == 0, done.output
        return done.stdout

    def refused(self, *arguments: str, **variables: str) -> str:
        """Return the complaint of a command that ends as one does that a user got wrong."""
        done = self.invoked(*arguments, **variables)
        assert (done.exit_code, done.stdout) == (1, ""), done.output
        assert "Traceback" not in done.stderr
        assert "internal error" not in done.stderr
        return done.stderr

    def invoked(self, *arguments: str, **variables: str) -> Result:
        """Return how a command ends, with what it prints."""
        with chdir(self.folder):
            env: dict[str, str | None] = {**dict.fromkeys(HERE), **variables}
            return CliRunner().invoke(app, list(arguments), env=env)

    @contextmanager
    def running(self, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
        """Give a command that goes on, as a process of its own; it does not outlive the block."""
        env = {name: value for name, value in os.environ.items() if name not in HERE}
        # a shell lets what it runs in the background pass over Ctrl-C, and so would the command
        command = ["env", "--default-signal=INT", sys.executable, "-m", "headrace.cli.main", *arguments]
        process = subprocess.Popen(command, cwd=self.folder, env=env, stdout=subprocess.PIPE, text=True)
        try:
            yield process
        finally:
            process.kill()
            process.communicate()

    def look_for_alerts(self) -> None:
        self.services.alerts.alarms.look(self.services.jobs.samples(SYSTEM))

    def end(self) -> None:
        forget_local(self._local)
        self.services.stopping.set()
        self._server.should_exit = True
        self._thread.join()
        super().end()
