"""The path of files goes in; the rows of the newest ones, and of those that come, come out."""

import csv
import gzip
import os
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from glob import glob
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from headrace.connectors.files.options import FilesSink, FilesSource, FilesTable
from headrace.connectors.files.source import resolve_path
from headrace.errors import HeadraceError
from headrace.server.services.tapped import MOST, Tapped, of_text

__all__ = ["FileTap", "may_lead_to"]

WINDOW = 1024 * 1024
"""How many bytes of a file are looked at: those at its end, or at its beginning if it is new."""
MOST_FILES = 20
"""How many files one look opens."""
_BRACES = re.compile(r"\{([^{}]*)\}")


class FileTap:
    """Looks at the files of a folder or pattern; a file is read once, as jobs do."""

    def __init__(self, options: FilesSource | FilesTable | FilesSink, base: Path, columns: Sequence[str]) -> None:
        self._options, self._columns = options, columns
        self._path = _local(options.path, base)
        self._seen: set[Path] = set()
        if urlsplit(self._path).scheme:
            raise HeadraceError(
                f'files under "{options.path}" cannot be looked at from here',
                detail="The server reads files of its own machine alone.",
                hint="Keep the rows in a materialised view.",
            )

    def close(self) -> None:
        """Do nothing: no file stays open."""

    def recent(self, limit: int = 50) -> list[Tapped]:
        """Return about the last so many rows, those of the newest file last."""
        found: deque[Tapped] = deque()
        files = self._files()
        self._seen.update(files)
        for path in files[: -MOST_FILES - 1 : -1]:
            wanted = limit - len(found)
            if wanted <= 0:
                break
            found.extendleft(reversed(self._read(path, wanted, last=True)))
        return list(found)

    def new(self) -> Iterator[Tapped]:
        """Yield the rows of files that have come since the last look, a sample if they are many."""
        files = [path for path in self._files() if path not in self._seen]
        self._seen.update(files)
        for path in files[-MOST_FILES:]:
            yield from self._read(path, MOST, last=False)

    def at(self, source: str, partition: int, position: int) -> Tapped | None:
        """Return the row of a file by its number, from 1, in the block that begins at a byte, as jobs count rows."""
        path = Path(source)
        if path not in self._files():
            return None
        place = f"{partition}:{position}"
        try:
            at = datetime.fromtimestamp(path.stat().st_mtime, UTC)
            if self._options.format == "parquet":
                rows = _parquet_rows(path) if partition == 0 else iter(())  # a later block begins nobody knows where
                return next((Tapped(f"{path}:{place}", at, None, row, None) for row in _one(rows, position)), None)
            lines = [(place, line) for line in _one(self._records(path, partition), position)]
            return next(iter(self._shown(path, at, lines)), None)
        except (OSError, EOFError) as error:
            raise HeadraceError(f'file "{path}" cannot be read', detail=f"{error}.") from error

    def _records(self, path: Path, block: int) -> Iterator[str]:
        """Yield the lines of a block and what is behind it that are rows: the head is none, nor what is empty."""
        packed = path.suffix == ".gz"
        with gzip.open(path) if packed else path.open("rb") as file:
            file.seek(block)
            if block:
                file.readline()  # it is the last line of the block before
            elif self._has_head():
                file.readline()
            for line in file:
                if self._options.format == "text" or line.strip():
                    yield _text(line)

    def _files(self) -> list[Path]:
        """Return the files that a job would read, the oldest first."""
        given = Path(self._path)
        if given.is_dir():
            paths = (path for path in given.rglob("*") if not _is_hidden(path.relative_to(given)))
        else:
            paths = (Path(each) for pattern in _alternatives(self._path) for each in glob(pattern))
            paths = (path for path in paths if not _is_hidden(Path(path.name)))
        return [path for _, path in sorted(_with_times(paths))]

    def _read(self, path: Path, most: int, *, last: bool) -> list[Tapped]:
        try:
            at = datetime.fromtimestamp(path.stat().st_mtime, UTC)
            if self._options.format == "parquet":
                return _parquet(path, at, most, last=last)
            lines = [each for each in _lines(path, last=last) if each[0] != 0 or not self._has_head()]
            return self._shown(path, at, lines[-most:] if last else lines[:most])
        except FileNotFoundError:
            return []  # it was just removed
        except (OSError, EOFError) as error:
            raise HeadraceError(f'file "{path}" cannot be read', detail=f"{error}.") from error

    def _shown(self, path: Path, at: datetime, lines: Sequence[tuple[int | str, str]]) -> list[Tapped]:
        """Return lines of a file, each with its place, as what is shown of them."""
        match self._options.format:
            case "text":
                return [Tapped(f"{path}:{place}", at, None, None, line) for place, line in lines]
            case "csv":
                names = self._names(path)
                rows = csv.reader((line for _, line in lines), delimiter=self._options.delimiter)
                return [
                    Tapped(f"{path}:{place}", at, None, dict(zip(names, row, strict=False)), None)
                    for (place, _), row in zip(lines, rows, strict=False)
                ]
        return [of_text(f"{path}:{place}", at, line) for place, line in lines]

    def _has_head(self) -> bool:
        return self._options.format == "csv" and self._options.header

    def _names(self, path: Path) -> Sequence[str]:
        """Return the columns of a CSV file, by its head if it has one."""
        head = next(islice(_lines(path, last=False), 1), None) if self._has_head() else None
        return self._columns if head is None else next(csv.reader([head[1]], delimiter=self._options.delimiter), [])


def may_lead_to(path: str, base: Path, file: str) -> bool:
    """Say whether a file, a folder or a glob that a job reads can have led it to a file, also to one that is gone.

    >>> [may_lead_to("in/{a,b}*", Path("/app"), file) for file in ("/app/in/b.json", "/app/in/a/1.json", "/app/in/c")]
    [True, True, False]
    """
    given = _local(path, base)
    parts = Path(file).parts
    for pattern in {given, *_alternatives(given)}:
        wanted = Path(os.path.normpath(pattern)).parts  # as Spark writes places
        if len(wanted) <= len(parts) and all(
            part == each or fnmatchcase(part, each) for part, each in zip(parts, wanted, strict=False)
        ):
            return True
    return False


def _local(path: str, base: Path) -> str:
    return resolve_path(path, base).removeprefix("file://")


def _is_hidden(path: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.parts)


def _with_times(paths: Iterator[Path]) -> Iterator[tuple[float, Path]]:
    for path in paths:
        try:
            if path.is_file():
                yield path.stat().st_mtime, path
        except OSError:
            continue  # it was just removed, or is nobody's business


def _alternatives(pattern: str) -> list[str]:
    """Return the patterns that one with braces stands for.

    >>> _alternatives("in/{a,b}*.{json,txt}")
    ['in/a*.json', 'in/a*.txt', 'in/b*.json', 'in/b*.txt']
    """
    found = _BRACES.search(pattern)
    if found is None:
        return [pattern]
    before, after = pattern[: found.start()], pattern[found.end() :]
    return [each for part in found[1].split(",") for each in _alternatives(f"{before}{part}{after}")]


def _lines(path: Path, *, last: bool) -> Iterator[tuple[int, str]]:
    """Give whole lines of a file with the byte at which each begins: about its last or its first ones."""
    if path.suffix == ".gz":
        with gzip.open(path) as packed:
            yield from deque(_every(packed), maxlen=MOST) if last else _whole(packed, 0)
        return
    with path.open("rb") as file:
        size = path.stat().st_size
        start = max(0, size - WINDOW) if last else 0
        if start:
            file.seek(start - 1)
            start = start - 1 + len(file.readline())  # what is left of a line that began before
        yield from _whole(file, start)


def _every(file: Iterable[bytes]) -> Iterator[tuple[int, str]]:
    place = 0
    for line in file:
        yield place, _text(line)
        place += len(line)


def _whole(file: Iterable[bytes], start: int) -> Iterator[tuple[int, str]]:
    """Give the lines from here on, as far as a look goes."""
    for place, line in _every(file):
        if place > WINDOW:
            return
        if line:
            yield start + place, line


def _text(line: bytes) -> str:
    return line.rstrip(b"\r\n").decode("utf-8", errors="replace")


def _one(found: Iterator[Any], number: int) -> Iterator[Any]:
    """Give the one of a number, from 1; nothing if there are not so many."""
    return islice(found, number - 1, number) if number > 0 else iter(())


def _parquet_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a Parquet file, one of its groups after the other."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as file:
            for number in range(file.num_row_groups):
                yield from file.read_row_group(number).to_pylist()
    except pa.ArrowException as error:
        raise HeadraceError(f'file "{path}" cannot be read', detail=f"{str(error).splitlines()[0]}.") from error


def _parquet(path: Path, at: datetime, most: int, *, last: bool) -> list[Tapped]:
    """Return rows of a Parquet file: of as few of its groups as have them."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as file:
            groups = range(file.num_row_groups)
            sizes = [file.metadata.row_group(number).num_rows for number in groups]
            found: deque[tuple[int, Any]] = deque()
            for number in reversed(groups) if last else groups:
                if len(found) >= most:
                    break
                rows = list(enumerate(file.read_row_group(number).to_pylist(), sum(sizes[:number])))
                (found.extendleft(reversed(rows)) if last else found.extend(rows))
    except pa.ArrowException as error:
        raise HeadraceError(f'file "{path}" cannot be read', detail=f"{str(error).splitlines()[0]}.") from error
    kept = list(found)[-most:] if last else list(found)[:most]
    return [Tapped(f"{path}:{place}", at, None, row, None) for place, row in kept]
