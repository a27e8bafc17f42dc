"""Who asks goes in; the jobs that they may see, and what is known of them, come out."""

from collections.abc import Sequence
from dataclasses import replace

from headrace.jobs.figures import Figures
from headrace.jobs.jobs import Jobs, Unknown
from headrace.jobs.metrics import Sample
from headrace.jobs.model import Event, Job, Page, Savepoint, Version
from headrace.jobs.rebuilds import Rebuild
from headrace.jobs.states import FINAL, State
from headrace.plan.scope import did_you_mean
from headrace.server.access.access import Access
from headrace.server.access.decisions import Target, Who
from headrace.server.access.roles import Action, ObjectKind
from headrace.server.services.applications import application_target, starred
from headrace.server.services.mistakes import NotThere

__all__ = ["JobReading", "job_target"]


class JobReading:
    """The jobs of a server as one user may see them."""

    def __init__(self, jobs: Jobs, access: Access) -> None:
        self.jobs, self._access = jobs, access

    def page(
        self,
        who: Who,
        *,
        states: Sequence[State] | None = None,
        name_contains: str | None = None,
        owner: str | None = None,
        after: str | None = None,
        limit: int = 50,
    ) -> Page:
        """Return some of the jobs that somebody may see, by name."""
        found: list[Job] = []
        while True:
            wanted = limit + 1 - len(found)
            page = self.jobs.page(
                states=states, name_contains=name_contains, owner=owner, after=after, limit=max(wanted, 20)
            )
            found += self._permitted(who, page.jobs)
            if page.next is None or len(found) > limit:
                break
            after = page.next
        more = len(found) > limit
        return Page(tuple(found[:limit]), found[limit - 1].name if more else None)

    def all(self, who: Who) -> list[Job]:
        """Return all jobs that somebody may see, by name."""
        found: list[Job] = []
        page = self.page(who, limit=1000)
        while page.next is not None:
            found += page.jobs
            page = self.page(who, after=page.next, limit=1000)
        return [*found, *page.jobs]

    def show(self, who: Who, name: str, action: Action = Action.SEE) -> Job:
        """Return a job to one who may do something to it; what somebody may not see is not there."""
        job = self._found(who, name)
        if action is not Action.SEE:
            self._access.require(who, action, job_target(job.name))
        return job

    def versions(self, who: Who, name: str) -> tuple[Version, ...]:
        """Return the versions of a job, the newest first; what sounds secret in a text is for who may change it."""
        job = self._found(who, name)
        found = self.jobs.versions(job.id)
        if self._access.may(who, Action.EDIT, application_target(job.name)):
            return found
        return tuple(replace(each, text=starred(each.text)) for each in found)

    def changeable(self, who: Who, name: str) -> Version | None:
        """Return the version that counts of a job, with its variables, to one who may bring it to another.

        None is returned if there is no such job, and to all others.
        """
        try:
            job = self.jobs.show(name)
        except Unknown:
            return None
        permitted = all(self._access.may(who, each, job_target(job.name)) for each in (Action.SEE, Action.UPGRADE))
        if job.name != name or job.rebuild is not None or not permitted:
            return None
        return self.jobs.store.version(job.id, job.version)

    def savepoints(self, who: Who, name: str) -> tuple[Savepoint, ...]:
        """Return the savepoints of a job, the newest first."""
        return self.jobs.savepoints(self._found(who, name).id)

    def events(self, who: Who, name: str, *, after: int = 0, limit: int = 200) -> tuple[Event, ...]:
        """Return what happened to a job since an event."""
        return self.jobs.events(self._found(who, name).id, after=after, limit=limit)

    def log(self, who: Who, name: str, lines: int) -> Sequence[str]:
        """Return the last lines of a job's log."""
        return self.jobs.log(self.show(who, name, Action.READ_LOGS), lines)

    def figures(self, who: Who, name: str) -> list[Figures]:
        """Return the latest figures of each output."""
        return self.jobs.figures(self._found(who, name))

    def samples(self, who: Who) -> list[Sample]:
        """Return all jobs that somebody may see with their figures; a job that does not run has none."""
        return [Sample(job, () if job.state in FINAL else tuple(self.jobs.figures(job))) for job in self.all(who)]

    def rebuild_of(self, who: Who, name: str) -> Rebuild | None:
        """Return how far the rebuild of a job is, None if there is none."""
        return self.jobs.rebuild_of(self._found(who, name))

    def _found(self, who: Who, name: str) -> Job:
        try:
            job = self.jobs.show(name)
        except Unknown:
            job = None
        if job is None or job.rebuild is not None or not self._access.may(who, Action.SEE, job_target(job.name)):
            known = [each.name for each in self.all(who)]
            raise NotThere(f'there is no job "{name}"', hint=did_you_mean(name, known) if known else None)
        return job

    def _permitted(self, who: Who, jobs: Sequence[Job]) -> list[Job]:
        targets = self._access.permitted(who, Action.SEE, [job_target(job.name) for job in jobs])
        seen = {target.name for target in targets}
        return [job for job in jobs if job.name in seen]


def job_target(name: str) -> Target:
    """Return a job as access lists know it: it is in the application of its name."""
    return Target(ObjectKind.JOB, name, within=application_target(name))
