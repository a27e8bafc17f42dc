"""The home of a user goes in; the server that they have on this machine, and the token for it, come out.

Every command of a client looks here, so nothing of the server itself is loaded.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import psutil

from headrace.jars.home import headrace_home

__all__ = ["NOTE", "LocalServer", "find_local", "forget_local"]

NOTE = "local-server.json"


@dataclass(frozen=True, slots=True)
class LocalServer:
    """Where a server of this user is, and the file with the token for it."""

    url: str
    token_file: str
    pid: int
    data: str

    def token(self) -> str | None:
        """Return the token, None if it cannot be read."""
        try:
            return Path(self.token_file).read_text("utf-8").strip()
        except OSError:
            return None


def forget_local(local: LocalServer) -> None:
    """Remove the note of a server that ends, unless another has written its own meanwhile."""
    if _read() == local:
        (headrace_home() / NOTE).unlink(missing_ok=True)


def find_local() -> LocalServer | None:
    """Return the server of this user on this machine that was started last, if it lives."""
    found = _read()
    return found if found is not None and psutil.pid_exists(found.pid) else None


def _read() -> LocalServer | None:
    try:
        return LocalServer(**json.loads((headrace_home() / NOTE).read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return None
