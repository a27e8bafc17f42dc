"""Requests go in; those whose body is larger than it may be are refused before anybody reads it."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headrace.server.rest.problems import too_large

__all__ = ["BodyLimit"]


class _TooLarge(BaseException):
    """More came than may. Not an Exception: what reads a body would take it for one that cannot be parsed."""


class BodyLimit:
    """Answers 413 to a body of more than ``limit`` bytes, whether its length was told beforehand or not."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self.app, self.limit = app, limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and count what is read of it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        told = dict(scope["headers"]).get(b"content-length", b"0")
        if not told.isdigit() or int(told) > self.limit:
            await too_large(self.limit)(scope, receive, send)
            return
        read, answered = 0, False

        async def counted() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > self.limit:
                raise _TooLarge
            return message

        async def noted(message: Message) -> None:
            nonlocal answered
            answered = True
            await send(message)

        try:
            await self.app(scope, counted, noted)
        except _TooLarge:
            if not answered:
                await too_large(self.limit)(scope, receive, send)
