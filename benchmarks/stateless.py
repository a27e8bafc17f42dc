"""Filter and projection over JSON lines: Headrace beside plain PySpark, in turns.

    python benchmarks/stateless.py [--rows 2000000] [--rounds 7] [--sink noop|files] [--same-collector]

Each side is a process of its own with a session as its user would have it: PySpark's defaults for `plain` and
`careful`, Headrace's for `headrace`; all have the same memory. The sides take turns, so that they meet the same
noise. `plain` reads with a schema and takes what does not parse as NULL; `careful` looks for records that do
not parse, as Headrace does; `used` is Headrace with verify = 'used'. With --same-collector PySpark gets the
garbage collector that Headrace gives its local sessions. Prints the seconds of each round and last the median ratios.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path

SCHEMA = "id BIGINT, at TIMESTAMP, account STRING, amount DOUBLE, country STRING, kind STRING, note STRING"
QUERY = "SELECT id, account, at, country, kind, note, amount * 2 AS doubled FROM payments WHERE amount > 100"
NARROW = "SELECT id, account, amount * 2 AS doubled FROM payments WHERE amount > 100"


SIDES = ("plain", "careful", "headrace", "used")
OURS = {"headrace": "all", "used": "used"}
COLLECTOR = "-XX:+UseParallelGC"


def payment(i: int) -> dict[str, object]:
    """Return the payment of a number."""
    return {
        "id": i,
        "at": f"2024-01-01T10:{i // 30000 % 60:02d}:{i // 500 % 60:02d}.{i % 1000:03d}Z",
        "account": f"a{i % 1000}",
        "amount": round(i % 1000 / 3, 2),
        "country": "US",
        "kind": "purchase",
        "note": f"some text here {i}",
    }


def generate(folder: Path, rows: int, files: int = 4) -> None:
    """Write rows of payments as JSON lines."""
    per_file = rows // files
    for number in range(files):
        with (folder / f"{number}.jsonl").open("w") as out:
            for i in range(per_file):
                record = payment(i) | {"id": number * per_file + i}
                out.write(json.dumps(record) + "\n")


def plain(spark, data: Path, out: Path, sink: str, query: str, careful: bool) -> float:
    """Return the seconds that PySpark takes for the query."""
    started = time.perf_counter()
    reader = spark.readStream
    if careful:
        frame = reader.schema(SCHEMA + ", broken STRING").option("columnNameOfCorruptRecord", "broken")
        frame = frame.json(str(data)).filter("broken IS NULL").drop("broken")
    else:
        frame = reader.schema(SCHEMA).json(str(data))
    columns = query.removeprefix("SELECT ").split(" FROM ")[0].split(", ")
    frame = frame.filter("amount > 100").selectExpr(*columns)
    writer = frame.writeStream.option("checkpointLocation", str(out / "checkpoint")).trigger(availableNow=True)
    writer = writer.format("noop") if sink == "noop" else writer.format("json").option("path", str(out / "rows"))
    writer.start().awaitTermination()
    return time.perf_counter() - started


def headrace(data: Path, out: Path, sink: str, query: str, verify: str) -> float:
    """Return the seconds that Headrace takes for the query."""
    from headrace import Application

    target = "connector = 'noop'" if sink == "noop" else f"connector = 'files', path = '{out / 'rows'}'"
    started = time.perf_counter()
    application = Application(directory=data, state=str(out / "state")).sql(
        f"CREATE STREAM payments ({SCHEMA}) WITH (connector = 'files', path = '{data}', verify = '{verify}');"
        f"CREATE SINK doubled WITH ({target}) AS {query};"
    )
    application.run_once()
    return time.perf_counter() - started


def work(side: str, same_collector: bool) -> None:
    """Answer each line of JSON on standard input with the seconds that one run takes."""
    if side in OURS:
        from headrace import Application

        spark = Application().session()
    else:
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[*]").config("spark.driver.memory", "2g")
        if same_collector:
            builder = builder.config("spark.driver.extraJavaOptions", COLLECTOR)
        spark = builder.getOrCreate()
        spark.sparkContext.setLogLevel("ERROR")
    for line in sys.stdin:
        asked = json.loads(line)
        data, out = Path(asked["data"]), Path(asked["out"])
        if side in OURS:
            seconds = headrace(data, out, asked["sink"], asked["query"], OURS[side])
        else:
            seconds = plain(spark, data, out, asked["sink"], asked["query"], side == "careful")
        print(f"seconds {seconds}", flush=True)


class Worker:
    """One side, in a process of its own."""

    def __init__(self, side: str, same_collector: bool) -> None:
        command = [sys.executable, __file__, "--worker", side] + ["--same-collector"] * same_collector
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def run(self, **asked: str) -> float:
        """Return the seconds of one run."""
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        while line := self.process.stdout.readline():
            if line.startswith("seconds "):
                return float(line.split()[1])
        raise RuntimeError("the worker died")

    def stop(self) -> None:
        """End the process."""
        self.process.stdin.close()
        self.process.wait(timeout=60)


def main() -> None:
    """Run the rounds and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--sink", choices=("noop", "files"), default="noop")
    parser.add_argument("--same-collector", action="store_true")
    parser.add_argument("--worker", choices=SIDES)
    options = parser.parse_args()
    if options.worker is not None:
        work(options.worker, options.same_collector)
        return
    workers = {side: Worker(side, options.same_collector) for side in SIDES}
    with tempfile.TemporaryDirectory() as temporary:
        data = Path(temporary, "data")
        data.mkdir()
        generate(data, options.rows)
        for name, query in (("all columns", QUERY), ("three columns", NARROW)):
            compare(name, query, workers, Path(temporary), options)
    for worker in workers.values():
        worker.stop()


def compare(name: str, query: str, workers: dict[str, Worker], folder: Path, options: argparse.Namespace) -> None:
    """Run one query on every side in turns and print how they compare."""
    taken: dict[str, list[float]] = {side: [] for side in SIDES}
    for number in range(-1, options.rounds):
        first = number % len(SIDES)
        for side in SIDES[first:] + SIDES[:first]:  # none is always last
            out = folder / "out"
            shutil.rmtree(out, ignore_errors=True)
            seconds = workers[side].run(data=str(folder / "data"), out=str(out), sink=options.sink, query=query)
            if number >= 0:  # the round before the first warms the JVM
                taken[side].append(seconds)
        if number >= 0:
            print(json.dumps({"query": name, "round": number + 1, **{s: round(t[-1], 2) for s, t in taken.items()}}))
    for ours, theirs in product(OURS, ("plain", "careful")):
        ratios = [mine / other for mine, other in zip(taken[ours], taken[theirs], strict=True)]
        best = min(taken[ours]) / min(taken[theirs])
        print(
            f"{name}, {options.sink}: {ours} / {theirs} = {statistics.median(ratios):.2f} (median of rounds), "
            f"{best:.2f} (best of each)"
        )


if __name__ == "__main__":
    main()
