"""The commands ``headrace login``, ``logout``, ``whoami`` and ``password``: one's own account goes in and changes."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.cli.client import (
    PATIENCE,
    PREFIX,
    Server,
    connect,
    forget_credentials,
    keep_credentials,
    problem,
    server_address,
    unreachable,
)

if TYPE_CHECKING:
    import httpx

__all__ = ["login", "logout", "password", "session", "whoami"]


def login(
    url: Annotated[str, typer.Argument(metavar="URL", help="The server.", show_default=False)],
    user: Annotated[str | None, typer.Option(help="Who logs in; asked for without it.")] = None,
    days: Annotated[int, typer.Option(min=1, max=366, help="How long the token lasts.")] = 90,
    token: Annotated[
        str | None, typer.Option(envvar="HEADRACE_TOKEN", help="A token that was made before, in place of a password.")
    ] = None,
) -> None:
    """Log in to a server: a token for it is kept in the Headrace home, readable by you alone."""
    import httpx

    url = server_address(url)
    if token is not None:
        with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=PATIENCE) as http:
            name = _asked(http, "GET", f"{PREFIX}/me")["name"]
    else:
        with session(url, user) as (http, me):
            name = me["name"]
            from socket import gethostname

            body = {"name": f"command line on {gethostname()[:20]} {_stamp()}", "days": days}
            token = str(_asked(http, "POST", f"{PREFIX}/tokens", json=body)["text"])
    file = keep_credentials(url, token)
    sys.stdout.write(f"logged in to {url} as {name}; the token is in {file}\n")


def logout(url: Annotated[str | None, typer.Argument(metavar="[URL]", help="The server.")] = None) -> None:
    """Forget the token for a server; revoke it with headrace token revoke."""
    sys.stdout.write(f"the token for {forget_credentials(url)} is forgotten\n")


def whoami(server: Server = None) -> None:
    """Say as whom commands ask a server, and what role that is."""
    with connect(server) as client:
        me = client.get("/me")
        sys.stdout.write(f"{me['name']} is {me['role']} at {client.url}\n")


def password(
    user: Annotated[str | None, typer.Option(help="Who you are; asked for without it.")] = None,
    server: Server = None,
) -> None:
    """Change your password; you are logged out everywhere, but tokens go on.

    Both passwords are asked for, or read from HEADRACE_PASSWORD and HEADRACE_NEW_PASSWORD.
    """
    import httpx

    with connect(server) as client:
        url = client.url
    name, current = _named(user)
    with httpx.Client(base_url=url, timeout=PATIENCE) as http:
        _opened(http, name, current)
        try:
            _changed(http, current)
        finally:
            with suppress(httpx.TransportError):
                http.post(f"{PREFIX}/logout")  # if the new one was refused; otherwise the session is over by now
    sys.stdout.write(f"the password of {name} is changed\n")


@contextmanager
def session(url: str, user: str | None) -> "Iterator[tuple[httpx.Client, dict[str, Any]]]":
    """Give a session of a user, whose password is asked for, or read from HEADRACE_PASSWORD; it ends with the block.

    A password that must be changed is changed first: to what is asked for, or to HEADRACE_NEW_PASSWORD.
    """
    import httpx

    name, password = _named(user)
    with httpx.Client(base_url=url, timeout=PATIENCE) as http:
        me = _opened(http, name, password)
        if me["must_change_password"]:
            sys.stderr.write("The password was given to you: choose your own.\n")
            me = _opened(http, name, _changed(http, password))
        try:
            yield http, me
        finally:
            with suppress(httpx.TransportError):  # it ends by itself too
                http.post(f"{PREFIX}/logout")


def _named(user: str | None) -> tuple[str, str]:
    """Return who logs in and the password."""
    import os

    name = user or typer.prompt("Name")
    return name, os.environ.get("HEADRACE_PASSWORD") or typer.prompt("Password", hide_input=True)


def _changed(http: "httpx.Client", current: str) -> str:
    """Change the password of a session, which ends by that; return the new one."""
    import os

    new = os.environ.get("HEADRACE_NEW_PASSWORD") or typer.prompt(
        "New password", hide_input=True, confirmation_prompt=True
    )
    _asked(http, "POST", f"{PREFIX}/me/password", json={"current": current, "new": new})
    return str(new)


def _opened(http: "httpx.Client", name: str, password: str) -> dict[str, Any]:
    me = _asked(http, "POST", f"{PREFIX}/login", json={"name": name, "password": password})
    http.headers["X-CSRF-Token"] = me["csrf_token"]
    return me


def _asked(http: "httpx.Client", method: str, path: str, **more: Any) -> dict[str, Any]:
    import httpx

    try:
        answer = http.request(method, path, **more)
    except httpx.TransportError as error:
        raise unreachable(str(http.base_url).rstrip("/"), error) from error
    if answer.is_error:
        raise problem(answer)
    found: dict[str, Any] = answer.json() if answer.content else {}
    return found


def _stamp() -> str:
    from datetime import UTC, datetime

    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S")
