"""How requests are made: log-in, CSRF, keys, pages, problems."""

import httpx
import pytest

from headrace.errors import HeadraceError
from headrace.jobs.states import State
from headrace.jobs.supervisor import Supervisor
from headrace.server.settings import Settings
from support.job_yard import APPLICATION
from support.rest_server import PASSWORD, RestServer, Visitor


def test_log_in_and_out(server: RestServer, viewer: Visitor) -> None:
    me = viewer.get("/me").json()
    assert (me["name"], me["role"]) == ("vera", "viewer")
    assert me["csrf_token"] == viewer.headers["X-CSRF-Token"]
    assert viewer.post("/logout").status_code == 204
    assert viewer.get("/me").status_code == 401


def test_a_wrong_password_tells_nothing_and_many_must_wait(server: RestServer, viewer: Visitor) -> None:
    nobody = server.nobody()
    wrong = nobody.post("/login", {"name": "vera", "password": "wrong"})
    unknown = nobody.post("/login", {"name": "who", "password": "wrong"})
    assert wrong.status_code == unknown.status_code == 401
    assert wrong.json() == unknown.json()
    for _ in range(5):
        last = nobody.post("/login", {"name": "vera", "password": "wrong"})
    assert last.status_code == 429
    assert int(last.headers["retry-after"]) >= 1


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(server: RestServer, viewer: Visitor) -> None:
    answer = server.nobody().post("/login", {"name": "vera", "password": PASSWORD})
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie


@pytest.mark.parametrize("token", [None, "wrong", ""])
def test_a_cookie_alone_changes_nothing(server: RestServer, developer: Visitor, token: str | None) -> None:
    body = {"name": "shop", "text": APPLICATION}
    answer = developer.post("/jobs", body, headers={"X-CSRF-Token": token})
    assert answer.status_code == 403
    assert answer.json()["type"].endswith(":csrf")
    assert developer.get("/jobs").json()["items"] == []


def test_the_csrf_token_of_another_session_is_refused(server: RestServer, developer, viewer) -> None:
    headers = {"X-CSRF-Token": viewer.headers["X-CSRF-Token"]}
    assert developer.post("/jobs", {"name": "shop", "text": APPLICATION}, headers=headers).status_code == 403


def test_a_request_with_a_key_is_applied_once(server: RestServer, developer: Visitor) -> None:
    body, key = {"name": "shop", "text": APPLICATION}, {"Idempotency-Key": "one"}
    first = developer.post("/jobs", body, headers=key)
    again = developer.post("/jobs", body, headers=key)
    assert (first.status_code, again.status_code) == (202, 202)
    assert first.json() == again.json()
    assert again.headers["idempotency-replayed"] == "true"
    other = developer.post("/jobs", {**body, "name": "else"}, headers=key)
    assert other.status_code == 409
    assert developer.post("/jobs", body, headers={"Idempotency-Key": "two"}).status_code == 409
    assert len(developer.get("/jobs").json()["items"]) == 1


def test_keys_of_different_users_are_different(server: RestServer, developer, admin) -> None:
    key = {"Idempotency-Key": "same"}
    assert developer.post("/jobs", {"name": "a", "text": APPLICATION}, headers=key).status_code == 202
    assert admin.post("/jobs", {"name": "b", "text": APPLICATION}, headers=key).status_code == 202


def test_a_deletion_that_is_repeated_gives_the_first_answer(server: RestServer, developer: Visitor) -> None:
    server.submit(developer)
    developer.post("/jobs/shop/stop", {})
    server.go_until("shop", State.STOPPED)
    key = {"Idempotency-Key": "gone"}
    first = developer.delete("/jobs/shop", headers=key)
    assert first.status_code == 202
    assert developer.delete("/jobs/shop", headers=key).json() == first.json()
    assert developer.delete("/jobs/shop").status_code == 404


def test_a_deletion_that_is_repeated_after_a_crash_gives_the_first_answer(
    server: RestServer, developer: Visitor
) -> None:
    """The server died after the deed, before the answer was kept."""

    def again(path: str) -> tuple[httpx.Response, httpx.Response]:
        first = developer.delete(path, headers={"Idempotency-Key": path})
        with server.services.database.transaction() as session:
            session.connection().exec_driver_sql("DELETE FROM requests")
        return first, developer.delete(path, headers={"Idempotency-Key": path})

    server.submit(developer)
    assert developer.post("/jobs/shop/stop", {"savepoint": True}).status_code == 202
    server.go_until("shop", State.STOPPED)
    (savepoint,) = developer.get("/jobs/shop/savepoints").json()["items"]
    first, second = again(f"/jobs/shop/savepoints/{savepoint['id']}")
    assert (first.status_code, second.status_code) == (204, 204)
    first, second = again("/jobs/shop")
    assert (first.status_code, second.status_code) == (202, 202)
    assert first.json() == second.json()
    assert developer.delete("/jobs/shop", headers={"Idempotency-Key": "other"}).status_code == 404


def test_a_refused_request_may_be_repeated_with_its_key(server: RestServer, developer: Visitor) -> None:
    key = {"Idempotency-Key": "later"}
    assert developer.post("/jobs/shop/stop", {}, headers=key).status_code == 404
    server.submit(developer)
    assert developer.post("/jobs/shop/stop", {}, headers=key).status_code == 202


def test_a_secret_is_told_once(server: RestServer, developer: Visitor, admin: Visitor) -> None:
    key = {"Idempotency-Key": "token"}
    assert developer.post("/tokens", {"name": "ci"}, headers=key).status_code == 201
    assert developer.post("/tokens", {"name": "ci"}, headers=key).status_code == 409
    made = admin.post("/users", {"name": "nina"}, headers=key)
    assert made.json()["password"]
    assert admin.post("/users", {"name": "nina"}, headers=key).status_code == 409
    with server.services.database.reading() as session:
        kept = "".join(str(row) for row in session.connection().exec_driver_sql("SELECT * FROM requests"))
    assert made.json()["password"] not in kept


def test_jobs_come_in_pages(server: RestServer, developer: Visitor, admin: Visitor) -> None:
    names = [f"job-{number:02}" for number in range(7)]
    for name in names:
        server.submit(developer, name)
    admin.patch("/access/job/job-03", {"restricted": True, "owner": ""})
    seen: list[str] = []
    after = None
    while True:
        page = server.visitor("vera", "viewer").get("/jobs", params={"limit": 2} | ({"after": after} if after else {}))
        seen += [each["name"] for each in page.json()["items"]]
        after = page.json()["next"]
        if after is None:
            break
    assert seen == [name for name in names if name != "job-03"]
    found = developer.get("/jobs", params={"name": "06", "state": ["submitted", "running"]}).json()["items"]
    assert [each["name"] for each in found] == ["job-06"]
    assert developer.get("/jobs", params={"state": "stopped"}).json()["items"] == []


def test_a_mistake_in_a_text_is_shown_at_its_place(server: RestServer, developer: Visitor) -> None:
    text = "CREATE STREAM s (k STRING) WITH (connector = 'memory');\nSELECT nme FROM s;"
    answer = developer.post("/jobs", {"name": "shop", "text": text})
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["status"] == 422
    assert problem["place"] == {"file": "shop.sql", "line": 2, "column": 8}
    assert problem["hint"]
    checked = developer.post("/check", {"text": text}).json()
    assert not checked["ok"]
    assert (checked["diagnostics"][0]["line"], checked["diagnostics"][0]["length"]) == (2, 3)
    assert checked["diagnostics"][0]["message"] == problem["title"]


def test_a_text_is_explained(server: RestServer, developer: Visitor) -> None:
    found = developer.post("/explain", {"text": APPLICATION}).json()
    assert "read stream s" in found["text"]
    assert {node["role"] for node in found["topology"]["nodes"]} == {"source", "step", "output"}
    assert found["mermaid"].startswith("flowchart")
    assert found["svg"].startswith("<svg")
    assert developer.post("/check", {"text": APPLICATION}).json()["ok"]


def test_requests_that_make_no_sense_are_problems(server: RestServer, developer: Visitor) -> None:
    answer = developer.post("/jobs", {"name": "shop", "text": "", "unknown": 1, "cores": 0})
    assert answer.status_code == 422
    assert {each["place"] for each in answer.json()["fields"]} == {"body.unknown", "body.cores"}
    for path in ("/nothing", "/jobs/shop/nothing"):
        missing = developer.get(path)
        assert missing.status_code == 404
        assert missing.headers["content-type"] == "application/problem+json"
    wrong = developer.send("DELETE", "/jobs")
    assert wrong.status_code == 405
    assert "GET" in wrong.headers["allow"]


def test_applications_have_versions(server: RestServer, developer: Visitor) -> None:
    assert developer.put("/applications/shop", {"text": "SELECT 1"}).json()["number"] == 1
    assert developer.put("/applications/shop", {"text": "SELECT 1"}).json()["number"] == 1
    assert developer.put("/applications/shop", {"text": "SELECT 2", "expected": 1}).json()["number"] == 2
    assert developer.put("/applications/shop", {"text": "SELECT 3", "expected": 1}).status_code == 409
    texts = [each["text"] for each in developer.get("/applications/shop/versions").json()["items"]]
    assert texts == ["SELECT 2", "SELECT 1"]
    assert developer.put("/dashboards/shop", {"text": "title: [1"}).status_code == 422
    assert developer.put("/dashboards/shop", {"text": "title: Shop\npanels: []\n"}).status_code == 200
    assert developer.delete("/applications/shop").status_code == 204
    assert developer.get("/dashboards/shop").status_code == 404


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.1.2.3", "example.org", ""])
def test_beyond_this_machine_only_with_tls_or_the_flag(tmp_path, host: str) -> None:
    with pytest.raises(HeadraceError, match="only on this machine"):
        Settings(data=tmp_path, host=host).check()
    Settings(data=tmp_path, host=host, insecure=True).check()
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    certificate.touch()
    key.touch()
    Settings(data=tmp_path, host=host, tls_certificate=certificate, tls_key=key).check()
    with pytest.raises(HeadraceError, match="go together"):
        Settings(data=tmp_path, host=host, tls_certificate=certificate).check()


def test_health(server: RestServer, monkeypatch: pytest.MonkeyPatch) -> None:
    nobody = server.nobody()
    assert nobody.get("/health/live").json() == {"status": "ok"}
    assert nobody.get("/health/ready").status_code == 503
    server.supervisor.close()
    server.services.start()
    assert nobody.get("/health/ready").json() == {"status": "ok"}
    monkeypatch.setattr(Supervisor, "is_at_work", False)  # as while it has lost its claim on the database
    assert nobody.get("/health/ready").status_code == 503
