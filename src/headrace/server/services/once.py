"""A request with a key goes in; it is applied at most once, and whoever repeats it gets the first answer."""

import hashlib
import hmac
import json
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import delete, update
from sqlalchemy.exc import IntegrityError

from headrace.jobs.folder import write_whole
from headrace.records.base import Clock
from headrace.records.database import Database
from headrace.records.server_tables import RequestRow
from headrace.server.access.decisions import Who
from headrace.server.services.mistakes import Repeated

__all__ = ["Answer", "Once", "secret_in"]

KEPT = timedelta(days=2)


def secret_in(file: Path) -> bytes:
    """Return the secret that requests are told apart by, made if need be: who has the database alone has no use of it.

    Another one only means that requests of before cannot be repeated.
    """
    with suppress(FileNotFoundError, ValueError):
        return bytes.fromhex(file.read_text("ascii"))
    made = secrets.token_bytes(32)
    write_whole(file, made.hex(), durable=True)
    return made


@dataclass(frozen=True, slots=True)
class Answer:
    """What was answered; ``repeated`` says that it was before."""

    status: int
    body: Any
    repeated: bool = False


class Once:
    """Remembers the keys of requests, each user's apart.

    The key is noted before the request is applied: a server that dies between the two applies it no second time.
    """

    def __init__(self, database: Database, clock: Clock, secret: bytes) -> None:
        self._database, self._clock, self._secret = database, clock, secret

    def apply(
        self,
        who: Who,
        key: str,
        request: Any,
        status: int,
        act: Callable[[], Any],
        *,
        secret: bool = False,
        again: bool = False,
    ) -> Answer:
        """Apply a request, or return what was answered before; one that is refused may be repeated.

        A ``secret`` answer is not kept. With ``again`` the act itself is applied at most once, so one that was cut off
        is taken up.
        """
        plain = json.dumps(request, sort_keys=True, default=str).encode()
        digest = hmac.new(self._secret, plain, hashlib.sha256).hexdigest()  # it may hold a password
        known = self._begin(who, key, digest)
        if known is not None:
            answer = self._known(known, digest)
            if answer is not None or not again:
                return answer if answer is not None else self._unknown()
        try:
            body = act()
        except BaseException:
            with self._database.transaction() as session:
                session.execute(delete(RequestRow).where(RequestRow.user_id == who.id, RequestRow.key == key))
            raise
        kept = {"answer": None if secret else body, "secret": secret}
        with self._database.transaction() as session:
            mine = (RequestRow.user_id == who.id) & (RequestRow.key == key)
            session.execute(update(RequestRow).where(mine).values(status=status, body=kept))
        return Answer(status, body)

    def _begin(self, who: Who, key: str, digest: str) -> RequestRow | None:
        """Note a key; return the note that is there already."""
        now = self._clock()
        try:
            with self._database.transaction() as session:
                session.execute(delete(RequestRow).where(RequestRow.at < now - KEPT))
                session.add(RequestRow(user_id=who.id, key=key, digest=digest, status=None, body=None, at=now))
        except IntegrityError:
            with self._database.reading() as session:
                return session.get(RequestRow, (who.id, key))
        return None

    def _known(self, row: RequestRow, digest: str) -> Answer | None:
        if row.digest != digest:
            raise Repeated(
                f'the key "{row.key}" was used for another request', hint="Use a new random key for each request."
            )
        if row.status is None:
            return None
        kept = row.body or {}
        if kept.get("secret"):
            raise Repeated(
                "the request was applied before, and its secret is told only once",
                hint="If it was lost, revoke or replace what was made, and make another.",
            )
        return Answer(row.status, kept.get("answer"), repeated=True)

    def _unknown(self) -> Answer:
        raise Repeated(
            "the same request is under way, or was cut off", hint="Look what became of it before you try again."
        )
