"""A job goes in; the state that it or a version of it has left somewhere goes, and nothing else that is there."""

import logging
import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from headrace.jobs.model import Job
from headrace.jobs.store import JobStore
from headrace.jobs.texts import is_local, local_state
from headrace.plan.beginning import FILE
from headrace.records.job_tables import JobRow, VersionRow
from headrace.views.kept import VIEWS

__all__ = ["remove_left", "remove_state", "states_elsewhere"]

OWN_FILES = frozenset({FILE, VIEWS, f"{VIEWS}-wal", f"{VIEWS}-shm", f"{VIEWS}-journal"})
OWN_FOLDERS = frozenset({"feeds", "control", "seed"})
MARKS = frozenset({"checkpoint", "name", "plan.json", "kafka", "rows.sqlite", "view.sqlite"})
"""What is in the folder of a query; one without any of these may be somebody else's."""

_log = logging.getLogger("headrace.jobs")


def states_elsewhere(session: Session, job: Job) -> list[str]:
    """Return the URLs at which versions of a job keep state, where only Spark can reach it."""
    states = session.scalars(select(VersionRow.state).where(VersionRow.job_id == job.id))
    return sorted({each for each in states if not is_local(each)})


def remove_state(store: JobStore, job: Job, own: Path) -> None:
    """Delete what all versions of a deleted job kept on this machine outside of its own folder.

    ``SET state`` may name a folder with other things in it: only what Headrace made below the job's name goes. What a
    new job of the name has as its own stays, and so does what is behind a link.
    """
    with store.writing() as session:  # until it is put aside, no job can come that uses the same place
        roots = session.scalars(select(VersionRow.state).where(VersionRow.job_id == job.id).distinct()).all()
        used = _used_by_others(session, job)
        aside = [
            gone
            for root in roots
            if is_local(root) and root not in used and not _is_below(local_state(root, job.application), own)
            for gone in _put_aside(local_state(root, job.application), job.id)
        ]
    for each in aside:
        shutil.rmtree(each, ignore_errors=True)


def remove_left(root: str, job: Job) -> None:
    """Delete what an earlier version of a job kept in a place on this machine, and nothing else that is there."""
    for each in _put_aside(local_state(root, job.application), job.id):
        shutil.rmtree(each, ignore_errors=True)


def _used_by_others(session: Session, job: Job) -> set[str]:
    same = func.lower(JobRow.name) == job.application.lower()
    query = select(VersionRow.state).join(JobRow, VersionRow.job_id == JobRow.id)
    return set(session.scalars(query.where(same, JobRow.id != job.id, JobRow.deleted_at.is_(None))))


def _is_below(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve())


def _put_aside(state: Path, job_id: str) -> list[Path]:
    """Move what Headrace made in a state folder out of the way; return where it is, with what an earlier try left."""
    gone = state.with_name(f".gone-{job_id}-{state.name}")
    restoring = [state.with_name(f".{state.name}.{word}") for word in ("restoring", "old")]
    if state.is_dir() and not state.is_symlink():
        try:
            gone.mkdir(mode=0o700, exist_ok=True)
            for each in _own(state):
                os.rename(each, gone / each.name)
            with suppress(OSError):  # others have something in it
                state.rmdir()
        except OSError as error:
            _log.warning("the state of job %s in %s could not be removed: %s", job_id, state, error)
    return [each for each in (gone, *restoring) if each.is_dir() and not each.is_symlink()]


def _own(state: Path) -> Iterable[Path]:
    for each in list(state.iterdir()):
        if each.is_symlink():
            continue
        query = each.is_dir() and (each.name in OWN_FOLDERS or any((each / mark).exists() for mark in MARKS))
        if query or (each.is_file() and each.name in OWN_FILES):
            yield each
