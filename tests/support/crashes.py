"""A job from Kafka to Kafka is killed again and again; out comes what its topics hold at the end.

    python tests/support/crashes.py [--kills 100] [--broker-kills 20] [--rows 40000] [--seed 1]

is the long form of tests/kafka/test_crashes.py.
"""

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from headrace.broker.server import Broker
from support import topics

PLACES = ("kafka-rows-sent", "kafka-before-commit", "kafka-committed")
PER_WINDOW = 50
APPLICATION = """
SET shuffle_partitions = 2;
SET spark.sql.codegen.wholeStage = false;
SET spark.sql.codegen.factoryMode = 'NO_CODEGEN';
CREATE STREAM s (id BIGINT, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 1 SECOND)
  WITH (connector = 'kafka', topic = '{source}', bootstrap_servers = '{servers}', max_rows_per_batch = {per_batch});
CREATE SINK copy WITH (connector = 'kafka', topic = '{copy}', bootstrap_servers = '{servers}') AS SELECT id FROM s;
CREATE SINK counts WITH (connector = 'kafka', topic = '{counts}', bootstrap_servers = '{servers}') AS
  SELECT window_start, count(*) AS n FROM TUMBLE(s, at, INTERVAL {per_window} SECONDS) GROUP BY window_start;
"""


@dataclass
class Job:
    """An application in a folder, its topics, and the process that runs it."""

    folder: Path
    broker: Broker
    rows: int
    per_batch: int
    random_: random.Random
    servers: str = ""
    source: str = ""
    copy: str = ""
    counts: str = ""
    starts: int = 0
    kills: int = 0
    process: subprocess.Popen | None = None

    def prepare(self) -> None:
        """Fill the source topic: row i has second i as its time, so a window of 50 seconds has 50 rows."""
        servers = self.servers = self.broker.start()
        self.source = topics.new_topic(servers, "in", 2)
        self.copy = topics.new_topic(servers, "copy", 2)
        self.counts = topics.new_topic(servers, "counts", 1)
        last = self.rows + 10 * PER_WINDOW  # a row far ahead in each partition closes every window that is asked for
        for partition in (0, 1):
            ids = range(partition, self.rows, 2)
            records = [{"id": i, "at": _instant(i)} for i in ids] + [{"id": -1 - partition, "at": _instant(last)}]
            topics.send(servers, self.source, records, partition=partition)
        text = APPLICATION.format(
            source=self.source,
            copy=self.copy,
            counts=self.counts,
            servers=servers,
            per_batch=self.per_batch,
            per_window=PER_WINDOW,
        )
        (self.folder / "app.sql").write_text(text)

    def start(self, fault: str | None = None) -> None:
        """Start the job; with a fault, it ends by itself at that place."""
        environment = {**os.environ, **({"HEADRACE_FAULT": fault} if fault is not None else {})}
        command = [str(Path(sys.executable).parent / "headrace"), "run", "app.sql"]
        self.starts += 1
        with (self.folder / f"run-{self.starts:03d}.log").open("w") as log:
            self.process = subprocess.Popen(
                command,
                cwd=self.folder,
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,
            )

    def kill(self) -> None:
        """Kill the driver, its JVM with it, as the system does when memory runs out."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(timeout=240)
            self.process = None
        self.kills += 1

    def stop(self) -> None:
        """Stop in good order."""
        if self.process is not None:
            self.process.terminate()
            try:
                self.process.wait(timeout=240)
            except subprocess.TimeoutExpired:
                self.kill()
            self.process = None

    def pause(self, seconds: float) -> None:
        """Let the job go on for so long, or until it ends."""
        if self.process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=seconds)

    @property
    def ended(self) -> bool:
        """Whether the process has ended by itself."""
        return self.process is not None and self.process.poll() is not None

    def copied(self) -> Counter:
        """Return how often each id is in the copy."""
        return Counter(row["id"] for row in topics.rows(self.servers, self.copy))

    def counted(self) -> list[tuple[str, int]]:
        """Return the windows with their counts, as often as they are there."""
        return sorted((row["window_start"], row["n"]) for row in topics.rows(self.servers, self.counts))

    def wait_for_more(self, seconds: float = 600) -> bool:
        """Wait until the job has copied more than it had, or has ended; say whether it runs on."""
        before = self.size()
        deadline = time.monotonic() + seconds
        while self.size() <= before:
            if self.ended:
                return False
            if time.monotonic() > deadline:
                raise AssertionError(f"nothing was copied in time:\n{self.last_log()}")
            self.pause(0.1)
        return True

    def size(self) -> int:
        """Return how far the copy's partitions go; transactions count too."""
        return topics.size(self.servers, self.copy)

    def last_log(self) -> str:
        """Return what the last run said."""
        return (self.folder / f"run-{self.starts:03d}.log").read_text()[-3000:]

    def check(self) -> None:
        """Raise unless every row was copied once and every window has its rows."""
        copied = self.copied()
        wrong = {i: n for i, n in copied.items() if n != 1}
        missing = [i for i in range(self.rows) if i not in copied]
        assert not wrong, f"copied more than once: {dict(list(wrong.items())[:10])}"
        assert not missing, f"{len(missing)} rows were not copied, the first is {missing[0]}"
        expected = [(_instant(i), PER_WINDOW) for i in range(0, self.rows, PER_WINDOW)]
        assert self.counted() == expected

    def is_complete(self) -> bool:
        """Say whether all rows are copied and all windows counted, rightly or not."""
        return len(self.copied()) >= self.rows + 2 and len(self.counted()) >= self.rows // PER_WINDOW

    def finish(self, seconds: float = 900) -> None:
        """Run until all is done, starting anew when the job has ended, then stop in good order."""
        deadline = time.monotonic() + seconds
        while not self.is_complete():
            if self.process is None or self.ended:
                self.start()
            if time.monotonic() > deadline:
                raise AssertionError(f"not done in time:\n{self.last_log()}")
            self.pause(0.5)
        self.stop()


def _instant(second: int) -> str:
    return f"2024-01-{1 + second // 86400:02d}T{second // 3600 % 24:02d}:{second // 60 % 60:02d}:{second % 60:02d}Z"


def kill_driver(job: Job, times: int) -> None:
    """Kill the driver so many times: every third time inside a commit, else at a random moment."""
    while job.kills < times:
        if job.kills % 3 == 2:
            place = PLACES[job.kills // 3 % len(PLACES)]
            job.start(f"{place}:{job.random_.randint(1, 6)}")
            deadline = time.monotonic() + 600
            while not job.ended:
                assert time.monotonic() < deadline, f"{place} was not reached:\n{job.last_log()}"
                if job.is_complete():
                    break
                job.pause(0.1)
        else:
            job.start()
            if job.kills % 7 == 3:
                job.pause(job.random_.uniform(0, 8))  # also before it has read anything
            else:
                job.wait_for_more()
                job.pause(job.random_.uniform(0, 1.5))
        job.kill()


def kill_broker(job: Job, times: int) -> None:
    """Kill the broker under a running job so many times; the job is started anew if it gives up."""
    for _ in range(times):
        if job.process is None or job.ended:
            job.start()
        job.wait_for_more()
        job.pause(job.random_.uniform(0, 1))
        job.broker.kill()
        assert job.broker.start() == job.servers


def main() -> None:
    """Run the long form and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--broker-kills", type=int, default=20)
    parser.add_argument("--rows", type=int, default=40_000)
    parser.add_argument("--per-batch", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        broker = Broker(Path(temporary, "broker"))
        job = Job(Path(temporary), broker, options.rows, options.per_batch, random.Random(options.seed))
        try:
            job.prepare()
            kill_driver(job, options.kills)
            kill_broker(job, options.broker_kills)
            job.finish(3600)
            job.check()
        finally:
            job.kill()
            broker.stop()
    sys.stdout.write(
        f"{options.rows} rows once each and {options.rows // PER_WINDOW} windows right after {options.kills} kills of "
        f"the driver and {options.broker_kills} of the broker, seed {options.seed}\n"
    )


if __name__ == "__main__":
    main()
