"""Applications that look for something find what their generator planted: all of it, and nothing else."""

import json
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

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
    ran = subprocess.run(command, check=True, timeout=60, capture_output=True, text=True)
    return lines(ran.stdout)


def alerts(app, folder):
    """Run an application over what is there, and return what its sink wrote."""
    command = [sys.executable, "-m", "headrace.cli.main", "run", APPS / app / "application.sql", "--once"]
    ran = subprocess.run(
        [*command, "--var", f"DATA={folder}"], cwd=folder, timeout=600, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    found = [row for path in (folder / "alerts").glob("*.json") for row in lines(path.read_text("utf-8"))]
    assert len({alert["alert_id"] for alert in found}) == len(found)
    assert all(alert["evidence"] for alert in found)
    return found


@pytest.mark.spark
def test_fraud(tmp_path):
    planted = generate("fraud_detection", tmp_path, "--seconds", "2", "--speed", "3600", "--rate", "100")
    found = alerts("fraud_detection", tmp_path)
    assert {case["rule"] for case in planted} == set(REASONS)
    assert sorted((alert["reason"], alert["transaction_id"]) for alert in found) == sorted(
        (REASONS[case["rule"]], case["transaction_id"]) for case in planted
    )
    assert all(alert["evidence"][-1]["id"] == alert["transaction_id"] for alert in found)


@pytest.mark.spark
def test_intrusions(tmp_path):
    planted = generate("intrusion_detection", tmp_path, "--seconds", "2", "--speed", "600", "--rate", "100")
    found = alerts("intrusion_detection", tmp_path)
    assert {case["rule"] for case in planted} == {"generalbruteforce", "httpscan", "p2p"}

    def facts(row):
        return row["rule"], row["address"], datetime.fromisoformat(row["began_at"]), row["events"]

    assert sorted(map(facts, found)) == sorted(map(facts, planted))
    assert all(len(alert["evidence"]) == alert["events"] for alert in found)


@pytest.mark.spark
def test_driver_hours(tmp_path):
    planted = generate("driver_hours", tmp_path, "--seconds", "2", "--speed", "64800", "--rate", "10")
    found = alerts("driver_hours", tmp_path)
    assert len({case["reason"] for case in planted}) == 3

    def facts(row):
        return row["reason"], row["licence"], datetime.fromisoformat(row["at"])

    assert sorted(map(facts, found)) == sorted(map(facts, planted))
