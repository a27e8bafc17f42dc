"""Patterns over generated events go in, events per second come out.

    python benchmarks/patterns/run.py [p1 p2 p3] [--events 1000000] [--rounds 3] [--data D] [--peers F]

Each pattern runs to its end in one warm session, its rows computed and thrown away; the best round counts, planning and
the start of the query included. --data keeps the events for the next time. --peers names a folder with cep/flink_cep.py
and flink/v/, Flink's environment, which then searches for the same patterns in the same files; Flink's figure is of
the job alone, the better of one and two subtasks. The engines must find as many matches, or the ratio means nothing.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

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


def application(pattern: str, data: Path, *, thrown_away: bool) -> Application:
    """Return the application of a pattern; its rows may be computed and thrown away."""
    text = (HERE / f"{pattern}.sql").read_text("utf-8")
    if thrown_away:
        definitions, select, query = text.rpartition("\nSELECT ")
        text = f"{definitions}\nCREATE SINK answer WITH (connector = 'noop') AS{select}{query}"
    delay = json.loads((data / "meta.json").read_text())["out_of_order_ms"]
    filled = fill(text, pattern, {"DATA": str(data), "DELAY": str(delay)})
    return Application(directory=HERE, name=pattern).add(filled)


def headrace(pattern: str, data: Path) -> float:
    """Return the seconds that Headrace takes for a pattern."""
    started = time.perf_counter()
    application(pattern, data, thrown_away=True).run_once()
    return time.perf_counter() - started


def matches(pattern: str, data: Path) -> int:
    """Return how many matches Headrace finds."""
    return sum(len(answer.rows()) for answer in application(pattern, data, thrown_away=False).run_once())


def flink(pattern: str, data: Path, peers: Path, rounds: int, subtasks: int) -> dict[str, int]:
    """Return what Flink reports of its best round."""
    command = [peers / "flink/v/bin/python", peers / "cep/flink_cep.py", "--data", data, "--pattern", pattern]
    command += ["--repeat", rounds, "--parallelism", subtasks]
    done = subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True)
    runs = [json.loads(line) for line in done.stdout.splitlines() if '"engine"' in line]
    return max(runs, key=lambda run: int(run["events_per_s"]))


def measure(pattern: str, data: Path, options: argparse.Namespace) -> dict[str, object]:
    """Return the figures of one pattern."""
    seconds = min(headrace(pattern, data) for _ in range(options.rounds))
    ours = round(options.events / seconds)
    figures: dict[str, object] = {"pattern": pattern, "events": options.events, "seconds": round(seconds, 2)}
    figures |= {"matches": matches(pattern, data), "events_per_s": ours}
    if options.peers is not None:
        runs = [flink(pattern, data, options.peers, options.rounds, subtasks) for subtasks in (1, 2)]
        best = max(runs, key=lambda run: int(run["events_per_s"]))
        figures |= {
            "flink_matches": best["matches"],
            "flink_events_per_s": best["events_per_s"],
            "ratio": round(ours / int(best["events_per_s"]), 2),
        }
    return figures


def main() -> None:
    """Run the patterns and print one line of JSON for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="p1, p2, p3; all without it")
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
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
