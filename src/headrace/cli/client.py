"""A server and a wish go in; what it answers, or its problem as an error for the user, comes out."""

import json
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote, urlsplit

import typer

from headrace.errors import HeadraceError
from headrace.jars.home import headrace_home

if TYPE_CHECKING:
    import httpx

__all__ = [
    "Client",
    "OtherwiseHere",
    "Server",
    "Unreachable",
    "connect",
    "forget_credentials",
    "keep_credentials",
    "path_of",
    "problem",
    "server_address",
    "unreachable",
]

PREFIX = "/api/v1"
PATIENCE = 60.0
"""Seconds for an answer, and for a server that went away to come back."""
BETWEEN_TRIES = 1.0
PAGE = 500
"""Items of a list that are asked for at once."""
GONE = 404
CREDENTIALS = "credentials"

Server = Annotated[
    str | None,
    typer.Option(
        "--server", metavar="URL", envvar="HEADRACE_SERVER", help="The server; this machine's, or the one logged in to."
    ),
]
OtherwiseHere = Annotated[
    str | None, typer.Option("--server", metavar="URL", help="Ask this server; without it, no server is asked.")
]
"""For commands that need no server: only one that is named is asked, not the one logged in to."""


class Unreachable(HeadraceError):
    """The server gave no answer."""


@dataclass(slots=True)
class Client:
    """A server, and who asks it."""

    url: str
    http: "httpx.Client"

    @property
    def is_here(self) -> bool:
        """Whether the server is on this machine, so that it reads the same files."""
        return urlsplit(self.url).hostname in {"localhost", "127.0.0.1", "::1"}

    def get(self, path: str, **query: Any) -> Any:
        """Return what is there."""
        return self._plain(self._send("GET", path, params=_given(query)))

    def find(self, path: str) -> Any:
        """Return what is there, None if there is nothing."""
        answer = self._asked("GET", path)
        return None if answer.status_code == GONE else self._plain(_checked(answer))

    def rows(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        """Return what is there, with all digits of its numbers."""
        answer = self._send(method, path, params=_given(query), **({} if body is None else {"json": body}))
        return self._plain(answer, parse_float=_number)

    def pages(self, path: str, **query: Any) -> Iterator[Any]:
        """Yield all items of a list, page by page."""
        after: str | None = None
        while True:
            page = self.get(path, **{"after": after, "limit": PAGE, **query})
            yield from page["items"]
            after = page.get("next")
            if after is None:
                return

    def change(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        """Ask for a change, with a key of its own: one that got no answer is sent once more, and happens once."""
        headers = {"Idempotency-Key": secrets.token_hex(16)}
        more = {"headers": headers, "params": query, **({} if body is None else {"json": body})}
        return self._plain(self._send(method, path, tries=2, **more))

    def events(self, path: str, **query: Any) -> Iterator[tuple[str, Any]]:
        """Yield events and their data until the server ends them.

        A connection that breaks is made again, for a while also to a server that is away.
        """
        import httpx

        last: str | None = None
        lost_at: float | None = None
        begun = False
        while True:
            headers = {} if last is None else {"Last-Event-ID": last}
            try:
                for mark, kind, data in self._streamed("GET", path, last, params=query, headers=headers):
                    begun, lost_at, last = True, None, mark
                    yield kind, data
                return
            except httpx.TransportError as error:
                now = time.monotonic()
                lost_at = now if lost_at is None else lost_at
                is_away = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
                if isinstance(error, httpx.UnsupportedProtocol) or now - lost_at > PATIENCE or (is_away and not begun):
                    raise unreachable(self.url, error) from error
                if is_away:
                    time.sleep(BETWEEN_TRIES)

    def tried(self, path: str, body: Any) -> Iterator[tuple[str, Any]]:
        """Yield events and their data of something that begins with the question and ends with the connection."""
        import httpx

        try:
            for _, kind, data in self._streamed("POST", path, None, json=body):
                yield kind, data
        except httpx.TransportError as error:
            raise unreachable(self.url, error) from error

    def _streamed(self, method: str, path: str, last: str | None, **more: Any) -> Iterator[tuple[str | None, str, Any]]:
        with self.http.stream(method, PREFIX + path, **more) as answer:
            if answer.is_error:
                answer.read()
                raise problem(answer)
            for mark, kind, data in _events(answer.iter_lines(), last):
                if kind == "end" or (kind == "problem" and data["status"] == GONE):
                    return  # what is followed is gone: rights are looked at too, and may tell it first
                if kind == "problem":
                    raise _told(data)
                yield mark, kind, data

    def _send(self, method: str, path: str, **more: Any) -> "httpx.Response":
        return _checked(self._asked(method, path, **more))

    def _asked(self, method: str, path: str, *, tries: int = 1, **more: Any) -> "httpx.Response":
        import httpx

        try:
            return self.http.request(method, PREFIX + path, **more)
        except (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError) as error:
            if tries > 1:
                return self._asked(method, path, tries=tries - 1, **more)
            raise unreachable(self.url, error) from error
        except httpx.TransportError as error:
            raise unreachable(self.url, error) from error

    def _plain(self, answer: "httpx.Response", **more: Any) -> Any:
        try:
            return json.loads(answer.content, **more) if answer.content else None
        except ValueError as error:
            raise HeadraceError(
                f"what answers at {self.url} is not a Headrace server", hint="Look at the address: --server URL."
            ) from error


def _checked(answer: "httpx.Response") -> "httpx.Response":
    if answer.is_error:
        raise problem(answer)
    return answer


def unreachable(url: str, error: "httpx.TransportError") -> Unreachable:
    """Return that a server gave no answer, as an error for the user."""
    import httpx

    if isinstance(error, httpx.TimeoutException) and not isinstance(error, httpx.ConnectTimeout):
        return Unreachable(f"the server at {url} does not answer")
    return Unreachable(
        f"the server at {url} cannot be reached",
        detail=f"{str(error) or type(error).__name__}.",
        hint="Start it: headrace serve.",
    )


def server_address(text: str) -> str:
    """Return the address of a server as it is kept; raise if it is none.

    >>> server_address("http://localhost:8642/")
    'http://localhost:8642'
    """
    try:
        parts = urlsplit(text)
        is_one = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_one = False
    if not is_one:
        raise HeadraceError(
            f'"{text}" is not the address of a server', hint="Write it as http://localhost:8642 or https://host."
        )
    return text.rstrip("/")


def path_of(*parts: str) -> str:
    """Return the path of names, whatever letters are in them.

    >>> path_of("alert-rules", "far behind/now?")
    '/alert-rules/far%20behind%2Fnow%3F'
    """
    return "".join(f"/{quote(part, safe='')}" for part in parts)


def problem(answer: "httpx.Response") -> HeadraceError:
    """Return the problem that a server tells as an error for the user."""
    try:
        return _told(answer.json())
    except (ValueError, KeyError, TypeError):
        return HeadraceError(f"the server answered {answer.status_code}", detail=answer.text[:200] or None)


def _told(plain: dict[str, Any]) -> HeadraceError:
    title = str(plain["title"])
    fields = "; ".join(f"{each['place']}: {each['message']}" for each in plain.get("fields") or ())
    detail = plain.get("detail") or (f"{fields}." if fields else None)
    place = plain.get("place")
    if place:
        title = f"{title} ({place['file']}:{place['line']}:{place['column']})"
    return HeadraceError(title, detail=detail, hint=plain.get("hint"))


@contextmanager
def connect(server: str | None) -> Iterator[Client]:
    """Give a server to ask: the one named, that of this machine, or the one logged in to last."""
    import httpx

    url, token = _found(server)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with httpx.Client(base_url=url, headers=headers, timeout=PATIENCE) as http:
        yield Client(url, http)


def keep_credentials(url: str, token: str) -> Path:
    """Keep the token for a server, readable by this user alone; it is used from now on."""
    from headrace.jobs.folder import write_whole

    file = headrace_home() / CREDENTIALS
    kept = _credentials()
    kept["servers"][url.rstrip("/")] = token
    kept["default"] = url.rstrip("/")
    write_whole(file, json.dumps(kept, indent=1), durable=True)
    return file


def forget_credentials(url: str | None) -> str:
    """Forget the token for a server, the one used last if none is named; return its address."""
    from headrace.jobs.folder import write_whole

    kept = _credentials()
    named = (url or kept["default"] or "").rstrip("/")
    if kept["servers"].pop(named, None) is None:
        raise HeadraceError("nobody is logged in" + (f" to {named}" if named else ""))
    if kept["default"] == named:
        kept["default"] = next(iter(kept["servers"]), None)
    write_whole(headrace_home() / CREDENTIALS, json.dumps(kept, indent=1), durable=True)
    return named


def _given(query: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in query.items() if value is not None}


def _number(text: str) -> float | Decimal:
    """Return a number that is written as it came: a Decimal if a float would lose digits.

    >>> [_number(text) for text in ("12.50", "0.1", "1e+300", "0.1234567890123456789")]
    [Decimal('12.50'), 0.1, 1e+300, Decimal('0.1234567890123456789')]
    """
    number = float(text)
    return number if repr(number) == text else Decimal(text)


def _found(server: str | None) -> tuple[str, str | None]:
    from headrace.server.local import find_local

    kept, local = _credentials(), find_local()
    given = os.environ.get("HEADRACE_TOKEN")
    named = None if server is None else server_address(server)
    if named is not None:
        token = given or kept["servers"].get(named)
        return named, token or (local.token() if local is not None and local.url == named else None)
    if kept["default"] is not None and (local is None or kept["default"] == local.url):
        return kept["default"], given or kept["servers"][kept["default"]]
    if local is not None:
        return local.url, given or local.token()
    raise HeadraceError(
        "no server is known",
        detail="None of yours runs on this machine, and you are logged in to none elsewhere.",
        hint="Start one with headrace up, or log in to one with headrace login URL.",
    )


def _credentials() -> dict[str, Any]:
    try:
        kept = json.loads((headrace_home() / CREDENTIALS).read_text("utf-8"))
        return {"default": kept["default"], "servers": dict(kept["servers"])}
    except (OSError, ValueError, KeyError, TypeError):
        return {"default": None, "servers": {}}


def _events(lines: Iterator[str], last: str | None) -> Iterator[tuple[str | None, str, Any]]:
    fields: dict[str, str] = {}
    for line in lines:
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
            continue
        last = fields.get("id", last)
        if "data" in fields:
            yield last, fields.get("event", "message"), json.loads(fields["data"])
        fields = {}
