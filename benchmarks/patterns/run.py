"""Patterns over generated events go in, events per second come out.

    python benchmarks/patterns/run.py [p1 p2 p3] [--events 1000000] [--rounds 8] [--batches 10] [--data D] [--peers F]

Each pattern runs to its end in one warm session, its rows computed and thrown away; the best round counts. `seconds` is
from the call to its return, planning and the start of the query included; `job_seconds` is of the batches alone, as
Spark reports it, and events_per_s goes by it. It does so twice: over one file, which one batch takes whole, with
nothing to remember; and as a stream, `in_batches`, over the same events in several files, one to a batch, with state,
watermark and timers. --data keeps the events for the next time. --peers names a folder with cep/flink_cep.py and
flink/v/, Flink's environment, which then searches for the same patterns in the same events, with one and with two
subtasks, of which the better counts, between two turns of ours, as many rounds of each. Its figures mean the same:
`seconds` with planning and start, `job_seconds` as Flink reports it. The engines must find as many matches, or the
ratios mean nothing. `ratio` is of the jobs alone, `ratio_in_all` of the seconds, `ratio_in_batches` of the jobs where
ours is the stream.
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

from pyspark.sql.streaming import StreamingQueryListener

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


class Batches(StreamingQueryListener):
    """Adds up how long the batches of one query take; Spark may still report those of the query before."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.run: object = None
        self.ended = threading.Event()

    def onQueryStarted(self, event: Any) -> None:
        """Spark tells of a query's start."""
        self.run = event.runId

    def onQueryProgress(self, event: Any) -> None:
        """Spark tells of a batch."""
        if event.progress.runId == self.run:
            self.seconds += event.progress.durationMs["triggerExecution"] / 1000

    def onQueryIdle(self, event: object) -> None:
        """Spark tells that there was nothing to do."""

    def onQueryTerminated(self, event: Any) -> None:
        """Spark tells of a query's end."""
        if event.runId == self.run:
            self.ended.set()


def headrace(pattern: str, data: Path, batches: int = 0) -> tuple[float, float]:
    """Return the seconds that Headrace takes for a pattern, in all and for its batches."""
    app = application(pattern, data, thrown_away=True, batches=batches)
    streams, told = app.session().streams, Batches()
    streams.addListener(told)
    started = time.perf_counter()
    app.run_once()
    seconds = time.perf_counter() - started
    if not told.ended.wait(60):
        raise RuntimeError("Spark did not tell of the query's end")
    streams.removeListener(told)
    return seconds, told.seconds


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
    runs = []

    def ours() -> list[tuple[float, float, float]]:
        several = range(options.rounds)
        return [(*headrace(pattern, data), headrace(pattern, data, options.batches)[1]) for _ in several]

    rounds = ours()
    if options.peers is not None:  # ours before and after theirs: a machine is not equally fast all the time
        runs = [run for n in (1, 2) for run in flink(pattern, data, options.peers, options.rounds, n)]
        rounds += ours()
    seconds, job, streamed = (min(times) for times in zip(*rounds, strict=True))
    found = [matches(pattern, data, batches) for batches in (0, options.batches)]
    figures: dict[str, object] = {"pattern": pattern, "events": options.events, "matches": found[0]}
    figures |= {"seconds": round(seconds, 2), "job_seconds": round(job, 2), "events_per_s": round(options.events / job)}
    figures |= {"in_batches": options.batches, "matches_in_batches": found[1]}
    figures |= {
        "job_seconds_in_batches": round(streamed, 2),
        "events_per_s_in_batches": round(options.events / streamed),
    }
    if runs:
        theirs, their_job = (min(run[name] for run in runs) for name in ("seconds", "job_seconds"))
        figures |= {
            "flink_matches": runs[0]["matches"],
            "flink_seconds": theirs,
            "flink_job_seconds": their_job,
            "ratio": round(their_job / job, 2),
            "ratio_in_all": round(theirs / seconds, 2),
            "ratio_in_batches": round(their_job / streamed, 2),
        }
    return figures


def main() -> None:
    """Run the patterns and print one line of JSON for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="p1, p2, p3; all without it")
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--batches", type=int, default=10, help="of the stream")
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
