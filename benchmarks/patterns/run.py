"""Patterns over generated events go in, events per second come out.

    python benchmarks/patterns/run.py [p1 p2 p3] [--events 1000000] [--rounds 8] [--batches 4,10] [--data D] [--peers F]

Each pattern runs to its end in one warm session, its rows computed and thrown away; the best round counts. `seconds` is
from the call to its return, planning and the start of the query included; `job_seconds` is of the batches alone, as
Spark reports it, and events_per_s goes by it. It does so over one file, which one batch takes whole, with nothing to
remember; and as a stream, `in_batches`, over the same events in several files, one to a batch, with state, watermark
and timers. Of these `reading_seconds` are those of the batches with events alone: at the end of its input a run starts
its query once more, to close what is open, which a stream that goes on never does. --data keeps the events for the next
time. --peers names a folder with cep/flink_cep.py and flink/v/, Flink's environment, which then searches for the same
patterns in the same events, with one and with two subtasks, of which the better counts, between two turns of ours, as
many rounds of each. Its figures mean the same: `seconds` with planning and start, `job_seconds` as Flink reports it.
The engines must find as many matches, or the ratios mean nothing. `ratio` is of the jobs alone (of a stream, of the
batches with events), `ratio_in_all` of the seconds.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from pyspark.java_gateway import ensure_callback_server_started

from headrace import Application
from headrace.language import fill

HERE = Path(__file__).resolve().parent
PATTERNS = ["p1", "p2", "p3"]


def events_in(folder: Path, events: int) -> Path:
    """Return the folder with so many events in it, made if they are not there."""
    cards = folder / "cards.jsonl"
    if not cards.is_file() or sum(1 for _ in cards.open("rb")) != events:
        command = [sys.executable, HERE / "generate.py", "--out", folder, "--events", events]
        subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)
    return folder


def parts_in(folder: Path, count: int) -> Path:
    """Return the folder of the same events in so many files, made if they are not there."""
    parts = folder / f"in_{count}"
    if not parts.is_dir():
        lines = (folder / "cards.jsonl").read_bytes().splitlines(keepends=True)
        making = folder / f".in_{count}"
        making.mkdir()
        for number in range(count):
            several = lines[number * len(lines) // count : (number + 1) * len(lines) // count]
            file = making / f"{number:04d}.jsonl"
            file.write_bytes(b"".join(several))
            os.utime(file, (number, number))  # they are taken in this order
        making.rename(parts)
    return parts


def application(pattern: str, data: Path, *, thrown_away: bool, batches: int = 0) -> Application:
    """Return the application of a pattern; its rows may be computed and thrown away, its events come in batches."""
    text = (HERE / f"{pattern}.sql").read_text("utf-8")
    if thrown_away:
        definitions, select, query = text.rpartition("\nSELECT ")
        text = f"{definitions}\nCREATE SINK answer WITH (connector = 'noop') AS{select}{query}"
    delay = json.loads((data / "meta.json").read_text())["out_of_order_ms"]
    cards = parts_in(data, batches) if batches else data / "cards.jsonl"
    if batches:
        text = text.replace("format = 'json'", "format = 'json', max_files_per_batch = 1", 1)
    filled = fill(text, pattern, {"CARDS": str(cards), "DELAY": str(delay)})
    return Application(directory=HERE, name=pattern).add(filled)


class Batches:
    """Adds up how long the batches of one query take; Spark may still report those of the query before.

    Spark calls it straight: PySpark's own listener makes Python objects of all that an event says, which takes a fifth
    of the machine while it is measured.
    """

    class Java:
        """Which interface of Java it is."""

        implements = ("org.apache.spark.sql.streaming.PythonStreamingQueryListener",)

    def __init__(self) -> None:
        self.seconds = self.reading = 0.0
        self.run: object = None
        self.ended = threading.Event()

    def onQueryStarted(self, event: Any) -> None:
        """Spark tells of a query's start."""
        self.run = event.runId().toString()

    def onQueryProgress(self, event: Any) -> None:
        """Spark tells of a batch."""
        progress = event.progress()
        if progress.runId().toString() == self.run:
            took = progress.durationMs().get("triggerExecution") / 1000
            self.seconds += took
            self.reading += took if progress.numInputRows() > 1 else 0  # the one tells of the end

    def onQueryIdle(self, event: object) -> None:
        """Spark tells that there was nothing to do."""

    def onQueryTerminated(self, event: Any) -> None:
        """Spark tells of a query's end."""
        if event.runId().toString() == self.run:
            self.ended.set()


def headrace(pattern: str, data: Path, batches: int = 0) -> tuple[float, float, float]:
    """Return the seconds that Headrace takes for a pattern: in all, for its batches, and for those with events."""
    app = application(pattern, data, thrown_away=True, batches=batches)
    spark, told = app.session(), Batches()
    gateway = spark.sparkContext._gateway
    ensure_callback_server_started(gateway)
    manager = spark._jsparkSession.streams()
    listener = spark._jvm.org.apache.spark.sql.streaming.PythonStreamingQueryListenerWrapper(told)
    manager.addListener(listener)
    started = time.perf_counter()
    app.run_once()
    seconds = time.perf_counter() - started
    if not told.ended.wait(60):
        raise RuntimeError("Spark did not tell of the query's end")
    manager.removeListener(listener)
    return seconds, told.seconds, told.reading


def matches(pattern: str, data: Path, batches: int = 0) -> int:
    """Return how many matches Headrace finds."""
    answers = application(pattern, data, thrown_away=False, batches=batches).run_once()
    return sum(len(answer.rows()) for answer in answers)


def flink(pattern: str, data: Path, peers: Path, rounds: int, subtasks: int) -> list[dict[str, Any]]:
    """Return what Flink reports of its rounds."""
    command = [peers / "flink/v/bin/python", peers / "cep/flink_cep.py", "--data", data, "--pattern", pattern]
    command += ["--repeat", rounds, "--parallelism", subtasks]
    done = subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines() if '"engine"' in line]


def measure(pattern: str, data: Path, options: argparse.Namespace) -> dict[str, object]:
    """Return the figures of one pattern."""
    rounds: list[tuple[float, float, float]] = []
    streamed: dict[int, list[tuple[float, float]]] = {batches: [] for batches in options.batches}
    runs = []

    def ours() -> None:
        for _ in range(options.rounds):
            rounds.append(headrace(pattern, data))
            for batches, times in streamed.items():
                times.append(headrace(pattern, data, batches)[1:])

    ours()
    if options.peers is not None:  # ours before and after theirs: a machine is not equally fast all the time
        runs = [run for n in (1, 2) for run in flink(pattern, data, options.peers, options.rounds, n)]
        ours()
    seconds, job, _ = (min(times) for times in zip(*rounds, strict=True))
    figures: dict[str, object] = {"pattern": pattern, "events": options.events, "matches": matches(pattern, data)}
    figures |= {"seconds": round(seconds, 2), "job_seconds": round(job, 2), "events_per_s": round(options.events / job)}
    in_batches: dict[int, dict[str, object]] = {}
    for batches, times in streamed.items():
        best, reading = (min(each) for each in zip(*times, strict=True))
        in_batches[batches] = {
            "matches": matches(pattern, data, batches),
            "job_seconds": round(best, 2),
            "reading_seconds": round(reading, 2),
            "events_per_s": round(options.events / reading),
        }
    if runs:
        theirs, their_job = (min(run[name] for run in runs) for name in ("seconds", "job_seconds"))
        figures |= {
            "flink_matches": runs[0]["matches"],
            "flink_seconds": theirs,
            "flink_job_seconds": their_job,
            "ratio": round(their_job / job, 2),
            "ratio_in_all": round(theirs / seconds, 2),
        }
        for batches, times in streamed.items():
            in_batches[batches]["ratio"] = round(their_job / min(reading for _, reading in times), 2)
    return {**figures, "in_batches": in_batches}


def _numbers(text: str) -> list[int]:
    return [int(each) for each in text.split(",")]


def main() -> None:
    """Run the patterns and print one line of JSON for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="p1, p2, p3; all without it")
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--batches", type=_numbers, default=[4, 10], help="how many a stream has, such as 4,10")
    parser.add_argument("--data", type=Path, help="folder of the events; a temporary one without it")
    parser.add_argument("--peers", type=Path, help="folder of other engines to run beside")
    options = parser.parse_args()
    if unknown := set(options.patterns) - set(PATTERNS):
        parser.error(f"not a pattern: {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory() as temporary:
        data = events_in((options.data or Path(temporary)).resolve(), options.events)
        for pattern in options.patterns or PATTERNS:
            print(json.dumps(measure(pattern, data, options)), flush=True)


if __name__ == "__main__":
    main()
