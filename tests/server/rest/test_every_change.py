"""Every route that changes something leaves its entry in the audit log: who, what and to which object."""

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from headrace.jobs.states import State
from headrace.records.access_tables import AuditRow
from headrace.server.access.decisions import SYSTEM
from headrace.server.application import PREFIX
from headrace.server.rest import language
from support.job_yard import APPLICATION
from support.rest_server import PASSWORD, RestServer, Visitor

FROM_KAFKA = APPLICATION.replace("'memory'", "'kafka', topic = 't'")
NEWER = FROM_KAFKA.replace("sum(v)", "max(v)")
ENTRY = {"effect": "allow", "kind": "job", "pattern": "shop", "user": "vera", "role": "operator"}
RULE = {"kind": "crash-loop", "job": "shop"}

Before = Callable[[RestServer, Visitor], str | None]


def nothing(_: RestServer, __: Visitor) -> None:
    """Need nothing."""


def submitted(server: RestServer, admin: Visitor) -> None:
    server.submit(admin, text=FROM_KAFKA)


def running(server: RestServer, admin: Visitor) -> None:
    submitted(server, admin)
    server.go_until("shop", State.RUNNING)


def rebuilding(server: RestServer, admin: Visitor) -> None:
    running(server, admin)
    assert admin.post("/jobs/shop/rebuild", {}).status_code == 202


def stopped(server: RestServer, admin: Visitor) -> str:
    running(server, admin)
    assert admin.post("/jobs/shop/stop", {"savepoint": True}).status_code == 202
    server.go_until("shop", State.STOPPED)
    [savepoint] = admin.get("/jobs/shop/savepoints").json()["items"]
    return savepoint["id"]


def alerted(server: RestServer, admin: Visitor) -> str:
    server.submit(admin, behave="user-error")
    server.go_until("shop", State.FAILED)
    server.services.alerts.alarms.look(server.services.jobs.samples(SYSTEM))
    [alert] = admin.get("/alerts").json()["items"]
    return alert["id"]


def made(path: str, body: Any, method: str = "POST") -> Before:
    """Return what makes a thing by a request, and gives its id if it has one."""

    def make(_: RestServer, admin: Visitor) -> str | None:
        answer = admin.send(method, path, json=body)
        assert answer.is_success, answer.text
        told = answer.json()
        return str(told.get("token", told).get("id"))

    return make


def with_member(server: RestServer, admin: Visitor) -> None:
    made("/groups", {"name": "ops"})(server, admin)
    assert admin.put("/groups/ops/members/vera").status_code == 200


@dataclass(frozen=True, slots=True)
class Change:
    """A request by the admin chief, where ``{id}`` is what ``before`` gave, and what is noted of it."""

    route: str
    path: str
    noted: tuple[str, ...]
    body: Any = None
    before: Before = nothing

    @property
    def method(self) -> str:
        return self.route.partition(" ")[0]


CHANGES = [
    Change("POST /login", "/login", ("session.start user chief",), {"name": "chief", "password": PASSWORD}),
    Change("POST /logout", "/logout", ("session.end user chief",)),
    Change(
        "POST /me/password",
        "/me/password",
        ("user.set_password user chief",),
        {"current": PASSWORD, "new": "brisk-lantern-orchard"},
    ),
    Change("POST /tokens", "/tokens", ("token.create user chief",), {"name": "laptop"}),
    Change(
        "DELETE /tokens/{token}", "/tokens/{id}", ("token.revoke user chief",), None, made("/tokens", {"name": "x"})
    ),
    Change("POST /users", "/users", ("user.create user new",), {"name": "new"}),
    Change("PATCH /users/{name}", "/users/vera", ("user.set_role user vera",), {"role": "operator"}),
    Change("PATCH /users/{name}", "/users/vera", ("user.disable user vera",), {"active": False}),
    Change(
        "PATCH /users/{name}",
        "/users/vera",
        ("user.enable user vera",),
        {"active": True},
        made("/users/vera", {"active": False}, "PATCH"),
    ),
    Change(
        "PATCH /users/{name}",
        "/users/vera",
        ("group.add_member group ops",),
        {"groups": ["ops"]},
        made("/groups", {"name": "ops"}),
    ),
    Change("PATCH /users/{name}", "/users/vera", ("group.remove_member group ops",), {"groups": []}, with_member),
    Change("POST /users/{name}/password", "/users/vera/password", ("user.set_password user vera",), {}),
    Change("DELETE /users/{name}/sessions", "/users/vera/sessions", ("session.end_all user vera",)),
    Change("DELETE /users/{name}", "/users/vera", ("user.delete user vera",)),
    Change("POST /groups", "/groups", ("group.create group ops",), {"name": "ops"}),
    Change("DELETE /groups/{name}", "/groups/ops", ("group.delete group ops",), None, with_member),
    Change(
        "PUT /groups/{name}/members/{user}",
        "/groups/ops/members/vera",
        ("group.add_member group ops",),
        None,
        made("/groups", {"name": "ops"}),
    ),
    Change(
        "DELETE /groups/{name}/members/{user}",
        "/groups/ops/members/vera",
        ("group.remove_member group ops",),
        None,
        with_member,
    ),
    Change("POST /access", "/access", ("access.add job shop",), ENTRY),
    Change("DELETE /access/{entry}", "/access/{id}", ("access.remove job shop",), None, made("/access", ENTRY)),
    Change(
        "PATCH /access/{kind}/{name}",
        "/access/job/shop",
        ("access.set_owner job shop", "access.restrict job shop"),
        {"restricted": True, "owner": "vera"},
        submitted,
    ),
    Change("POST /try/events", "/try/events", ("application.try system ",), {"text": "SELECT 1 AS one"}),
    Change(
        "PUT /applications/{name}", "/applications/kept", ("application.edit application kept",), {"text": APPLICATION}
    ),
    Change(
        "DELETE /applications/{name}",
        "/applications/kept",
        ("application.delete application kept",),
        None,
        made("/applications/kept", {"text": APPLICATION}, "PUT"),
    ),
    Change(
        "PUT /dashboards/{name}",
        "/dashboards/shop",
        ("application.edit_dashboard application shop",),
        {"text": "title: Sales\npanels: []\n"},
        submitted,
    ),
    Change("PUT /alert-rules/{name}", "/alert-rules/mine", ("alert_rule.put job shop",), RULE),
    Change(
        "DELETE /alert-rules/{name}",
        "/alert-rules/mine",
        ("alert_rule.remove job shop",),
        None,
        made("/alert-rules/mine", RULE, "PUT"),
    ),
    Change(
        "POST /jobs",
        "/jobs",
        ("job.submit job shop", "application.edit application shop"),
        {"name": "shop", "text": APPLICATION},
    ),
    Change("POST /jobs/{job}/stop", "/jobs/shop/stop", ("job.stop job shop",), {}, submitted),
    Change("POST /jobs/{job}/restart", "/jobs/shop/restart", ("job.restart job shop",), {}, submitted),
    Change("POST /jobs/{job}/upgrade", "/jobs/shop/upgrade?dry_run=true", (), {"text": NEWER}, submitted),
    Change(
        "POST /jobs/{job}/upgrade",
        "/jobs/shop/upgrade",
        ("job.upgrade job shop", "application.edit application shop"),
        {"text": NEWER},
        submitted,
    ),
    Change(
        "POST /jobs/{job}/upgrade",
        "/jobs/shop/upgrade",
        ("job.rebuild job shop", "application.edit application shop"),
        {"text": NEWER, "beside": True},
        running,
    ),
    Change("POST /jobs/{job}/rebuild", "/jobs/shop/rebuild", ("job.rebuild job shop",), {}, running),
    Change("DELETE /jobs/{job}/rebuild", "/jobs/shop/rebuild", ("job.cancel_rebuild job shop",), None, rebuilding),
    Change("DELETE /jobs/{job}", "/jobs/shop", ("job.delete job shop",), None, stopped),
    Change("POST /jobs/{job}/savepoints", "/jobs/shop/savepoints", ("job.savepoint job shop",), None, submitted),
    Change(
        "DELETE /jobs/{job}/savepoints/{savepoint}",
        "/jobs/shop/savepoints/{id}",
        ("job.delete_savepoint job shop",),
        None,
        stopped,
    ),
    Change(
        "POST /jobs/{job}/alerts/{alert}/acknowledge",
        "/jobs/shop/alerts/{id}/acknowledge",
        ("job.acknowledge job shop",),
        None,
        alerted,
    ),
]
ONLY_LOOK = {"POST /check", "POST /explain", "POST /views/query"}
"""What is no GET and changes nothing all the same: a text would be too long for an address."""


def test_every_route_that_changes_something_is_here(server: RestServer) -> None:
    there = {
        f"{method.upper()} {path.removeprefix(PREFIX)}"
        for path, methods in server.app.openapi()["paths"].items()
        for method in methods
        if method != "get"
    }
    assert there == {each.route for each in CHANGES} | ONLY_LOOK
    assert all(any(each.noted for each in CHANGES if each.route == route) for route in there - ONLY_LOOK)


@pytest.mark.usefixtures("viewer")
@pytest.mark.parametrize("change", CHANGES, ids=lambda each: f"{each.method} {each.path} {' '.join(each.noted)}")
def test_every_change_is_in_the_audit_log(
    server: RestServer, admin: Visitor, change: Change, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(language, "rows_of", _no_rows)
    given = change.before(server, admin)
    last = max((row.id for row in _entries(server)), default=0)
    asks = server.nobody() if change.path == "/login" else admin
    path = change.path.replace("{id}", given or "")
    answer = asks.send(change.method, path, **({} if change.body is None else {"json": change.body}))
    assert answer.is_success, answer.text
    noted = [row for row in _entries(server) if row.id > last]
    assert tuple(f"{row.action} {row.target_kind} {row.target_name}" for row in noted) == change.noted
    assert {(row.actor_name, row.outcome) for row in noted} <= {("chief", "done")}


@pytest.mark.usefixtures("viewer")
@pytest.mark.parametrize("route", sorted(ONLY_LOOK))
def test_who_only_looks_is_not_in_the_audit_log(server: RestServer, admin: Visitor, route: str) -> None:
    submitted(server, admin)
    with server.totals() as totals:
        totals.take([("a", 1)])
    before = len(_entries(server))
    body = {"sql": "SELECT * FROM totals"} if "query" in route else {"text": APPLICATION}
    assert admin.post(route.partition(" ")[2], body).status_code == 200
    assert len(_entries(server)) == before


async def _no_rows(*_: object) -> AsyncGenerator[None, None]:
    """Give nothing; a real trial would start Spark."""
    for each in ():
        yield each


def _entries(server: RestServer) -> list[AuditRow]:
    with server.services.database.reading() as session:
        found = list(session.query(AuditRow).order_by(AuditRow.id))
        session.expunge_all()
        return found
