"""Lists come page by page: every item once, in one order, also while others come and go."""

from typing import Any

import pytest

from headrace.jobs.states import State
from headrace.server.access.decisions import SYSTEM
from headrace.server.access.roles import Role
from headrace.server.rest.paging import Paging
from support.job_yard import APPLICATION
from support.rest_server import PASSWORD, RestServer, Visitor

SHOP = "/jobs/shop"


@pytest.fixture
def full(server: RestServer, admin: Visitor) -> Visitor:
    """Give an admin of a server that has three of everything."""
    for number in range(3):
        server.services.control.users.create(SYSTEM, f"ann-{number}", Role.VIEWER, PASSWORD)
        admin.post("/groups", {"name": f"group-{number}"})
        admin.post("/access", {"effect": "allow", "kind": "job", "pattern": "s*", "role": "viewer", "user": "ann-0"})
        admin.post("/tokens", {"name": f"token {number}"})
        admin.put(f"/dashboards/shop-{number}", {"text": "title: T\npanels: []"})
        admin.put(f"/alert-rules/rule {number}", {"kind": "crash-loop"})
        server.submit(admin, f"shop-{number}")
        admin.put("/applications/shop", {"text": f"-- {number}\n{APPLICATION}"})
    server.submit(admin, "shop", behave="user-error")
    server.go_until("shop", State.FAILED)
    for number in range(3):
        text = APPLICATION.replace("sum(v)", f"sum(v + {number})")
        assert admin.post(f"{SHOP}/upgrade", {"text": text}).status_code == 202
        server.go_until("shop", State.FAILED)
    for _ in range(3):
        admin.post(f"{SHOP}/savepoints")
        server.go_until("shop", State.FAILED)
        server.supervisor.tick()
    server.services.alerts.alarms.look(server.services.jobs.samples(SYSTEM))
    return admin


LISTS = {
    "/users": 3,
    "/groups": 3,
    "/access": 3,
    "/tokens": 3,
    "/dashboards": 3,
    "/alert-rules": 3,
    "/applications": 3,
    "/applications/shop/versions": 3,
    "/jobs": 3,
    "/views": 3,
    "/catalog": 6,
    f"{SHOP}/versions": 3,
    f"{SHOP}/savepoints": 1,
    f"{SHOP}/alerts": 1,
    "/alerts": 1,
}


def paged(visitor: Visitor, path: str, limit: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    after: str | None = None
    while True:
        query = {"limit": limit} | ({} if after is None else {"after": after})
        page = visitor.get(path, params=query)
        assert page.status_code == 200, page.text
        assert len(page.json()["items"]) <= limit
        found += page.json()["items"]
        after = page.json()["next"]
        if after is None:
            return found
        assert len(page.json()["items"]) == limit


def test_pages_of_a_list_are_the_list(full: Visitor) -> None:
    for path, least in LISTS.items():
        whole = full.get(path).json()
        assert whole["next"] is None
        assert len(whole["items"]) >= least, path
        for limit in (1, 2):
            assert paged(full, path, limit) == whole["items"], path


def test_what_goes_between_two_pages_shifts_nothing() -> None:
    first = Paging(None, 2).page(["a", "b", "c", "d"], place=str, shown=str)
    assert (first.items, first.next) == (["a", "b"], "b")
    assert Paging(first.next, 2).page(["a", "aa", "c", "d"], place=str, shown=str).items == ["c", "d"]


def test_a_page_has_a_size(admin: Visitor) -> None:
    for limit in (0, 501, "x"):
        assert admin.get("/users", params={"limit": limit}).status_code == 422
