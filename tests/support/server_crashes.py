"""A server, its jobs and their broker are killed under load, again and again; every view holds what was sent, once.

    python tests/support/server_crashes.py [--kills 5] [--rate 100] [--seed 1]

kills the server, a job's driver and the broker in turn, each so many times, while rows are sent all the time, and is
the long form of tests/server/test_crashes.py. After each kill it waits until every job runs and every view has gone on.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil
from confluent_kafka import Message, Producer

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from headrace.broker.server import Broker
from support import topics
from support.homes import own_home
from support.waiting import until

CUSTOMERS = 10
PER_WINDOW = 50
PATIENCE = 600
STREAM = """
SET shuffle_partitions = 1;
CREATE STREAM s (id BIGINT, customer STRING, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 3 HOURS)
  WITH (connector = 'kafka', topic = '{source}', bootstrap_servers = '{servers}', max_rows_per_batch = 2000);
"""
TEXTS = {
    "sums": STREAM
    + "CREATE MATERIALIZED VIEW sums AS SELECT customer, count(*) AS n, sum(id) AS total FROM s GROUP BY customer;",
    "windows": STREAM
    + f"""
CREATE MATERIALIZED VIEW windows AS
  SELECT window_start, count(*) AS n FROM TUMBLE(s, at, INTERVAL {PER_WINDOW} SECONDS) GROUP BY window_start;
CREATE SINK copies WITH (connector = 'kafka', topic = '{{copies}}', bootstrap_servers = '{{servers}}') AS
  SELECT id, customer FROM s;
""",
    "copied": """
SET shuffle_partitions = 1;
CREATE STREAM c (id BIGINT, customer STRING)
  WITH (connector = 'kafka', topic = '{copies}', bootstrap_servers = '{servers}', max_rows_per_batch = 2000);
CREATE MATERIALIZED VIEW copied AS SELECT customer, count(*) AS n, sum(id) AS total FROM c GROUP BY customer;
""",
}
"""Jobs by name, each with a view of its name; the last reads what the one before it writes."""


class Server:
    """The real process of a server on a folder; started again, it may have another address."""

    def __init__(self, folder: Path, cores: int) -> None:
        self.folder = folder
        everything = own_home(folder).items()
        # NiceGUI behaves differently when it believes to be tested by pytest
        self.environment = {key: value for key, value in everything if not key.startswith(("PYTEST", "NICEGUI"))}
        self.command = ["-m", "headrace.cli.main", "serve", "--port", "0", "--data", "data", "--cores", str(cores)]
        self.command += ["--nice", "0"]  # other tests may take the cores

    def start(self) -> None:
        with (self.folder / "server.log").open("a") as log:
            self.process = subprocess.Popen(
                [sys.executable, *self.command],
                cwd=self.folder,
                env=self.environment,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("Headrace"):
                break
        else:
            raise AssertionError((self.folder / "server.log").read_text()[-3000:])
        token = (self.folder / "data" / "local-token").read_text().strip()
        self.http = httpx.Client(
            base_url=f"{line.split()[1]}/api/v1", headers={"Authorization": f"Bearer {token}"}, timeout=240
        )

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()
        self.http.close()

    def end(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=240)
        self.http.close()
        assert self.process.returncode == 0


@dataclass
class Load:
    """Sends rows at a steady rate, each with the next number, through whatever becomes of the broker."""

    servers: str
    topic: str
    rate: float
    sent: int = 0
    failed: list[str] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        settings = {"bootstrap.servers": self.servers, "enable.idempotence": True, "linger.ms": 5, "log_level": 0}
        self.producer = Producer({**settings, "message.timeout.ms": 0})  # for as long as it takes
        self.thread = threading.Thread(target=self._run, name="load", daemon=True)

    def _run(self) -> None:
        while not self.ended.wait(0.1):
            for _ in range(max(1, int(self.rate / 10))):
                self.send(self.sent, self.sent, self.sent % 2)
                self.sent += 1
            self.producer.poll(0)

    def send(self, number: int, second: int, partition: int) -> None:
        customer = "the end" if number < 0 else f"c{number % CUSTOMERS}"
        row = {"id": number, "customer": customer, "at": _instant(second)}
        self.producer.produce(self.topic, json.dumps(row), partition=partition, on_delivery=self._delivered)

    def _delivered(self, error: object, _message: Message) -> None:
        if error is not None:
            self.failed.append(str(error))

    def end(self) -> None:
        """Stop, and be sure that every row is in the topic, behind them one far ahead that closes all windows."""
        self.ended.set()
        self.thread.join()
        while self.sent % PER_WINDOW:  # the last window is to be full
            self.send(self.sent, self.sent, self.sent % 2)
            self.sent += 1
        for partition in (0, 1):
            self.send(-1, self.sent + 10 * 3600, partition)
        assert self.producer.flush(PATIENCE) == 0
        assert not self.failed, self.failed[:3]


@dataclass
class Town:
    """A broker, a server, jobs and a load, with the means to kill each of them."""

    folder: Path
    names: Sequence[str]
    rate: float
    random_: random.Random
    tell: Callable[[str], None] = lambda _: None
    kills: "Counter[str]" = field(default_factory=Counter)

    def start(self) -> None:
        """Start everything, and wait until every view has rows."""
        self.broker = Broker(self.folder / "broker")
        self.address = self.broker.start()
        self.source = topics.new_topic(self.address, "in", 2)
        self.copies = topics.new_topic(self.address, "copies", 2)
        self.load = Load(self.address, self.source, self.rate)
        self.server = Server(self.folder, len(self.names))
        self.server.start()
        self.load.thread.start()
        for name in self.names:
            text = TEXTS[name].format(source=self.source, copies=self.copies, servers=self.address)
            body = {"name": name, "text": text, "memory": 600}
            answer = self.server.http.post("/jobs", json=body, headers={"Idempotency-Key": f"submit-{name}"})
            assert answer.status_code == 202, answer.text
        self.go_on()

    def job(self, name: str) -> dict[str, object]:
        """Return a job as REST tells it."""
        found: dict[str, object] = self.server.http.get(f"/jobs/{name}").json()
        return found

    def rows(self, name: str) -> list[dict[str, object]]:
        """Return the rows of the view of a job; none if it is not there yet."""
        query = {"sql": f"SELECT * FROM {name}", "limit": 10_000}
        found: list[dict[str, object]] = self.server.http.post("/views/query", json=query).json().get("rows", [])
        return found

    def batches(self) -> dict[str, int]:
        """Return the last batch of each view, -1 if there is none."""
        found = {name: self.server.http.get(f"/views/{name}").json().get("batch") for name in self.names}
        return {name: -1 if batch is None else int(batch) for name, batch in found.items()}

    def go_on(self) -> None:
        """Wait until every job runs and every view has taken in another two batches: one may have been under way."""
        before = self.batches()

        def on() -> bool:
            now = self.batches()
            return all(now[name] >= before[name] + 2 and self.job(name)["state"] == "running" for name in self.names)

        try:
            until(on, PATIENCE)
        except AssertionError as error:
            raise AssertionError(f"{before} -> {self.batches()}\n{self.said()}") from error

    def said(self) -> str:
        """Return what the jobs and their logs tell."""
        told = [f"{name}: {self.job(name)}" for name in self.names]
        for name in self.names:
            told += [f"--- {name}", *self.server.http.get(f"/jobs/{name}/logs").json()["lines"][-15:]]
        return "\n".join(map(str, told))

    def kill(self, what: str) -> None:
        """Kill the server, the broker or a driver with -9 at a random moment, and wait until all go on."""
        self._let_pass(2)
        began, sent = time.monotonic(), self.load.sent
        if what == "server":
            self.server.kill()
            self._let_pass(2)  # jobs are alone for a while
            self.server.start()
        elif what == "broker":
            assert self.broker.kill()
            self._let_pass(5)
            assert self.broker.start() == self.address
        else:
            what = f"driver of {self._kill_driver()}"
        self.go_on()
        self.kills[what.split()[0]] += 1
        count = self.load.sent - sent
        self.tell(
            f"{what:<18} killed: all went on after {time.monotonic() - began:5.1f} s, {count} rows sent meanwhile"
        )

    def _let_pass(self, most: float) -> None:
        """Wait until the load has sent more rows, as many as it does in up to so many seconds."""
        goal = self.load.sent + self.random_.uniform(0, most) * self.rate
        until(lambda: self.load.sent >= goal)

    def _kill_driver(self) -> str:
        name = self.names[self.kills["driver"] % len(self.names)]
        folder = self.folder / "data" / "jobs" / str(self.job(name)["id"])
        pid = json.loads((folder / "driver.json").read_text())["pid"]
        if self.kills["driver"] % 2:
            os.killpg(pid, signal.SIGKILL)  # its Java with it
        else:
            os.kill(pid, signal.SIGKILL)
        return name

    def finish(self) -> None:
        """Stop sending, and raise unless every job runs and every view becomes what was sent."""
        self.load.end()
        sent = self.load.sent
        wanted = {name: expected(name, sent) for name in self.names}

        def right() -> bool:
            return all(self.shown(name) == wanted[name] and self.job(name)["state"] == "running" for name in self.names)

        try:
            until(right, PATIENCE)
        except AssertionError as error:
            wrong = [f"{name}: {self.shown(name)} is not {wanted[name]}" for name in self.names]
            raise AssertionError("\n".join([*wrong, self.said()])[:20_000]) from error

    def shown(self, name: str) -> object:
        """Return what a view holds, to be compared."""
        rows = self.rows(name)
        if name == "windows":
            return sorted((row["window_start"], row["n"]) for row in rows)
        return {row["customer"]: (row["n"], int(str(row["total"]))) for row in rows if row["customer"] != "the end"}

    def end(self) -> None:
        """Stop jobs, server and broker; leave no process behind."""
        for name in self.names:
            self.server.http.post(f"/jobs/{name}/stop", json={})
        try:
            until(lambda: all(self.job(name)["state"] in {"stopped", "failed"} for name in self.names), PATIENCE)
            self.server.end()
        finally:
            self.leave_nothing()

    def leave_nothing(self) -> None:
        """End whatever is still there, at once."""
        self.load.ended.set()
        if self.server.process.poll() is None:
            self.server.process.kill()
        self.server.process.communicate()
        for file in (self.folder / "data" / "jobs").glob("*/driver.json"):
            pid = json.loads(file.read_text())["pid"]
            with suppress(psutil.Error, ProcessLookupError):
                if str(file.parent) in psutil.Process(pid).cmdline():
                    os.killpg(pid, signal.SIGKILL)
        self.broker.kill()


def expected(name: str, sent: int) -> object:
    """Return what a view must hold once rows 0 to ``sent`` are in it."""
    if name == "windows":
        return [(_instant(second), PER_WINDOW) for second in range(0, sent, PER_WINDOW)]
    of = {f"c{each}": range(each, sent, CUSTOMERS) for each in range(CUSTOMERS)}
    return {customer: (len(numbers), sum(numbers)) for customer, numbers in of.items()}


def _instant(second: int) -> str:
    return f"2024-01-{1 + second // 86400:02d}T{second // 3600 % 24:02d}:{second // 60 % 60:02d}:{second % 60:02d}Z"


def main() -> None:
    """Run the long form and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=5, help="of the server, of a driver and of the broker, each")
    parser.add_argument("--rate", type=float, default=100, help="rows per second")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()

    def tell(line: str) -> None:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()

    with tempfile.TemporaryDirectory() as temporary:
        town = Town(Path(temporary), tuple(TEXTS), options.rate, random.Random(options.seed), tell)
        try:
            town.start()
            tell(f"{len(town.names)} jobs run")
            for _ in range(options.kills):
                for what in ("server", "driver", "broker"):
                    town.kill(what)
            town.finish()
            tell(f"{town.load.sent} rows sent; {', '.join(town.names)} are right and all jobs run, seed {options.seed}")
            for name in town.names:
                job = town.job(name)
                tell(f"{name}: {job['state']}, attempt {job['attempt']}, {job['restarts']} restarts")
        finally:
            town.end()


if __name__ == "__main__":
    main()
