"""An application with views and sinks is killed again and again; out comes what its stores and tables hold.

    python tests/views/crashes.py [--kills 50] [--files 2000] [--seed 1]

is the long form of tests/views/test_consistency.py.
"""

import argparse
import contextlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from headrace.errors import HeadraceError
from headrace.views.reading import View
from headrace.views.sqlite import SqliteViewStore
from support.databases import postgres_server
from support.homes import own_home
from views.bank import Bank

PATIENCE = 480
ACCOUNTS = "abcdefgh"
NAMES = ("tea", "coffee", "cocoa", "milk", "sugar")
MOMENTS = ("between commits", "random", "starting")
"""When a process is killed: after a store has taken a batch and before Spark notes it, some time after, or early."""
BANK, SHOP = ("credits", "debits", "balances", "total"), ("turnover", "unsold")
APPLICATION = """
SET shuffle_partitions = 1;
SET spark.sql.codegen.wholeStage = false;
SET spark.sql.codegen.factoryMode = 'NO_CODEGEN';

CREATE STREAM transfers (source STRING, target STRING, amount BIGINT)
  WITH (connector = 'files', path = 'transfers', max_files_per_batch = 1);
CREATE MATERIALIZED VIEW credits AS SELECT target AS account, sum(amount) AS amount FROM transfers GROUP BY target;
CREATE MATERIALIZED VIEW debits AS SELECT source AS account, sum(amount) AS amount FROM transfers GROUP BY source;
CREATE MATERIALIZED VIEW balances AS
  SELECT coalesce(c.account, d.account) AS account, coalesce(c.amount, 0) - coalesce(d.amount, 0) AS balance
  FROM credits c FULL JOIN debits d ON c.account = d.account;
CREATE MATERIALIZED VIEW total AS SELECT sum(balance) AS total FROM balances;

CREATE TABLE products (id BIGINT, name STRING, price BIGINT, PRIMARY KEY (id))
  WITH (connector = 'files', path = 'products');
CREATE STREAM sales (number BIGINT, product BIGINT, quantity BIGINT)
  WITH (connector = 'files', path = 'sales', max_files_per_batch = 1);
CREATE MATERIALIZED VIEW turnover AS
  SELECT p.name, count(*) AS sales, sum(s.quantity * p.price) AS turnover
  FROM sales s JOIN products p ON p.id = s.product GROUP BY p.name;
CREATE MATERIALIZED VIEW unsold AS
  SELECT p.id, p.name FROM products p WHERE NOT EXISTS (SELECT * FROM sales s WHERE s.product = p.id);
CREATE SINK kept WITH (connector = 'sqlite', path = 'shop.db', table = 'turnover') AS SELECT * FROM turnover;
CREATE SINK added WITH (connector = 'sqlite', path = 'shop.db', table = 'sold') AS SELECT number FROM sales;
"""
POSTGRES = """
CREATE SINK kept_there WITH (connector = 'postgres', url = '${POSTGRES}', table = 'turnover') AS SELECT * FROM turnover;
CREATE SINK added_there WITH (connector = 'postgres', url = '${POSTGRES}', table = 'sold') AS SELECT number FROM sales;
"""

Row = tuple[Any, ...]


@dataclass
class Job:
    """An application in a folder, the files that it reads, and the process that runs it."""

    folder: Path
    files: int
    chance: random.Random
    postgres: str | None = None
    transfers: list[list[tuple[str, str, int]]] = field(default_factory=list)
    sales: list[Row] = field(default_factory=list)
    products: dict[int, tuple[str, int]] = field(default_factory=dict)
    written: int = 0
    starts: int = 0
    kills: Counter[str] = field(default_factory=Counter)
    process: subprocess.Popen[bytes] | None = None
    _watched: SqliteViewStore | None = None
    _version: Any = None
    _taken: dict[str, int | None] = field(default_factory=dict)

    def prepare(self) -> None:
        """Write the application and what it reads; the table of products goes on changing while it runs."""
        for name in ("transfers", "sales", "products"):
            (self.folder / name).mkdir()
        (self.folder / "app.sql").write_text(APPLICATION + (POSTGRES if self.postgres is not None else ""))
        self.environment = own_home(self.folder) | ({"POSTGRES": self.postgres} if self.postgres is not None else {})
        for number in range(self.files):
            moved = [(*self.chance.choices(ACCOUNTS, k=2), self.chance.randint(1, 100)) for _ in range(5)]
            self.transfers.append(moved)
            columns = ("source", "target", "amount")
            self._write("transfers", number, [dict(zip(columns, each, strict=True)) for each in moved])
            sold = [(number * 3 + i, self.chance.randrange(12), self.chance.randint(1, 9)) for i in range(3)]
            self.sales += sold
            columns = ("number", "product", "quantity")
            self._write("sales", number, [dict(zip(columns, each, strict=True)) for each in sold])
        for _ in range(5):
            self.change_products()

    def change_products(self) -> None:
        """Write a file that adds, changes, renames and removes products, some of them in turn."""
        lines = []
        for _ in range(3):
            product = self.chance.randrange(14)
            if self.chance.random() < 0.3:
                self.products.pop(product, None)
                lines.append({"id": product, "_change": "delete"})
            else:
                name, price = self.products[product] = (self.chance.choice(NAMES), self.chance.randint(1, 50))
                lines.append({"id": product, "name": name, "price": price})
        self._write("products", self.written, lines)
        self.written += 1

    def _write(self, folder: str, number: int, rows: list[dict[str, Any]]) -> None:
        """Write a file that appears whole, later than those before it."""
        hidden = self.folder / folder / f".{number:06d}"
        hidden.write_text("".join(json.dumps(row) + "\n" for row in rows))
        os.utime(hidden, (1_700_000_000 + number, 1_700_000_000 + number))
        hidden.rename(self.folder / folder / f"{number:06d}.jsonl")

    # --- the process ----------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the application."""
        self.starts += 1
        with (self.folder / f"run-{self.starts:03d}.log").open("wb") as log:
            self.process = subprocess.Popen(
                [str(Path(sys.executable).parent / "headrace"), "run", "app.sql"],
                cwd=self.folder,
                env=self.environment,
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,
            )

    def kill(self) -> None:
        """Kill the driver, Python and Java, as the system does when memory runs out."""
        if self.process is not None:
            self._signal(signal.SIGKILL)
            self.process.wait(timeout=PATIENCE)
            self.process = None

    def kill_at(self, moment: str) -> None:
        """Start the application, change its table meanwhile, and kill it at some moment."""
        self.start()
        self.change_products()
        if moment == "starting":
            self._pause(self.chance.uniform(0, 8))
        else:
            self._wait(self._batches)
            self.change_products()
            self._wait(self._between_commits if moment == "between commits" else self._batches)
            if moment == "random":
                self._pause(self.chance.uniform(0, 1))
        self.kill()
        self.kills[moment] += 1

    def finish(self) -> None:
        """Run until all is read, then stop in good order."""
        self.change_products()
        self.start()
        self._wait(self.is_complete, every=0.2)
        assert self.process is not None
        self.process.terminate()
        assert self.process.wait(timeout=PATIENCE) == 0, self.last_log()
        self.process = None

    def _signal(self, number: int) -> None:
        assert self.process is not None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    def _between_commits(self) -> bool:
        """Hold the process still when the store has a new batch; say whether Spark has not noted that batch yet.

        If it has, it was quicker than this look, and gets something more to read, so that there is a next time.
        """
        if not self._batches():
            return False
        self._signal(signal.SIGSTOP)
        if any(each is not None and not self._commit(query, each).exists() for query, each in self._taken.items()):
            return True
        self._signal(signal.SIGCONT)
        self.change_products()
        return False

    def _queries(self) -> list[str]:
        return [each.parent.name for each in self._state.glob("*/checkpoint")]

    def _commit(self, query: str, batch: int) -> Path:
        return self._state / query / "checkpoint" / "commits" / str(batch)

    def _batches(self) -> bool:
        """Say whether the store has a batch that it had not when this was asked last."""
        if self._watched is None:
            if not self.has_views():
                return False
            self._watched = SqliteViewStore(self.file, read_only=True)
        before, self._version = self._version, self._watched.version()
        if self._version == before:
            return False
        taken = {query: self._watched.last_batch(f"app.{query}") for query in self._queries()}
        before, self._taken = self._taken, taken
        return taken != before and any(batch is not None for batch in taken.values())

    def _wait(self, condition: Callable[[], bool], every: float = 0.002) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert self.process is not None
            assert self.process.poll() is None, f"it has ended:\n{self.last_log()}"
            assert time.monotonic() < deadline, f"nothing happened in time:\n{self.last_log()}"
            self._pause(every)

    def _pause(self, seconds: float) -> None:
        """Let the process go on for so long, or until it ends."""
        assert self.process is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=seconds)

    def last_log(self) -> str:
        """Return what the last run said."""
        return (self.folder / f"run-{self.starts:03d}.log").read_text()[-3000:]

    # --- what is there --------------------------------------------------------------------------------

    @property
    def _state(self) -> Path:
        return self.folder / ".headrace" / "app"

    @property
    def file(self) -> Path:
        """The file of the store."""
        return self._state / "views.sqlite"

    @contextlib.contextmanager
    def store(self) -> Iterator[SqliteViewStore]:
        """Give the store as another process sees it."""
        store = SqliteViewStore(self.file, read_only=True)
        try:
            yield store
        finally:
            store.close()

    def has_views(self) -> bool:
        """Say whether the store has been made."""
        with contextlib.suppress(HeadraceError), self.store() as store:
            return len(store.views()) > 0
        return False

    def is_complete(self) -> bool:
        """Say whether all transfers and sales have been read, and the last change of the products."""
        with self.store() as store:
            moved = store.query("SELECT sum(amount) AS n FROM credits")[1]
            positions = store.reflects("turnover").positions
        places = {name: json.loads(text)["logOffset"] for name, text in positions.items()}
        last = self._place_of(f"/products/{self.written - 1:06d}.jsonl")
        return (
            moved == [(sum(amount for each in self.transfers for _, _, amount in each),)]
            and places.get("sales", -1) >= self.files - 1
            and last is not None
            and places.get("products", -1) >= last
        )

    def _place_of(self, file: str) -> int | None:
        """Return the place that Spark gave a file in its log of files, None as long as it has not seen it."""
        logs = [each for each in self._state.glob("turnover*/checkpoint/sources/*/[0-9]*") if file in each.read_text()]
        return min((int(each.stem) for each in logs), default=None)

    def turnover(self) -> list[Row]:
        """Return the answer as Python computes it: name, sales and turnover."""
        sales: Counter[str] = Counter()
        money: Counter[str] = Counter()
        for _, product, quantity in self.sales:
            if product in self.products:
                name, price = self.products[product]
                sales[name] += 1
                money[name] += quantity * price
        return sorted((name, sales[name], money[name]) for name in sales)

    def unsold(self) -> list[Row]:
        """Return the products that nobody bought."""
        sold = {product for _, product, _ in self.sales}
        return sorted((product, name) for product, (name, _) in self.products.items() if product not in sold)

    def table(self, name: str) -> list[Row]:
        """Return the rows of a table that a sink writes into SQLite."""
        with contextlib.closing(sqlite3.connect(self.folder / "shop.db")) as connection:
            return sorted(connection.execute(f"SELECT * FROM {name}").fetchall())

    def table_there(self, name: str) -> list[Row]:
        """Return the rows of a table that a sink writes into PostgreSQL."""
        import psycopg

        assert self.postgres is not None
        with psycopg.connect(self.postgres) as connection:
            return sorted(connection.execute(f"SELECT * FROM {name}".encode()).fetchall())


class Reader:
    """Looks at the bank's views without pause, by SQL and by following them, and notes what is wrong."""

    def __init__(self, job: Job, bank: Bank) -> None:
        self.job, self.bank = job, bank
        self.looks = self.states = 0
        self.mistakes: list[str] = []
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def _run(self) -> None:
        try:
            while not self._ending.wait(0.01) and not self.mistakes:
                if self.job.has_views():
                    with self.job.store() as store:
                        self._watch(store)
        except Exception as error:
            self.mistakes.append(f"{type(error).__name__}: {error}")

    def _watch(self, store: SqliteViewStore) -> None:
        """Look at one state after the other."""
        seen = None
        while not self._ending.wait(0.005) and not self.mistakes:
            version = store.version()
            if version != seen and self._look(store):
                seen = version

    def _look(self, store: SqliteViewStore) -> bool:
        """Look at one state; say whether there is one."""
        if not {view.name for view in store.views()} >= set(BANK):
            return False
        self.states += self.bank.look(store)
        self.looks += 1
        self.mistakes += self.bank.follow(store)
        return True

    def end(self) -> None:
        """Look for a last time, at what the job has left."""
        self._ending.set()
        self._thread.join()
        if not self.mistakes and self.job.has_views():
            with self.job.store() as store:
                self._look(store)


def kill_again_and_again(job: Job, times: int) -> None:
    """Kill the application so many times, at one moment after the other."""
    for _, moment in zip(range(times), cycle(MOMENTS), strict=False):
        job.kill_at(moment)


def check_feed(store: SqliteViewStore, name: str) -> list[Row]:
    """Return the rows that the changes of a view give; raise if a batch is there twice, or a row goes that was not."""
    rows: Counter[Row] = Counter()
    last = -1
    for batch in store.changes(name, None):
        assert batch.batch > last, f"{name}: batch {batch.batch} after {last}"
        last = batch.batch
        assert batch.delta.deleted or batch.delta.inserted, f"{name}: batch {last} changes nothing"
        gone = Counter(batch.delta.deleted)
        assert gone <= rows, f"{name}: batch {last} takes away what is not there: {gone - rows}"
        rows = rows - gone + Counter(batch.delta.inserted)
        assert max(rows.values(), default=1) == 1, f"{name}: batch {last} doubles {rows.most_common(1)}"
    return sorted(rows)


def check(job: Job) -> None:
    """Raise unless views, feeds and tables hold what Python computes from all input."""
    with job.store() as store:
        for name in (*BANK, *SHOP):
            shown = [tuple(row.values()) for row in View(store, name).rows()]
            assert sorted(shown) == check_feed(store, name)
        assert list(store.rows("turnover")) == job.turnover()
        assert list(store.rows("unsold")) == job.unsold()
    numbers = [(number,) for number, _, _ in job.sales]
    assert job.table("turnover") == job.turnover()
    assert job.table("sold") == numbers
    if job.postgres is not None:
        assert job.table_there("turnover") == job.turnover()
        assert job.table_there("sold") == numbers


def main() -> None:
    """Run the long form and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary, postgres_server() as server:
        job = Job(Path(temporary), options.files, random.Random(options.seed), server.new_database())
        job.prepare()
        reader = Reader(job, Bank(job.transfers))
        reader.start()
        try:
            kill_again_and_again(job, options.kills)
            job.finish()
        finally:
            job.kill()
            reader.end()
        assert not reader.mistakes, reader.mistakes
        check(job)
        sys.stdout.write(
            f"{dict(job.kills)} kills, {reader.looks} looks at {reader.states} states: nothing lost, nothing doubled\n"
        )


if __name__ == "__main__":
    main()
