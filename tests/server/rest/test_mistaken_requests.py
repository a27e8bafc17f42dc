"""Requests that nobody had thought of: each gets an answer that says what is wrong, none a bug."""

import pytest

from headrace.server.access.decisions import SYSTEM
from headrace.server.services.once import secret_in
from support.job_yard import APPLICATION
from support.rest_server import RestServer, Visitor

DEEP = {
    "unions": " UNION ALL ".join(["SELECT 1 AS a"] * 1500),
    "sums": "SELECT " + "+".join(["1"] * 3000) + " AS a",
}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_what_is_nested_too_deeply_is_a_mistake(developer: Visitor, text: str) -> None:
    [mistake] = developer.post("/check", {"text": text}).json()["diagnostics"]
    assert "nested too deeply" in mistake["message"]
    for path, body in {"/explain": {"text": text}, "/jobs": {"name": "deep", "text": text}}.items():
        answer = developer.post(path, body)
        assert answer.status_code == 422, answer.text
        assert "nested too deeply" in answer.json()["title"]


def test_a_dashboard_that_is_nested_too_deeply(developer: Visitor) -> None:
    answer = developer.put("/dashboards/d", {"text": "title: " + "[" * 5000})
    assert (answer.status_code, answer.json()["title"]) == (422, "the dashboard is nested too deeply")


@pytest.mark.parametrize("query", ["since=0001-01-01T00:00:00%2B14:00", "until=9999-12-31T23:59:59-14:00"])
def test_instants_at_the_ends_of_time(admin: Visitor, query: str) -> None:
    assert admin.get(f"/audit?{query}").status_code == 200


def test_a_parameter_of_one_value_is_given_once(admin: Visitor) -> None:
    answer = admin.get("/users?limit=1&limit=2")
    assert (answer.status_code, [each["place"] for each in answer.json()["fields"]]) == (422, ["query.limit"])
    assert admin.get("/jobs?limit=1&owner=ann&owner=bob").status_code == 422
    assert admin.get("/jobs?limit=1&state=running&state=failed").status_code == 200


def test_what_cannot_run_is_refused_at_once(developer: Visitor) -> None:
    for more in ({"master": "blah"}, {"directory": "/nowhere/x"}, {"directory": "/etc/passwd"}):
        answer = developer.post("/jobs", {"name": "j", "text": APPLICATION, **more})
        assert (answer.status_code, bool(answer.json()["hint"])) == (422, True), answer.text


def test_names_differ_in_more_than_their_case(server: RestServer, developer: Visitor, admin: Visitor) -> None:
    server.submit(developer)
    answer = server.visitor("mal", "developer").post("/jobs", {"name": "SHOP", "text": APPLICATION})
    assert answer.status_code == 409
    answer = developer.put("/applications/Shop", {"text": "SELECT 1 AS one"})
    assert (answer.status_code, answer.json()["title"]) == (409, 'there is an application "shop" already')
    assert admin.get("/access/job/shop").json()["owner"] == developer.name


def test_metrics_need_a_token_unless_the_server_is_for_this_machine_alone(server: RestServer) -> None:
    nobody = server.nobody()
    assert nobody.get("/metrics").status_code == 200
    for header in ("Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP"):
        assert nobody.get("/metrics", headers={header: "for=10.0.0.1"}).status_code == 401, header


@pytest.mark.parametrize("more", [{"insecure": True}, {"insecure": True, "host": "0.0.0.0"}])
def test_metrics_behind_a_proxy_need_a_token(tmp_path, more) -> None:
    server = RestServer(tmp_path, **more)
    assert server.nobody().get("/metrics").status_code == 401
    server.end()


def test_a_password_in_a_request_is_not_to_be_guessed_from_its_digest(server: RestServer, admin: Visitor) -> None:
    body = {"name": "newcomer", "role": "viewer", "password": "correct-kettle-marble"}
    headers = {"Idempotency-Key": "one"}
    assert admin.post("/users", body, headers=headers).status_code == 201
    assert admin.post("/users", body, headers=headers).headers.get("Idempotency-Replayed") == "true"
    key = server.settings.data / "requests.key"
    assert (len(key.read_text()), key.stat().st_mode & 0o77) == (64, 0)
    server.services.once._secret = b"another"
    again = admin.post("/users", body, headers=headers)
    assert (again.status_code, again.json()["title"]) == (409, 'the key "one" was used for another request')
    assert secret_in(key).hex() == key.read_text()


def test_trying_a_text_is_noted(server: RestServer, admin: Visitor) -> None:
    server.services.trial(SYSTEM, "SELECT 1 AS one")
    [entry] = admin.get("/audit", params={"action": "application.try"}).json()["items"]
    assert (entry["actor"], entry["details"]) == (SYSTEM.name, {"characters": 15})
