"""What people want of jobs goes in; notes of that come out, and the jobs as they are.

Nothing here touches a process: a command changes the database, and the supervisor sees to it.
"""

import secrets
import shutil
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from headrace.errors import HeadraceError, shallow
from headrace.jobs import rebuilds
from headrace.jobs.alert_book import forget_alerts_of
from headrace.jobs.commands import Noted, applied_once, earlier, outcome_of
from headrace.jobs.decisions import Wanted
from headrace.jobs.folder import JobFolder
from headrace.jobs.leftovers import states_elsewhere
from headrace.jobs.model import Event, Job, Version
from headrace.jobs.offers import Resolve, resolved
from headrace.jobs.questions import JobQuestions, Unknown
from headrace.jobs.queue import Claim, check_fits
from headrace.jobs.readers import InUse, check_unchanged
from headrace.jobs.states import FINAL, State
from headrace.jobs.store import add_event, change, job_of
from headrace.jobs.submission import (
    check_cores,
    check_master,
    check_name,
    check_start,
    checked,
    claim_of,
    name_of,
    new_row,
    read_application,
    version_row,
)
from headrace.jobs.texts import is_local, plan_text, planned, provided_by, state_root, used_by
from headrace.jobs.upgrade import Change, Fate, Upgrade, compare
from headrace.jobs.wishes import (
    check_not_changing,
    check_readers,
    from_nothing,
    from_savepoint,
    state_version,
    wanted_savepoint,
)
from headrace.records.job_tables import JobRow, SavepointRow, VersionRow

__all__ = ["InUse", "Jobs", "NameTaken", "Unknown"]


class NameTaken(HeadraceError):
    """There is a job of that name, in whatever case."""


class Jobs(JobQuestions):
    """The jobs of a server. Every command has an id and is applied at most once.

    What ``noted`` writes is kept in the transaction of the command.
    """

    # --- commands -----------------------------------------------------------------------------------------

    def submit(
        self,
        command_id: str,
        *,
        name: str | None = None,
        text: str | None = None,
        file: Path | None = None,
        directory: Path | None = None,
        variables: Mapping[str, str] | None = None,
        cores: int = 1,
        memory: int | None = None,
        master: str | None = None,
        owner: str | None = None,
        resolve: Resolve | None = None,
        noted: Noted | None = None,
    ) -> Job:
        """Take in an application, as text or as a file that is read now, and let it run when there is room.

        Paths in it are relative to ``directory``, that of the file by default. ``memory`` is in megabytes. ``resolve``
        finds what it reads of other jobs; without it no other job is known.
        """
        arguments = [name, text, file, directory, variables, cores, memory, master, owner]
        known = earlier(self.store, command_id, "submit", arguments)
        if known is not None:
            return known
        job_id = secrets.token_hex(6)
        text, directory = read_application(text, file, directory, JobFolder(self.folder / job_id).work_path)
        name = name or (None if file is None else name_of(file)) or f"job-{job_id}"
        check_name(name)
        check_master(master)
        imports = resolved(text, name, variables or {}, resolve)
        plan = plan_text(text, name, directory, variables or {}, imports)
        now = self.clock.now()
        claim = claim_of(name, cores, memory, master, plan)
        check_fits(claim, self.capacity)
        version = Version(
            job_id=job_id,
            number=1,
            text=text,
            directory=str(directory),
            file=None if file is None else str(file),
            state=state_root(plan, directory, JobFolder(self.folder / job_id).state_path),
            created_at=now,
            created_by=owner,
            variables=dict(variables or {}),
            provides=tuple(provided_by(plan, directory)),
            uses=tuple(used_by(plan, directory)),
            imports=imports,
        )

        def apply(session: Session) -> Job:
            there = self.named_like(session, name)
            if there is not None:
                raise NameTaken(
                    f'there is a job "{there}" already',
                    hint="Choose another name, or bring that job to the new version with upgrade.",
                )
            check_unchanged(session, imports)
            rebuilds.check_settled(session, imports)
            row = new_row(job_id, claim, master, owner, now)
            session.add(row)
            session.flush()
            session.add(version_row(version))
            add_event(session, Event(0, job_id, now, State.SUBMITTED, row.reason, None))
            return job_of(row)

        return applied_once(self.store, command_id, "submit", arguments, now, apply, noted)

    def stop(
        self,
        job: str,
        command_id: str,
        *,
        with_savepoint: bool = False,
        by: str | None = None,
        noted: Noted | None = None,
    ) -> Job:
        """Let a job stop between two batches; with a savepoint its state is copied once it has."""
        now = self.clock.now()

        def apply(session: Session) -> Job:
            found = self._found(session, job)
            values: dict[str, Any] = {"wanted": str(Wanted.STOP)}
            rebuilds.kept_still(session, found)
            if with_savepoint:
                rebuilds.check_alone(session, found)
                values["savepoint"] = wanted_savepoint(session, found, now, by)
            return self._changed(session, found, values)

        return applied_once(self.store, command_id, "stop", [job, with_savepoint], now, apply, noted)

    def savepoint(self, job: str, command_id: str, *, by: str | None = None, noted: Noted | None = None) -> Job:
        """Copy the state of a job; one that runs stops for it and goes on, in its place in the queue."""
        now = self.clock.now()

        def apply(session: Session) -> Job:
            found = self._found(session, job)
            rebuilds.check_alone(session, found)
            values: dict[str, Any] = {"savepoint": wanted_savepoint(session, found, now, by)}
            if found.wanted is Wanted.RUN and found.state in {State.STARTING, State.RUNNING, State.DEGRADED}:
                values["wanted"] = str(Wanted.RESTART)
            return self._changed(session, found, values)

        return applied_once(self.store, command_id, "savepoint", [job], now, apply, noted)

    def restart(
        self,
        job: str,
        command_id: str,
        *,
        savepoint: str | None = None,
        fresh: bool = False,
        from_time: datetime | None = None,
        sources: Sequence[str] = (),
        cores: int | None = None,
        memory: int | None = None,
        by: str | None = None,
        noted: Noted | None = None,
    ) -> Job:
        """Start a job again, one that runs after it has stopped: on its state, on a savepoint's, or ``fresh``.

        From a savepoint it goes on with the version that the savepoint was taken of. With ``from_time`` it
        starts fresh, and its sources, or only those that are named, begin at that time as `begins` says. ``cores``
        and ``memory`` are what it has from now on, if they are given.
        """
        now = self.clock.now()
        check_start(savepoint, fresh, from_time, sources)

        def apply(session: Session) -> Job:
            found = self._found(session, job)
            values = _started(found, now, rests=not rebuilds.keeps_place(session, found))
            if savepoint is not None or fresh or from_time is not None:
                rebuilds.check_alone(session, found)
            if savepoint is not None:
                values |= from_savepoint(session, found, savepoint)
            elif fresh or from_time is not None:
                values |= from_nothing(session, found, from_time, sources, now)
            claim = found.claim()
            if cores is not None:
                check_cores(found.name, found.master)
            if cores is not None or memory is not None:
                rebuilds.check_alone(session, found)
                claim = checked(Claim(claim.name, _given(cores, claim.cores), _given(memory, claim.memory)))
            check_fits(claim, self.capacity)
            return self._changed(session, found, {**values, "cores": claim.cores, "memory": claim.memory})

        arguments = [job, savepoint, fresh, *([] if from_time is None else [from_time, list(sources)])]
        arguments += [] if cores is None and memory is None else [{"cores": cores, "memory": memory}]
        return applied_once(self.store, command_id, "restart", arguments, now, apply, noted)

    def upgrade_report(
        self,
        job: str,
        *,
        text: str | None = None,
        file: Path | None = None,
        directory: Path | None = None,
        variables: Mapping[str, str] | None = None,
        resolve: Resolve | None = None,
    ) -> tuple[Change, ...]:
        """Return what a new version would do to each output; nothing is changed."""
        with self.store.reading() as session:
            found = self._found(session, job)
            before = state_version(session, found)
        return self._compared(found, before, text, file, directory, variables, resolve)[0].changes

    def upgrade(
        self,
        job: str,
        command_id: str,
        *,
        text: str | None = None,
        file: Path | None = None,
        directory: Path | None = None,
        variables: Mapping[str, str] | None = None,
        by: str | None = None,
        resolve: Resolve | None = None,
        noted: Noted | None = None,
    ) -> Job:
        """Bring a job to a new version on its old state; what cannot keep its state is rebuilt.

        One that runs is stopped first and goes on as the new version; one that has ended starts.
        """
        arguments = [job, text, file, directory, variables]
        known = earlier(self.store, command_id, "upgrade", arguments)
        if known is not None:
            return known
        with self.store.reading() as session:
            seen = self._found(session, job)
            before = state_version(session, seen)
        compared, version = self._compared(seen, before, text, file, directory, variables, resolve)
        now = self.clock.now()

        def apply(session: Session) -> Job:
            found = self._found(session, seen.id)
            if found.version != seen.version or found.pending != seen.pending:
                raise HeadraceError(
                    f'job "{found.name}" was changed by somebody else meanwhile', hint="Look, and try again."
                )
            check_fits(found.claim(), self.capacity)
            check_unchanged(session, version.imports)
            rebuilds.check_settled(session, version.imports)
            check_readers(session, found, before, version)
            rebuilds.check_alone(session, found)
            number = 1 + max(session.scalars(select(VersionRow.number).where(VersionRow.job_id == found.id)))
            session.add(version_row(version, number=number, created_at=now, created_by=by))
            pending = {
                "kind": "upgrade",
                "from": before.number,
                "state": before.state,
                "clear": list(compared.clear),
                "views": list(compared.views),
            }
            return self._changed(session, found, {**_started(found, now), "version": number, "pending": pending})

        return applied_once(self.store, command_id, "upgrade", arguments, now, apply, noted)

    def rebuild(
        self,
        job: str,
        command_id: str,
        *,
        text: str | None = None,
        directory: Path | None = None,
        variables: Mapping[str, str] | None = None,
        from_time: datetime | None = None,
        sources: Sequence[str] = (),
        by: str | None = None,
        resolve: Resolve | None = None,
        noted: Noted | None = None,
    ) -> Job:
        """Build a job anew beside itself, with another text if one is given, and swap when that has caught up."""
        found = self.show(job)
        version = None
        if text is not None:
            before = self.store.version(found.id, found.version)
            version = self._compared(found, before, text, None, directory, variables, resolve)[1]
        return rebuilds.rebuild(
            self.store,
            found,
            command_id,
            self.clock.now(),
            self.capacity,
            version=version,
            from_time=from_time,
            sources=sources,
            by=by,
            noted=noted,
        )

    def cancel_rebuild(self, job: str, command_id: str, *, noted: Noted | None = None) -> Job:
        """Give up a rebuild, or forget one that has failed; the job goes on as it was."""
        return rebuilds.cancel(self.store, self.show(job), command_id, self.clock.now(), noted)

    def delete(self, job: str, command_id: str, *, noted: Noted | None = None) -> Job:
        """Remove a job with its state, savepoints and log; refused while it runs or others read what it writes."""
        now = self.clock.now()

        def apply(session: Session) -> Job:
            found = self._found(session, job)
            if found.state not in FINAL or found.wanted is Wanted.RESTART or found.savepoint is not None:
                raise HeadraceError(
                    f'job "{found.name}" is {found.state}', detail="Only a job at rest can go.", hint="Stop it first."
                )
            if users := self._users(session, found):
                names = ", ".join(sorted(users))
                things = ", ".join(sorted({each for used in users.values() for each in used}))
                raise HeadraceError(
                    f'job "{found.name}" is used by {names}',
                    detail=f"They read what it writes: {things}.",
                    hint="Delete them first, or let them read something else.",
                )
            rebuilds.check_alone(session, found)
            rebuilds.forgotten_with(session, found, now)
            forget_alerts_of(session, found.name)
            # the name is free at once; the rest goes when the files have gone
            values = {"deleted_at": now, "name": f"{found.name}#{found.id}"}
            if left := states_elsewhere(session, found):
                values["reason"] = f"deleted; its state at {', '.join(left)} stays there"
            return self._changed(session, found, values)

        return applied_once(self.store, command_id, "delete", [job], now, apply, noted)

    def deleted(self, job: str, command_id: str) -> Job | None:
        """Return what a command that deleted a job was answered with, None if it did not: the job is found no more."""
        gone = outcome_of(self.store, command_id, "delete")
        return gone if gone is not None and job in {gone.id, gone.application} else None

    def delete_savepoint(self, savepoint: str, command_id: str, *, noted: Noted | None = None) -> Job:
        """Remove a savepoint and its files."""
        now = self.clock.now()

        def apply(session: Session) -> Job:
            row = session.get(SavepointRow, savepoint)
            if row is None:
                raise Unknown(f'unknown savepoint "{savepoint}"')
            found = job_of(session.get_one(JobRow, row.job_id))
            if found.savepoint == savepoint or (found.pending or {}).get("savepoint") == savepoint:
                raise HeadraceError(f'savepoint "{savepoint}" is in use', hint=f"Wait until {found.name} has started.")
            session.delete(row)
            return found

        job = applied_once(self.store, command_id, "delete savepoint", [savepoint], now, apply, noted)
        shutil.rmtree(self.folder_of(job).savepoints_path / savepoint, ignore_errors=True)
        return job

    # --- inside ---------------------------------------------------------------------------------------------

    def _changed(self, session: Session, job: Job, values: dict[str, Any]) -> Job:
        """Change a job that was read in this transaction; nobody can have been quicker."""
        if not change(session, job, values):
            raise RuntimeError(f"job {job.id} changed inside a transaction")
        return job_of(session.get_one(JobRow, job.id, populate_existing=True))

    def _compared(
        self,
        job: Job,
        before: Version,
        text: str | None,
        file: Path | None,
        directory: Path | None,
        variables: Mapping[str, str] | None,
        resolve: Resolve | None,
    ) -> tuple[Upgrade, Version]:
        check_not_changing(job)
        if (job.pending or {}).get("kind") in {"restore", "fresh"}:
            raise HeadraceError(
                f'job "{job.name}" is about to change its state', hint="Upgrade it when it has started."
            )
        text, place = read_application(text, file, directory, Path(before.directory))
        values = dict(before.variables if variables is None else variables)
        imports = resolved(text, job.name, values, resolve)
        plan = plan_text(text, job.name, place, values, imports)
        old, own = planned(before), self.folder_of(job).state_path
        state = state_root(plan, place, own)
        if state == state_root(old, Path(before.directory), own):
            state = before.state  # where a rebuild has put it
        with shallow():
            compared = compare(old, plan, same_place=state == before.state)
        changes = bool(compared.clear or compared.views)
        left = any(each.state == state for each in self.versions(job.id))
        if not is_local(state) and (changes if state == before.state else left):
            raise HeadraceError(
                f'job "{job.name}" cannot be upgraded to this version on its state',
                detail=f"What it would rebuild is at {state}, where only Spark can reach it: {_rebuilt(compared)}.",
                hint="Give the new version another place with SET state, or submit it as another job.",
            )
        version = Version(
            job_id=job.id,
            number=0,
            text=text,
            directory=str(place),
            file=None if file is None else str(file),
            state=state,
            created_at=self.clock.now(),
            created_by=None,
            variables=values,
            provides=tuple(provided_by(plan, place)),
            uses=tuple(used_by(plan, place)),
            imports=imports,
        )
        with self.store.reading() as session:
            check_readers(session, job, before, version)
        return compared, version


def _started(job: Job, now: datetime, *, rests: bool = True) -> dict[str, Any]:
    """Return what lets a job start again; one that runs keeps its place in the queue, one at rest goes to its end.

    Without ``rests`` one that has ended is not at rest: its rebuild has stopped it, and would start it again.
    """
    if job.state is State.SUBMITTED:
        return {"wanted": str(Wanted.RUN)}
    waits = {"queued_at": now} if rests and job.state in FINAL and job.wanted is not Wanted.RESTART else {}
    return {"wanted": str(Wanted.RESTART), **waits}


def _given(asked: int | None, before: int) -> int:
    return before if asked is None else asked


def _rebuilt(compared: Upgrade) -> str:
    return ", ".join(each.output for each in compared.changes if each.fate in {Fate.REBUILT, Fate.REMOVED})
