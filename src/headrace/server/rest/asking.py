"""A request goes in; who asks, what they may reach, and how a change is applied once come out."""

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from fastapi import Depends, Header, Request, Response
from fastapi.responses import JSONResponse
from fastapi.security import APIKeyCookie, HTTPBearer
from pydantic import BaseModel

from headrace.server.access.decisions import Who
from headrace.server.access.sessions import BrowserSession
from headrace.server.services.identity import Caller, caller_of
from headrace.server.services.services import Services
from headrace.values import json_text, json_value

__all__ = [
    "COOKIE",
    "Account",
    "AccountChange",
    "Asking",
    "Change",
    "Changing",
    "Reading",
    "Serving",
    "rows_response",
]

COOKIE = "headrace_session"
SAFE = {"GET", "HEAD", "OPTIONS"}

_cookie = APIKeyCookie(name=COOKIE, auto_error=False, description="The session of a browser.")
_bearer = HTTPBearer(auto_error=False, description="A token: `Authorization: Bearer hr_…`.")


async def services_of(request: Request) -> Services:  # what waits for nothing needs no thread
    """Return the server that a request is made to."""
    services: Services = request.app.state.services
    return services


Serving = Annotated[Services, Depends(services_of)]


@dataclass(frozen=True, slots=True)
class Asking:
    """Somebody who was recognised, and the server that they ask."""

    services: Services
    who: Who
    session: BrowserSession | None
    again: Callable[[], Who]
    """Says who asks once more, for an answer that lasts; raises if the session or token is over by now."""


def asking(
    request: Request,
    services: Serving,
    _session: Annotated[str | None, Depends(_cookie)] = None,
    _token: Annotated[Any, Depends(_bearer)] = None,
) -> Asking:
    """Return who asks; raise if that cannot be said, or if the password must be changed first."""
    return _asking(request, services)


def asking_about_oneself(
    request: Request,
    services: Serving,
    _session: Annotated[str | None, Depends(_cookie)] = None,
    _token: Annotated[Any, Depends(_bearer)] = None,
) -> Asking:
    """Return who asks, also one whose password must be changed."""
    return _asking(request, services, with_any_password=True)


def _asking(request: Request, services: Services, *, with_any_password: bool = False) -> Asking:
    def recognised() -> Caller:
        return caller_of(
            services.control,
            cookie=request.cookies.get(COOKIE),
            authorization=request.headers.get("authorization"),
            csrf_token=request.headers.get("x-csrf-token"),
            changes=request.method not in SAFE,
            with_any_password=with_any_password,
        )

    caller = recognised()
    return Asking(services, caller.who, caller.session, lambda: recognised().who)


Reading = Annotated[Asking, Depends(asking)]
Account = Annotated[Asking, Depends(asking_about_oneself)]

Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=80,
        pattern=r"^[!-~]+$",
        description="A random text; the same request with the same key is applied at most once.",
        examples=["3f1c9a52-0b1e"],
    ),
]


@dataclass(frozen=True, slots=True)
class Change:
    """Somebody who wants to change something, and the key of the request."""

    services: Services
    who: Who
    session: BrowserSession | None
    key: str | None
    address: str

    def apply(
        self,
        body: BaseModel | None,
        act: Callable[[str], BaseModel | None],
        *,
        status: int = 200,
        secret: bool = False,
        again: bool = False,
    ) -> Response:
        """Answer with what the act gives; it is handed the id of the command.

        A ``secret`` answer is told once; ``again`` says that the act takes care itself of being applied at most once.
        """
        if self.key is None:
            made = act(f"{self.who.id}:{secrets.token_hex(16)}")
            return _response(status, _plain(made))
        plain = None if body is None else body.model_dump(mode="json")
        answer = self.services.once.apply(
            self.who,
            self.key,
            [self.address, plain],
            status,
            lambda: _plain(act(f"{self.who.id}:{self.key}")),
            secret=secret,
            again=again,
        )
        return _response(answer.status, answer.body, repeated=answer.repeated)

    async def apply_in_turn(
        self, body: BaseModel | None, act: Callable[[str], BaseModel | None], *, status: int
    ) -> Response:
        """Answer with what an act gives that takes care itself of being applied at most once, and computes for long."""
        work = partial(self.apply, body, act, status=status, again=True)
        return await asyncio.get_running_loop().run_in_executor(self.services.commanding, work)


async def changing(request: Request, asked: Reading, key: Key = None) -> Change:
    """Return who wants to change something."""
    return _changing(request, asked, key)


def changing_oneself(request: Request, asked: Account, key: Key = None) -> Change:
    """Return who wants to change something about their own log-in."""
    return _changing(request, asked, key)


def _changing(request: Request, asked: Asking, key: str | None) -> Change:
    address = f"{request.method} {request.url.path}?{request.url.query}"
    return Change(asked.services, asked.who, asked.session, key, address)


Changing = Annotated[Change, Depends(changing)]
AccountChange = Annotated[Change, Depends(changing_oneself)]


def rows_response(value: Any) -> Response:
    """Return an answer with rows: as JSON has them everywhere in Headrace, with all digits of a decimal."""
    return Response(json_text(json_value(value)), media_type="application/json", headers={"Cache-Control": "no-store"})


def _plain(made: BaseModel | None) -> Any:
    return None if made is None else made.model_dump(mode="json")


def _response(status: int, body: Any, *, repeated: bool = False) -> Response:
    headers = {"Cache-Control": "no-store"} | ({"Idempotency-Replayed": "true"} if repeated else {})
    if status == 204:
        return Response(status_code=204, headers=headers)
    return JSONResponse(body, status, headers=headers)
