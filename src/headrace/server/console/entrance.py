"""The way in: forms to log in, to choose a password and to log out, which work without scripts."""

from collections.abc import Callable
from contextlib import suppress
from html import escape
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.requests import HTTPConnection

from headrace.errors import HeadraceError
from headrace.server.console.backend import Backend, NotSignedIn
from headrace.server.console.sockets import is_own
from headrace.server.console.theme import LOGO, head_html

__all__ = ["add_entrance", "address_of"]


def add_entrance(app: FastAPI, backend_for: Callable[[HTTPConnection], Backend], cookie: str) -> None:
    """Add the forms and what takes them; the token of a session is in the cookie."""

    @app.get("/login", include_in_schema=False)
    async def log_in_page(request: Request, next: str = "/") -> Response:
        try:
            await backend_for(request).me()
        except NotSignedIn:
            return HTMLResponse(_log_in_html(_local(next)))
        return RedirectResponse(_local(next), status_code=303)

    @app.post("/login", include_in_schema=False)
    async def log_in(request: Request) -> Response:
        if not is_own(request):
            return HTMLResponse(_log_in_html("/", HeadraceError("the form came from another site")), status_code=403)
        form = await request.form()
        name, password, to = (str(form.get(key, "")) for key in ("name", "password", "next"))
        address = request.client.host if request.client else ""
        try:
            token = await backend_for(request).sign_in(name, password, address)
        except HeadraceError as error:
            return HTMLResponse(_log_in_html(_local(to), error, name), status_code=401)
        return _with_session(request, token, _local(to))

    @app.post("/logout", include_in_schema=False)
    async def log_out(request: Request) -> Response:
        if not is_own(request):
            return HTMLResponse(_log_in_html("/", HeadraceError("the form came from another site")), status_code=403)
        with suppress(NotSignedIn):
            await backend_for(request).sign_out()
        answer = RedirectResponse("/login", status_code=303)
        answer.delete_cookie(cookie, path="/", httponly=True, samesite="strict")
        return answer

    @app.get("/password", include_in_schema=False)
    async def password_page(request: Request, next: str = "/") -> Response:
        try:
            me = await backend_for(request).me()
        except NotSignedIn:
            return RedirectResponse(f"/login?next={quote(_local(next))}", status_code=303)
        if not me.must_change_password:
            return RedirectResponse(_local(next), status_code=303)
        return HTMLResponse(_password_html(_local(next)))

    @app.post("/password", include_in_schema=False)
    async def change_password(request: Request) -> Response:
        form = await request.form()
        old, new, again, to = (str(form.get(key, "")) for key in ("old", "new", "again", "next"))
        backend = backend_for(request)
        try:
            if not is_own(request):
                raise HeadraceError("the form came from another site")
            if new != again:
                raise HeadraceError("the new passwords differ", hint="Type the same one twice.")
            me = await backend.me()
            await backend.change_password(old, new)
            address = request.client.host if request.client else ""
            token = await backend.sign_in(me.name, new, address)
        except NotSignedIn:
            return RedirectResponse(f"/login?next={quote(_local(to))}", status_code=303)
        except HeadraceError as error:
            return HTMLResponse(_password_html(_local(to), error), status_code=400)
        return _with_session(request, token, _local(to))

    def _with_session(request: Request, token: str, to: str) -> Response:
        answer = RedirectResponse(to, status_code=303)
        secure = request.url.scheme == "https"
        answer.set_cookie(cookie, token, httponly=True, samesite="strict", secure=secure, path="/")
        return answer


def _local(address: str) -> str:
    r"""Return an address of this server, whatever was asked for.

    >>> _local("/jobs/a?tab=logs"), _local("//elsewhere/x"), _local("https://elsewhere"), _local("/\\elsewhere")
    ('/jobs/a?tab=logs', '/', '/', '/')
    >>> _local("//["), _local("/\t/elsewhere")
    ('/', '/')
    """
    fine = address.startswith("/") and not address.startswith(("//", "/\\"))
    return address if fine and address.isprintable() else "/"


def address_of(request: Request) -> str:
    """Return where a request wants to go, to lead it there later."""
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")


def _log_in_html(to: str, error: HeadraceError | None = None, name: str = "") -> str:
    focus_name, focus_password = ("", " autofocus") if name else (" autofocus", "")
    fields = f"""
<label>Name<input name="name" autocomplete="username" required value="{escape(name)}"{focus_name}></label>
<label>Password<input name="password" type="password" autocomplete="current-password" required{focus_password}></label>
"""
    return _entrance("Log in", "/login", fields, to, error)


def _password_html(to: str, error: HeadraceError | None = None) -> str:
    secret = 'type="password" required'
    fields = f"""
<p class="muted">Your password was given to you, so somebody else knows it. Choose your own to go on:
12 characters or more, for example several words.</p>
<label>Password that you were given<input name="old" {secret} autocomplete="current-password" autofocus></label>
<label>New password<input name="new" {secret} autocomplete="new-password" minlength="12"></label>
<label>New password once more<input name="again" {secret} autocomplete="new-password"></label>
"""
    leave = '<button class="btn quiet" type="submit" formaction="/logout" formnovalidate>Log out</button>'
    return _entrance("Choose a password", "/password", fields, to, error, leave)


def _entrance(title: str, action: str, fields: str, to: str, error: HeadraceError | None, below: str = "") -> str:
    """Return a page with a form and nothing else, which works without scripts."""
    from headrace.server.console.parts import problem_html

    problem = f'<div class="problem" role="alert">{problem_html(error)}</div>' if error else ""
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} · Headrace</title>{head_html()}</head>
<body><main class="entrance"><form method="post" action="{action}">
<div class="brand">{LOGO}<h1>Headrace</h1></div>{problem}
<input type="hidden" name="next" value="{escape(to)}">{fields}
<button class="btn primary" type="submit">{title}</button>
{below}</form></main></body></html>"""
