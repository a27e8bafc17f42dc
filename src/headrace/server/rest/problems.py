"""A mistake goes in; problem details as RFC 9457 has them come out."""

import logging
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from headrace.errors import HeadraceError, JobFailed, shallow
from headrace.jobs.jobs import Unknown
from headrace.server.access.audit import plain_text
from headrace.server.access.mistakes import Conflict, Forbidden, LogInFailed, NotFound, TooManyAttempts
from headrace.server.rest.models.fields import example
from headrace.server.services.mistakes import (
    CsrfMissing,
    FeedGone,
    NotSignedIn,
    NotThere,
    PasswordDue,
    Repeated,
    TooManyAtOnce,
    Unwanted,
)
from headrace.views.definition import QueryTooLong

__all__ = ["PROBLEMS", "Place", "Problem", "add_handlers", "problem_of", "status_of", "too_large"]

MEDIA_TYPE = "application/problem+json"

_log = logging.getLogger("headrace.server")


class Place(BaseModel):
    """Where in a text a mistake is; line and column count from 1."""

    file: str
    line: int
    column: int


class InvalidField(BaseModel):
    """A part of the request that is not as it should be."""

    place: str
    message: str


class Problem(BaseModel):
    """Why a request was refused: RFC 9457, with a hint, and the place in the text if there is one."""

    model_config = example(
        type="urn:headrace:problem:mistake",
        title='unknown column "crd"',
        status=422,
        detail=None,
        hint='Did you mean "card"?',
        place={"file": "fraud.sql", "line": 2, "column": 43},
    )

    type: str
    title: str
    status: int
    detail: str | None = None
    hint: str | None = None
    place: Place | None = None
    fields: list[InvalidField] | None = Field(default=None, description="What is wrong with the request, part by part.")


# The first that fits counts.
_STATUSES: tuple[tuple[type[HeadraceError], int, str], ...] = (
    (NotSignedIn, 401, "not-signed-in"),
    (LogInFailed, 401, "log-in-failed"),
    (CsrfMissing, 403, "csrf"),
    (PasswordDue, 403, "password-must-change"),
    (Forbidden, 403, "forbidden"),
    (NotThere, 404, "not-found"),
    (NotFound, 404, "not-found"),
    (Unknown, 404, "not-found"),
    (Conflict, 409, "conflict"),
    (Unwanted, 409, "conflict"),
    (Repeated, 409, "repeated"),
    (FeedGone, 410, "gone"),
    (QueryTooLong, 422, "query-too-long"),
    (TooManyAttempts, 429, "too-many-attempts"),
    (TooManyAtOnce, 429, "too-many-at-once"),
    (JobFailed, 503, "unavailable"),
)

PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"description": text, "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}}
    for status, text in {
        400: "The body of the request is no text.",
        401: "Nobody is logged in, or the session or token is over.",
        403: "The user may not, the CSRF token is missing, or the password must be changed first.",
        404: "There is no such thing, or it is not for this user to see.",
        409: "It does not go together with how things are now.",
        410: "The changes that are asked for are no longer kept.",
        413: "The body of the request is too large.",
        422: "A mistake in the request or in the text.",
        429: "Too many attempts, or too much at a time; Retry-After says when to try again.",
        503: "Something outside does not answer.",
    }.items()
}
"""What every route may answer besides success."""


def status_of(error: HeadraceError) -> tuple[int, str]:
    """Return the number and the word for a mistake."""
    for kind, status, word in _STATUSES:
        if isinstance(error, kind):
            return status, word
    return (503, "unavailable") if error.passing else (422, "mistake")


def problem_of(error: HeadraceError) -> Problem:
    """Return a mistake as problem details."""
    status, word = status_of(error)
    facts = error.as_dict()
    return Problem(
        type=_type(word),
        title=_encodable(error.message),
        status=status,
        detail=None if error.detail is None else _encodable(error.detail),
        hint=None if error.hint is None else _encodable(error.hint),
        place=None if facts["place"] is None else Place(**facts["place"]),
    )


def add_handlers(app: FastAPI) -> None:
    """Let an application answer every mistake by problem details."""

    @app.exception_handler(HeadraceError)
    async def mistake(_: Request, error: HeadraceError) -> JSONResponse:
        headers: dict[str, str] = {}
        if isinstance(error, NotSignedIn):
            headers["WWW-Authenticate"] = "Bearer"
        if isinstance(error, TooManyAttempts):
            headers["Retry-After"] = str(max(1, round(error.retry_after.total_seconds())))
        if isinstance(error, TooManyAtOnce):
            headers["Retry-After"] = "5"
        return _answer(problem_of(error), headers)

    @app.exception_handler(RecursionError)
    async def too_deep(request: Request, error: RecursionError) -> JSONResponse:
        _log.warning("%s %s: what is asked for is nested too deeply", request.method, request.url.path)
        try:
            with shallow("what is asked for"):
                raise error
        except HeadraceError as mistake:
            return _answer(problem_of(mistake))

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        fields = [
            InvalidField(
                place=plain_text(".".join(str(part) for part in each["loc"]))[:200], message=plain_text(each["msg"])
            )
            for each in error.errors()
        ]
        title = "the request is not as it should be"
        return _answer(Problem(type=_type("invalid"), title=title, status=422, fields=fields[:50]))

    @app.exception_handler(HTTPException)
    async def refused(_: Request, error: HTTPException) -> JSONResponse:
        title = str(error.detail).lower().rstrip(".")
        return _answer(Problem(type=_type("http"), title=title, status=error.status_code), error.headers)

    @app.exception_handler(Exception)
    async def bug(request: Request, error: Exception) -> JSONResponse:
        _log.error("%s %s failed", request.method, request.url.path, exc_info=error)
        title = f"internal error, please report it: {type(error).__name__}"
        return _answer(
            Problem(type=_type("bug"), title=title, status=500, detail="The traceback is in the server's log.")
        )


def too_large(limit: int) -> JSONResponse:
    """Return the answer to a request with a body of more than so many bytes."""
    title = f"the request has more than {limit / 2**20:g} MB"
    hint = "Send less at once; headrace serve --largest-request sets the limit."
    return _answer(Problem(type=_type("too-large"), title=title, status=413, hint=hint), {"Connection": "close"})


def _answer(problem: Problem, headers: Mapping[str, str] | None = None) -> JSONResponse:
    content = problem.model_dump(mode="json", exclude_none=True)
    return JSONResponse(content, problem.status, headers=dict(headers or {}), media_type=MEDIA_TYPE)


def _type(word: str) -> str:
    return f"urn:headrace:problem:{word}"


def _encodable(text: str) -> str:
    """Return a text without halves of characters, which cannot be sent."""
    return text.encode("utf-8", "replace").decode("utf-8")
