"""The environment goes in; the folder where Headrace keeps what is not part of one application comes out."""

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from headrace.errors import HeadraceError

__all__ = ["headrace_home", "locked"]


def headrace_home(environment: Mapping[str, str] = os.environ) -> Path:
    """Return ``$HEADRACE_HOME`` or ``~/.headrace``, made for this user alone if it is missing."""
    named = environment.get("HEADRACE_HOME")
    home = Path(named).expanduser().absolute() if named else Path.home() / ".headrace"
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise HeadraceError(
            f'the folder "{home}" cannot be made',
            detail=f"{error.strerror}.",
            hint="Name another with the environment variable HEADRACE_HOME.",
        ) from error
    return home


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Let one holder at a time pass, of all processes and threads; a holder that dies lets go."""
    try:
        handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise HeadraceError(f'the folder "{file.parent}" cannot be written', detail=f"{error.strerror}.") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
