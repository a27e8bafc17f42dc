"""The id of a schema, or a subject, goes in; what the Confluent Schema Registry has under it comes out."""

import base64
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, unquote, urlsplit, urlunsplit
from urllib.request import Request, urlopen

from headrace.connectors.kafka.avro_reader import Schema
from headrace.connectors.kafka.references import merge
from headrace.errors import HeadraceError, JobFailed

__all__ = ["Registry", "RegistryError", "RegistryUnreachable", "UnknownSchema", "UnreadableSchema"]

TIMEOUT = timedelta(seconds=5)
PAUSES = (timedelta(milliseconds=200), timedelta(milliseconds=600), timedelta(seconds=2))
"""How long to wait before each further attempt."""
UNKNOWN_FOR = timedelta(seconds=10)
"""How long an id counts as unknown before the registry is asked again."""
MOST_UNKNOWN = 10_000
LARGEST_ID = 0x7FFFFFFF

_CONTENT = "application/vnd.schemaregistry.v1+json"
_PASSING = (429, 500, 502, 503, 504)
_UNKNOWN_ID = 40403
_UNKNOWN_SUBJECT = (40401, 40402)

# Shared by all registries of a process, because Spark unpickles a new one for every task. Ids never change.
_schemas: dict[tuple[str, int], Schema] = {}
_unknown: dict[tuple[str, int], float] = {}


class RegistryError(JobFailed):
    """The registry answered, but not with what was asked for; the job cannot go on."""


class RegistryUnreachable(RegistryError):
    """The registry did not answer, several times over."""


class UnknownSchema(Exception):
    """The registry has no schema of this id, so far."""

    def __init__(self, id: int) -> None:
        super().__init__(id)
        self.id = id

    def __str__(self) -> str:
        return f"schema {self.id} is not in the registry"


class UnreadableSchema(Exception):
    """The registry has something under this id that is no Avro schema."""

    def __init__(self, id: int, reason: str) -> None:
        super().__init__(id, reason)
        self.id = id
        self.reason = reason

    def __str__(self) -> str:
        return f"schema {self.id} {self.reason}"


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    body: dict[str, Any]

    @property
    def code(self) -> int:
        code = self.body.get("error_code")
        return code if isinstance(code, int) else 0


class Registry:
    """A schema registry at an http or https address; credentials are taken from the address too.

    >>> Registry("http://ann:secret@localhost:8081/")
    Registry('http://localhost:8081', username='ann')
    """

    def __init__(
        self,
        url: str,
        username: str | None = None,
        password: str | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise HeadraceError(
                "the address of the schema registry is not an http address",
                hint="Write it as http://host:port or https://host:port.",
            )
        if username is None and parts.username:
            username, password = unquote(parts.username), unquote(parts.password or "")
        self.address = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", ""))
        self.username = username
        self.identity = f"{username or ''}@{self.address}"
        self._password = password
        self._clock = clock
        self._sleep = sleep

    def __repr__(self) -> str:
        user = f", username={self.username!r}" if self.username else ""
        return f"Registry({self.address!r}{user})"

    def schema(self, id: int) -> Schema:
        """Return the schema of an id, with the types that it refers to inside it; asked for once in a process.

        Raises UnknownSchema, UnreadableSchema, or a RegistryError, which no other record would escape.
        """
        key = (self.identity, id)
        found = _schemas.get(key)
        return found if found is not None else self._fetched(key)

    def _fetched(self, key: tuple[str, int]) -> Schema:
        id = key[1]
        unknown_at = _unknown.get(key)
        if unknown_at is not None and self._clock() - unknown_at < UNKNOWN_FOR.total_seconds():
            raise UnknownSchema(id)
        # The registry takes a larger number for a wrong address, and noise makes such numbers.
        if not 0 <= id <= LARGEST_ID:
            raise UnknownSchema(id)
        answer = self._ask("GET", f"/schemas/ids/{id}")
        if answer.code == _UNKNOWN_ID:
            if len(_unknown) >= MOST_UNKNOWN:
                _unknown.clear()
            _unknown[key] = self._clock()
            raise UnknownSchema(id)
        schema = _schemas[key] = self._read(id, self._good(answer))
        _unknown.pop(key, None)
        return schema

    def latest(self, subject: str) -> tuple[int, Schema] | None:
        """Return the id and the schema of a subject's latest version, or None when there is no such subject."""
        answer = self._ask("GET", f"/subjects/{quote(subject, safe='')}/versions/latest")
        if answer.code in _UNKNOWN_SUBJECT:
            return None
        body = self._good(answer)
        id = self._id(body)
        return id, self._read(id, body)

    def register(self, subject: str, schema: Schema) -> int:
        """Return the id of a schema under a subject, making a version of it when there is none."""
        path = f"/subjects/{quote(subject, safe='')}/versions"
        answer = self._ask("POST", path, {"schema": json.dumps(schema)})
        if answer.status in {409, 422}:
            raise RegistryError(
                f'the schema registry takes no such schema under the subject "{subject}"',
                detail=_sentence(answer.body.get("message")),
                hint="Change the columns in a way that the subject's compatibility allows, or take another subject.",
            )
        return self._id(self._good(answer))

    def _id(self, body: dict[str, Any]) -> int:
        id = body.get("id")
        if not isinstance(id, int):
            raise self._strange("there is no id in the answer")
        return id

    def _read(self, id: int, body: dict[str, Any]) -> Schema:
        kind = body.get("schemaType") or "AVRO"
        if kind != "AVRO":
            raise UnreadableSchema(id, f"is {kind}, not Avro")
        try:
            referred: list[Schema] = []
            self._collect(body, referred, set())
            *others, schema = referred
            return merge(schema, others) if others else schema
        except (ValueError, KeyError, TypeError, RecursionError) as problem:
            raise UnreadableSchema(id, "is not valid Avro") from problem

    def _collect(self, body: dict[str, Any], schemas: list[Schema], seen: set[tuple[str, int]]) -> None:
        """Append the schemas that an answer refers to, however deep, and its own after them."""
        for reference in body.get("references") or ():
            subject, version = reference["subject"], int(reference["version"])
            if (subject, version) not in seen:
                seen.add((subject, version))
                answer = self._ask("GET", f"/subjects/{quote(subject, safe='')}/versions/{version}")
                self._collect(self._good(answer), schemas, seen)
        schemas.append(json.loads(body["schema"]))

    def _good(self, answer: _Answer) -> dict[str, Any]:
        if answer.status == 200:
            return answer.body
        if answer.status in {401, 403}:
            who = f'the user "{self.username}"' if self.username else "a user without a name"
            raise RegistryError(
                f"the schema registry at {self.address} refuses {who}",
                detail=f"It answers with status {answer.status}.",
                hint="Check the user name and the password.",
            )
        raise self._strange(f"status {answer.status} {answer.body.get('message', '')}".rstrip())

    def _strange(self, what: str) -> RegistryError:
        return RegistryError(
            f"{self.address} does not answer as a schema registry does",
            detail=_sentence(what),
            hint="Check the address, and the path in it.",
        )

    def _ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> _Answer:
        reason = ""
        for pause in (*PAUSES, None):
            try:
                answer = self._ask_once(method, path, body)
            except URLError as problem:
                reason = str(problem.reason)
            except (OSError, HTTPException) as problem:
                reason = str(problem) or type(problem).__name__
            else:
                if answer.status not in _PASSING:
                    return answer
                reason = f"status {answer.status}"
            if pause is not None:
                self._sleep(pause.total_seconds())
        raise RegistryUnreachable(
            f"the schema registry at {self.address} cannot be reached",
            detail=_sentence(f"{len(PAUSES) + 1} attempts failed, the last with: {reason}"),
            hint="Check that it runs and that its address is right; the job goes on from its checkpoint.",
        )

    def _ask_once(self, method: str, path: str, body: dict[str, Any] | None) -> _Answer:
        data = None if body is None else json.dumps(body).encode()
        request = Request(self.address + path, data, {"Accept": _CONTENT, "Content-Type": _CONTENT}, method=method)
        if self.username is not None:
            pair = f"{self.username}:{self._password or ''}".encode()
            # Unredirected: another host that an answer points to is not given the password.
            request.add_unredirected_header("Authorization", f"Basic {base64.b64encode(pair).decode()}")
        try:
            with urlopen(request, timeout=TIMEOUT.total_seconds()) as response:
                status, content = response.status, response.read()
        except HTTPError as refusal:
            with refusal:
                status, content = refusal.code, refusal.read()
        try:
            answer = json.loads(content)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            if status == 200:
                raise self._strange("the answer is not a JSON object")
            answer = {}
        return _Answer(status, answer)


def _sentence(text: object) -> str:
    words = str(text or "No reason is given").strip()
    return words[:1].upper() + words[1:] + ("" if words.endswith(".") else ".")
