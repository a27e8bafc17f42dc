"""What is behind an alert: for each kind of rule the facts that it looks at."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from headrace.jobs.alerts import Alert
from headrace.jobs.figures import Figures
from headrace.jobs.rules import BatchStuck, CrashLoop, DeadRows, LagAbove, Rule, StateGrowth, WatermarkStuck
from headrace.jobs.states import State
from headrace.server.access.decisions import SYSTEM
from headrace.server.services.alerts import Alerts
from headrace.server.services.evidence import Evidence
from headrace.server.services.mistakes import NotThere
from support.rest_server import RestServer

AT = datetime(2024, 1, 1, tzinfo=UTC)
FIGURES = Figures(
    "totals", 7, 60, 3.0, 6, 1.0, timedelta(seconds=1), AT, timedelta(0), 12, 3400, 0, 2,
    operators={"0 stateStoreSave": {"rows": 12, "bytes": 3400}},
    rows_of={"s": 60}, in_per_second_of={"s": 3.0}, dead_of={"s": 2},
    behind_of={"t:0": 5, "t:1": 90}, positions={"t:0": 10, "t:1": 20}, under_way=timedelta(minutes=20),
)  # fmt: skip


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RestServer]:
    made = RestServer(tmp_path)
    developer = made.visitor("dora", "developer")
    made.submit(developer, "shop", behave="user-error")
    made.go_until("shop", State.FAILED)
    yield made
    made.end()


def behind(server: RestServer, monkeypatch: pytest.MonkeyPatch, rule: Rule, output: str | None) -> Evidence:
    alarms = server.services.alerts.alarms
    alarms.rules = (rule,)
    server.services.alerts.book.note([Alert(rule.name, "shop", output, True, AT, "so it is")])
    monkeypatch.setattr(type(server.jobs), "figures", lambda *_: [FIGURES])
    alerts: Alerts = server.services.alerts
    [seen] = alerts.of(SYSTEM, "shop")
    return server.services.evidence.of(SYSTEM, "shop", seen.id)


CASES = [
    (
        WatermarkStuck(name="r"),
        ("output", "source", "rows_so_far", "rows_per_second", "watermark"),
        [("totals", "s", 60, 3.0, AT)],
    ),
    (
        LagAbove(name="r", messages=1),
        ("output", "topic", "partition", "next_offset", "messages_behind"),
        [("totals", "t", "1", 20, 90), ("totals", "t", "0", 10, 5)],
    ),
    (
        BatchStuck(name="r"),
        ("output", "last_batch", "seconds_it_took", "seconds_under_way"),
        [("totals", 7, 1.0, 1200.0)],
    ),
    (
        StateGrowth(name="r"),
        ("output", "operator", "rows", "bytes"),
        [("totals", "all steps", 12, 3400), ("totals", "0 stateStoreSave", 12, 3400)],
    ),
]


@pytest.mark.parametrize(("rule", "columns", "rows"), CASES)
def test_rules_about_figures(
    server: RestServer,
    monkeypatch: pytest.MonkeyPatch,
    rule: Rule,
    columns: tuple[str, ...],
    rows: list[tuple[object, ...]],
) -> None:
    assert behind(server, monkeypatch, rule, "totals") == Evidence(columns, tuple(rows))


def test_dead_rows_that_no_view_keeps_are_counted(server: RestServer, monkeypatch: pytest.MonkeyPatch) -> None:
    [(stream, reason, _, record)] = behind(server, monkeypatch, DeadRows(name="r"), "totals").rows
    assert (stream, record) == ("s", "2")
    assert "STREAM.dead" in reason


def test_a_crash_loop_tells_the_last_errors(server: RestServer, monkeypatch: pytest.MonkeyPatch) -> None:
    [(_, state, error, detail, _)] = behind(server, monkeypatch, CrashLoop(name="r"), None).rows
    assert (state, error, detail) == ("failed", "it broke in attempt 1", "On purpose.")


def test_an_alert_that_is_not_there(server: RestServer) -> None:
    with pytest.raises(NotThere, match="has no alert"):
        server.services.evidence.of(SYSTEM, "shop", "0" * 16)
