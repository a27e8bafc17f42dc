"""Filter and projection over JSON lines: Headrace beside plain PySpark, in turns, in one Spark session.

    python benchmarks/stateless.py [--rows 2000000] [--rounds 5] [--sink noop|files]

Prints, per round, the seconds of each, and last the median ratio. `plain` reads with a schema and takes
what does not parse as NULL; `careful` is PySpark that looks for records that do not parse, as Headrace does.
"""

import argparse
import json
import shutil
import statistics
import tempfile
import time
from pathlib import Path

from headrace import Application

SCHEMA = "id BIGINT, at TIMESTAMP, account STRING, amount DOUBLE, country STRING, kind STRING, note STRING"
QUERY = "SELECT id, account, at, country, kind, note, amount * 2 AS doubled FROM payments WHERE amount > 100"
NARROW = "SELECT id, account, amount * 2 AS doubled FROM payments WHERE amount > 100"


def generate(folder: Path, rows: int, files: int = 4) -> None:
    """Write rows of payments as JSON lines."""
    per_file = rows // files
    for number in range(files):
        with (folder / f"{number}.jsonl").open("w") as out:
            for i in range(per_file):
                record = {
                    "id": number * per_file + i,
                    "at": f"2024-01-01T10:{i // 30000 % 60:02d}:{i // 500 % 60:02d}.{i % 1000:03d}Z",
                    "account": f"a{i % 1000}",
                    "amount": round(i % 1000 / 3, 2),
                    "country": "US",
                    "kind": "purchase",
                    "note": f"some text here {i}",
                }
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


def headrace(data: Path, out: Path, sink: str, query: str) -> float:
    """Return the seconds that Headrace takes for the query."""
    target = "connector = 'noop'" if sink == "noop" else f"connector = 'files', path = '{out / 'rows'}'"
    started = time.perf_counter()
    application = Application(directory=data, state=str(out / "state")).sql(
        f"CREATE STREAM payments ({SCHEMA}) WITH (connector = 'files', path = '{data}');"
        f"CREATE SINK doubled WITH ({target}) AS {query};"
    )
    application.run_once()
    return time.perf_counter() - started


def main() -> None:
    """Run the rounds and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sink", choices=("noop", "files"), default="noop")
    options = parser.parse_args()
    spark = Application().session()
    with tempfile.TemporaryDirectory() as temporary:
        data = Path(temporary, "data")
        data.mkdir()
        generate(data, options.rows)
        for name, query in (("all columns", QUERY), ("three columns", NARROW)):
            ratios: dict[str, list[float]] = {"plain": [], "careful": []}
            for number in range(-1, options.rounds + 1):
                out = Path(temporary, "out")
                taken = {}
                kinds = ("plain", "careful", "headrace")
                for kind in kinds[number % 3 :] + kinds[: number % 3]:  # in turns: none is always last
                    shutil.rmtree(out, ignore_errors=True)
                    if kind == "headrace":
                        taken[kind] = headrace(data, out, options.sink, query)
                    else:
                        taken[kind] = plain(spark, data, out, options.sink, query, kind == "careful")
                if number < 1:
                    continue  # the first rounds warm the JVM
                print(json.dumps({"query": name, "round": number, **{k: round(v, 2) for k, v in taken.items()}}))
                for kind, found in ratios.items():
                    found.append(taken["headrace"] / taken[kind])
            for kind, found in ratios.items():
                print(f"{name}, {options.sink}: headrace / {kind} = {statistics.median(found):.2f} (median)")


if __name__ == "__main__":
    main()
