"""A password that somebody else knows lets in only to change it."""

import re

import pytest

from headrace.records.access_tables import UserRow
from headrace.server.access.users import ensure_admin
from headrace.server.settings import Settings
from support.rest_server import PASSWORD, RestServer, Visitor

OPEN = {("GET", "/me"), ("POST", "/me/password"), ("POST", "/logout"), ("POST", "/login")}
OWN = "words that nina has chosen"


@pytest.fixture
def nina(server: RestServer, admin: Visitor) -> Visitor:
    made = admin.post("/users", {"name": "nina", "role": "admin", "password": PASSWORD})
    assert made.status_code == 201, made.text
    return server.logged_in("nina")


def test_nothing_else_is_answered_before(server: RestServer, nina: Visitor) -> None:
    assert nina.get("/me").json()["must_change_password"] is True
    refused = 0
    for path, methods in server.app.openapi()["paths"].items():
        short = path.removeprefix("/api/v1")
        if short == path:
            continue  # health and metrics
        for method in methods:
            if (method.upper(), short) not in OPEN:
                answer = nina.send(method.upper(), re.sub(r"\{[^}]*\}", "1", short))
                assert answer.status_code == 403, (method, short, answer.text)
                assert answer.json()["type"] == "urn:headrace:problem:password-must-change"
                refused += 1
    assert refused > 40
    assert nina.post("/logout").status_code == 204


def test_one_s_own_password_opens_everything(server: RestServer, nina: Visitor) -> None:
    same = nina.post("/me/password", {"current": PASSWORD, "new": PASSWORD})
    assert (same.status_code, same.json()["title"]) == (422, "the new password is the old one")
    assert nina.post("/me/password", {"current": PASSWORD, "new": OWN}).status_code == 204
    answer = server.nobody().post("/login", {"name": "nina", "password": OWN})
    assert answer.json()["must_change_password"] is False
    known = Visitor(server.app, {"X-CSRF-Token": answer.json()["csrf_token"]}, dict(answer.cookies.items()))
    assert known.get("/users").status_code == 200


def test_a_reset_password_must_be_changed_and_tokens_go_on(server: RestServer, admin: Visitor, viewer: Visitor) -> None:
    token = server.with_token(viewer)
    assert viewer.get("/jobs").status_code == 200
    assert admin.post("/users/vera/password", {"password": "another good one"}).status_code == 200
    answer = server.nobody().post("/login", {"name": "vera", "password": "another good one"})
    assert answer.json()["must_change_password"] is True
    assert token.get("/jobs").status_code == 200
    listed = {each["name"]: each["must_change_password"] for each in admin.get("/users").json()["items"]}
    assert listed == {"chief": False, "vera": True}


def test_an_admin_may_give_one_that_stays(server: RestServer, admin: Visitor) -> None:
    admin.post("/users", {"name": "robot", "password": PASSWORD, "must_change_password": False})
    assert server.logged_in("robot").get("/jobs").status_code == 200


@pytest.mark.parametrize(
    ("host", "option", "due"),
    [("127.0.0.1", None, False), ("10.0.0.1", None, True), ("127.0.0.1", True, True), ("10.0.0.1", False, False)],
)
def test_the_first_admin_s_password(server: RestServer, host: str, option: bool | None, due: bool) -> None:
    settings = Settings(data=server.settings.data, host=host, change_first_password=option)
    assert settings.first_password_is_temporary is due
    database = server.services.database
    ensure_admin(database, server.services.clock.now, must_change=settings.first_password_is_temporary)
    with database.reading() as session:
        assert [row.must_change_password for row in session.query(UserRow)] == [due]
