"""``headrace view`` beside an application that runs, and after it has stopped: each a process of its own."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.homes import own_home

pytestmark = pytest.mark.spark

PATIENCE = 480
APPLICATION = """
SET shuffle_partitions = 1;
CREATE TABLE products (id BIGINT, name STRING, PRIMARY KEY (id)) WITH (connector = 'files', path = 'products');
CREATE STREAM sales (product BIGINT, price DECIMAL(10, 2)) WITH (connector = 'files', path = 'sales');
CREATE MATERIALIZED VIEW turnover WITH (key = 'name') AS
  SELECT p.name, count(*) AS sales, sum(s.price) AS turnover
  FROM sales s JOIN products p ON p.id = s.product GROUP BY p.name;
CREATE MATERIALIZED VIEW seen AS SELECT product, price FROM sales;
"""


class Shop:
    """An application in a folder, the process that runs it, and the commands that read its views."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = own_home(folder)
        self.written = 0
        for name in ("products", "sales"):
            (folder / name).mkdir()
        (folder / "shop.sql").write_text(APPLICATION)
        self.process: subprocess.Popen[str] | None = None

    def write(self, name: str, *rows: dict[str, Any]) -> None:
        """Write rows into the table or the stream."""
        self.written += 1
        file = self.folder / name / f"{self.written:03d}.json"
        hidden = file.with_name(f".{file.name}")
        hidden.write_text("".join(json.dumps(row) + "\n" for row in rows))
        os.utime(hidden, (1_700_000_000 + self.written, 1_700_000_000 + self.written))
        hidden.rename(file)

    def start(self) -> None:
        """Start the application."""
        self.process = self.begin("run", "shop.sql")

    def stop(self) -> None:
        """Stop the application in good order."""
        assert self.process is not None
        self.process.terminate()
        _, errors = self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == 0, errors
        self.process = None

    def begin(self, *arguments: str) -> subprocess.Popen[str]:
        """Begin a command."""
        return subprocess.Popen(
            [str(Path(sys.executable).parent / "headrace"), *arguments],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def view(self, *arguments: str, code: int = 0) -> str:
        """Return what ``headrace view`` prints; raise unless it ends as it should."""
        process = self.begin("view", *arguments)
        printed, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == code, printed + errors
        return errors if code else printed

    def json(self, *arguments: str) -> list[dict[str, Any]]:
        """Return the rows that ``headrace view`` prints."""
        return [json.loads(line) for line in self.view(*arguments, "--output", "json").splitlines()]

    def wait_for(self, expected: list[dict[str, Any]], *query: str) -> None:
        """Ask until the answer is there."""
        self.wait(lambda: self._is_there() and self.json("query", *query) == expected)

    def wait(self, condition: Callable[[], bool]) -> None:
        """Wait for a condition while the application runs."""
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, "it did not happen in time"
            if self.process is not None:
                assert self.process.poll() is None, self.process.communicate()[1]

    def _is_there(self) -> bool:
        return {each["view"] for each in self.json("list")} == {"seen", "turnover"}


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    shop = Shop(tmp_path)
    yield shop
    if shop.process is not None:
        shop.process.kill()
        shop.process.communicate()


ALL = "SELECT name, sales, turnover FROM turnover ORDER BY name"


def test_views_are_read_and_followed_while_the_application_runs_and_after(shop: Shop) -> None:
    assert shop.json("list") == []
    assert 'unknown view "turnover"' in shop.view("get", "turnover", "tea", code=1)

    shop.write("products", {"id": 1, "name": "tea"}, {"id": 2, "name": "milk"})
    shop.write("sales", {"product": 1, "price": 2.50}, {"product": 1, "price": 0.10}, {"product": 2, "price": 1})
    shop.start()
    milk = {"name": "milk", "sales": 1, "turnover": 1.0}
    shop.wait_for([milk, {"name": "tea", "sales": 2, "turnover": 2.6}], ALL)
    assert shop.json("get", "turnover", "milk") == [milk]
    assert "has no row with name = cocoa" in shop.view("get", "turnover", "cocoa", code=1)
    [seen, turnover] = shop.json("list", "--application", "shop.sql")
    assert (seen["view"], seen["application"], seen["store"], seen["key"], seen["rows"]) == (
        "seen", "shop", "sqlite", None, 3,
    )  # fmt: skip
    assert (turnover["view"], turnover["key"], turnover["rows"]) == ("turnover", "name", 2)
    assert seen["batch"] == turnover["batch"] is not None

    follower = shop.begin("view", "follow", "turnover", "--from", "start", "--output", "json")
    assert follower.stdout is not None
    first = [json.loads(follower.stdout.readline()) for _ in range(2)]
    assert {(each["name"], each["_change"]) for each in first} == {("milk", "insert"), ("tea", "insert")}
    shop.write("products", {"id": 2, "name": "oat milk"})  # what was sold before changes its name too
    changes = [json.loads(follower.stdout.readline()) for _ in range(2)]
    assert [(each["name"], each["sales"], each["_change"]) for each in changes] == [
        ("milk", 1, "delete"), ("oat milk", 1, "insert"),
    ]  # fmt: skip
    assert changes[0]["_batch"] == changes[1]["_batch"] > first[-1]["_batch"]

    shop.stop()
    rows = [{"name": "oat milk", "sales": 1, "turnover": 1.0}, {"name": "tea", "sales": 2, "turnover": 2.6}]
    assert shop.json("query", ALL) == rows
    assert shop.json("get", "turnover", "oat milk") == rows[:1]
    assert shop.view("query", "SELECT count(*) AS n FROM seen", "--output", "csv") == "n\n3\n"
    again = shop.json("follow", "turnover", "--from", str(first[-1]["_batch"]), "--for", "1")
    assert again == changes

    shop.write("sales", {"product": 1, "price": 1})
    shop.start()  # the follower has waited meanwhile
    last = [json.loads(follower.stdout.readline()) for _ in range(2)]
    assert [(each["sales"], each["turnover"], each["_change"]) for each in last] == [
        (2, 2.6, "delete"), (3, 3.6, "insert"),
    ]  # fmt: skip
    follower.terminate()
    assert follower.communicate(timeout=PATIENCE) == ("", "")
    assert follower.returncode == 0
    shop.stop()
