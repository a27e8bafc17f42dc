"""A browser that leaves before its answer is there is nothing to complain about; anything else is."""

import asyncio

import pytest
from starlette.types import Message, Receive, Scope, Send

from headrace.server.console.departures import NO_ANSWER, QuietDepartures


def ask(says: list[str], error: Exception | None) -> None:
    """Send a request to an application that hears what the client says, and then fails."""

    async def application(_scope: Scope, receive: Receive, _send: Send) -> None:
        for _ in says:
            await receive()
        if error is not None:
            raise error

    waiting = list(says)

    async def receive() -> Message:
        return {"type": waiting.pop(0)}

    async def send(_message: Message) -> None:
        pass

    asyncio.run(QuietDepartures(application)({"type": "http"}, receive, send))


def test_one_who_has_gone_misses_nothing() -> None:
    ask(["http.request", "http.disconnect"], RuntimeError(NO_ANSWER))


@pytest.mark.parametrize(
    ("says", "error"),
    [
        (["http.request"], RuntimeError(NO_ANSWER)),
        (["http.disconnect"], RuntimeError("something else")),
        (["http.disconnect"], ValueError(NO_ANSWER)),
    ],
)
def test_failures_are_raised(says: list[str], error: Exception) -> None:
    with pytest.raises(type(error), match=str(error)):
        ask(says, error)
