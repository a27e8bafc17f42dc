"""Settings go in; the web application of a server, REST and console, comes out."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version

from anyio import to_thread
from fastapi import Depends, FastAPI, Request, Response
from starlette.exceptions import HTTPException
from starlette.routing import Match
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from headrace.server.description import description
from headrace.server.headers import SafeHeaders
from headrace.server.rest import account, alerts, job_reading, jobs, language, people, system, views
from headrace.server.rest.asking import COOKIE
from headrace.server.rest.parameters import each_once
from headrace.server.rest.problems import PROBLEMS, add_handlers
from headrace.server.rest.sizes import BodyLimit
from headrace.server.services.services import Services, open_services
from headrace.server.settings import Settings

__all__ = ["PREFIX", "create_server"]

PREFIX = "/api/v1"
ROUTERS = (account.router, people.router, language.router, job_reading.router, jobs.router, alerts.router, views.router)
THREADS = 64
"""How many requests wait for the database or for files at once."""


def create_server(settings: Settings, services: Services | None = None) -> FastAPI:
    """Return the web application; it opens the database now, and looks after jobs from its start to its end."""
    served = services or open_services(settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        to_thread.current_default_thread_limiter().total_tokens = THREADS
        await to_thread.run_sync(served.start)
        try:
            yield
        finally:
            await to_thread.run_sync(served.stop)

    app = FastAPI(
        title="Headrace",
        version=version("headrace"),
        description="Continuous SQL on Apache Spark: jobs, views, users.",
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.services = served
    add_handlers(app)
    for router in ROUTERS:
        app.include_router(router, prefix=PREFIX, responses=PROBLEMS, dependencies=[Depends(each_once)])
    app.include_router(system.router, responses={401: PROBLEMS[401], 403: PROBLEMS[403]})
    _refuse_the_rest(app)
    if settings.console:
        from headrace.server.backend.backend import backend_for
        from headrace.server.console.attach import attach

        attach(app, backend_for(served), cookie=COOKIE)
    app.add_middleware(BodyLimit, limit=settings.largest_request)
    app.add_middleware(SafeHeaders)
    if settings.trusted_proxies:
        app.add_middleware(ProxyHeadersMiddleware, trusted_hosts=list(settings.trusted_proxies))
    app.openapi = lambda: description(app)  # type: ignore[method-assign]
    return app


def _refuse_the_rest(app: FastAPI) -> None:
    """Let what is below the prefix and no route be a problem in JSON, not a page of the console."""
    methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
    others = list(app.routes)  # without the console's, which takes every path

    @app.api_route(f"{PREFIX}/{{rest:path}}", methods=methods, include_in_schema=False)
    async def refuse(request: Request) -> Response:
        allowed = [
            method
            for method in methods
            if any(
                route.matches({**request.scope, "method": method, "path_params": {}})[0] is Match.FULL
                for route in others
            )
        ]
        if allowed:
            raise HTTPException(405, headers={"Allow": ", ".join(allowed)})
        raise HTTPException(404)
