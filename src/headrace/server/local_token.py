"""A server that starts goes in; a note by which commands of the same user on this machine find it comes out.

The token that the note names is an admin's: whoever can read the file can read the server's database too.
"""

import json
import os
from contextlib import suppress
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path

from headrace.jars.home import headrace_home
from headrace.jobs.folder import write_whole
from headrace.records.access_tables import UserRow
from headrace.server.access.decisions import SYSTEM
from headrace.server.access.roles import Role
from headrace.server.local import NOTE, LocalServer
from headrace.server.services.services import Services

__all__ = ["note_local"]

TOKEN = "local-token"
LIFETIME = timedelta(days=366)


def note_local(services: Services, url: str) -> LocalServer:
    """Write a token for this start of the server, and note where it is."""
    token_file = services.settings.data / TOKEN
    write_whole(token_file, _token(services, token_file), durable=False)
    found = LocalServer(url, str(token_file.resolve()), os.getpid(), str(services.settings.data.resolve()))
    write_whole(headrace_home() / NOTE, json.dumps(asdict(found)), durable=False)
    return found


def _token(services: Services, file: Path) -> str:
    """Return a token of an admin: the one in the file as long as it works, else a new one."""
    tokens = services.control.tokens
    with suppress(OSError):
        kept = file.read_text("utf-8").strip()
        who = tokens.find(kept)
        if who is not None and who.effective_role is Role.ADMIN:
            return kept
    admin = _an_admin(services)
    for each in tokens.of_user(SYSTEM, admin):
        if each.name == TOKEN and each.revoked_at is None:
            tokens.revoke(SYSTEM, each.id)
    return tokens.create(SYSTEM, admin, TOKEN, role=Role.ADMIN, lifetime=LIFETIME).text


def _an_admin(services: Services) -> str:
    with services.database.reading() as session:
        able = (UserRow.role == Role.ADMIN.value) & UserRow.disabled_at.is_(None)
        name = session.query(UserRow.name).where(able).order_by(UserRow.id).limit(1).scalar()
    assert name is not None, "there is always an admin"
    return str(name)
