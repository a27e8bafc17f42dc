"""Connections of the console's pages go in; only those that the page's own session makes, from this site, get through.

A page of NiceGUI is reached by its id alone, so whoever knew one could see it and act on it as its user.
"""

import secrets
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from nicegui import Client, core
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from headrace.server.console.backend import Backend, NotSignedIn

__all__ = ["SocketGuard", "hold_sockets_to_their_pages", "is_own"]

SOCKETS = "/_nicegui_ws"
ACTS = ("event", "javascript_response", "ack", "log")
"""What a page sends; each names the page that it is about."""


class SocketGuard:
    """Refuses connections that come from another site, without a session, or from another session than the page's."""

    def __init__(self, app: ASGIApp, backend_for: Callable[[HTTPConnection], Backend], cookie: str) -> None:
        self.app, self.backend_for, self.cookie = app, backend_for, cookie

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what is not a page's connection, or is one that may be."""
        guarded = scope["type"] in {"http", "websocket"} and scope["path"].startswith(SOCKETS)
        if not guarded or await self._is_fine(HTTPConnection(scope)):
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            await WebSocketClose(code=1008)(scope, receive, send)
        else:
            await PlainTextResponse("not a page of yours", status_code=403)(scope, receive, send)

    async def _is_fine(self, connection: HTTPConnection) -> bool:
        pages = connection.query_params.getlist("client_id")
        if len(pages) != 1 or not is_own(connection):  # of several, NiceGUI takes another than Starlette
            return False
        try:
            await self.backend_for(connection).me()
        except NotSignedIn:
            return False
        known = Client.instances.get(pages[0])
        if known is None:
            return True  # one from before the server started: NiceGUI lets the browser load it again
        its, given = known.request.cookies.get(self.cookie, ""), connection.cookies.get(self.cookie, "")
        return secrets.compare_digest(its.encode(), given.encode())


def is_own(connection: HTTPConnection) -> bool:
    """Say whether a request was made by a page of this server, as far as the browser tells."""
    site = connection.headers.get("sec-fetch-site")
    if site is not None and site not in {"same-origin", "none"}:
        return False
    origin = connection.headers.get("origin")
    if origin is None:
        return True
    try:
        return urlsplit(origin).netloc == connection.headers.get("host")
    except ValueError:  # no address at all
        return False


def hold_sockets_to_their_pages() -> None:
    """Let a connection act only on the page that it was made for."""
    for name in ACTS:
        known = core.sio.handlers["/"][name]
        if not hasattr(known, "held"):
            core.sio.on(name, _held(known))


def _held(act: Callable[[str, dict[str, Any]], None]) -> Callable[[str, dict[str, Any]], None]:
    def held(socket: str, message: dict[str, Any]) -> None:
        if message.get("client_id") in core.sio.rooms(socket):
            act(socket, message)

    held.held = True  # type: ignore[attr-defined]
    return held
