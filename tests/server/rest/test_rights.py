"""Who may do what by REST: every route for every role, and nothing that may not be seen is visible."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.routing import APIRoute

from headrace.jobs.states import State
from headrace.server.application import PREFIX
from support.job_yard import APPLICATION
from support.rest_server import PASSWORD, RestServer

ROLES = ("nobody", "viewer", "operator", "developer", "admin")
TEXT = {"text": APPLICATION}
ALERT, TOKEN = "0" * 16, "f" * 16
DASHBOARD = {"text": "title: Sales\npanels: []\n"}

# method, path, body, the least role that may
ROUTES = [
    ("POST", "/logout", None, "viewer"),
    ("GET", "/me", None, "viewer"),
    ("POST", "/me/password", {"current": "wrong", "new": PASSWORD}, "viewer"),
    ("GET", "/tokens", None, "viewer"),
    ("POST", "/tokens", {"name": "mine"}, "viewer"),
    ("DELETE", f"/tokens/{TOKEN}", None, "viewer"),
    ("GET", "/users", None, "admin"),
    ("POST", "/users", {"name": "new"}, "admin"),
    ("GET", "/users/chief", None, "admin"),
    ("PATCH", "/users/chief", {"role": "admin"}, "admin"),
    ("POST", "/users/chief/password", {"password": PASSWORD}, "admin"),
    ("DELETE", "/users/chief/sessions", None, "admin"),
    ("DELETE", "/users/nobody-known", None, "admin"),
    ("GET", "/groups", None, "admin"),
    ("POST", "/groups", {"name": "ops"}, "admin"),
    ("DELETE", "/groups/ops", None, "admin"),
    ("PUT", "/groups/ops/members/chief", None, "admin"),
    ("DELETE", "/groups/ops/members/chief", None, "admin"),
    ("GET", "/access", None, "admin"),
    ("POST", "/access", {"effect": "allow", "kind": "job", "pattern": "x", "user": "chief", "role": "viewer"}, "admin"),
    ("DELETE", "/access/1", None, "admin"),
    ("GET", "/access/job/shop", None, "admin"),
    ("PATCH", "/access/job/shop", {"restricted": False}, "admin"),
    ("GET", "/audit", None, "admin"),
    ("POST", "/check", TEXT, "developer"),
    ("POST", "/try/events", {"text": "SELECT"}, "developer"),
    ("POST", "/explain", TEXT, "developer"),
    ("GET", "/applications", None, "viewer"),
    ("GET", "/applications/shop", None, "viewer"),
    ("GET", "/applications/shop/versions", None, "viewer"),
    ("PUT", "/applications/other", TEXT, "developer"),
    ("DELETE", "/applications/kept", None, "developer"),
    ("GET", "/dashboards", None, "viewer"),
    ("GET", "/dashboards/shop", None, "viewer"),
    ("PUT", "/dashboards/shop", DASHBOARD, "developer"),
    ("GET", "/alerts", None, "viewer"),
    ("GET", "/alert-rules", None, "viewer"),
    ("PUT", "/alert-rules/mine", {"kind": "crash-loop"}, "developer"),
    ("DELETE", "/alert-rules/made", None, "developer"),
    ("GET", "/jobs", None, "viewer"),
    ("POST", "/jobs", {"name": "another", **TEXT}, "developer"),
    ("GET", "/jobs/shop", None, "viewer"),
    ("POST", "/jobs/shop/stop", {}, "operator"),
    ("POST", "/jobs/shop/restart", {}, "operator"),
    ("POST", "/jobs/shop/restart", {"fresh": True}, "developer"),
    ("POST", "/jobs/shop/restart", {"from_time": "2024-05-01T00:00:00Z"}, "developer"),
    ("POST", "/jobs/shop/upgrade?dry_run=true", TEXT, "developer"),
    ("POST", "/jobs/shop/upgrade", TEXT, "developer"),
    ("GET", "/jobs/shop/rebuild", None, "viewer"),
    ("POST", "/jobs/shop/rebuild", {}, "developer"),
    ("DELETE", "/jobs/shop/rebuild", None, "developer"),
    ("DELETE", "/jobs/shop", None, "developer"),
    ("GET", "/jobs/shop/savepoints", None, "viewer"),
    ("POST", "/jobs/shop/savepoints", None, "operator"),
    ("DELETE", "/jobs/shop/savepoints/abc", None, "developer"),
    ("GET", "/jobs/shop/versions", None, "viewer"),
    ("GET", "/jobs/shop/events", None, "viewer"),
    ("GET", "/jobs/shop/logs", None, "viewer"),
    ("GET", "/jobs/shop/figures", None, "viewer"),
    ("GET", "/jobs/shop/rejected", None, "viewer"),
    ("GET", "/jobs/shop/rows", None, "viewer"),
    ("GET", "/jobs/shop/topology", None, "viewer"),
    ("GET", "/jobs/shop/records?at=payments:0:1", None, "viewer"),
    ("GET", "/jobs/shop/alerts", None, "viewer"),
    ("GET", f"/jobs/shop/alerts/{ALERT}/evidence", None, "viewer"),
    ("POST", f"/jobs/shop/alerts/{ALERT}/acknowledge", None, "operator"),
    ("GET", "/views", None, "viewer"),
    ("POST", "/views/query", {"sql": "SELECT * FROM totals"}, "viewer"),
    ("GET", "/views/totals", None, "viewer"),
    ("GET", "/views/totals/rows", None, "viewer"),
    ("GET", "/views/totals/row?key=a", None, "viewer"),
    ("GET", "/views/totals/changes", None, "viewer"),
    ("GET", "/catalog", None, "viewer"),
    ("GET", "/catalog/s", None, "viewer"),
    ("GET", "/catalog/s/recent", None, "viewer"),
    ("GET", "/catalog/s/events", None, "viewer"),  # it says that there is nothing to follow, and ends
]
FOLLOWED = {
    "/jobs/{job}/figures/events",
    "/jobs/{job}/logs/events",
    "/jobs/{job}/events/events",
    "/views/{view}/changes/events",
}
OPEN = {"/login", *FOLLOWED}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestServer]:
    made = RestServer(tmp_path_factory.mktemp("rights"))
    chief = made.visitor("chief", "admin")
    made.submit(chief)
    chief.put("/applications/kept", TEXT)
    chief.put("/alert-rules/made", {"kind": "crash-loop"})
    made.go_until("shop", State.RUNNING)
    with made.totals() as totals:
        totals.take([("a", 1)])
    yield made
    made.end()


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize(("method", "path", "body", "least"), ROUTES, ids=lambda each: str(each)[:40])
def test_every_route_for_every_role(shared: RestServer, method, path, body, least, role) -> None:
    visitor = shared.nobody()
    if role != "nobody":
        shared.visitor(f"a-{role}", role)
        visitor = shared.logged_in(f"a-{role}") if path == "/logout" else shared.visitor(f"a-{role}", role)
    answer = visitor.send(method, path, **({} if body is None else {"json": body}))
    assert answer.status_code < 500, answer.text
    if role == "nobody":
        assert answer.status_code == 401
    elif ROLES.index(role) < ROLES.index(least):
        assert answer.status_code == 403, answer.text
        assert answer.headers["content-type"] == "application/problem+json"
    elif path == "/me/password":
        assert answer.json()["title"] == "the name or the password is wrong"
    else:
        assert answer.status_code not in {401, 403}, answer.text


def test_the_table_has_every_route(server: RestServer) -> None:
    paths = server.app.openapi()["paths"]
    there = {
        (method.upper(), path.removeprefix(PREFIX))
        for path, methods in paths.items()
        for method in methods
        if path.startswith(PREFIX)
    }
    concrete = [(method, path.partition("?")[0]) for method, path, _, _ in ROUTES]
    routes = [each for each in server.app.routes if isinstance(each, APIRoute)]
    assert routes or there
    missing = {
        (method, path)
        for method, path in there
        if path not in OPEN and not any(method == one and _fits(path, other) for one, other in concrete)
    }
    assert missing == set()


def _fits(template: str, path: str) -> bool:
    parts, others = template.split("/"), path.split("/")
    return len(parts) == len(others) and all(a == b or a.startswith("{") for a, b in zip(parts, others, strict=True))


def test_what_may_not_be_seen_is_not_there(server: RestServer, admin, developer, viewer) -> None:
    server.submit(admin)
    assert admin.patch("/access/application/shop", {"restricted": True}).status_code == 200
    for visitor in (developer, viewer):
        for path in ("/jobs/shop", "/jobs/shop/logs", "/views/totals/rows", "/catalog/s", "/applications/shop"):
            answer = visitor.get(path)
            assert answer.status_code == 404, (path, answer.text)
            assert "shop" not in answer.json().get("hint", "")
        for path in ("/jobs", "/views", "/catalog", "/applications"):
            assert visitor.get(path).json()["items"] == []
        assert visitor.post("/views/query", {"sql": "SELECT * FROM totals"}).status_code == 404
        assert "shop" not in server.with_token(visitor).get("/metrics").text
    assert developer.post("/jobs/shop/stop", {}).status_code == 404
    dashboard = {"text": "title: Shop\npanels: []"}
    for method, path, body in (
        ("PUT", "/applications/shop", TEXT),
        ("PUT", "/dashboards/shop", dashboard),
        ("POST", "/jobs", {"name": "shop", **TEXT}),
    ):
        taken, refused = (visitor.send(method, path, json=body) for visitor in (developer, viewer))
        assert (taken.status_code, taken.json()["title"]) == (409, 'the name "shop" cannot be used'), path
        assert refused.status_code == 403
        assert refused.json()["detail"] == "It needs the role developer, and vera is viewer" + (
            "." if path == "/dashboards/shop" else ", whatever a list says."
        )
    noted = admin.get("/audit", params={"actor": "dora", "outcome": "refused"}).json()["items"]
    assert {each["action"] for each in noted} == {
        "application.edit",
        "application.edit_dashboard",
        "application.submit",
    }
    assert "shop" in server.with_token(admin).get("/metrics").text


def test_a_list_opens_one_job_to_one_user(server: RestServer, admin, viewer) -> None:
    server.submit(admin)
    assert admin.patch("/access/job/shop", {"restricted": True}).status_code == 200
    entry = {"effect": "allow", "kind": "job", "pattern": "shop", "user": "vera", "role": "operator"}
    made = admin.post("/access", entry)
    assert made.status_code == 201
    assert viewer.post("/jobs/shop/stop", {}).status_code == 202
    assert admin.get("/access/job/shop").json()["entries"][0]["grantee"] == "vera"
    assert admin.delete(f"/access/{made.json()['id']}").status_code == 204
    assert viewer.get("/jobs/shop").status_code == 404


def test_a_name_of_any_letters_can_be_denied(server: RestServer, admin, viewer) -> None:
    text = APPLICATION.replace("totals", "`größe und maß`")
    server.submit(admin, text=text)
    assert viewer.get("/views/größe und maß").status_code == 200
    entry = {"effect": "deny", "kind": "view", "pattern": "größe und maß", "user": "vera", "role": "viewer"}
    assert admin.post("/access", entry).status_code == 201
    assert viewer.get("/views/größe und maß").status_code == 404
    assert admin.post("/access", entry | {"pattern": "a\x7fb"}).status_code == 422


def test_secrets_of_a_text_are_for_who_may_change_it(server: RestServer, developer, viewer) -> None:
    text = APPLICATION + "-- password = 'hush'\n"
    server.submit(developer, text=text)
    assert "hush" in developer.get("/jobs/shop/versions").text
    assert "hush" not in viewer.get("/jobs/shop/versions").text
    assert "hush" not in viewer.get("/applications/shop").text
    assert developer.get("/jobs/shop/versions").json()["items"][0]["variables"] == ["BEHAVE"]


def test_passwords_inside_of_options_are_not_told(server: RestServer, developer, viewer) -> None:
    text = (
        "CREATE STREAM s (v INT) WITH (connector = 'kafka', bootstrap_servers = 'b:1', topic = 't', format = 'avro',"
        " schema_registry = 'http://ann:hush@h:1');\n"
        "CREATE SINK out WITH (connector = 'postgres', url = 'postgresql://db/shop?user=ann&password=hush',"
        " table = 't', key = 'v') AS SELECT v FROM s;\n"
        "CREATE SINK more WITH (connector = 'postgres', url = 'host=h password=hush', table = 't', key = 'v')"
        " AS SELECT v FROM s;\n"
    )
    server.submit(developer, text=text)
    for path in ("/catalog", "/catalog/s", "/jobs/shop/versions", "/jobs/shop/topology"):
        answer = viewer.get(path)
        assert answer.status_code == 200
        assert "hush" not in answer.text, path
    assert viewer.get("/catalog/s").json()["options"]["schema_registry"] == "http://ann:****@h:1"


def test_a_token_narrowed_to_a_role_may_no_more(server: RestServer, developer) -> None:
    token = server.with_token(developer, "viewer")
    assert token.get("/jobs").status_code == 200
    assert token.post("/jobs", {"name": "x", **TEXT}).status_code == 403
    assert token.post("/tokens", {"name": "more"}).status_code == 403
    me = {"name": "dora", "role": "viewer", "csrf_token": None, "must_change_password": False}
    assert token.get("/me").json() == me


def test_a_token_of_an_admin_does_not_change_its_owners_password(server: RestServer, admin, viewer) -> None:
    token = server.with_token(admin)
    assert token.post("/users/vera/password", {}).status_code == 200
    for name in ("chief", "Chief"):
        answer = token.post(f"/users/{name}/password", {})
        assert answer.status_code == 403
        assert answer.json()["detail"] == "A token cannot change accounts."
    assert server.logged_in("chief").post("/users/chief/password", {}).status_code == 200


def test_sessions_are_ended_by_their_user_and_by_admins(server: RestServer, admin, viewer) -> None:
    other, token = server.logged_in("vera"), server.with_token(viewer)
    assert viewer.delete("/users/vera/sessions").status_code == 204
    assert {each.get("/me").status_code for each in (viewer, other)} == {401}
    assert token.get("/me").status_code == 200
    assert token.delete("/users/vera/sessions").status_code == 403
    again = server.logged_in("vera")
    assert server.with_token(admin).delete("/users/vera/sessions").status_code == 204
    assert again.get("/me").status_code == 401
    assert admin.get("/me").status_code == 200


def test_commands_and_refused_ones_are_in_the_audit_log(server: RestServer, admin, developer, operator) -> None:
    server.submit(developer)
    operator.post("/jobs/shop/stop", {})
    operator.delete("/jobs/shop")
    found = admin.get("/audit", params={"action": "job"}).json()["items"]
    assert [(each["actor"], each["action"], each["outcome"]) for each in found] == [
        ("otto", "job.delete", "refused"),
        ("otto", "job.stop", "done"),
        ("dora", "job.submit", "done"),
    ]


def test_a_user_is_changed_as_a_whole_or_not_at_all(server: RestServer, admin, viewer) -> None:
    assert admin.post("/groups", {"name": "ops"}).status_code == 201
    wish = {"role": "operator", "active": False, "groups": ["ops", "nope"]}
    assert admin.patch("/users/vera", wish).status_code == 404
    before = admin.get("/users/vera").json()
    assert (before["role"], before["active"], before["groups"]) == ("viewer", True, [])
    assert admin.get("/audit", params={"target_name": "vera", "action": "user.set_role"}).json()["items"] == []
    changed = admin.patch("/users/vera", wish | {"groups": ["ops"]}).json()
    assert (changed["role"], changed["active"], changed["groups"]) == ("operator", False, ["ops"])


def test_a_refused_change_of_an_account_is_in_the_audit_log(server: RestServer, admin, viewer) -> None:
    assert server.with_token(viewer).post("/tokens", {"name": "more"}).status_code == 403
    [found] = admin.get("/audit", params={"outcome": "refused"}).json()["items"]
    assert (found["actor"], found["action"], found["target_name"]) == ("vera", "user.manage_account", "vera")


def test_metrics_are_for_tokens_and_this_machine(server: RestServer, developer, tmp_path: Path) -> None:
    server.submit(developer)
    nobody = server.nobody()
    assert 'headrace_job_state{job="shop",state="submitted"} 1.0' in nobody.get("/metrics").text
    assert nobody.get("/metrics", headers={"Host": "evil.example"}).status_code == 401
    assert nobody.get("/metrics", headers={"X-Forwarded-For": "10.0.0.1"}).status_code == 401
    assert nobody.get("/metrics", headers={"Authorization": "Bearer hr_x"}).status_code == 401
