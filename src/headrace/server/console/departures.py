"""Requests go in; one whose browser leaves before its answer is there ends without a complaint in the log."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["QuietDepartures"]

NO_ANSWER = "No response returned."
"""What Starlette raises when an inner part gave up the answer, as it does when nobody waits for it any more."""


class QuietDepartures:
    """Lets a request end whose client has gone; anything else that goes wrong is raised as ever."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        gone = False

        async def noting() -> Message:
            nonlocal gone
            message = await receive()
            gone = gone or message["type"] == "http.disconnect"
            return message

        try:
            await self.app(scope, noting, send)
        except RuntimeError as error:
            if not gone or str(error) != NO_ANSWER:
                raise
