"""The state of a stopped job goes in, a copy with a list of its files comes out; and the way back, all or nothing."""

import hashlib
import json
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from headrace.errors import HeadraceError
from headrace.jobs.folder import write_whole
from headrace.jobs.model import Version
from headrace.jobs.texts import planned
from headrace.plan.application import Plan

__all__ = ["outside", "positions", "recover", "restore", "take"]

MANIFEST = "manifest.json"
FILES = "state"
LINEAGE = "name"
"""The file by which the tables of databases know a query; with another name they take its batches anew."""
_SQLITE = b"SQLite format 3\x00"
_BLOCK = 1 << 20


def take(state: Path, target: Path, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Copy the state of a job that does not run into a folder, and return the manifest that is kept with it.

    The folder is there whole or not at all. Taking it again replaces it.
    """
    recover(state)
    partial = target.with_name(f".{target.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(mode=0o700, parents=True)
    files = _copy_all(state, partial / FILES, in_use=True)
    size = sum(each["size"] for each in files.values())
    manifest = {**facts, "format": 1, "size": size, "files": files}
    write_whole(partial / MANIFEST, json.dumps(manifest), durable=True)
    shutil.rmtree(target, ignore_errors=True)
    os.rename(partial, target)
    return {**manifest, "files": len(files)}


def restore(
    savepoint: Path, state: Path, *, ran_since: bool = False, ready: Callable[[Path], None] | None = None
) -> None:
    """Put a savepoint in the place of a state; cut off anywhere, the old or the new one is there after `recover`.

    After a run since then (``ran_since``) tables outside are told that another run writes to them: they would take the
    batches that come again for ones that they have. What ``ready`` does to the copy is done before it is in its place.
    """
    manifest = _manifest(savepoint)
    recover(state)
    fresh, old = _beside(state, "restoring"), _beside(state, "old")
    shutil.rmtree(fresh, ignore_errors=True)
    state.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    copied = _copy_all(savepoint / FILES, fresh, in_use=False)
    if copied != manifest["files"]:
        wrong = sorted(
            name for name in {*copied, *manifest["files"]} if copied.get(name) != manifest["files"].get(name)
        )
        shutil.rmtree(fresh, ignore_errors=True)
        raise HeadraceError(
            f"savepoint {savepoint.name} is damaged",
            detail=f"Not as they were written: {', '.join(wrong[:3])}{' …' if len(wrong) > 3 else ''}.",
            hint="The state of the job is as it was. Choose another savepoint.",
        )
    if ran_since:
        for name in fresh.glob(f"*/{LINEAGE}"):
            name.unlink()
    if ready is not None:
        ready(fresh)
    shutil.rmtree(old, ignore_errors=True)
    if state.exists():
        os.rename(state, old)
    os.rename(fresh, state)
    shutil.rmtree(old, ignore_errors=True)


def recover(state: Path) -> None:
    """Undo a restore that was cut off between its two renames."""
    old = _beside(state, "old")
    if not state.exists() and old.exists():
        os.rename(old, state)


def positions(outputs: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return how far each output had read when it was last heard of."""
    return {
        str(each.get("name")): {
            "batch": each.get("batch"),
            "watermark_at": each.get("watermark_at"),
            "offsets": each.get("positions") or {},
        }
        for each in outputs
    }


def outside(version: Version) -> list[str]:
    """Return, in sentences, what of an application a savepoint does not hold."""
    plan = planned(version)
    return [*_views_outside(plan), *_sinks_outside(plan)]


def _views_outside(plan: Plan) -> list[str]:
    found = []
    for output in plan.outputs:
        if output.view is None:
            continue
        if output.view.store != "sqlite":
            found.append(f"View {output.name} is in {output.view.store.capitalize()}; its rows stay as they are there.")
        elif output.view.path is not None:
            found.append(f"View {output.name} is in {output.view.path}; its rows stay as they are there.")
    return found


def views_outside(version: Version) -> list[str]:
    """Return the views whose rows a restore could not put back."""
    return [
        output.name
        for output in planned(version).outputs
        if output.view is not None and (output.view.store != "sqlite" or output.view.path is not None)
    ]


def _sinks_outside(plan: Plan) -> list[str]:
    return [
        f"Sink {output.name} ({output.sink.connector}) keeps what it got after the savepoint, and gets it again."
        for output in plan.outputs
        if output.sink is not None and output.sink.connector not in {"memory", "console", "noop"}
    ]


def _manifest(savepoint: Path) -> dict[str, Any]:
    try:
        found = json.loads((savepoint / MANIFEST).read_bytes())
    except (OSError, ValueError) as error:
        raise HeadraceError(f"savepoint {savepoint.name} cannot be read", detail=f"{error}.") from error
    if not isinstance(found, dict) or found.get("format") != 1:
        raise HeadraceError(f"savepoint {savepoint.name} was written by another version of Headrace")
    return found


def _copy_all(source: Path, target: Path, *, in_use: bool) -> dict[str, dict[str, Any]]:
    """Copy a folder and return the size and hash of each file by its name.

    Where views may be in use, a file of SQLite is copied as of one moment.
    """
    target.mkdir(mode=0o700, parents=True)
    files: dict[str, dict[str, Any]] = {}
    for folder, _, names in os.walk(source):
        here = Path(folder)
        there = target / here.relative_to(source)
        there.mkdir(mode=0o700, exist_ok=True)
        for name in sorted(names):
            if in_use and name.endswith(("-wal", "-shm")) and _is_sqlite(here / name[:-4]):
                continue
            if in_use and _is_sqlite(here / name):
                _copy_sqlite(here / name, there / name)
                files[str((there / name).relative_to(target))] = _hashed(there / name)
            else:
                files[str((there / name).relative_to(target))] = _copy(here / name, there / name)
    return files


def _copy(source: Path, target: Path) -> dict[str, Any]:
    digest, size = hashlib.sha256(), 0
    with source.open("rb") as reader, target.open("wb") as writer:
        while block := reader.read(_BLOCK):
            digest.update(block)
            writer.write(block)
            size += len(block)
        writer.flush()
        os.fsync(writer.fileno())
    return {"size": size, "sha256": digest.hexdigest()}


def _hashed(file: Path) -> dict[str, Any]:
    with file.open("rb") as reader:
        return {"size": file.stat().st_size, "sha256": hashlib.file_digest(reader, "sha256").hexdigest()}


def _is_sqlite(file: Path) -> bool:
    try:
        with file.open("rb") as reader:
            return reader.read(len(_SQLITE)) == _SQLITE
    except OSError:
        return False


def _copy_sqlite(source: Path, target: Path) -> None:
    """Copy a file that readers may have open, with what is still in its log."""
    with closing(sqlite3.connect(source)) as reader, closing(sqlite3.connect(target)) as writer:
        reader.backup(writer)
        writer.execute("PRAGMA journal_mode = DELETE")


def _beside(state: Path, word: str) -> Path:
    return state.with_name(f".{state.name}.{word}")
