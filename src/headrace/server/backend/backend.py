"""A request goes in; the server as its session sees it comes out."""

from collections.abc import Callable

from starlette.requests import HTTPConnection

from headrace.server.backend.jobs import JobPart
from headrace.server.backend.language import LanguagePart
from headrace.server.backend.people import PeoplePart
from headrace.server.backend.rows import RowPart
from headrace.server.console.backend import Backend
from headrace.server.rest.asking import COOKIE
from headrace.server.services.services import Services

__all__ = ["ServerBackend", "backend_for"]


class ServerBackend(LanguagePart, JobPart, RowPart, PeoplePart):
    """The server as one user's session sees it; every call checks the session and the rights again."""


def backend_for(services: Services) -> Callable[[HTTPConnection], Backend]:
    """Return what gives the console the server for each request."""

    def made(request: HTTPConnection) -> Backend:
        return ServerBackend(services, request.cookies.get(COOKIE))

    return made
