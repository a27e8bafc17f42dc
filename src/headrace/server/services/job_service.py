"""Who asks and what they want of jobs go in; commands that they may give are given."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from sqlalchemy.orm import Session

from headrace.jobs.commands import Noted, outcome_of
from headrace.jobs.jobs import InUse, Jobs, NameTaken, Unknown
from headrace.jobs.model import Job
from headrace.jobs.upgrade import Change, Fate
from headrace.plan.beginning import SourceBegins
from headrace.records.base import Clock
from headrace.server.access.access import Access
from headrace.server.access.audit import Detail, record
from headrace.server.access.decisions import Who
from headrace.server.access.lists import claim, forget
from headrace.server.access.roles import Action
from headrace.server.services.applications import Applications, application_target
from headrace.server.services.job_reading import JobReading, job_target
from headrace.server.services.mistakes import NotThere, Unwanted
from headrace.server.services.names import Names

__all__ = ["JobService", "Submission"]


@dataclass(frozen=True, slots=True)
class Submission:
    """A text with all that it is filled and found with; ``directory`` is on the server's machine."""

    text: str
    directory: Path | None = None
    variables: Mapping[str, str] | None = None


class JobService(JobReading):
    """The jobs of a server as one user may see and steer them."""

    def __init__(self, jobs: Jobs, access: Access, applications: Applications, names: Names, clock: Clock) -> None:
        super().__init__(jobs, access)
        self._applications, self._names, self._clock = applications, names, clock

    # --- what a command would do ------------------------------------------------------------------------------

    def upgrade_report(self, who: Who, name: str, submission: Submission) -> tuple[Change, ...]:
        """Return what a new version would do to each output."""
        job = self.show(who, name, Action.UPGRADE)
        with self._names_only_seen(who):
            found = self.jobs.upgrade_report(
                job.id,
                text=submission.text,
                directory=submission.directory,
                variables=submission.variables,
                resolve=self._names.resolver(who, job.name),
            )
        return tuple(self._with_readers(who, job, each) for each in found)

    def begins(self, who: Who, name: str, from_time: datetime, sources: Sequence[str] = ()) -> tuple[SourceBegins, ...]:
        """Return where each source of a job would begin if it started from a time."""
        return self.jobs.begins(self.show(who, name, Action.REPLAY).id, from_time, sources)

    # --- commands -------------------------------------------------------------------------------------------

    def submit(
        self,
        who: Who,
        command: str,
        name: str,
        submission: Submission,
        *,
        cores: int = 1,
        memory: int | None = None,
        master: str | None = None,
    ) -> Job:
        """Take in an application and let it run when there is room; its text is kept as the application's."""
        self._access.require_name(who, Action.SUBMIT, application_target(name))

        def act(noted: Noted) -> Job:
            try:
                return self.jobs.submit(
                    command,
                    name=name,
                    text=submission.text,
                    directory=submission.directory,
                    variables=submission.variables,
                    cores=cores,
                    memory=memory,
                    master=master,
                    owner=who.name,
                    resolve=self._names.resolver(who, name),
                    noted=noted,
                )
            except NameTaken as error:
                raise Unwanted(error.message, detail=error.detail, hint=error.hint) from error

        def owned(session: Session, job: Job) -> None:
            claim(session, who, application_target(job.name))
            claim(session, who, job_target(job.name))
            self._applications.keep(session, who, job.name, submission.text)

        return self._command(who, "job.submit", name, {"version": 1}, act, owned)

    def stop(self, who: Who, command: str, name: str, *, with_savepoint: bool = False) -> Job:
        """Let a job stop between two batches."""
        job = self.show(who, name, Action.STOP)
        if with_savepoint:
            self._access.require(who, Action.SAVEPOINT, job_target(job.name))
        details: dict[str, Detail] = {"with_savepoint": with_savepoint}

        def act(noted: Noted) -> Job:
            return self.jobs.stop(job.id, command, with_savepoint=with_savepoint, by=who.name, noted=noted)

        return self._command(who, "job.stop", job.name, details, act)

    def restart(
        self,
        who: Who,
        command: str,
        name: str,
        *,
        savepoint: str | None = None,
        fresh: bool = False,
        from_time: datetime | None = None,
        sources: Sequence[str] = (),
        cores: int | None = None,
        memory: int | None = None,
    ) -> Job:
        """Start a job again: on its state, on a savepoint's, or fresh or from a time, which throws its state away."""
        job = self.show(who, name, Action.RESTART)
        if fresh or from_time is not None:
            self._access.require(who, Action.REPLAY, job_target(job.name))
        details: dict[str, Detail] = {"savepoint": savepoint, "fresh": fresh}
        if from_time is not None:
            details |= {"from_time": from_time.isoformat(), "sources": ", ".join(sources)}
        details |= {name: value for name, value in (("cores", cores), ("memory", memory)) if value is not None}

        def act(noted: Noted) -> Job:
            return self.jobs.restart(
                job.id,
                command,
                savepoint=savepoint,
                fresh=fresh,
                from_time=from_time,
                sources=sources,
                cores=cores,
                memory=memory,
                by=who.name,
                noted=noted,
            )

        return self._command(who, "job.restart", job.name, details, act)

    def savepoint(self, who: Who, command: str, name: str) -> Job:
        """Copy the state of a job; one that runs stops for it, for as long as the copy takes, and goes on."""
        job = self.show(who, name, Action.SAVEPOINT)
        act = lambda noted: self.jobs.savepoint(job.id, command, by=who.name, noted=noted)  # noqa: E731
        return self._command(who, "job.savepoint", job.name, {}, act)

    def upgrade(self, who: Who, command: str, name: str, submission: Submission) -> Job:
        """Bring a job to a new version on its old state."""
        job = self.show(who, name, Action.UPGRADE)

        def act(noted: Noted) -> Job:
            with self._names_only_seen(who):
                return self.jobs.upgrade(
                    job.id,
                    command,
                    text=submission.text,
                    directory=submission.directory,
                    variables=submission.variables,
                    by=who.name,
                    resolve=self._names.resolver(who, job.name),
                    noted=noted,
                )

        def kept(session: Session, upgraded: Job) -> None:
            self._applications.keep(session, who, upgraded.name, submission.text)

        return self._command(who, "job.upgrade", job.name, {"from": job.version}, act, kept)

    def rebuild(
        self,
        who: Who,
        command: str,
        name: str,
        *,
        submission: Submission | None = None,
        from_time: datetime | None = None,
        sources: Sequence[str] = (),
    ) -> Job:
        """Build a job anew beside itself, as a new version if one is given, and swap when that has caught up."""
        job = self.show(who, name, Action.REPLAY)
        if submission is not None:
            self._access.require(who, Action.UPGRADE, job_target(job.name))
        given = submission or Submission("")

        def act(noted: Noted) -> Job:
            with self._names_only_seen(who):
                return self.jobs.rebuild(
                    job.id,
                    command,
                    text=None if submission is None else submission.text,
                    directory=given.directory,
                    variables=given.variables,
                    from_time=from_time,
                    sources=sources,
                    by=who.name,
                    resolve=self._names.resolver(who, job.name),
                    noted=noted,
                )

        def kept(session: Session, rebuilt: Job) -> None:
            if submission is not None:
                self._applications.keep(session, who, rebuilt.name, submission.text)

        details: dict[str, Detail] = {"from_time": None if from_time is None else from_time.isoformat()}
        return self._command(who, "job.rebuild", job.name, details, act, kept)

    def cancel_rebuild(self, who: Who, command: str, name: str) -> Job:
        """Give up a rebuild, or forget one that has failed."""
        job = self.show(who, name, Action.REPLAY)
        act = lambda noted: self.jobs.cancel_rebuild(job.id, command, noted=noted)  # noqa: E731
        return self._command(who, "job.cancel_rebuild", job.name, {}, act)

    def delete(self, who: Who, command: str, name: str) -> Job:
        """Remove a job with its state, savepoints and log."""
        if (gone := self.jobs.deleted(name, command)) is not None:
            return replace(gone, name=gone.application)
        job = self.show(who, name, Action.DELETE)
        if not job.is_at_rest:
            raise Unwanted(
                f'job "{job.name}" is {job.state}', detail="Only a job at rest can go.", hint="Stop it first."
            )
        if users := self.jobs.users(job.id):
            raise Unwanted(
                f'job "{job.name}" is used by {self._shown(who, users)}',
                detail="They read what it writes.",
                hint="Delete them first, or let them read something else.",
            )

        def forgotten(session: Session, _: Job) -> None:
            if self.jobs.named_like(session, job.name) is None:  # else they are another's of before
                forget(session, job_target(job.name))

        act = lambda noted: self.jobs.delete(job.id, command, noted=noted)  # noqa: E731
        return replace(self._command(who, "job.delete", job.name, {}, act, forgotten), name=job.name)

    def delete_savepoint(self, who: Who, command: str, name: str, savepoint: str) -> Job:
        """Remove a savepoint and its files."""
        job = self.show(who, name, Action.DELETE)
        known = outcome_of(self.jobs.store, command, "delete savepoint")
        if known is None and savepoint not in {each.id for each in self.jobs.savepoints(job.id)}:
            raise NotThere(f'job "{job.name}" has no savepoint "{savepoint}"')
        act = lambda noted: self.jobs.delete_savepoint(savepoint, command, noted=noted)  # noqa: E731
        return self._command(who, "job.delete_savepoint", job.name, {"savepoint": savepoint}, act)

    # --- inside -----------------------------------------------------------------------------------------------

    def _shown(self, who: Who, names: Iterable[str]) -> str:
        """Return the names of jobs as somebody may know them."""
        wanted = sorted(names)
        seen = {each.name for each in self._permitted(who, [self.jobs.show(name) for name in wanted])}
        shown = [name if name in seen else "a job that you may not see" for name in wanted]
        return ", ".join(dict.fromkeys(shown))

    @contextmanager
    def _names_only_seen(self, who: Who) -> Iterator[None]:
        """Tell who reads what would change, as far as somebody may know."""
        try:
            yield
        except InUse as error:
            message = error.message.replace(", ".join(sorted(error.users)), self._shown(who, error.users), 1)
            raise Unwanted(message, detail=error.detail, hint=error.hint) from error

    def _with_readers(self, who: Who, job: Job, change: Change) -> Change:
        """Return what an upgrade does to an output, and to whom it matters: a view that is built anew is another."""
        read = [
            name
            for name, imports in self.jobs.readers(job.id).items()
            if any(each.kind == "view" and each.relation.lower() == change.output.lower() for each in imports)
        ]
        if change.fate is not Fate.REBUILT or not read:
            return change
        return replace(change, why=f"{change.why}; it is read by {self._shown(who, read)}: start them fresh after it")

    def _command(
        self,
        who: Who,
        action: str,
        name: str,
        details: Mapping[str, Detail],
        act: Callable[[Noted], Job],
        also: Noted | None = None,
    ) -> Job:
        """Give a command; its entry in the audit log, and what else is kept of it, are written in its transaction."""

        def noted(session: Session, job: Job) -> None:
            record(session, self._clock(), who, action, job_target(name), details)
            if also is not None:
                also(session, job)

        try:
            return act(noted)
        except Unknown as error:
            raise NotThere(error.message) from error
