"""A folder goes in; a standalone cluster of Spark, a master and workers of one core each on loopback, comes out."""

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pyspark

from support.homes import QUICK_START
from support.waiting import until

SPARK_HOME = Path(pyspark.__file__).parent
EXECUTOR = "CoarseGrainedExecutorBackend"


@dataclass
class Cluster:
    """What the scripts of the pip package start, as on a cluster; each process logs into a file of the folder."""

    folder: Path
    master: str = ""
    processes: list["subprocess.Popen[bytes]"] = field(default_factory=list)

    @property
    def workers(self) -> list["subprocess.Popen[bytes]"]:
        return self.processes[1:]

    def start(self, workers: int = 2) -> None:
        """Start a master, then its workers, and wait until all have found each other."""
        master = self._start("master.Master", "master", "--port", "0")
        self.master = self._said("master", r"Starting Spark master at (spark://\S+)", master)
        for number in range(workers):
            work = str(self.folder / f"work-{number}")
            arguments = ("--port", "0", "--cores", "1", "--memory", "1g", "--work-dir", work, self.master)
            self._start("worker.Worker", f"worker-{number}", *arguments)
        for number, process in enumerate(self.workers):
            self._said(f"worker-{number}", r"Successfully registered with (master)", process)

    def executors(self, worker: int) -> list[psutil.Process]:
        """Return the executors that a worker runs now."""
        with suppress(psutil.NoSuchProcess):
            children = psutil.Process(self.workers[worker].pid).children(recursive=True)
            return [each for each in children if any(EXECUTOR in word for word in _command(each))]
        return []

    def kill_worker(self, worker: int) -> int:
        """Kill a worker and its executors as a machine that fails would; return how many executors there were."""
        executors = self.executors(worker)
        self.workers[worker].kill()
        for each in executors:
            with suppress(psutil.NoSuchProcess):
                each.kill()
        self.workers[worker].wait()
        return len(executors)

    def stop(self) -> None:
        """Leave no process behind."""
        for number, process in reversed(list(enumerate(self.processes))):
            executors = self.executors(number - 1) if number else []
            process.kill()
            process.wait()
            for each in executors:
                with suppress(psutil.NoSuchProcess):
                    each.send_signal(signal.SIGKILL)

    def _start(self, kind: str, name: str, *arguments: str) -> "subprocess.Popen[bytes]":
        environment = {
            **os.environ,
            "SPARK_HOME": str(SPARK_HOME),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "256m",
            "JAVA_TOOL_OPTIONS": QUICK_START,
        }
        program, kind = SPARK_HOME / "bin" / "spark-class", f"org.apache.spark.deploy.{kind}"
        with (self.folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                [program, kind, "--host", "127.0.0.1", "--webui-port", "0", *arguments],
                cwd=self.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self.processes.append(process)
        return process

    def _said(self, name: str, pattern: str, process: "subprocess.Popen[bytes]") -> str:
        """Return what a process told in its log, once it has."""
        log = self.folder / f"{name}.log"
        found: list[str] = []

        def told() -> bool:
            assert process.poll() is None, log.read_text()
            found.extend(re.findall(pattern, log.read_text()))
            return bool(found)

        until(told)
        return found[0]


@contextmanager
def spark_cluster(folder: Path) -> Iterator[Cluster]:
    """Give a running cluster of two workers."""
    folder.mkdir()
    cluster = Cluster(folder)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


def _command(process: psutil.Process) -> list[str]:
    with suppress(psutil.Error):
        return process.cmdline()
    return []
