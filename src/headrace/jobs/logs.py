"""The log of a driver: kept small by its driver, read from its end or followed by anybody.

Java and Python write into the same open file, so it cannot be renamed under them: what it holds is copied away and the
file is emptied. It is open for appending, so the next line is its first. A lock keeps readers from looking meanwhile.
"""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Follower", "rotate", "tail"]

LARGEST = 5_000_000
KEPT = 4
"""How many older files there are."""
AT_ONCE = 256 * 1024


def rotate(log: Path, largest: int = LARGEST, kept: int = KEPT) -> bool:
    """Move what a log holds into ``driver.log.1``, that into ``.2`` and so on, if it is large; say whether it was.

    Lines that come between the last look and the emptying are lost: they would have to come within microseconds.
    """
    try:
        if log.stat().st_size <= largest:
            return False
    except FileNotFoundError:
        return False
    with _alone(log, fcntl.LOCK_EX):
        fresh = log.with_name(log.name + ".new")
        for number in range(kept, 0, -1):
            older = _numbered(log, number)
            if older.exists():
                os.replace(older, _numbered(log, number + 1))
        _numbered(log, kept + 1).unlink(missing_ok=True)
        with log.open("r+b") as source, fresh.open("wb") as target:
            shutil.copyfileobj(source, target, AT_ONCE)
            os.replace(fresh, _numbered(log, 1))  # before the file is emptied: a death here doubles lines, loses none
            while rest := source.read():
                target.write(rest)
            source.truncate(0)
    return True


def tail(log: Path, lines: int = 200) -> list[str]:
    """Return the last lines of a log, also those that have moved on to older files."""
    found: list[str] = []
    with _alone(log, fcntl.LOCK_SH):
        for file in (log, *(_numbered(log, number) for number in range(1, KEPT + 1))):
            missing = lines - len(found)
            if missing <= 0:
                break
            found = _last_lines(file, missing) + found
    return found


@dataclass(slots=True)
class Follower:
    """Reads on where it last was, through any number of rotations; ``read`` never waits."""

    log: Path
    _position: int = 0
    _older: tuple[int, int] | None = None
    """Which file was the newest of the older ones at the last look."""
    _rest: bytes = field(default=b"")

    @classmethod
    def from_end(cls, log: Path) -> "Follower":
        """Return a follower of what is said from now on."""
        follower = cls(log)
        with _alone(log, fcntl.LOCK_SH):
            follower._position = log.stat().st_size if log.exists() else 0
            follower._older = _identity(_numbered(log, 1))
        return follower

    @classmethod
    def from_last(cls, log: Path, lines: int) -> "Follower":
        """Return a follower that begins with the last lines, also those in older files, and maybe some before them."""
        follower = cls(log)
        with _alone(log, fcntl.LOCK_SH):
            found, number = _from(log, 0).count(b"\n"), 1
            while found < lines and number <= KEPT:
                found, number = found + _from(_numbered(log, number), 0).count(b"\n"), number + 1
            follower._older = _identity(_numbered(log, number))
        return follower

    @classmethod
    def from_place(cls, log: Path, place: str) -> "Follower":
        """Return a follower that goes on from a place that `place` gave; one that cannot be read begins anew."""
        follower = cls(log)
        try:
            position, inode, changed = (int(each) for each in place.split("-"))
        except ValueError:
            follower._older = _identity(_numbered(log, 1))
            return follower
        follower._position, follower._older = max(0, position), (inode, changed) if inode else None
        return follower

    def place(self) -> str:
        """Return where it is, before the line that it has read a part of; it outlives the process."""
        inode, changed = self._older or (0, 0)
        return f"{max(0, self._position - len(self._rest))}-{inode}-{changed}"

    def read(self) -> list[str]:
        """Return the whole lines that came since the last look."""
        with _alone(self.log, fcntl.LOCK_SH):
            data = self._rest + self._moved() + self._new()
        *whole, self._rest = data.split(b"\n")
        if len(self._rest) > AT_ONCE:  # a line without end is given in pieces
            whole, self._rest = [*whole, self._rest], b""
        return [line.decode("utf-8", errors="replace") for line in whole]

    def _moved(self) -> bytes:
        """Return what was not read yet of files that have become older ones."""
        files, number = [], 1
        while number <= KEPT and _identity(_numbered(self.log, number)) not in {None, self._older}:
            files.append(_numbered(self.log, number))
            number += 1
        parts = []
        for file in reversed(files):
            parts.append(_from(file, self._position))
            self._position = 0
        if files:
            self._older = _identity(files[0])
        return b"".join(parts)

    def _new(self) -> bytes:
        data = _from(self.log, self._position)
        self._position += len(data)
        return data


@contextmanager
def _alone(log: Path, how: int) -> Iterator[None]:
    try:
        handle = os.open(log.with_name(log.name + ".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except FileNotFoundError:  # no folder, so no log either
        yield
        return
    try:
        fcntl.flock(handle, how)
        yield
    finally:
        os.close(handle)


def _numbered(log: Path, number: int) -> Path:
    return log.with_name(f"{log.name}.{number}")


def _identity(file: Path) -> tuple[int, int] | None:
    try:
        found = file.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns


def _from(file: Path, position: int) -> bytes:
    try:
        with file.open("rb") as reader:
            reader.seek(position)
            return reader.read()
    except FileNotFoundError:
        return b""


def _last_lines(file: Path, count: int) -> list[str]:
    try:
        with file.open("rb") as reader:
            end = reader.seek(0, os.SEEK_END)
            data = b""
            while end > 0 and data.count(b"\n") <= count:
                start = max(0, end - AT_ONCE)
                reader.seek(start)
                data = reader.read(end - start) + data
                end = start
    except FileNotFoundError:
        return []
    lines = data.decode("utf-8", errors="replace").split("\n")
    return (lines[:-1] if lines[-1] == "" else lines)[-count:]
