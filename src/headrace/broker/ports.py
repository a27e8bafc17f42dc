"""Ports that were used before go in; two that are free now come out."""

import random
import socket
import time

from headrace.broker.settings import HOST
from headrace.errors import HeadraceError

__all__ = ["choose", "is_free"]

# Below what systems hand out to outgoing connections (32768 on Linux, 49152 on macOS), so that a broker that
# was stopped finds its ports free again.
_RANGE = range(20000, 32768)
_MOMENT = 3.0


def choose(wanted: int | None, before: tuple[int, int] | None) -> tuple[int, int]:
    """Return ports for clients and for the controller: the wanted one, those of before, or new ones."""
    if wanted is not None:
        if not is_free(wanted):
            raise HeadraceError(
                f"port {wanted} is taken",
                detail=f"Another program listens on {HOST}:{wanted}, or this user may not.",
                hint="Leave out the port to have a free one chosen.",
            )
        return wanted, _another(before[1] if before else None, wanted)
    port = before[0] if before and _gets_free(before[0]) else _another(None, 0)
    return port, _another(before[1] if before else None, port)


def is_free(port: int) -> bool:
    """Return whether a server could listen on a port now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # old connections do not hinder, as in Java
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def _gets_free(port: int) -> bool:
    """Return whether a port is free within a moment: a process that was killed lets go of its ports last of all."""
    until = time.monotonic() + _MOMENT
    while not is_free(port):
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


def _another(before: int | None, taken: int) -> int:
    """Return the port of before if it is free and not taken, else a new one."""
    if before is not None and before != taken and is_free(before):
        return before
    for port in random.sample(_RANGE, len(_RANGE)):
        if port != taken and is_free(port):
            return port
    raise HeadraceError("no port is free", detail=f"All of {_RANGE.start} to {_RANGE.stop - 1} are taken.")
