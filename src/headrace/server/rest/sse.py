"""What happens goes in; server-sent events come out, each with an id from which a client can go on."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, suppress
from typing import Any

from anyio import CancelScope, to_thread
from fastapi import Request, Response
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from headrace.errors import HeadraceError
from headrace.server.rest.asking import Asking
from headrace.server.rest.problems import problem_of
from headrace.server.services.following import Happening
from headrace.server.services.services import Services
from headrace.values import json_text, json_value

__all__ = ["EVENT_STREAM", "event_stream", "last_event"]

EVENT_STREAM: dict[int | str, dict[str, Any]] = {
    200: {"description": "Server-sent events.", "content": {"text/event-stream": {"schema": {"type": "string"}}}}
}
ALIVE_EVERY = 15.0
"""Seconds after which a comment is sent, so that everybody on the way knows that somebody is there."""
LOOK_EVERY = 0.5
CHECK_EVERY = 5.0
"""Seconds after which rights are looked at again: a session may have ended, a list may have changed."""


class _EventStream(StreamingResponse):
    """An answer that lasts, and holds a turn of its user until it ends."""

    turn: ExitStack

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self.turn:
            await super().__call__(scope, receive, send)


def event_stream(asking: Asking, happenings: AsyncIterator[Happening], check: Callable[[], object]) -> Response:
    """Answer with events as they happen, until the client goes, the server ends, or ``check`` says no.

    Raise TooManyAtOnce if the user has too many open.
    """
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    lines = _lines(asking.services, happenings, check)
    answer = _EventStream(lines, media_type="text/event-stream", headers=headers)
    answer.turn = ExitStack()
    answer.turn.enter_context(asking.services.streams.of(asking.who.name))
    return answer


def last_event(request: Request, named: str | None) -> str | None:
    """Return where a client wants to go on: what its browser says, or what it asks for itself."""
    return request.headers.get("last-event-id") or named


async def _lines(
    services: Services, happenings: AsyncIterator[Happening], check: Callable[[], object]
) -> AsyncIterator[str]:
    yield "retry: 1000\n\n"
    quiet, checked_at = 0.0, time.monotonic()
    coming = asyncio.ensure_future(anext(happenings))
    try:
        while not services.stopping.is_set():
            done, _ = await asyncio.wait({coming}, timeout=LOOK_EVERY)
            if time.monotonic() - checked_at > CHECK_EVERY:
                checked_at = time.monotonic()
                try:
                    await to_thread.run_sync(check)
                except HeadraceError as error:
                    yield _problem(error)
                    return
            if not done:
                quiet += LOOK_EVERY
                if quiet >= ALIVE_EVERY:
                    quiet = 0.0
                    yield ": alive\n\n"
                continue
            quiet = 0.0
            try:
                happening = coming.result()
            except StopAsyncIteration:
                yield "event: end\ndata: {}\n\n"
                return
            except HeadraceError as error:
                yield _problem(error)
                return
            yield await to_thread.run_sync(_event, happening)  # many rows take long
            coming = asyncio.ensure_future(anext(happenings))
    finally:
        with CancelScope(shield=True):  # a client that leaves cancels whatever waits, and so would the tidying up be
            coming.cancel()
            with suppress(asyncio.CancelledError, StopAsyncIteration, HeadraceError):
                await coming
            await happenings.aclose()  # type: ignore[attr-defined]


def _problem(error: HeadraceError) -> str:
    return f"event: problem\ndata: {problem_of(error).model_dump_json(exclude_none=True)}\n\n"


def _event(happening: Happening) -> str:
    data = json_text(json_value(happening.value))
    return f"id: {happening.mark}\nevent: {happening.kind}\ndata: {data}\n\n"
