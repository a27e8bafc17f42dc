"""An application of FastAPI and a way to reach the server go in; the console stands under ``/`` afterwards."""

from collections.abc import Callable
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.responses import FileResponse, RedirectResponse, Response
from nicegui import ui
from starlette.requests import HTTPConnection

from headrace.server.console.backend import Backend, NotSignedIn
from headrace.server.console.departures import QuietDepartures
from headrace.server.console.entrance import add_entrance, address_of
from headrace.server.console.layout import Console, frame
from headrace.server.console.pages.routes import ROUTES
from headrace.server.console.sockets import SocketGuard, hold_sockets_to_their_pages
from headrace.server.console.theme import FAVICON, PREFIX, STATIC

__all__ = ["COOKIE", "attach"]

COOKIE = "headrace_session"


def attach(app: FastAPI, backend_for: Callable[[HTTPConnection], Backend], *, cookie: str = COOKIE) -> None:
    """Put the console under ``/``, after all other routes: what is added later is not reached.

    ``backend_for`` returns the server as the session of a request sees it; the session's token is in the cookie.
    It is called once for each page that is loaded, so what it returns must check the session at every call.
    """
    app.add_middleware(SocketGuard, backend_for=backend_for, cookie=cookie)
    app.add_middleware(QuietDepartures)
    hold_sockets_to_their_pages()

    @app.get(f"{PREFIX}/{{name}}", include_in_schema=False)
    async def static(name: str) -> Response:
        if name not in {"console.css", "console.js"}:
            return Response(status_code=404)
        # The address has a digest of the contents, so it never changes.
        return FileResponse(STATIC / name, headers={"Cache-Control": "public, max-age=31536000, immutable"})

    add_entrance(app, backend_for, cookie)

    async def root(request: Request) -> Response | None:
        backend = backend_for(request)
        try:
            me = await backend.me()
        except NotSignedIn:
            return RedirectResponse(f"/login?next={quote(address_of(request))}", status_code=303)
        if me.must_change_password:
            return RedirectResponse(f"/password?next={quote(address_of(request))}", status_code=303)
        frame(Console(backend, me), ROUTES)
        return None

    ui.page("/")(root)
    ui.page("/{_:path}")(root)
    # Nothing here is bound to plain objects, so nothing has to look for their changes ten times a second.
    ui.run_with(
        app,
        title="Headrace",
        favicon=FAVICON,
        dark=None,
        tailwind=False,
        binding_refresh_interval=None,
        show_welcome_message=False,
        language="en-GB",
    )
