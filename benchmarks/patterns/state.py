"""Many keys, each with one open partial match, go in; the size of their state and the time of small batches come out.

    python benchmarks/patterns/state.py [--keys 10000,1000000] [--touched 1000] [--batches 8]

Every key has a small payment, so a large one is awaited. Then come batches that touch a thousand of the keys each; the
median of their times should not depend on how many keys there are. Prints one line of JSON for each number of keys.
"""

import argparse
import json
import statistics
import tempfile
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


def measure(keys: int, touched: int, batches: int) -> dict[str, object]:
    """Return the figures for one number of keys."""
    with tempfile.TemporaryDirectory() as base:
        folder = Path(base, "payments")
        folder.mkdir()
        app = Application(directory=Path(base)).sql(SQL)
        write(folder, 0, [(key, 0.5, START) for key in range(keys)])
        app.start()
        try:
            app.process_available()
            times = []
            for number in range(1, batches + 1):
                at = START + timedelta(minutes=number)
                chosen = range(number * 7919 % keys, number * 7919 % keys + touched)
                write(folder, number, [(key % keys, 0.7, at) for key in chosen])
                app.process_available()
                times.append(max(each.batch_time for each in app.progress()) / timedelta(milliseconds=1))
            figures = app.progress()[0]
            state = Path(app.state_folder())
            size = sum(file.stat().st_size for file in state.rglob("*") if file.is_file())
            return {
                "keys": keys,
                "touched": touched,
                "median_batch_ms": round(statistics.median(times[1:])),
                "state_rows": figures.state_rows,
                "state_memory_mb": round(figures.state_bytes / 1e6, 1),
                "checkpoint_mb": round(size / 1e6, 1),
            }
        finally:
            app.stop()


def main() -> None:
    """Measure each number of keys."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--keys", default="10000,1000000")
    parser.add_argument("--touched", type=int, default=1000)
    parser.add_argument("--batches", type=int, default=8)
    options = parser.parse_args()
    for keys in (int(each) for each in options.keys.split(",")):
        print(json.dumps(measure(keys, options.touched, options.batches)), flush=True)


if __name__ == "__main__":
    main()
