"""Where the views of applications are: noted by those that run, found by name by commands that read them.

A note holds no secret: a store behind a password is noted by its application's file, which says how to reach it.
"""

import hashlib
import json
import os
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from headrace.errors import PlanError
from headrace.jars.home import headrace_home
from headrace.plan.scope import did_you_mean

__all__ = ["Location", "find", "find_application", "known", "register", "unregister", "without_password"]


@dataclass(frozen=True, slots=True)
class Location:
    """A store and the views that an application keeps in it.

    ``place`` is a file for sqlite, a URL without a password for other stores; ``file`` is the application's, if it has
    one, and ``state`` its folder.
    """

    application: str
    store: str
    place: str
    views: tuple[str, ...]
    file: str | None = None
    state: str | None = None


def register(location: Location, home: Path | None = None) -> Path:
    """Note where an application keeps its views, in place of an earlier note; return the note."""
    if location.store != "sqlite":
        location = Location(**{**asdict(location), "place": without_password(location.place)})
    folder = _folder(home)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    note = folder / _note_name(location)
    fresh = note.with_suffix(f".{os.getpid()}.new")
    fresh.write_text(json.dumps(asdict(location), indent=1), "utf-8")
    os.replace(fresh, note)
    return note


def unregister(location: Location, home: Path | None = None) -> None:
    """Remove the note on a store of an application."""
    (_folder(home) / _note_name(location)).unlink(missing_ok=True)


def known(home: Path | None = None) -> list[Location]:
    """Return the stores that are noted and still there; the notes on others are removed."""
    found = []
    for note in sorted(_folder(home).glob("*.json")):
        location = _read(note)
        if location is None or _is_gone(location):
            note.unlink(missing_ok=True)
        else:
            found.append(location)
    return sorted(found, key=lambda each: (each.application, each.place))


def find(view: str, application: str | None = None, home: Path | None = None) -> Location:
    """Return where a view is; raise PlanError if none or several applications have it."""
    there = find_application(application, home)
    found = [each for each in there if view.lower() in {name.lower() for name in each.views}]
    if len(found) == 1:
        return found[0]
    if not found:
        names = sorted({name for each in there for name in each.views})
        raise PlanError(
            f'unknown view "{view}"',
            hint=did_you_mean(view, names) or "Views are known once their application has been started.",
        )
    raise _several(f'several applications have a view "{view}"', found)


def find_application(application: str | None, home: Path | None = None) -> list[Location]:
    """Return the stores of an application, by its name, file or folder; of all if none is named."""
    there = known(home)
    if application is None:
        return there
    found = [each for each in there if _is_called(each, application)]
    if not found:
        hint = did_you_mean(application, sorted({each.application for each in there}))
        raise PlanError(
            f'no views of an application "{application}" are known',
            hint=hint or "Views are known once their application has been started.",
        )
    return found


def without_password(url: str) -> str:
    """Return a URL that may be noted and shown.

    >>> without_password("postgresql://ann:hush@db:5432/views?password=hush&sslmode=require")
    'postgresql://ann@db:5432/views?sslmode=require'
    """
    parts = urlsplit(url)
    credentials, sign, host = parts.netloc.rpartition("@")
    user = credentials.partition(":")[0]
    pairs = [pair for pair in parts.query.split("&") if pair and not _SECRET.search(pair.partition("=")[0])]
    return urlunsplit(parts._replace(netloc=f"{user}{sign}{host}" if user else host, query="&".join(pairs)))


_SECRET = re.compile("pass|secret|token|key", re.IGNORECASE)


def _is_called(location: Location, name: str) -> bool:
    if location.application == name:
        return True
    path = str(Path(name).absolute())
    return path in {location.file, location.state}


def _several(message: str, found: Sequence[Location]) -> PlanError:
    names = sorted({each.application for each in found})
    if len(names) > 1:
        return PlanError(message, detail=f"They are {' and '.join(names)}.", hint="Choose one: --application NAME.")
    places = sorted(each.file or each.place for each in found)
    return PlanError(
        message, detail=f"They are {' and '.join(places)}.", hint="Choose one: --application FILE, by its file."
    )


def _folder(home: Path | None) -> Path:
    return (headrace_home() if home is None else home) / "views"


def _note_name(location: Location) -> str:
    """Return a name that is one for each application and store, and readable."""
    place = location.file or location.state or location.place
    identity = hashlib.sha256(f"{place}\0{location.store}\0{location.place}".encode()).hexdigest()[:12]
    return f"{re.sub(r'[^A-Za-z0-9_-]+', '_', location.application)[:40]}-{identity}.json"


def _read(note: Path) -> Location | None:
    try:
        facts = json.loads(note.read_text("utf-8"))
        return Location(**{**facts, "views": tuple(facts["views"])})
    except (OSError, ValueError, TypeError, KeyError):
        return None  # not a note of ours, or of another version: the next start of its application writes it anew


def _is_gone(location: Location) -> bool:
    if location.store == "sqlite":
        return not Path(location.place).is_file()
    return location.file is not None and not Path(location.file).is_file()
