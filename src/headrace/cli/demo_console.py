"""The folder of an application goes in; it runs as a job of a server, and its alerts come out as they are found.

Broker, generator, server and job are of this run alone and end with it, however it ends; a broker that ran stays.
"""

import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import psutil

from headrace.application import Application
from headrace.cli.client import Client, Unreachable
from headrace.cli.demo_report import Tally, alert_line, cases_in, summary_lines
from headrace.cli.demo_server import DemoServer, check_port, server_starting
from headrace.cli.demo_stage import Stage, set_stage
from headrace.cli.failures import complain
from headrace.cli.signals import terminable
from headrace.errors import HeadraceError, JobFailed
from headrace.jars.fetch import is_present, jars
from headrace.views.locations import known

__all__ = ["check_memory", "run_console"]

PORT = 8642
NEEDED = 2500
"""Megabytes for Kafka, the server, and the job with its Java."""
CORES = 2
LOOK_EVERY = 0.5
FIRST_ALERT = timedelta(minutes=10)
"""How long Spark may take from the submission to the first alert."""
STAYS = timedelta(hours=3)
"""How long the generator goes on for a demo that stays."""
ALERTS = "alerts"
"""The view whose rows are printed."""


def run_console(path: Path, seconds: float, *, stay: bool = False, port: int | None = None) -> None:
    """Run an application on a server with a console: for a while after its first alert, or until Ctrl-C."""
    check_memory(psutil.virtual_memory().available // 2**20)
    check_port(PORT if port is None else port)
    _fetch(path / "application.sql")
    with _ended_undisturbed(), ExitStack() as stack:
        scratch = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="headrace-demo-", ignore_cleanup_errors=True))
        )
        try:
            server = stack.enter_context(server_starting(scratch, PORT if port is None else port))
            stage = set_stage(path, STAYS.total_seconds() if stay else seconds, scratch, stack, planted=True)
            _play(path, stage, server, None if stay else seconds)
            _say("stopping ...")
        finally:
            _ignore_signals()
    known()  # forgets where the views were


def check_memory(available: int) -> None:
    """Raise if there is less memory, in megabytes, than broker, server and job need.

    >>> check_memory(600)
    Traceback (most recent call last):
    ...
    headrace.errors.HeadraceError: error: there is too little free memory for the demo
    detail: It needs about 2,500 MB for Kafka, the server and Spark; 600 MB are free.
    hint: End other programs first, or run the application alone with --foreground.
    """
    if available < NEEDED:
        raise HeadraceError(
            "there is too little free memory for the demo",
            detail=f"It needs about {NEEDED:,} MB for Kafka, the server and Spark; {available:,} MB are free.",
            hint="End other programs first, or run the application alone with --foreground.",
        )


@contextmanager
def _ended_undisturbed() -> Iterator[None]:
    """Let SIGTERM end the demo as Ctrl-C does; put back what happens on Ctrl-C once all is cleaned up."""
    before = signal.getsignal(signal.SIGINT)
    try:
        with terminable():
            yield
    finally:
        signal.signal(signal.SIGINT, before)


def _ignore_signals() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def _fetch(file: Path) -> None:
    """Have Kafka and Spark's connector for it before anything starts, so that it is told here what happens."""
    if not Application.load(file, {"DATA": "data", "PORT": "1"}).plan.uses("kafka"):
        return
    if not (is_present("broker") and is_present("kafka")):
        complain("fetching Kafka and Spark's connector for it, once (about 60 MB) ...")
    jars("broker")
    jars("kafka")


def _play(path: Path, stage: Stage, server: DemoServer, seconds: float | None) -> None:
    """Bring the application onto the server, show what it finds, and sum up."""
    name = path.name
    login = server.login()
    client = server.client
    assert client is not None
    text = stage.file.read_text("utf-8")
    client.change("PUT", f"/applications/{name}", {"text": text})
    dashboard = path / "dashboard.yaml"
    if dashboard.is_file():
        client.change("PUT", f"/dashboards/{name}", {"text": dashboard.read_text("utf-8"), "from_file": True})
    page = f"dashboards/{name}" if dashboard.is_file() else f"jobs/{name}"
    _say(f"console   {login.url}/{page}\nlog in    {login.name}\npassword  {login.password}\n")
    directory = str(stage.file.resolve().parent)
    wish = {"name": name, "text": text, "directory": directory, "variables": dict(stage.variables), "cores": _cores()}
    server.submit(wish)
    _say(f"job {name} starts; Spark takes some seconds ...")
    watch = _Watch(server, client, name, alerts=_has_alerts(client, name))
    try:
        watch.until_first()
        _say("" if seconds is not None else "\nIt stays until Ctrl-C.\n")
        watch.go_on(seconds)
    except KeyboardInterrupt:
        if watch.began is None:
            raise
    except Unreachable as error:
        raise JobFailed("the server has ended", detail=error.detail) from error
    watch.look()
    cases = cases_in(stage.log.read_text("utf-8", errors="replace") if stage.log.is_file() else "")
    _say("\n" + "\n".join(summary_lines(watch.tally, cases, watch.lasted())))


@dataclass(slots=True)
class _Watch:
    """Looks at a job every now and then, and prints its new alerts."""

    server: DemoServer
    client: Client
    job: str
    alerts: bool
    tally: Tally = field(default_factory=Tally)
    began: float | None = None
    position: int | None = None

    def until_first(self) -> None:
        """Wait until the job runs and, if it gives alerts, has given one."""
        ends = time.monotonic() + FIRST_ALERT.total_seconds()
        while not (self.server.state(self.job) == "running" and (self.look() or not self.alerts)):
            if time.monotonic() > ends:
                state = self.server.state(self.job)
                raise JobFailed(f"job {self.job} gives no alert", detail=f"It is {state}.")
            time.sleep(LOOK_EVERY)
        self.began = time.monotonic()

    def go_on(self, seconds: float | None) -> None:
        """Print alerts for so long, or for ever."""
        while seconds is None or self.lasted() < seconds:
            self.server.state(self.job)
            self.look()
            time.sleep(LOOK_EVERY)

    def lasted(self) -> float:
        """Return the seconds since the first alert."""
        return 0.0 if self.began is None else time.monotonic() - self.began

    def look(self) -> bool:
        """Print the alerts that are new, note how far the job is, and say whether there was any alert."""
        figures = self.client.get(f"/jobs/{self.job}/figures")["outputs"]
        for output in figures:
            self.tally.rows = {**self.tally.rows, **output["rows_of"]}
        if not self.alerts:
            return False
        view = self.client.get(f"/views/{ALERTS}")
        if view["batch"] is None:
            return False
        for alert in sorted(self._new(), key=lambda each: str(each.get("timestamp"))):
            self.tally.alerts.append(alert)
            _say(alert_line(alert))
        if view["watermark"] is not None:
            self.tally.watermark = datetime.fromisoformat(view["watermark"])
        return bool(self.tally.alerts)

    def _new(self) -> Iterator[dict[str, Any]]:
        while True:
            answer = self.client.get(f"/views/{ALERTS}/changes", after=self.position)
            for batch in answer["batches"]:
                self.position = batch["batch"]
                yield from (each["row"] for each in batch["changes"] if each["change"] == "insert")
            if not answer["batches"]:
                return


def _has_alerts(client: Client, job: str) -> bool:
    return any(view["name"] == ALERTS and view["job"] == job for view in client.pages("/views"))


def _cores() -> int:
    return min(CORES, os.cpu_count() or 1)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
