"""A schema registry on a free loopback port: enough of Confluent's REST API for the tests."""

import base64
import itertools
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import unquote, urlsplit

_PREFIXES = itertools.count(1)


@dataclass
class SchemaRegistry:
    """What the registry holds, and what it was asked; ``url`` is where it answers."""

    url: str = ""
    username: str | None = None
    password: str = ""
    schemas: dict[int, dict[str, Any]] = field(default_factory=dict)
    subjects: dict[str, list[int]] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    failures: list[tuple[int, bytes]] = field(default_factory=list)
    """Statuses and bodies to answer with before all others."""

    def register(
        self, subject: str, schema: Any, references: list[dict[str, Any]] | None = None, schema_type: str = "AVRO"
    ) -> int:
        """Return the id of a schema, given as a JSON value, under a subject."""
        return self.add(subject, {"schema": json.dumps(schema), "references": references, "schemaType": schema_type})

    def add(self, subject: str, body: dict[str, Any]) -> int:
        kept = {key: body[key] for key in ("schema", "references") if body.get(key)}
        if body.get("schemaType", "AVRO") != "AVRO":
            kept["schemaType"] = body["schemaType"]
        id = next((id for id, each in self.schemas.items() if each == kept), len(self.schemas) + 1)
        self.schemas[id] = kept
        versions = self.subjects.setdefault(subject, [])
        if id not in versions:
            versions.append(id)
        return id

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        match method, [unquote(part) for part in path.split("/")[1:]]:
            case "POST", ["subjects", subject, "versions"]:
                if body["schema"] == '"refused"':
                    return 409, {"error_code": 409, "message": "Schema being registered is incompatible"}
                return 200, {"id": self.add(subject, body)}
            case "GET", ["schemas", "ids", id]:
                if int(id) in self.schemas:
                    return 200, self.schemas[int(id)]
                return 404, {"error_code": 40403, "message": f"Schema {id} not found"}
            case "GET", ["subjects", subject, "versions", version]:
                if subject not in self.subjects:
                    return 404, {"error_code": 40401, "message": f"Subject '{subject}' not found."}
                ids = self.subjects[subject]
                number = len(ids) if version == "latest" else int(version)
                id = ids[number - 1]
                return 200, {"subject": subject, "version": number, "id": id, **self.schemas[id]}
        return 404, {"error_code": 404, "message": "HTTP 404 Not Found"}

    def lets_in(self, authorization: str | None) -> bool:
        pair = base64.b64encode(f"{self.username}:{self.password}".encode()).decode()
        return self.username is None or authorization == f"Basic {pair}"


@contextmanager
def open_schema_registry(username: str | None = None, password: str = "") -> Iterator[SchemaRegistry]:
    """Give a running registry, which takes only the user when one is named."""
    registry = SchemaRegistry(username=username, password=password)
    # A path of its own, because clients remember by address, and a port may come again.
    prefix = f"/registry-{next(_PREFIXES)}"

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(None)

        def do_POST(self) -> None:
            self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def _answer(self, body: Any) -> None:
            path = urlsplit(self.path).path
            registry.requests.append(f"{self.command} {path.removeprefix(prefix)}")
            if registry.failures:
                self._send(*registry.failures.pop(0))
            elif not registry.lets_in(self.headers["Authorization"]):
                self._send(401, b'{"error_code": 401, "message": "Unauthorized"}')
            elif not path.startswith(f"{prefix}/"):
                self._send(404, b"<html>not here</html>")
            else:
                status, answer = registry.answer(self.command, path.removeprefix(prefix), body)
                self._send(status, json.dumps(answer).encode())

        def _send(self, status: int, content: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Keep quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    registry.url = f"http://127.0.0.1:{server.server_port}{prefix}"
    try:
        yield registry
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
