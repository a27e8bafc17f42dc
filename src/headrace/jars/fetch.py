"""The name of a set of jars goes in; their paths on this machine come out, fetched if missing, checked by hash.

Jars are kept in the folder ``jars`` of Headrace's home and used from there without a network.
"""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from headrace.errors import HeadraceError
from headrace.jars.home import headrace_home, locked
from headrace.jars.ivy import retrieve
from headrace.jars.pinned import Pin, pinned

__all__ = ["is_present", "jars"]


def jars(name: str, environment: Mapping[str, str] = os.environ) -> tuple[Path, ...]:
    """Return the jars of a set, ``kafka`` (for Spark) or ``broker``; those of another folder if the user named one."""
    if name == "kafka" and (own := environment.get("HEADRACE_JARS")):
        return _own(Path(own).expanduser().absolute())
    pins = pinned(name)
    home = headrace_home(environment)
    folder = home / "jars"
    folder.mkdir(exist_ok=True)
    if _unsound(pins, folder):
        with locked(folder / ".lock"):
            if missing := _unsound(pins, folder):  # another process may have fetched them meanwhile
                _fetch(missing, home, environment)
                _unsound(pins, folder)
    return tuple(folder / pin.file for pin in pins)


def is_present(name: str, environment: Mapping[str, str] = os.environ) -> bool:
    """Say whether the jars of a set can be used without fetching any."""
    if name == "kafka" and environment.get("HEADRACE_JARS"):
        return True
    folder = headrace_home(environment) / "jars"
    return all((folder / pin.file).is_file() for pin in pinned(name))


def _own(folder: Path) -> tuple[Path, ...]:
    found = tuple(sorted(folder.glob("*.jar")))
    if not found:
        raise HeadraceError(
            "there are no jars where HEADRACE_JARS says",
            detail=f"{folder} holds no file *.jar.",
            hint="Name the folder of Spark's Kafka jars, or unset HEADRACE_JARS to have them fetched.",
        )
    return found


def _fetch(pins: Iterable[Pin], home: Path, environment: Mapping[str, str]) -> None:
    """Fetch jars and move each into place when its hash is right; none is seen half-written."""
    cache = home / "ivy"  # outlives a failure, so that another try goes on where this one ended
    with tempfile.TemporaryDirectory(prefix="fetch-", dir=home) as place:
        retrieve(pins, Path(place), cache, environment)
        wrong = []
        for pin in pins:
            fetched = Path(place, pin.file)
            if fetched.is_file() and _sha256(fetched) == pin.sha256:
                os.replace(fetched, home / "jars" / pin.file)
            else:
                wrong.append(pin)
    shutil.rmtree(cache, ignore_errors=True)
    if wrong:
        raise HeadraceError(
            f"{wrong[0].file} is not the jar that Headrace was tried with",
            detail=f"The SHA-256 of {_listed(wrong)} differs from the pinned one. It was not kept.",
            hint="The registry or the way to it changed the file: fetch from another network or mirror.",
        )


def _listed(pins: Iterable[Pin]) -> str:
    return ", ".join(f"{pin.group}:{pin.artifact}:{pin.version}" for pin in pins)


def _unsound(pins: Iterable[Pin], folder: Path) -> list[Pin]:
    """Return the jars that are missing or changed; a jar is hashed again only if its size or time changed."""
    notes = folder / "checked.json"
    known = _read(notes)
    checked = dict(known)
    unsound = []
    for pin in pins:
        try:
            state = (folder / pin.file).stat()
        except FileNotFoundError:
            unsound.append(pin)
            continue
        seen = [state.st_size, state.st_mtime_ns]
        if known.get(pin.file, [])[:2] != seen:
            checked[pin.file] = [*seen, _sha256(folder / pin.file)]
        if checked[pin.file][2] != pin.sha256:
            unsound.append(pin)
    if checked != known:
        _write(notes, checked)
    return unsound


def _read(notes: Path) -> dict[str, list[Any]]:
    try:
        found: dict[str, list[Any]] = json.loads(notes.read_text("utf-8"))
    except (OSError, ValueError):
        return {}  # without notes, every jar is hashed
    return found


def _write(notes: Path, checked: Mapping[str, list[Any]]) -> None:
    with suppress(OSError):  # a folder that cannot be written costs the hashing next time, no more
        handle, temporary = tempfile.mkstemp(prefix="checked-", dir=notes.parent)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(checked, file)
        os.replace(temporary, notes)


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
