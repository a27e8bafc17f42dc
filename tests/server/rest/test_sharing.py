"""Owners share what is theirs: by whom, to whom, what; as a table, by REST."""

import pytest

from support.rest_server import RestServer, Visitor

ALLOW = {"effect": "allow", "kind": "job", "pattern": "shop", "user": "vera", "role": "operator"}

# what is asked for, and whether the owner (a developer) may
WISHES = [
    ("a role", {}, True),
    ("the application", {"kind": "application"}, True),
    ("one's own role", {"role": "developer"}, True),
    ("a higher role", {"role": "admin"}, False),
    ("to a group", {"user": None, "group": "ops"}, True),
    ("some actions", {"role": None, "actions": ["stop"]}, False),
    ("denying", {"effect": "deny"}, False),
    ("a pattern", {"pattern": "sh*"}, False),
    ("another letter", {"pattern": "sho?"}, False),
    ("another's job", {"pattern": "other"}, False),
    ("what is not there", {"pattern": "none"}, False),
    ("a view", {"kind": "view", "pattern": "totals"}, False),
    ("a stream", {"kind": "stream", "pattern": "s"}, False),
]


@pytest.fixture
def shop(server: RestServer, developer: Visitor, admin: Visitor, viewer: Visitor) -> RestServer:
    server.submit(developer)
    server.submit(admin, "other")
    admin.post("/groups", {"name": "ops"})
    return server


@pytest.mark.parametrize(("wish", "allowed"), [row[1:] for row in WISHES], ids=[row[0] for row in WISHES])
def test_what_an_owner_may_give(shop: RestServer, developer: Visitor, admin: Visitor, wish, allowed: bool) -> None:
    body = {name: value for name, value in {**ALLOW, **wish}.items() if value is not None}
    answer = developer.post("/access", body)
    assert answer.status_code == (201 if allowed else 403), answer.text
    if allowed:
        assert developer.delete(f"/access/{answer.json()['id']}").status_code == 204
    else:
        assert admin.post("/access", body).status_code == 201


@pytest.mark.parametrize("role", ["viewer", "operator", "developer"])
def test_others_give_nothing(shop: RestServer, developer: Visitor, everybody, role: str) -> None:
    another = everybody(role)
    assert another.post("/access", ALLOW).status_code == 403
    assert another.get("/access/job/shop").status_code == 403
    listed = developer.post("/access", ALLOW).json()
    assert another.delete(f"/access/{listed['id']}").status_code == 403


def test_what_was_shared_counts_and_is_noted(
    shop: RestServer, developer: Visitor, admin: Visitor, viewer: Visitor
) -> None:
    assert viewer.post("/jobs/shop/stop", {}).status_code == 403
    entry = developer.post("/access", ALLOW).json()
    assert viewer.post("/jobs/shop/stop", {}).status_code == 202
    assert viewer.post("/jobs/other/stop", {}).status_code == 403
    assert viewer.post("/jobs/shop/upgrade", {"text": "SELECT 1 AS one;"}).status_code == 403
    assert viewer.post("/access", {**ALLOW, "user": "dora"}).status_code == 403
    found = developer.get("/access/job/shop").json()
    assert (found["owner"], [each["grantee"] for each in found["entries"]]) == ("dora", ["vera"])
    developer.delete(f"/access/{entry['id']}")
    assert viewer.post("/jobs/shop/restart", {}).status_code == 403
    noted = admin.get("/audit", params={"action": "access.add"}).json()["items"]
    assert [(each["actor"], each["target_name"]) for each in noted] == [("dora", "shop")]


def test_an_owner_does_not_lift_what_an_admin_denied(shop: RestServer, developer: Visitor, admin: Visitor) -> None:
    denied = admin.post("/access", {**ALLOW, "effect": "deny"}).json()
    assert developer.delete(f"/access/{denied['id']}").status_code == 403
    wide = admin.post("/access", {**ALLOW, "pattern": "sh*"}).json()
    assert developer.delete(f"/access/{wide['id']}").status_code == 403
    assert developer.patch("/access/job/shop", {"restricted": True}).status_code == 403
    assert developer.get("/access").status_code == 403


def test_a_token_shares_no_more_than_it_may(shop: RestServer, developer: Visitor) -> None:
    narrow = shop.with_token(developer, "operator")
    assert narrow.post("/access", {**ALLOW, "role": "developer"}).status_code == 403
    assert narrow.post("/access", ALLOW).status_code == 201
    assert shop.with_token(developer, "viewer").post("/access", ALLOW).status_code == 403
