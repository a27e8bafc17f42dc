"""The folder of all jobs and their database go in; the database names the folder, and no other one is worked on.

Drivers that run are known by what is in their folders: a server with another folder would start every job again. So a
folder has a name in a file, and the database knows that and its path. The paths of state are in the database, too.
"""

import logging
import re
import secrets
import socket
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from headrace.errors import HeadraceError
from headrace.jobs.folder import JobFolder, write_whole
from headrace.jobs.processes import driven_in
from headrace.records.database import Database, take_turns
from headrace.records.job_tables import DataFolderRow, JobRow, SavepointRow, VersionRow

__all__ = ["is_settled", "settle"]

NAME = ".name"
"""The file with the name of the folder of all jobs."""
_ROW = 1

_log = logging.getLogger("headrace.jobs")


def is_settled(root: Path, database: Database) -> bool:
    """Say whether the jobs of a database are in this folder, or can be: there are none yet."""
    with database.reading() as session:
        row = session.get(DataFolderRow, _ROW)
        return row is None or _is(row, root) or session.scalar(select(JobRow.id).limit(1)) is None


def settle(root: Path, database: Database, *, moved: bool = False) -> None:
    """Let the database name this folder; raise if its jobs are in another one, unless that was ``moved`` here."""
    with database.reading() as session:
        row = session.get(DataFolderRow, _ROW)
        jobs = list(session.scalars(select(JobRow.id)))
    machine = socket.gethostname()[:255]
    if row is not None and _is(row, root) and row.machine == machine:
        return
    elsewhere = row is not None and not _is(row, root) and bool(jobs)
    if elsewhere:
        assert row is not None
        if not moved:
            raise _another(row, root)
        _check_moved(row, root, jobs)
    name = _name(root) or secrets.token_hex(16)
    write_whole(root / NAME, name, durable=True)
    with database.transaction() as session:
        take_turns(session, "jobs")
        if elsewhere and row is not None and row.path != str(root):
            _rewrite(session, row.path, str(root))
            _log.warning("the jobs have moved from %s to %s", row.path, root)
        session.merge(DataFolderRow(id=_ROW, name=name, path=str(root), machine=machine, at=datetime.now(UTC)))


def _name(root: Path) -> str | None:
    with suppress(FileNotFoundError):
        return (root / NAME).read_text("utf-8").strip() or None
    return None


def _is(row: DataFolderRow, root: Path) -> bool:
    return row.path == str(root) and row.name == _name(root)


def _another(row: DataFolderRow, root: Path) -> HeadraceError:
    old, new = Path(row.path).parent, root.parent
    if old == new:
        return HeadraceError(
            "the data folder is not the one that the jobs of this database are in",
            detail=f'"{old}" was theirs on {row.machine}; what is there now is another folder.',
            hint="Bring that one back. If it is lost and no driver runs any more, start the server with --move-data: "
            "its jobs begin anew.",
        )
    return HeadraceError(
        "the jobs of this database are in another data folder",
        detail=f'They are in "{old}" on {row.machine}, and their drivers may run there; this server has "{new}".',
        hint=f"Start it with --data {old}. If that folder was moved here and no driver runs any more, start it with "
        "--move-data.",
    )


def _check_moved(row: DataFolderRow, root: Path, jobs: list[str]) -> None:
    """Raise if a driver runs, as far as this machine can tell, or the old folder is still there."""
    old = Path(row.path)
    alive = {process.pid for process in driven_in(old)}
    locked = [job for job in jobs if JobFolder(root / job).is_locked()]
    if alive or locked:
        raise HeadraceError(
            "the data folder cannot be moved while drivers run",
            detail=f'Jobs of "{old.parent}" still run on this machine.',
            hint="Move it back, start the server there and stop its jobs; or end these processes: "
            f"{', '.join(map(str, sorted(alive)))}."
            if alive
            else "Stop the jobs by the server that has started them.",
        )
    if old != root and any((old / job).exists() for job in jobs):
        raise HeadraceError(
            f'the data folder "{old.parent}" is still there',
            detail="Only one folder can have the jobs of a database; a copy of it may be out of date.",
            hint=f"Move it to {root.parent}, or put it aside if it was copied while no job ran.",
        )
    if not any((root / job).exists() for job in jobs):
        _log.warning("no job has a folder in %s: what they kept in the old one is gone", root)


def _rewrite(session: Session, old: str, new: str) -> None:
    """Let every path below the old folder lie below the new one."""
    for version in session.scalars(select(VersionRow)):
        for name in ("state", "directory", "provides", "uses", "imports"):
            setattr(version, name, _moved(getattr(version, name), old, new))
    for job in session.scalars(select(JobRow)):
        job.pending, job.rebuild = _moved(job.pending, old, new), _moved(job.rebuild, old, new)
    for savepoint in session.scalars(select(SavepointRow)):
        savepoint.manifest = _moved(savepoint.manifest, old, new)


def _moved(value: Any, old: str, new: str) -> Any:
    """Return a value as JSON has it with the paths in it changed.

    >>> _moved({"uses": ["files /a/jobs/1/out", "topic b//a/jobs/1"], "state": "/a/jobs/1/state"}, "/a/jobs", "/b/jobs")
    {'uses': ['files /b/jobs/1/out', 'topic b//a/jobs/1'], 'state': '/b/jobs/1/state'}
    """
    if isinstance(value, str):
        return re.sub(rf"^(files |file://|){re.escape(old)}(?=/|$)", lambda found: found.group(1) + new, value)
    if isinstance(value, dict):
        return {name: _moved(each, old, new) for name, each in value.items()}
    if isinstance(value, list):
        return [_moved(each, old, new) for each in value]
    return value
