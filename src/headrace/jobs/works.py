"""What is done to a job's state while no driver runs, in the background: savepoints, restores, upgrades."""

import json
import shutil
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from headrace.errors import HeadraceError
from headrace.jobs import savepoints
from headrace.jobs.clock import Clock
from headrace.jobs.folder import write_whole
from headrace.jobs.hands import Hands
from headrace.jobs.leftovers import remove_left
from headrace.jobs.model import Job, Version
from headrace.jobs.rebuilding import REBUILT
from headrace.jobs.reports import Report, internal, report_of
from headrace.jobs.store import JobStore
from headrace.jobs.texts import is_local, local_state
from headrace.jobs.upgrade import clear
from headrace.plan.beginning import FILE
from headrace.views.kept import VIEWS
from headrace.views.sqlite import SqliteViewStore

__all__ = ["Works", "begin", "local_state"]


class Works:
    """The slow deeds; each may be cut off anywhere and is then done anew."""

    def __init__(self, store: JobStore, hands: Hands, clock: Clock) -> None:
        self._store, self._hands, self._clock = store, hands, clock

    def take_savepoint(self, job: Job) -> None:
        """Copy the state of a job that does not run, and note that it was done or why it was not."""
        assert job.savepoint is not None
        manifest: dict[str, Any] | None = None
        error: Report | None = None
        try:
            self._hands.end_remains(job)
            manifest = self._taken(job, job.savepoint, self._clock.now())
        except HeadraceError as mistake:
            error = report_of(mistake)
        except OSError as failure:
            error = Report("the savepoint could not be written", detail=f"{failure.strerror or failure}.")
        except Exception as bug:
            error = internal(bug)
        self._store.settle_savepoint(job, manifest, error)

    def tidy(self) -> None:
        """Delete the files of savepoints that are no more, which a server left that died while it deleted them."""
        there = list(self._hands.root.glob("*/savepoints/*"))
        known = self._store.savepoint_ids()
        for each in there:
            if each.name.removeprefix(".").removesuffix(".partial") not in known:
                shutil.rmtree(each, ignore_errors=True)

    def _taken(self, job: Job, savepoint: str, now: datetime) -> dict[str, Any]:
        noted = self._store.savepoint(savepoint)
        number = job.version if noted is None else noted.version
        version = self._store.version(job.id, number)
        folder = self._hands.folder(job.id)
        heartbeat = folder.heartbeat()
        return savepoints.take(
            local_state(version.state, job.name),
            folder.savepoints_path / savepoint,
            {
                "savepoint": savepoint,
                "job": job.name,
                "version": number,
                "attempt": job.attempt,
                "taken_at": now.isoformat(),
                "positions": {} if heartbeat is None else savepoints.positions(heartbeat.outputs),
                "not_in_it": savepoints.outside(version),
            },
        )

    def prepare(self, job: Job) -> None:
        """Do to the state what was asked for before the next start."""
        self._hands.end_remains(job)
        pending = job.pending or {}
        version = self._store.version(job.id, job.version)
        match pending.get("kind"):
            case "restore":
                self._restore(job, version, pending)
            case "upgrade" if pending["state"] == version.state and (pending["clear"] or pending["views"]):
                state = local_state(version.state, job.application)
                clear(state, list(pending["clear"]), list(pending["views"]), job.application)
            case "upgrade" if pending["state"] != version.state and self._was_there(job, version):
                remove_left(version.state, job)
            case "fresh":
                _forget(version.state, job.application)
                begin(version.state, job.application, pending.get("begin"))

    def _was_there(self, job: Job, version: Version) -> bool:
        """Say whether an earlier version had its state where this one is to begin with none."""
        earlier = (self._store.version(job.id, number) for number in range(1, version.number))
        return is_local(version.state) and any(each.state == version.state for each in earlier)

    def _restore(self, job: Job, version: Version, pending: Mapping[str, Any]) -> None:
        source = self._hands.folder(job.id).savepoints_path / str(pending["savepoint"])
        state = local_state(version.state, job.application)
        renew = lambda fresh: _renew(fresh / VIEWS)  # noqa: E731
        savepoints.restore(source, state, ran_since=bool(pending.get("ran_since")), ready=renew)
        before = self._store.version(job.id, int(pending.get("from", job.version))).state
        if before != version.state and before.partition(REBUILT)[0] == version.state.partition(REBUILT)[0]:
            # the place where a rebuild has put it, or had it from, is not used any more
            shutil.rmtree(local_state(before, job.application), ignore_errors=True)
            if REBUILT in before:
                shutil.rmtree(before.removeprefix("file://"), ignore_errors=True)


def begin(root: str, name: str, beginning: Mapping[str, Any] | None) -> None:
    """Note in an empty state that its sources begin at a time; None if they begin as always."""
    if beginning is not None:
        state = local_state(root, name)
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(state / FILE, json.dumps(beginning), durable=True)


def _renew(file: Path) -> None:
    """Let views that were put back be told apart from what they were before, for those who follow them."""
    if file.is_file():
        store = SqliteViewStore(file)
        try:
            store.renew()
        finally:
            store.close()


def _forget(root: str, name: str) -> None:
    state = local_state(root, name)
    savepoints.recover(state)
    shutil.rmtree(state, ignore_errors=True)
