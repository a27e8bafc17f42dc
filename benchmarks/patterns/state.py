"""Many keys, each with one open partial match, go in; the size of their state and the time of small batches come out.

    python benchmarks/patterns/state.py [--keys 10000,1000000] [--touched 1000] [--batches 24]

Every key has a small payment, so a large one is awaited. Then come batches that touch a thousand of the keys each,
those of the different numbers of keys in turn, so that they meet the same noise; the median of their times should not
depend on how many keys there are. Prints one line of JSON for each number of keys.
"""

import argparse
import json
import statistics
import tempfile
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

from headrace import Application

START = datetime(2024, 1, 1, tzinfo=UTC)
SQL = """
SET shuffle_partitions = 2;
CREATE STREAM payments (account BIGINT, amount DOUBLE, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 1 SECOND)
  WITH (connector = 'files', path = 'payments', max_files_per_batch = 1);
CREATE SINK found WITH (connector = 'noop') AS
SELECT * FROM payments MATCH_RECOGNIZE (
  PARTITION BY account ORDER BY at
  MEASURES small.amount AS small, large.amount AS large
  PATTERN (small large) WITHIN INTERVAL 30 DAYS
  DEFINE small AS small.amount < 1, large AS large.amount > 500);
"""


def write(folder: Path, number: int, rows: list[tuple[int, float, datetime]]) -> None:
    """Write a file of payments that appears whole."""
    hidden = folder / f".{number}"
    lines = (json.dumps({"account": k, "amount": v, "at": at.isoformat()}) + "\n" for k, v, at in rows)
    hidden.write_text("".join(lines))
    hidden.rename(folder / f"{number:06d}.json")


class Keys:
    """An application whose keys each have an open partial match."""

    def __init__(self, base: Path, keys: int) -> None:
        self.keys = keys
        self.folder = base / "payments"
        self.folder.mkdir(parents=True)
        self.times: list[float] = []
        self.app = Application(directory=base, name=f"keys{keys}").sql(SQL)
        write(self.folder, 0, [(key, 0.5, START) for key in range(keys)])
        self.app.start()
        self.app.process_available()

    def touch(self, number: int, touched: int) -> None:
        """Take a batch of rows, each of another key."""
        at = START + timedelta(minutes=number)
        chosen = range(number * 7919 % self.keys, number * 7919 % self.keys + touched)
        write(self.folder, number, [(key % self.keys, 0.7, at) for key in chosen])
        self.app.process_available()
        self.times.append(max(each.batch_time for each in self.app.progress()) / timedelta(milliseconds=1))

    def figures(self) -> dict[str, object]:
        """Return what came out; the first batch does not count."""
        told = self.app.progress()[0]
        state = Path(self.app.state_folder())
        size = sum(file.stat().st_size for file in state.rglob("*") if file.is_file())
        return {
            "keys": self.keys,
            "median_batch_ms": round(statistics.median(self.times[1:])),
            "least_batch_ms": round(min(self.times[1:])),
            "state_rows": told.state_rows,
            "state_memory_mb": round(told.state_memory / 1e6, 1),
            "checkpoint_mb": round(size / 1e6, 1),
        }


def main() -> None:
    """Measure each number of keys."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--keys", default="10000,1000000")
    parser.add_argument("--touched", type=int, default=1000)
    parser.add_argument("--batches", type=int, default=24)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as base, ExitStack() as running:
        cases = []
        for keys in (int(each) for each in options.keys.split(",")):
            cases.append(Keys(Path(base, str(keys)), keys))
            running.callback(cases[-1].app.stop)
        for number in range(1, options.batches + 1):
            for case in cases:
                case.touch(number, options.touched)
        for case in cases:
            print(json.dumps(case.figures()), flush=True)


if __name__ == "__main__":
    main()
