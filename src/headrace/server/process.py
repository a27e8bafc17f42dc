"""Settings go in; a server runs until it is told to stop. Jobs run on without it."""

import logging
import signal
import socket
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from types import FrameType

import uvicorn

from headrace.errors import HeadraceError
from headrace.server.access.users import FIRST_ADMIN, ensure_admin
from headrace.server.application import create_server
from headrace.server.local import forget_local
from headrace.server.local_token import note_local
from headrace.server.services.services import Services, open_services
from headrace.server.settings import MEGABYTE, Settings, is_loopback

__all__ = ["Started", "run_server"]

KEPT_OPEN = 75
"""Seconds for a connection without a request: longer than clients and proxies keep theirs, lest one of them asks just
when it is closed."""
ANSWER_WITHIN = 5
"""Seconds for requests that are under way when the server ends."""


@dataclass(frozen=True, slots=True)
class Started:
    """Where a server listens, and the password of its first admin if this is its first start."""

    url: str
    name: str
    password: str | None


def run_server(settings: Settings, told: Callable[[Started], None]) -> None:
    """Run a server until SIGINT or SIGTERM; ``told`` is called once it can be reached."""
    settings.check()
    settings.check_certificate()
    with closing(_listen(settings)) as listener:
        services = open_services(settings)
        try:
            temporary = settings.first_password_is_temporary
            password = ensure_admin(services.database, services.clock.now, must_change=temporary)
            url = _url(settings, listener.getsockname()[1])
            _serve(services, listener, lambda: told(Started(url, FIRST_ADMIN, password)), url)
        finally:
            services.close()


def _serve(services: Services, listener: socket.socket, told: Callable[[], None], url: str) -> None:
    settings = services.settings
    supervised = services.supervisor()  # whether another server has the folder is told before anything is served
    supervised.claim(moved=settings.move_data)
    supervised.close()
    app = create_server(settings, services)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        ssl_certfile=settings.tls_certificate,
        ssl_keyfile=settings.tls_key,
        timeout_keep_alive=KEPT_OPEN,
        timeout_graceful_shutdown=ANSWER_WITHIN,
        proxy_headers=False,
        ws_max_size=max(MEGABYTE, settings.largest_request),
    )
    local = note_local(services, url)
    try:
        _Server(config, services, told).run(sockets=[listener])
    finally:
        forget_local(local)


class _Server(uvicorn.Server):
    """Says when it is there, and lets those who follow something go when it ends."""

    def __init__(self, config: uvicorn.Config, services: Services, told: Callable[[], None]) -> None:
        super().__init__(config)
        self._services, self._told = services, told

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._told()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End in good order; unlike uvicorn's own, do not die of the signal afterwards: it was heeded."""
        self._services.stopping.set()
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True


def _listen(settings: Settings) -> socket.socket:
    """Return the socket, so that an address that is taken is told before anything else happens."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
    except OSError as error:
        listener.close()
        raise HeadraceError(
            f"{settings.host}:{settings.port} cannot be listened on",
            detail=f"{error.strerror or error}.",
            hint="Choose another with --port; 0 takes a free one.",
        ) from error
    listener.set_inheritable(False)
    return listener


def _url(settings: Settings, port: int) -> str:
    host = settings.host if is_loopback(settings.host) else socket.gethostname()
    shown = f"[{host}]" if ":" in host else host
    return f"{'https' if settings.is_encrypted else 'http'}://{shown}:{port}"


logging.getLogger("headrace").addHandler(logging.NullHandler())
