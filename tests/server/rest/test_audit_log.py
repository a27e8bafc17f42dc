"""The audit log: written with the command, and kept for as long as it is wanted."""

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from headrace.errors import HeadraceError
from headrace.jobs.clock import Clock
from headrace.jobs.states import State
from headrace.records.access_tables import AuditRow
from headrace.server.access.audit import record
from headrace.server.access.decisions import SYSTEM, Target
from headrace.server.access.roles import ObjectKind
from headrace.server.services import job_service
from headrace.server.settings import Settings
from support.job_yard import APPLICATION
from support.rest_server import RestServer, Visitor
from support.waiting import until


def actions(server: RestServer, beginning: str = "job.") -> list[str]:
    with server.services.database.reading() as session:
        rows = session.query(AuditRow).order_by(AuditRow.id)
        return [row.action for row in rows if row.action.startswith(beginning)]


def test_every_command_is_noted_once(server: RestServer, developer: Visitor) -> None:
    for _ in range(2):
        body = {"name": "shop", "text": APPLICATION, "variables": {"BEHAVE": "run"}}
        answer = developer.post("/jobs", body, headers={"Idempotency-Key": "first"})
        assert answer.status_code == 202, answer.text
    server.services.jobs.stop(_who(server, developer), "one", "shop")
    server.services.jobs.stop(_who(server, developer), "one", "shop")
    server.go_until("shop", State.STOPPED)
    developer.post("/jobs/shop/restart", {})
    developer.post("/jobs/shop/stop", {})
    until(lambda: server.supervisor.tick() or server.jobs.show("shop").is_at_rest)
    assert developer.delete("/jobs/shop").status_code == 202
    assert actions(server) == ["job.submit", "job.stop", "job.restart", "job.stop", "job.delete"]


COMMANDS: list[tuple[str, Callable[[Visitor], object]]] = [
    ("submit", lambda visitor: visitor.post("/jobs", {"name": "other", "text": APPLICATION})),
    ("stop", lambda visitor: visitor.post("/jobs/shop/stop", {})),
    ("upgrade", lambda visitor: visitor.post("/jobs/shop/upgrade", {"text": APPLICATION.replace("sum", "max")})),
    ("savepoint", lambda visitor: visitor.post("/jobs/shop/savepoints")),
]


@pytest.mark.parametrize(("name", "command"), COMMANDS, ids=[name for name, _ in COMMANDS])
def test_without_its_entry_a_command_has_no_effect(
    server: RestServer, developer: Visitor, monkeypatch: pytest.MonkeyPatch, name: str, command
) -> None:
    server.submit(developer)
    before, noted = server.jobs.show("shop"), actions(server)

    def fails(*_: object, **__: object) -> None:
        raise RuntimeError("the disk is full")

    monkeypatch.setattr(job_service, "record", fails)
    assert command(developer).status_code == 500
    monkeypatch.undo()
    assert server.jobs.show("shop") == before
    assert [job.name for job in server.jobs.page().jobs] == ["shop"]
    assert actions(server) == noted
    assert command(developer).status_code == 202


def test_old_entries_go_once_a_day(tmp_path: Path) -> None:
    server = RestServer(tmp_path, audit_kept=timedelta(days=100))
    services = server.services
    real, moved = services.clock, timedelta(0)
    services.clock = Clock(lambda: real.now() + moved, lambda: real.passed() + moved)
    try:
        now = real.now()
        with services.database.transaction() as session:
            for days in (0, 99, 101, 500):
                _note(session, now - timedelta(days=days))
        assert services.tidy_up() == 2
        assert actions(server, "test.") == ["test.note", "test.note"]
        assert actions(server, "audit.") == ["audit.prune"]
        moved = timedelta(hours=23)
        assert services.tidy_up() == 0
        moved = timedelta(days=2)
        assert services.tidy_up() == 1
    finally:
        server.end()


def test_a_month_is_kept_at_least(tmp_path: Path) -> None:
    with pytest.raises(HeadraceError, match="for 30 days at least"):
        Settings(data=tmp_path, audit_kept=timedelta(days=29)).check()


def _note(session, at: datetime) -> None:
    record(session, at, SYSTEM, "test.note", Target(ObjectKind.SYSTEM))


def _who(server: RestServer, visitor: Visitor):
    session = server.services.control.sessions.find(visitor.cookies["headrace_session"])
    assert session is not None
    return session.who
