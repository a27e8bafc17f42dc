"""A million updates over 100,000 keys through a join and an aggregate into SQLite: its speed, its memory.

    python benchmarks/views.py [--updates 1000000] [--keys 100000] [--per-batch 50000]

Orders are a keyed table that is updated over and over, an order moving between customers and changing its amount;
customers are another, one of which changes its region with every thousand updates. The view is the sum per region.
Prints for each tenth of the updates the rows per second, the heap of the JVM after a collection and the memory of
both processes; last whether the views are right, the whole throughput, and the growth between the second tenth (when
all keys are there) and the last.
"""

import argparse
import json
import random
import shutil
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from headrace.application import Application

CUSTOMERS = 10_000
REGIONS = 20
SQL = """
SET shuffle_partitions = 2;
CREATE TABLE orders (id BIGINT, customer BIGINT, amount BIGINT, PRIMARY KEY (id))
  WITH (connector = 'files', path = 'orders', max_files_per_batch = 1);
CREATE TABLE customers (id BIGINT, region STRING, PRIMARY KEY (id)) WITH (connector = 'files', path = 'customers');
CREATE MATERIALIZED VIEW per_region AS
  SELECT c.region, count(*) AS orders, sum(o.amount) AS amount
  FROM orders o JOIN customers c ON c.id = o.customer GROUP BY c.region;
"""


def write(folder: Path, name: str, rows: list[dict[str, object]]) -> None:
    """Write a file of rows that appears whole."""
    hidden = folder / f".{name}"
    hidden.write_text("".join(json.dumps(row) + "\n" for row in rows))
    hidden.rename(folder / f"{name}.json")


def resident(process: str) -> int:
    """Return the memory of a process in megabytes."""
    lines = Path("/proc", process, "status").read_text().splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmRSS"))


def expected(orders: dict[int, tuple[int, int]], customers: dict[int, str]) -> dict[str, tuple[int, int]]:
    """Return what the view must hold."""
    found: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for customer, amount in orders.values():
        count, total = found[customers[customer]]
        found[customers[customer]] = (count + 1, total + amount)
    return dict(found)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--updates", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--per-batch", type=int, default=50_000)
    chosen = parser.parse_args()
    base = Path(tempfile.mkdtemp(prefix="headrace-views-"))
    for name in ("orders", "customers"):
        (base / name).mkdir()
    (base / "application.sql").write_text(SQL)
    luck = random.Random(1)
    customers = {i: f"region {i % REGIONS}" for i in range(CUSTOMERS)}
    orders: dict[int, tuple[int, int]] = {}
    write(base / "customers", "0", [{"id": i, "region": region} for i, region in customers.items()])
    app = Application.load(base / "application.sql")
    spark = app.session()
    app.start()
    app.process_available()
    jvm = spark._jvm
    process = str(jvm.java.lang.ProcessHandle.current().pid())
    tenth = max(1, chosen.updates // chosen.per_batch // 10)
    heaps: list[int] = []
    spent, done = 0.0, 0
    for batch in range(chosen.updates // chosen.per_batch):
        rows = []
        for _ in range(chosen.per_batch):
            order, customer, amount = luck.randrange(chosen.keys), luck.randrange(CUSTOMERS), luck.randrange(1000)
            orders[order] = (customer, amount)
            rows.append({"id": order, "customer": customer, "amount": amount})
        moving = [luck.randrange(CUSTOMERS) for _ in range(chosen.per_batch // 1000)]
        changed = {each: f"region {luck.randrange(REGIONS)}" for each in moving}
        customers |= changed
        started = time.perf_counter()
        write(base / "customers", str(batch + 1), [{"id": i, "region": region} for i, region in changed.items()])
        write(base / "orders", str(batch + 1), rows)
        app.process_available()
        seconds = time.perf_counter() - started
        spent, done = spent + seconds, done + chosen.per_batch
        if (batch + 1) % tenth == 0:
            jvm.System.gc()
            runtime = jvm.Runtime.getRuntime()
            heaps.append(int(runtime.totalMemory() - runtime.freeMemory()) // 1_048_576)
            print(
                f"{done:>9,} updates: {chosen.per_batch / seconds:>8,.0f} per second in this batch, "
                f"heap {heaps[-1]} MB, JVM {resident(process)} MB, Python {resident('self')} MB",
                flush=True,
            )
    found = {row["region"]: (row["orders"], row["amount"]) for row in app.view("per_region").rows()}
    right = found == expected(orders, customers)
    app.stop()
    shutil.rmtree(base)
    growth = heaps[-1] - heaps[1] if len(heaps) > 1 else 0
    print(f"{done / spent:,.0f} updates per second in all; right: {right}")
    print(f"heap growth between the second tenth and the last: {growth} MB")


if __name__ == "__main__":
    main()
