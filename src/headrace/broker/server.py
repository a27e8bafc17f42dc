"""A folder goes in; a running Kafka whose data is in that folder, and its address, come out."""

import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from headrace.broker import state, storage
from headrace.broker.logs import said_since
from headrace.broker.ports import choose
from headrace.broker.process import POLL, detach, ended, pid_of, send
from headrace.broker.settings import HOST, LOGGING, command, mark, memory, properties
from headrace.broker.state import State
from headrace.errors import HeadraceError
from headrace.jars.fetch import jars
from headrace.jars.home import headrace_home, locked
from headrace.jars.java import find_java

__all__ = ["Broker", "embedded_broker"]

_START = timedelta(seconds=120)
_STOP = timedelta(seconds=60)


def embedded_broker() -> "Broker":
    """Return the broker of this user, which the command line starts and stops."""
    return Broker(headrace_home() / "broker")


@dataclass(frozen=True, slots=True)
class Broker:
    """One Kafka of one node, whose data, settings and log are in a folder.

    It outlives the process that started it. Several processes may start it, stop it and ask for it at once.
    """

    folder: Path

    def __post_init__(self) -> None:
        object.__setattr__(self, "folder", self.folder.expanduser().resolve())

    @property
    def log_path(self) -> Path:
        """The file with Kafka's warnings and errors; older ones are in files beside it."""
        return self.folder / "broker.log"

    @property
    def data_path(self) -> Path:
        """The folder with the messages."""
        return self.folder / "data"

    @property
    def pid(self) -> int | None:
        """The number of the process, or None if the broker does not run."""
        return pid_of(self.folder / "pid", mark(self.folder))

    def running_address(self) -> str | None:
        """Return where clients find the broker, or None if it does not run or has not answered yet."""
        last, pid = state.read(self.folder), self.pid
        return last.address if last is not None and last.ready == pid else None

    def start(self, port: int | None = None) -> str:
        """Start the broker unless it runs, wait until it answers, and return its address.

        A port is kept for later starts. Without one, that of the last start is used again if it is free.
        """
        with self._alone():
            last, pid = state.read(self.folder), self.pid
            if last is None or pid is None:
                last = self._launch(port, last)
            elif port not in {None, last.port}:
                raise HeadraceError(
                    f"the broker runs already, on port {last.port}",
                    hint="Stop it first, then start it on the other port.",
                )
            if pid is None or last.ready != pid:  # also if who started it did not stay to see it ready
                self._await_ready(last)
            return last.address

    def stop(self) -> bool:
        """Let the broker write everything out and end; return whether it ran."""
        return self._end(signal.SIGTERM)

    def kill(self) -> bool:
        """End the broker at once, as a crash would; return whether it ran."""
        return self._end(signal.SIGKILL)

    def _end(self, number: signal.Signals) -> bool:
        if not self.folder.is_dir():
            return False
        with self._alone():
            pid = self.pid
            if pid is None:
                return False
            send(pid, number)
            if not ended(pid, mark(self.folder), _STOP):
                send(pid, signal.SIGKILL)  # it had its time; what was acknowledged is kept all the same
                if not ended(pid, mark(self.folder), _STOP):
                    raise HeadraceError(f"the broker does not end: process {pid}")
            (self.folder / "pid").unlink(missing_ok=True)
            return True

    @contextmanager
    def _alone(self) -> Iterator[None]:
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise HeadraceError(f'the folder "{self.folder}" cannot be made', detail=f"{error.strerror}.") from error
        with locked(self.folder / "lock"):
            yield

    def _launch(self, port: int | None, last: State | None) -> State:
        """Start the process, which is not ready yet."""
        run = command(find_java(), jars("broker"), self.folder, memory())
        ports = choose(port, (last.port, last.controller_port) if last else None)
        (self.folder / "log4j2.xml").write_text(LOGGING, "utf-8")
        storage.make(self.folder, run[:-2], *ports)
        (self.folder / "server.properties").write_text(properties(*ports), "utf-8")
        written = self.log_path.stat().st_size if self.log_path.exists() else 0
        launched = State(*ports, log_from=written)
        state.write(self.folder, launched)
        detach(run, self.folder, "console.log", "pid")
        return launched

    def _await_ready(self, launched: State) -> None:
        """Wait until Kafka answers an administrator, and note so."""
        until = time.monotonic() + _START.total_seconds()
        while True:
            pid = self.pid
            if pid is None:
                raise HeadraceError("the broker ended while it started", detail=self._said(launched))
            if _listens(launched.port) and self._answers(launched):
                break
            if time.monotonic() > until:
                raise HeadraceError(
                    f"the broker does not answer after {_START.total_seconds():.0f} seconds",
                    detail=self._said(launched),
                    hint="It may still be starting. Stop it with headrace broker stop if it never answers.",
                )
            time.sleep(POLL.total_seconds())
        state.write(self.folder, replace(launched, ready=pid))

    def _answers(self, launched: State) -> bool:
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        client = AdminClient({"bootstrap.servers": launched.address, "log_level": 0})
        try:
            found = client.list_topics(timeout=5)
        except KafkaException:
            return False  # not yet
        return len(found.brokers) == 1 and found.cluster_id == storage.cluster_id(self.folder)

    def _said(self, launched: State) -> str:
        """Return the last that Java and Kafka said since a start."""
        lines = said_since(self.folder / "console.log", 0, 10) + said_since(self.log_path, launched.log_from, 10)
        return "\n".join(lines) or "It said nothing."


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((HOST, port)) == 0
