"""The applications that come along: their own tests, and generators whose rows fit their streams."""

import json
import socket
import subprocess
import sys
import uuid
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlglot import exp

from headrace import Application
from headrace.cli.demo import summary, try_next
from headrace.language.dialect import Headrace
from headrace.plan import types
from headrace.server.services.dashboards import parse
from headrace.testing.directives import Crash, Drain
from headrace.testing.discover import discover
from headrace.testing.files import read_file
from headrace.testing.report import report_case
from headrace.views.definition import ViewColumn, ViewDefinition
from headrace.views.sqlite import SqliteViewStore
from support import topics

ROOT = Path(__file__).parents[1]
APPS = sorted(path.parent for path in (ROOT / "apps").glob("*/application.sql"))
OVER_FILES = [app for app in APPS if app.name not in {"auctions", "fraud_detection", "ledger", "word_count"}]
DASHBOARDS = [app for app in APPS if (app / "dashboard.yaml").is_file()]
TESTS = discover([ROOT / "apps", ROOT / "docs" / "examples"])

PYTHON_TYPES = {"text": str, "number": (int, float), "struct": dict}


@pytest.fixture(autouse=True)
def plain_surroundings(monkeypatch):
    for name in ("ACCOUNTS", "DATA", "PORT", "AUCTIONS", "BIDS", "HOT", "TRANSACTIONS"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.spark
@pytest.mark.parametrize("path", TESTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_case_file(path, run_cases):
    results = run_cases(path)
    assert results
    failed = [report_case(result) for result in results if not result.passed]
    assert not failed, "\n".join(failed)


def test_there_are_applications():
    assert [app.name for app in APPS] == [
        "auctions", "click_through", "driver_hours", "fraud_detection", "intrusion_detection",
        "ledger", "page_views", "stock_ticks", "timeline", "word_count",
    ]  # fmt: skip


@pytest.mark.parametrize("app", APPS, ids=lambda app: app.name)
def test_application_is_complete(app):
    assert Application.load(app / "application.sql").plan.outputs
    assert summary(app).endswith(".")
    assert "headrace test" in try_next(app)
    cases = [case for path in discover([app]) for case in read_file(path).cases]
    directives = [block.directive for case in cases for block in case.blocks]
    assert any(isinstance(each, Crash) for each in directives)
    assert any(isinstance(each, Drain) for each in directives)


def test_there_are_dashboards():
    assert [app.name for app in DASHBOARDS] == ["fraud_detection"]


@pytest.mark.parametrize("app", DASHBOARDS, ids=lambda app: app.name)
def test_panels_ask_for_what_the_views_have(app, tmp_path):
    dashboard = parse((app / "dashboard.yaml").read_text("utf-8"), "dashboard.yaml")
    outputs = [output for output in Application.load(app / "application.sql").plan.outputs if output.view]
    with closing(SqliteViewStore(tmp_path / "views.sqlite")) as store:
        definitions = [
            ViewDefinition(
                output.name,
                tuple(
                    ViewColumn(field.name, field.type.sql(dialect=Headrace).lower()) for field in output.relation.fields
                ),
                key=tuple(output.view.key or ()),
            )
            for output in outputs
        ]
        store.define("app.views", definitions)
        for panel in dashboard.panels:
            columns, _ = store.query(panel.query)
            named = {panel.x, panel.value, panel.latitude, panel.longitude, panel.label, *panel.y} - {None}
            assert named <= set(columns), panel.title


def generate(app, folder, seed):
    arguments = ["--out", folder, "--seconds", "1", "--rate", "300", "--seed", seed]
    subprocess.run(
        [sys.executable, app / "generator.py", *map(str, arguments), "--start", "2024-01-01T10:00:00+00:00"],
        check=True,
        timeout=240,
    )
    return {
        str(path.relative_to(folder)): path.read_text("utf-8") for path in sorted(folder.rglob("*")) if path.is_file()
    }


@pytest.mark.parametrize("app", OVER_FILES, ids=lambda app: app.name)
def test_generator_writes_rows_that_the_streams_take(app, tmp_path):
    generate(app, tmp_path, seed=7)
    plan = Application.load(app / "application.sql", {"DATA": str(tmp_path)}).plan
    for stream in plan.streams.values():
        for record in records_in(stream.options.path):
            check_record(record, stream)
    for table in plan.tables.values():
        for record in records_in(app / table.options.path):
            check_written(record, table)


def records_in(folder):
    lines = [line for path in Path(folder).glob("*") for line in path.read_text("utf-8").splitlines()]
    assert len(lines) > 10
    return [json.loads(line) for line in lines]


def check_written(record, table):
    """Check what is written into a table: a row, or the key of a row that goes."""
    if record.get("_change") == "delete":
        assert set(table.primary_key) <= set(record) - {"_change"} <= {column.name for column in table.columns}
    else:
        assert set(record) == {column.name for column in table.columns}


def check_record(record, stream):
    assert set(record) == {column.name for column in stream.stored}
    for column in stream.stored:
        value = record[column.name]
        if types.is_timestamp(column.type):
            assert datetime.fromisoformat(value).tzinfo is not None
        else:
            assert isinstance(value, PYTHON_TYPES[types.family(column.type)]), column.name
        if column.type.this == exp.DType.INT:
            assert isinstance(value, int)


@pytest.mark.parametrize("app", OVER_FILES, ids=lambda app: app.name)
def test_generator_repeats_itself_by_its_seed(app, tmp_path):
    first, second, other = (generate(app, tmp_path / name, seed) for name, seed in (("a", 7), ("b", 7), ("c", 8)))
    assert first == second
    assert first != other


def bid_messages(servers, seed, suffix):
    arguments = ["--bootstrap", servers, f"--suffix={suffix}", "--seconds", "1", "--rate", "2000", "--seed", str(seed)]
    subprocess.run(
        [sys.executable, ROOT / "apps/auctions/generator.py", *arguments, "--start", "2024-01-01T10:00:00+00:00"],
        check=True,
        timeout=240,
    )
    messages = sorted(
        topics.read(servers, f"bids{suffix}"), key=lambda message: (message.partition(), message.offset())
    )
    return [(message.partition(), message.key(), message.value()) for message in messages]


def test_bid_generator_writes_messages_that_the_application_takes(broker):
    servers, suffix = broker.start(), f"-{uuid.uuid4().hex[:8]}"
    plan = Application.load(ROOT / "apps/auctions/application.sql").plan
    messages = bid_messages(servers, 7, suffix)
    assert {partition for partition, _, _ in messages} == {0, 1}
    bids = [json.loads(value) for _, _, value in messages]
    assert [key for _, key, _ in messages] == [str(bid["auction"]).encode() for bid in bids]
    sound = [bid for bid in bids if bid["price"] != "a lot"]
    assert 0.99 * len(bids) < len(sound) < len(bids) == 2000
    for bid in sound:
        check_record(bid, plan.streams["bids"])
    late = [bid for bid in bids if datetime.fromisoformat(bid["placed_at"]) < datetime(2024, 1, 1, 10, tzinfo=UTC)]
    assert 0 < len(late) < 0.02 * len(bids)
    auctions = topics.rows(servers, f"auctions{suffix}")
    assert {bid["auction"] for bid in bids} == {auction["id"] for auction in auctions}
    for auction in auctions:
        assert set(auction) == {column.name for column in plan.tables["auctions"].columns}


def test_bid_generator_repeats_itself_by_its_seed(broker):
    run = uuid.uuid4().hex[:8]
    first, second, other = (bid_messages(broker.start(), seed, f"-{run}-{n}") for n, seed in enumerate((7, 7, 8)))
    assert first == second
    assert first != other


def transactions(servers, seed, suffix):
    arguments = ["--bootstrap", servers, f"--suffix={suffix}", "--seconds", "2", "--rate", "100", "--seed", str(seed)]
    arguments += ["--start", "2024-01-01T10:00:00+00:00", "--speed", "3600", "--planted"]
    command = [sys.executable, ROOT / "apps/fraud_detection/generator.py", *arguments]
    planted = subprocess.run(command, check=True, timeout=240, capture_output=True, text=True).stdout
    messages = sorted(
        topics.read(servers, f"transactions{suffix}"), key=lambda message: (message.partition(), message.offset())
    )
    return [(message.partition(), message.key(), message.value()) for message in messages], planted


def test_transaction_generator_writes_messages_that_the_application_takes(broker):
    plan = Application.load(ROOT / "apps/fraud_detection/application.sql").plan
    messages, planted = transactions(broker.start(), 7, f"-{uuid.uuid4().hex[:8]}")
    assert {partition for partition, _, _ in messages} == {0, 1}
    rows = [json.loads(value) for _, _, value in messages]
    assert [key for _, key, _ in messages] == [row["account_id"].encode() for row in rows]
    for row in rows:
        check_record(row, plan.streams["transactions"])
    assert len(rows) == len({row["transaction_id"] for row in rows}) > 200
    for case in map(json.loads, planted.splitlines()):
        [row] = [row for row in rows if row["transaction_id"] == case["transaction_id"]]
        assert row["timestamp"] == case["timestamp"]


def test_transaction_generator_repeats_itself_by_its_seed(broker):
    run = uuid.uuid4().hex[:8]
    first, second, other = (transactions(broker.start(), seed, f"-{run}-{n}") for n, seed in enumerate((7, 7, 8)))
    assert first == second
    assert first != other


@contextmanager
def serving(app, seed):
    arguments = ["--port", "0", "--seconds", "600", "--rate", "1000", "--seed", str(seed)]
    with subprocess.Popen(
        [sys.executable, app / "generator.py", *arguments], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield int(process.stdout.readline().split()[-1])
        finally:
            process.terminate()


def read_lines(port, count):
    with (
        socket.create_connection(("127.0.0.1", port), timeout=240) as connection,
        connection.makefile() as lines,
    ):
        return [lines.readline().rstrip("\n") for _ in range(count)]


def test_word_generator_serves_the_same_lines_to_each_reader():
    with serving(ROOT / "apps" / "word_count", seed=7) as port:
        first = read_lines(port, 20)
        assert first == read_lines(port, 20)
    assert all(len(line.split()) >= 4 for line in first)
    assert len(set(first)) > 5
