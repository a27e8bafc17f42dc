"""The command as users start it: each test pays for a Spark of its own, so there are few."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

HEADRACE = [sys.executable, "-m", "headrace.cli.main"]
CLICKS = """
CREATE STREAM clicks (at TIMESTAMP, page STRING, WATERMARK FOR at AS at - INTERVAL 5 SECONDS)
  WITH (connector = 'files', path = 'clicks', format = 'json');
"""
COUNTS = "SELECT page, count(*) AS n FROM clicks GROUP BY page;"


def headrace(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([*HEADRACE, *arguments], cwd=folder, capture_output=True, text=True, timeout=600, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "clicks").mkdir()
    rows = [("10:00:05", "/a"), ("10:05:00", "/a"), ("10:05:01", "/b")]
    feed(tmp_path, "a", *(f'{{"at": "2024-01-01T{at}Z", "page": "{page}"}}' for at, page in rows), "broken")
    return tmp_path


def feed(folder: Path, name: str, *lines: str) -> None:
    hidden = folder / f".{name}"
    hidden.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    hidden.rename(folder / "clicks" / f"{name}.json")


@pytest.mark.spark
def test_once_prints_the_final_rows_and_nothing_else(folder):
    (folder / "app.sql").write_text(
        f"{CLICKS} SHOW STREAMS;"
        "SELECT page, window_start, count(*) AS n FROM TUMBLE(clicks, at, INTERVAL 1 MINUTE) "
        "GROUP BY page, window_start;"
        "CREATE SINK c WITH (connector = 'console') AS SELECT page FROM clicks WHERE page = '/b';"
    )
    ran = headrace(folder, "run", "app.sql", "--once", "--output", "json", "--changes")
    assert ran.returncode == 0, ran.stderr
    assert [json.loads(line) for line in ran.stdout.splitlines()] == [
        {"name": "clicks"},
        {"page": "/a", "window_start": "2024-01-01T10:00:00Z", "n": 1, "_change": "insert"},
        {"page": "/a", "window_start": "2024-01-01T10:05:00Z", "n": 1, "_change": "insert"},
        {"page": "/b", "window_start": "2024-01-01T10:05:00Z", "n": 1, "_change": "insert"},
        {"page": "/b", "_change": "insert"},
    ]
    assert ran.stderr == "1 record of clicks did not parse; see: SELECT * FROM clicks.dead\n"
    assert sorted(each.name for each in folder.iterdir()) == ["app.sql", "clicks"]


@pytest.mark.spark
def test_what_only_spark_can_tell_is_a_users_error_before_any_row(folder):
    (folder / "app.sql").write_text(f"{CLICKS} SHOW STREAMS; SELECT from_json(page, page) AS p FROM clicks;")
    ran = headrace(folder, "run", "app.sql", "--once")
    assert ran.returncode == 1
    assert ran.stdout == ""
    assert ran.stderr.startswith("error: ")
    assert "app.sql:" in ran.stderr
    assert "Exception" not in ran.stderr


@pytest.mark.spark
def test_a_query_that_dies_exits_with_3(folder):
    (folder / "app.sql").write_text(f"{CLICKS} SELECT CAST(page AS INT) AS p FROM clicks;")
    ran = headrace(folder, "run", "app.sql", "--output", "json", "--for", "480")
    assert ran.returncode == 3
    assert ran.stdout == ""
    report = [line for line in ran.stderr.splitlines() if line.startswith(("error: ", "hint: "))]
    assert report[0].startswith('error: "query_1" failed: ')
    assert len(report) == 2
    assert "Traceback" not in ran.stderr


@pytest.mark.spark
def test_a_signal_stops_between_batches_and_the_next_run_goes_on(folder):
    (folder / "application.sql").write_text(CLICKS + COUNTS)

    def run(rows: int, stop: signal.Signals, *, then: str | None = None) -> list[dict[str, object]]:
        with subprocess.Popen(
            [*HEADRACE, "run", "application.sql", "--output", "json"],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            seen = [json.loads(process.stdout.readline()) for _ in range(rows)]
            if then is not None:
                refused = headrace(folder, "run", "application.sql")
                assert refused.returncode == 1
                assert refused.stderr.endswith("with --state DIR.\n")
                feed(folder, then, '{"at": "2024-01-01T10:06:00Z", "page": "/a"}')
                seen += [json.loads(process.stdout.readline()) for _ in range(2)]
            os.kill(process.pid, stop)
            rest, complaints = process.communicate(timeout=480)
            assert process.returncode == 0
            assert rest == ""
            assert complaints.endswith(f"stopped; the next run resumes from {folder}/.headrace/{folder.name}\n")
        return seen

    assert run(2, signal.SIGINT, then="b") == [
        {"page": "/a", "n": 2, "_change": "insert"},
        {"page": "/b", "n": 1, "_change": "insert"},
        {"page": "/a", "n": 2, "_change": "delete"},
        {"page": "/a", "n": 3, "_change": "insert"},
    ]
    feed(folder, "c", '{"at": "2024-01-01T10:06:00Z", "page": "/b"}')
    assert run(2, signal.SIGTERM) == [
        {"page": "/b", "n": 1, "_change": "delete"},
        {"page": "/b", "n": 2, "_change": "insert"},
    ]


def test_statements_that_only_ask_need_no_spark(folder):
    (folder / "app.sql").write_text(f"{CLICKS} DESCRIBE clicks; EXPLAIN SELECT page FROM clicks;")
    for arguments in (["--once"], []):
        ran = headrace(folder, "run", "app.sql", *arguments)
        assert ran.returncode == 0, ran.stderr
        assert ran.stdout.startswith(" column | type      | note\n")
        assert "\n\nappend: rows are published once and never change\n-> select page\n" in ran.stdout
    assert not (folder / ".headrace").exists()


def test_nothing_to_run_is_a_users_error(folder):
    (folder / "app.sql").write_text(CLICKS)
    ran = headrace(folder, "run", "app.sql")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.startswith("error: nothing to run")


def test_without_java_there_is_no_attempt_to_start_spark(folder):
    (folder / "app.sql").write_text(CLICKS + COUNTS)
    ran = subprocess.run(
        [*HEADRACE, "run", "app.sql", "--once"],
        cwd=folder,
        env={**os.environ, "JAVA_HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "error: Java 17 or newer is needed" in ran.stderr
