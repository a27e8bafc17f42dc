"""A table of JSON lines in files goes in; the rows that a test finds come out, and a file of deletes for them."""

import fnmatch
import json
import time
from collections.abc import Sequence
from glob import glob
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from headrace.events.forgetting.wanted import Matches
from headrace.values import to_json_line

__all__ = ["files_of", "place_for_deletes", "rows_in", "write_deletes"]

CHANGE = "_change"


def files_of(path: str) -> list[Path] | None:
    """Return the files under a path in the order in which they were written, None if they are not on this machine."""
    if urlsplit(path).scheme not in ("", "file"):
        return None
    local = Path(path.removeprefix("file://"))
    if local.is_dir():
        found = [each for each in local.rglob("*") if not each.name.startswith((".", "_"))]
    else:
        found = [Path(each) for each in glob(str(local))]
    return sorted((each for each in found if each.is_file()), key=lambda each: (each.stat().st_mtime_ns, str(each)))


def rows_in(
    files: Sequence[Path], key: Sequence[str], matches: Matches
) -> tuple[list[dict[str, Any]], dict[Path, int]]:
    """Return the keys of rows that are there and found, and how many lines of each file hold the value."""
    live: dict[str, dict[str, Any]] = {}
    lines: dict[Path, int] = {}
    for file in files:
        with file.open(encoding="utf-8", errors="replace") as opened:
            for line in opened:
                record = _record(line)
                if record is None:
                    continue
                named = {name: record.get(name) for name in key}
                place = json.dumps(named, sort_keys=True)
                live.pop(place, None)
                if str(record.get(CHANGE, "")).lower() == "delete":
                    continue
                if matches(record):
                    live[place] = named
                    lines[file] = lines.get(file, 0) + 1
    return list(live.values()), lines


def _record(line: str) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def place_for_deletes(path: str) -> Path | None:
    """Return a new file that is read as one of a table's, None if there is no such."""
    local = Path(path.removeprefix("file://"))
    name = f"forgotten-{time.time_ns() // 1000}.json"
    if local.is_dir():
        return local / name
    inside = local.parent
    if any(character in str(inside) for character in "*?[{") or not inside.is_dir():
        return None
    return inside / name if "*" in local.name and fnmatch.fnmatch(name, local.name) else None


def write_deletes(file: Path, keys: Sequence[dict[str, Any]]) -> None:
    """Write a line for each key that removes its row; the file is there whole or not at all."""
    hidden = file.with_name(f".{file.name}")
    hidden.write_text("".join(to_json_line({**key, CHANGE: "delete"}) + "\n" for key in keys), "utf-8")
    hidden.rename(file)
