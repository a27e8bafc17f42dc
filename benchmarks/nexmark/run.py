"""Nexmark queries over generated events go in, events per second come out.

    python benchmarks/nexmark/run.py [q0 q5 …] [--events 1000000] [--rounds 2] [--data D] [--flink F]

Each query runs to its end in one warm session, its rows computed and thrown away (those of q10 go to files); the best
round counts, planning and the start of the query included. --data keeps the events for the next time. --flink
names a folder with flink_nexmark.py and its own environment in v/, which then runs the same queries over the same
files; Flink's figure is of the job alone.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from headrace import Application, HeadraceError
from headrace.language import fill

HERE = Path(__file__).resolve().parent
QUERIES = [f"q{number}" for number in range(23)]


def events_in(folder: Path, events: int) -> Path:
    """Return the folder with so many events in it, made if they are not there."""
    meta = folder / "meta.json"
    if not meta.is_file() or json.loads(meta.read_text())["events"] != events:
        command = [sys.executable, HERE / "generate.py", "--out", folder, "--events", events, "--format", "json"]
        subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)
    return folder


def without_printing(text: str) -> str:
    """Return an application that throws away the rows of its bare SELECT, or only has its sink if there is one."""
    definitions, select, query = text.rpartition("\nSELECT ")
    if "CREATE SINK" in definitions:
        return definitions
    return f"{definitions}\nCREATE SINK answer WITH (connector = 'noop') AS{select}{query}"


def headrace(query: str, data: Path) -> float:
    """Return the seconds that Headrace takes for a query."""
    text = without_printing((HERE / f"{query}.sql").read_text("utf-8"))
    with tempfile.TemporaryDirectory() as out:
        started = time.perf_counter()
        application = Application(directory=HERE, name=query)
        application.add(fill(text, query, {"DATA": str(data), "OUT": out, "FILES": "1000"})).run_once()
        return time.perf_counter() - started


def flink(query: str, data: Path, home: Path, rounds: int) -> int | None:
    """Return the events per second that Flink reports, or None where it has no such query."""
    if not (home / "queries" / f"{query}.sql").is_file():
        return None
    command = [home / "v/bin/python", home / "flink_nexmark.py", "--data", data, "--query", query, "--repeat", rounds]
    done = subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True)
    return max(int(json.loads(line)["events_per_s"]) for line in done.stdout.splitlines() if line.startswith("{"))


def measure(query: str, data: Path, options: argparse.Namespace) -> dict[str, object]:
    """Return the figures of one query."""
    figures: dict[str, object] = {"query": query, "events": options.events}
    try:
        seconds = min(headrace(query, data) for _ in range(options.rounds))
    except HeadraceError as error:
        return figures | {"refused": error.message}
    figures |= {"seconds": round(seconds, 2), "events_per_s": round(options.events / seconds)}
    if options.flink is not None:
        theirs = flink(query, data, options.flink, options.rounds)
        ratio = None if theirs is None else round(options.events / seconds / theirs, 2)
        figures |= {"flink_events_per_s": theirs, "ratio": ratio}
    return figures


def main() -> None:
    """Run the queries and print one line of JSON for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("queries", nargs="*", metavar="QUERY", help="q0 to q22; all without it")
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--data", type=Path, help="folder of the events; a temporary one without it")
    parser.add_argument("--flink", type=Path, help="folder of a Flink to run beside")
    options = parser.parse_args()
    if unknown := set(options.queries) - set(QUERIES):
        parser.error(f"not a query: {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory() as temporary:
        data = events_in((options.data or Path(temporary)).resolve(), options.events)
        for query in options.queries or QUERIES:
            print(json.dumps(measure(query, data, options)), flush=True)


if __name__ == "__main__":
    main()
