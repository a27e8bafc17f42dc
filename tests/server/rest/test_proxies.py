"""A proxy in front of the server: what it says of who asks counts if it is trusted, and only then."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.errors import HeadraceError
from headrace.server.access.decisions import SYSTEM
from headrace.server.access.roles import Role
from headrace.server.settings import Settings
from support.rest_server import PASSWORD, RestServer

BEHIND = {"X-Forwarded-For": "203.0.113.7", "X-Forwarded-Proto": "https"}


@pytest.fixture(params=["127.0.0.1", "127.0.0.0/8", "10.0.0.1"])
def proxied(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[tuple[RestServer, bool]]:
    """Give a server that trusts an address, and whether requests of this test come from it."""
    made = RestServer(tmp_path, trusted_proxies=(request.param,))
    made.services.control.users.create(SYSTEM, "ann", Role.VIEWER, PASSWORD)
    yield made, request.param != "10.0.0.1"
    made.end()


def test_the_cookie_is_secure_behind_tls(proxied: tuple[RestServer, bool]) -> None:
    server, trusted = proxied
    answer = server.nobody().post("/login", {"name": "ann", "password": PASSWORD}, headers=BEHIND)
    assert answer.status_code == 200
    assert ("; Secure" in answer.headers["set-cookie"]) is trusted
    assert ("strict-transport-security" in answer.headers) is trusted


def test_one_who_guesses_behind_a_proxy_keeps_nobody_else_out(proxied: tuple[RestServer, bool]) -> None:
    server, trusted = proxied
    for number in range(20):
        wrong = {"name": f"nobody-{number}", "password": PASSWORD}
        server.nobody().post("/login", wrong, headers=BEHIND)
    right = {"name": "ann", "password": PASSWORD}
    other = {**BEHIND, "X-Forwarded-For": "203.0.113.8"}
    assert server.nobody().post("/login", right, headers=BEHIND).status_code == 429
    assert server.nobody().post("/login", right, headers=other).status_code == (200 if trusted else 429)


def test_answers_have_headers_that_keep_browsers_careful(tmp_path: Path) -> None:
    server = RestServer(tmp_path)
    headers = server.nobody().get("/me").headers
    server.end()
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["referrer-policy"] == "same-origin"
    assert "strict-transport-security" not in headers


def test_a_proxy_has_an_address(tmp_path: Path) -> None:
    with pytest.raises(HeadraceError, match='"\\*" is not the address of a proxy'):
        Settings(data=tmp_path, trusted_proxies=("*",)).check()
