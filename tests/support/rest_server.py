"""A whole server without a network: requests go straight into the application, rounds of the supervisor by hand."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from argon2 import PasswordHasher
from fastapi import FastAPI

from headrace.jobs.states import State
from headrace.server.access.decisions import SYSTEM
from headrace.server.access.passwords import Passwords
from headrace.server.access.roles import Role
from headrace.server.application import PREFIX, create_server
from headrace.server.services.services import open_services
from headrace.server.settings import Settings
from headrace.views.definition import Delta, Reflects, Row, ViewColumn, ViewDefinition
from headrace.views.sqlite import SqliteViewStore
from support.job_yard import APPLICATION, FAKE, kill_drivers
from support.waiting import PATIENCE, until

PASSWORD = "correct-kettle-marble"
ADDRESS = "http://127.0.0.1:8642"
PASSWORDS = Passwords(PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))


@dataclass
class Visitor:
    """Somebody who makes requests; changes show the CSRF token unless told otherwise."""

    app: FastAPI
    headers: dict[str, str] = field(default_factory=dict)
    cookies: dict[str, str] = field(default_factory=dict)
    name: str = ""

    def send(self, method: str, path: str, **more: Any) -> httpx.Response:
        headers = {**self.headers, **more.pop("headers", {})}
        headers = {name: value for name, value in headers.items() if value is not None}

        async def sent() -> httpx.Response:
            transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url=ADDRESS, cookies=self.cookies) as client:
                address = path if path.startswith(("/health", "/metrics")) else f"{PREFIX}{path}"
                return await client.request(method, address, headers=headers, **more)

        return asyncio.run(sent())

    def get(self, path: str, **more: Any) -> httpx.Response:
        return self.send("GET", path, **more)

    def post(self, path: str, body: Any = None, **more: Any) -> httpx.Response:
        return self.send("POST", path, **({} if body is None else {"json": body}), **more)

    def put(self, path: str, body: Any = None, **more: Any) -> httpx.Response:
        return self.send("PUT", path, **({} if body is None else {"json": body}), **more)

    def patch(self, path: str, body: Any, **more: Any) -> httpx.Response:
        return self.send("PATCH", path, json=body, **more)

    def delete(self, path: str, **more: Any) -> httpx.Response:
        return self.send("DELETE", path, **more)

    def events(self, path: str, count: int, **headers: str) -> list[dict[str, Any]]:
        """Return the first events of a stream."""
        return asyncio.run(asyncio.wait_for(self._events(path, count, headers), PATIENCE))

    async def _events(self, path: str, count: int, headers: dict[str, str]) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        stream = streamed(self.app, f"{PREFIX}{path}", {**self.headers, **headers}, self.cookies)
        async for text in stream:
            event = parsed(text)
            if "data" in event:
                found.append(event)
            if len(found) == count:
                break
        await stream.aclose()
        return found


async def streamed(app: FastAPI, path: str, headers: dict[str, str], cookies: dict[str, str]) -> AsyncIterator[str]:
    """Yield the parts of an answer that does not end; httpx would wait for its end."""
    if cookies:
        headers = {**headers, "cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())}
    path, _, query = path.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [
            (name.lower().encode(), value.encode()) for name, value in {"host": "127.0.0.1", **headers}.items()
        ],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8642),
    }
    parts: asyncio.Queue[bytes | None] = asyncio.Queue()
    gone = asyncio.Event()

    async def receive() -> dict[str, Any]:
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            assert message["status"] == 200, message
        elif message["type"] == "http.response.body":
            await parts.put(message.get("body", b""))

    task = asyncio.ensure_future(app(scope, receive, send))
    task.add_done_callback(lambda _: parts.put_nowait(None))
    rest = ""
    try:
        while (part := await parts.get()) is not None:
            rest += part.decode()
            *whole, rest = rest.split("\n\n")
            for text in whole:
                yield text
    finally:
        gone.set()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def parsed(text: str) -> dict[str, Any]:
    """Return the fields of an event, its data read."""
    fields = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line and not line.startswith(":"))
    if "data" in fields:
        fields["data"] = json.loads(fields["data"])
    return fields


class RestServer:
    """A server whose supervisor goes round when a test says so."""

    def __init__(self, folder: Path, **more: Any) -> None:
        options = {"driver": FAKE, "cores": 4, "memory": 8192, "console": False, **more}
        self.settings = Settings(data=folder / "server", **options)
        self.services = open_services(self.settings, passwords=PASSWORDS)
        self.app = create_server(self.settings, self.services)
        self.supervisor = self.services.supervisor()
        self.known: dict[str, Visitor] = {}
        self.numbers = itertools.count()

    @property
    def jobs(self):
        return self.services.jobs.jobs

    def nobody(self) -> Visitor:
        return Visitor(self.app)

    def visitor(self, name: str, role: str) -> Visitor:
        """Return a user who is logged in, made if need be."""
        if name not in self.known:
            self.services.control.users.create(SYSTEM, name, Role(role), PASSWORD)
            self.known[name] = self.logged_in(name)
        return self.known[name]

    def logged_in(self, name: str) -> Visitor:
        answer = self.nobody().post("/login", {"name": name, "password": PASSWORD})
        assert answer.status_code == 200, answer.text
        return Visitor(self.app, {"X-CSRF-Token": answer.json()["csrf_token"]}, dict(answer.cookies.items()), name)

    def with_token(self, visitor: Visitor, role: str | None = None) -> Visitor:
        """Return the same user with a token in place of a session."""
        body = {"name": f"token {next(self.numbers)}", "role": role}
        answer = visitor.post("/tokens", body)
        assert answer.status_code == 201, answer.text
        return Visitor(self.app, {"Authorization": f"Bearer {answer.json()['text']}"}, name=visitor.name)

    def submit(self, visitor: Visitor, name: str = "shop", behave: str = "run", **more: Any) -> dict[str, Any]:
        body = {"name": name, "text": APPLICATION, "variables": {"BEHAVE": behave}, **more}
        answer = visitor.post("/jobs", body)
        assert answer.status_code == 202, answer.text
        return answer.json()

    def go_until(self, name: str, state: State, seconds: float = PATIENCE) -> None:
        def there() -> bool:
            self.supervisor.tick()
            return self.jobs.show(name).state is state

        until(there, seconds)

    @contextmanager
    def totals(self, job: str = "shop") -> Iterator["Totals"]:
        """Give the store of the view ``totals`` of a job, to write into it as its driver would."""
        found = self.jobs.show(job)
        store = SqliteViewStore(self.jobs.folder_of(found).state_path / job / "views.sqlite")
        columns = (ViewColumn("k", "string"), ViewColumn("total", "decimal(20,2)"))
        store.define(f"{job}.totals", [ViewDefinition("totals", columns, key=("k",))])
        yield Totals(store, f"{job}.totals")
        store.close()

    def end(self) -> None:
        kill_drivers(self.jobs.folder)
        self.supervisor.close()
        self.services.close()


@dataclass
class Totals:
    store: SqliteViewStore
    query: str
    batch: int = 0

    def take(self, inserted: list[Row] = (), deleted: list[Row] = ()) -> int:  # type: ignore[assignment]
        """Take in a batch and return its number."""
        last = self.store.last_batch(self.query)
        batch = 0 if last is None else last + 1
        self.store.take(self.query, batch, {"totals": Delta(deleted, inserted)}, Reflects())
        return batch
