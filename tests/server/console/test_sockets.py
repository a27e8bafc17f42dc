"""The connection of a page: only its own session makes it, from a page of the same site."""

import re
from dataclasses import dataclass

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from server.console.conftest import Served


@dataclass(frozen=True, slots=True)
class Loaded:
    """A page as a program loads it: its id, and the cookie of who has logged in."""

    id: str
    cookie: str


@pytest.fixture
def ada(served: Served) -> Loaded:
    """Give a page of an admin."""
    return loaded(served, "ada")


def loaded(served: Served, name: str) -> Loaded:
    answer = httpx.post(f"{served.url}/login", data={"name": name, "password": "water"})
    cookie = "; ".join(f"{key}={value}" for key, value in answer.cookies.items())
    page = httpx.get(f"{served.url}/", headers={"Cookie": cookie})
    found = re.search(r"client_id'?: *'([0-9a-f-]{36})'", page.text)
    assert found is not None
    return Loaded(found[1], cookie)


def address(served: Served, page: str | None, transport: str) -> str:
    given = "" if page is None else f"&client_id={page}"
    return f"{served.url}/_nicegui_ws/socket.io/?EIO=4&transport={transport}&implicit_handshake=false{given}"


def polled(served: Served, page: str | None, **headers: str) -> int:
    return httpx.get(address(served, page, "polling"), headers=headers).status_code


def opened(served: Served, page: str | None, **headers: str) -> bool:
    """Say whether a web socket is opened and told its session."""
    url = address(served, page, "websocket").replace("http", "ws", 1)
    origin = headers.pop("Origin", None)
    try:
        with connect(url, additional_headers=headers, origin=origin) as socket:
            return str(socket.recv(10)).startswith("0{")
    except InvalidStatus as error:
        assert error.response.status_code == 403
        return False


def test_the_session_of_the_page_gets_through(served: Served, ada: Loaded) -> None:
    assert polled(served, ada.id, Cookie=ada.cookie) == 200
    assert opened(served, ada.id, Cookie=ada.cookie)
    assert opened(served, ada.id, Cookie=ada.cookie, Origin=served.url)


def test_without_its_session_nobody_reaches_a_page(served: Served, ada: Loaded) -> None:
    other = loaded(served, "victor")
    for headers in ({}, {"Cookie": "headrace_session=guessed"}, {"Cookie": other.cookie}):
        assert polled(served, ada.id, **headers) == 403
        assert not opened(served, ada.id, **headers)
    assert polled(served, None, Cookie=ada.cookie) == 403


def test_a_connection_names_one_page(served: Served, ada: Loaded) -> None:
    other = loaded(served, "victor")
    for pages in (f"{ada.id}&client_id={other.id}", f"{other.id}&client_id={ada.id}", f"&client_id={other.id}"):
        assert polled(served, pages, Cookie=other.cookie) == 403
        assert not opened(served, pages, Cookie=other.cookie)


@pytest.mark.parametrize("origin", ["http://evil", "null", "http://127.0.0.1:1", "http://["])
def test_another_site_does_not_reach_a_page_though_the_browser_sends_the_cookie(
    served: Served, ada: Loaded, origin: str
) -> None:
    assert polled(served, ada.id, Cookie=ada.cookie, Origin=origin) == 403
    assert not opened(served, ada.id, Cookie=ada.cookie, Origin=origin)


def test_a_connection_acts_only_on_its_own_page(served: Served, ada: Loaded) -> None:
    """Somebody with a page of his own names that of another in what he sends."""
    other = loaded(served, "victor")
    url = address(served, other.id, "websocket").replace("http", "ws", 1)
    with connect(url, additional_headers={"Cookie": other.cookie}) as socket:
        assert str(socket.recv(10)).startswith("0{")
        socket.send("40")
        assert str(socket.recv(10)).startswith("40{")
        about = f'{{"client_id": "{ada.id}", "tab_id": "t", "document_id": "d", "next_message_id": 0}}'
        socket.send(f'420["handshake", {about}]')
        assert _answer(socket) == "430[false]"
        socket.send(f'42["event", {{"client_id": "{ada.id}", "id": 1, "listener_id": "x", "args": []}}]')
        own = f'{{"client_id": "{other.id}", "tab_id": "t", "document_id": "d", "next_message_id": 0}}'
        socket.send(f'421["handshake", {own}]')
        assert _answer(socket) == "431[true]"


def _answer(socket: object) -> str:
    """Return the next acknowledgement."""
    while True:
        text = str(socket.recv(10))  # type: ignore[attr-defined]
        if text.startswith("43"):
            return text


def test_an_address_to_go_on_to_that_is_none_leads_to_the_first_page(served: Served) -> None:
    answer = httpx.get(f"{served.url}/login", params={"next": "//["})
    assert answer.status_code == 200
    assert 'name="next" value="/"' in answer.text
