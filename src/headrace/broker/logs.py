"""A log that turns over goes in; its last lines, and those that come after, come out."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

__all__ = ["last_lines", "new_lines", "said_since"]


def last_lines(file: Path, count: int) -> list[str]:
    """Return the last lines of a log, with those of the file that was turned over before it."""
    lines: list[str] = []
    for each in (file, file.with_name(f"{file.name}.1")):
        if len(lines) < count:
            lines = _text(each).splitlines() + lines
    return lines[-count:] if count else []


def said_since(file: Path, offset: int, count: int) -> list[str]:
    """Return the last lines after an offset that tell something: no blank ones, and no places in Java's code."""
    text = _text(file, offset) or _text(file)
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith(("\tat ", "\t... "))]
    return lines[-count:]


def new_lines(file: Path, wait: Callable[[], None]) -> Iterator[str]:
    """Yield lines as they are written from now on, without end; a log that is turned over is read on.

    ``wait`` is called whenever there is nothing new.
    """
    before, left = _position(file), ""
    while True:
        now = _position(file)
        if now[0] != before[0] or now[1] < before[1]:
            older = file.with_name(f"{file.name}.1")
            if _position(older)[0] == before[0]:
                yield from (left + _text(older, before[1])).splitlines()
            before, left = (now[0], 0), ""
        if now[1] == before[1]:
            wait()
            continue
        text = left + _text(file, before[1], now[1] - before[1])
        before = now
        *lines, left = text.split("\n")
        yield from lines


def _position(file: Path) -> tuple[int, int]:
    """Return which file it is and how long."""
    try:
        state = os.stat(file)
    except FileNotFoundError:
        return 0, 0
    return state.st_ino, state.st_size


def _text(file: Path, offset: int = 0, length: int = -1) -> str:
    try:
        with file.open("rb") as stream:
            stream.seek(offset)
            return stream.read(length).decode("utf-8", errors="replace")
    except FileNotFoundError:
        return ""
