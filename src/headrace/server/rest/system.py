"""Routes for those who look after the server: is it there, is it ready, its metrics."""

from typing import Literal

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from headrace.jobs.metrics import CONTENT_TYPE, exposition
from headrace.server.access.decisions import SYSTEM
from headrace.server.rest.asking import Serving, asking
from headrace.server.rest.models.fields import example
from headrace.server.settings import is_loopback

__all__ = ["router"]

router = APIRouter(tags=["system"])

_PROXIES = frozenset({"forwarded", "via", "x-real-ip"})
"""Headers by which a proxy says that it passes on what somebody else asks for."""


class Health(BaseModel):
    """Whether the server can be used."""

    model_config = example(status="ok")

    status: Literal["ok", "not ready"]


@router.get("/health/live")
async def live() -> Health:
    """Say that the server answers."""
    return Health(status="ok")


@router.get("/health/ready", response_model=Health, responses={503: {"model": Health}})
def ready(services: Serving) -> Response:
    """Say whether the database answers and jobs are looked after."""
    with services.database.reading() as session:
        session.connection()
    status = "ok" if services.is_ready() else "not ready"
    return JSONResponse({"status": status}, 200 if status == "ok" else 503)


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "In Prometheus' form."}},
)
def metrics(request: Request, services: Serving) -> Response:
    """Tell the figures of all jobs to Prometheus: to a token those that it may see, to this machine all."""
    nobody = "authorization" not in request.headers
    open_here = not services.settings.insecure and is_loopback(services.settings.host)
    who = SYSTEM if nobody and open_here and _is_here(request) else asking(request, services).who
    return Response(exposition(services.jobs.samples(who)), media_type=CONTENT_TYPE)


def _is_here(request: Request) -> bool:
    """Say whether a request comes from this machine and means it: a page elsewhere could send a browser here."""
    peer = "" if request.client is None else request.client.host
    passed_on = any(name.startswith("x-forwarded") or name in _PROXIES for name in request.headers)
    passed_on |= request.scope.get("http_version") == "1.0"  # what nginx asks in if nobody tells it otherwise
    return is_loopback(peer) and is_loopback(request.url.hostname or "") and not passed_on
