"""Applications that look for something find what their generator planted: all of it, and nothing else.

Once over a finished input, as ``--once`` reads it; and batch by batch, with rows out of order and behind the
watermark, a stop and a crash.
"""

import json
import os
import random
import runpy
import subprocess
import sys
import uuid
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from headrace.language import fill

APPS = Path(__file__).parents[1] / "apps"
START = "2024-01-01T10:00:00+00:00"
REASONS = {
    "small_then_large": "Small then large amount",
    "impossible_travel": "Impossible travel",
    "use_abroad": "Use abroad",
    "unusual_amount": "Unusual high amount",
}


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


def generate(app, folder, *arguments):
    command = [sys.executable, APPS / app / "generator.py", "--out", folder, "--start", START, "--planted", *arguments]
    ran = subprocess.run(command, check=True, timeout=240, capture_output=True, text=True)
    return lines(ran.stdout)


def alerts(app, folder):
    """Run an application over what is there, and return what its sink wrote."""
    command = [sys.executable, "-m", "headrace.cli.main", "run", APPS / app / "application.sql", "--once"]
    ran = subprocess.run(
        [*command, "--var", f"DATA={folder}"], cwd=folder, timeout=900, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    found = [row for path in (folder / "alerts").glob("*.json") for row in lines(path.read_text("utf-8"))]
    assert len({alert["alert_id"] for alert in found}) == len(found)
    assert all(alert["evidence"] for alert in found)
    return found


def rows_of(view, app, folder, servers, **variables):
    """Run an application over the messages that are there, and return what a query over one of its views prints."""
    copied = folder / "application.sql"
    copied.write_text((APPS / app / "application.sql").read_text("utf-8") + f"SELECT * FROM {view};\n", "utf-8")
    command = [sys.executable, "-m", "headrace.cli.main", "run", copied, "--once", "--output", "json"]
    command += [part for name, value in variables.items() for part in ("--var", f"{name}={value}")]
    environment = {**os.environ, "HEADRACE_BOOTSTRAP_SERVERS": servers}
    ran = subprocess.run(command, cwd=folder, env=environment, timeout=900, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return lines(ran.stdout)


def fraud(row):
    return row["reason"] if "reason" in row else REASONS[row["rule"]], row["transaction_id"]


def intrusion(row):
    return row["rule"], row["address"], instant(row["began_at"]), row["events"]


def breach(row):
    return row["reason"], row["licence"], instant(row["at"])


def instant(value):
    return value if isinstance(value, datetime) else datetime.fromisoformat(value)


@pytest.mark.long
@pytest.mark.spark
def test_fraud(tmp_path, broker):
    servers, suffix = broker.start(), f"-{uuid.uuid4().hex[:8]}"
    there = ("--bootstrap", servers, f"--suffix={suffix}")
    planted = generate("fraud_detection", tmp_path, *there, "--seconds", "2", "--speed", "3600", "--rate", "100")
    places = {"TRANSACTIONS": f"transactions{suffix}", "ACCOUNTS": APPS / "fraud_detection" / "accounts"}
    found = rows_of("alerts", "fraud_detection", tmp_path, servers, **places)
    assert all(alert["why"] for alert in found)
    assert {case["rule"] for case in planted} == set(REASONS)
    assert sorted(map(fraud, found)) == sorted(map(fraud, planted))
    assert all(alert["evidence"][-1]["id"] == alert["transaction_id"] for alert in found)


@pytest.mark.spark
def test_intrusions(tmp_path):
    planted = generate("intrusion_detection", tmp_path, "--seconds", "2", "--speed", "600", "--rate", "100")
    found = alerts("intrusion_detection", tmp_path)
    assert {case["rule"] for case in planted} == {"generalbruteforce", "httpscan", "p2p"}
    assert sorted(map(intrusion, found)) == sorted(map(intrusion, planted))
    assert all(len(alert["evidence"]) == alert["events"] for alert in found)


@pytest.mark.spark
def test_driver_hours(tmp_path):
    planted = generate("driver_hours", tmp_path, "--seconds", "2", "--speed", "64800", "--rate", "10")
    found = alerts("driver_hours", tmp_path)
    assert len({case["reason"] for case in planted}) == 3
    assert sorted(map(breach, found)) == sorted(map(breach, planted))


@dataclass(frozen=True)
class Live:
    """An application that is fed batch by batch: its stream, how rows are made, and who is told apart by what."""

    app: str
    stream: str
    made_by: str
    speed: int
    rate: int
    time: str
    delay: timedelta
    keys: tuple[str, ...]
    facts: Callable[[dict[str, Any]], tuple[Any, ...]]
    kinds: int
    is_planted: Callable[[dict[str, Any]], bool]

    def made(self) -> tuple[list[list[dict[str, Any]]], list[dict[str, Any]]]:
        """Return three batches of rows, shuffled as far as the delay allows, and the cases that are planted in them."""
        generator = runpy.run_path(str(APPS / self.app / "generator.py"))[self.made_by]
        made = list(generator(1, self.rate, datetime.fromisoformat(START), self.speed, 4))
        rows = [row for rows, _ in made for row in rows]
        chance = random.Random(1)
        rows.sort(key=lambda row: self.at(row) + self.delay * chance.uniform(0, 0.99))
        third = len(rows) // 3 + 1
        batches = [rows[start : start + third] for start in range(0, len(rows), third)]
        return batches, [case for _, planted in made for case in planted]

    def behind(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the rows of planted cases once more, and once under other names: searched, they would cause alerts."""
        again = [row for row in rows if self.is_planted(row)]
        return again + [{**row, **{key: f"late {row[key]}" for key in self.keys}} for row in again]

    def at(self, row: dict[str, Any]) -> datetime:
        return instant(row[self.time])


LIVE = (
    Live(
        "fraud_detection",
        stream="transactions",
        made_by="transactions",
        speed=1000,
        rate=200,
        time="timestamp",
        delay=timedelta(seconds=30),
        keys=("account_id", "transaction_id"),
        facts=fraud,
        kinds=4,
        is_planted=lambda row: row["account_id"][0] in "STU",
    ),
    Live(
        "intrusion_detection",
        stream="events",
        made_by="events",
        speed=250,
        rate=100,
        time="ts",
        delay=timedelta(seconds=10),
        keys=("src", "dst"),
        facts=intrusion,
        kinds=3,
        is_planted=lambda row: row["src"].startswith("172.") or row["dst"].startswith("172."),
    ),
    Live(
        "driver_hours",
        stream="journeys",
        made_by="journeys",
        speed=32400,
        rate=24,
        time="at",
        delay=timedelta(minutes=10),
        keys=("licence",),
        facts=breach,
        kinds=3,
        is_planted=lambda row: row["licence"].startswith("C"),
    ),
)


@pytest.mark.spark
@pytest.mark.parametrize("live", LIVE, ids=lambda live: live.app)
def test_batch_by_batch(live, engine):
    batches, planted = live.made()
    borders = [(max(map(live.at, before)), min(map(live.at, after))) for before, after in pairwise(batches)]
    assert all(latest - live.delay <= earliest for latest, earliest in borders)
    assert any(earliest < latest for latest, earliest in borders)  # some rows come in a later batch than their turn
    assert len({live.facts(case)[0] for case in planted}) == live.kinds
    behind = live.behind(batches[0])
    assert behind
    assert max(map(live.at, behind)) < max(map(live.at, batches[1])) - live.delay

    path = APPS / live.app / "application.sql"
    late = f"{live.stream}.late"
    driver = engine.open(
        fill(path.read_text("utf-8"), str(path), {}),
        directory=path.parent,
        relations=("alerts", late),
        clock_at=datetime(2024, 1, 2, tzinfo=UTC),
        ingested=(live.stream,),
    )
    steps = (
        (batches[0], driver.stop_and_resume),
        (batches[1], driver.crash),
        (behind + batches[2], driver.drain),
    )
    with closing(driver):
        for rows, then in steps:
            driver.ingest([(live.stream, [json.dumps(row) for row in rows])])
            then()
        found, rejected = driver.rows("alerts"), driver.rows(late)
    assert sorted(map(live.facts, found)) == sorted(map(live.facts, planted))
    assert len({alert["alert_id"] for alert in found}) == len(found)

    def identity(row):
        return live.at(row), *(row[key] for key in live.keys)

    assert sorted(map(identity, rejected)) == sorted(map(identity, behind))
