"""Serves the console over the made-up server: for browser tests, and for looking at."""

import argparse
import socket
import sys
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from headrace.server.console.attach import COOKIE, attach
from headrace.server.headers import SafeHeaders
from server.console.fake_backend import FakeBackend, Store
from server.console.fake_data import summary


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--still", action="store_true", help="the clock stands until POST /_test/tick moves it")
    options = parser.parse_args()
    clock = {"now": datetime(2026, 3, 2, 9, 0, tzinfo=UTC)}
    store = Store(options.folder, (lambda: clock["now"]) if options.still else (lambda: datetime.now(UTC)))
    app = FastAPI()

    @app.post("/_test/tick")
    async def tick(seconds: float = 1.0) -> dict[str, str]:
        clock["now"] += timedelta(seconds=seconds)
        return {"now": clock["now"].isoformat()}

    @app.post("/_test/reset")
    async def reset() -> None:
        """Begin anew, but for who is logged in."""
        sessions = store.sessions
        for file in options.folder.iterdir():
            file.unlink()
        store.__dict__.update(Store(store.folder, store.now).__dict__)
        store.sessions = sessions

    @app.post("/_test/forget")
    async def forget() -> None:
        """End every session behind the back of open pages."""
        store.sessions.clear()

    @app.post("/_test/state/{name}")
    async def become(name: str, state: str, reason: str) -> None:
        """Bring a job into a state."""
        health = "good" if state == "running" else "warning"
        store.overrides[name] = replace(summary(name, store.now()), state=state, health=health, reason=reason)  # type: ignore[arg-type]

    @app.get("/_test/options/{name}")
    async def options_of(name: str) -> dict[str, object]:
        """Say with what an application was submitted."""
        return asdict(store.options[name])

    app.add_middleware(SafeHeaders)
    attach(app, lambda request: FakeBackend(store, request.cookies.get(COOKIE)))
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", options.port))
    sys.stdout.write(f"{listener.getsockname()[1]}\n")
    sys.stdout.flush()
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])


if __name__ == "__main__":
    main()
