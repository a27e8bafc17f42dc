"""Who asks, and ``JOB.NAME`` in a text, go in; how that is read comes out, if they may and it makes no circle."""

from headrace.catalog.imports import Import
from headrace.errors import HeadraceError, PlanError
from headrace.jobs.jobs import Jobs, Unknown
from headrace.jobs.model import Job
from headrace.jobs.offers import Offers, Resolve
from headrace.jobs.readers import imports_by_job
from headrace.plan.scope import did_you_mean
from headrace.server.access.access import Access
from headrace.server.access.decisions import Target, Who
from headrace.server.access.roles import Action, ObjectKind
from headrace.server.services.applications import application_target
from headrace.server.services.plans import Plans

__all__ = ["Names"]


class Names:
    """What jobs have for each other."""

    def __init__(self, jobs: Jobs, plans: Plans, access: Access) -> None:
        self._jobs, self._plans, self._access = jobs, plans, access

    def resolver(self, who: Who, reader: str | None = None) -> Resolve:
        """Return what finds the relations of other jobs for somebody; ``reader`` is the job that is to read them."""

        def resolve(job: str, relation: str) -> Import:
            found = self._job(who, job)
            if found.name == reader:
                raise PlanError(f'job "{job}" would read itself', hint=f'Write just "{relation}".')
            self._check_circle(found.name, reader)
            return self._of(who, found, relation)

        return resolve

    def _job(self, who: Who, name: str) -> Job:
        try:
            job = self._jobs.show(name)
        except Unknown:
            job = None
        if job is None or job.name != name or not self._access.may(who, Action.SEE, _job(name)):
            names = [each.name for each in self._jobs.store.all() if each.deleted_at is None]
            seen = self._access.permitted(who, Action.SEE, [_job(each) for each in names])
            raise PlanError(f'there is no job "{name}"', hint=did_you_mean(name, [each.name for each in seen]))
        return job

    def _of(self, who: Who, job: Job, relation: str) -> Import:
        try:
            planned = self._plans.of(job)
        except HeadraceError as error:
            raise PlanError(
                f'job "{job.name}" cannot be read', detail=f"Its text has a mistake: {error.message}."
            ) from (error)
        types = self._jobs.folder_of(job).types(planned.version.number)
        offers = Offers(job.name, planned.version, planned.plan, types)
        views = {each.name.lower() for each in planned.plan.outputs if each.view is not None} | set(planned.plan.views)
        target = _relation(relation, job.name, is_view=relation.lower() in views)
        if not self._access.may(who, Action.SEE, target):
            targets = [_relation(each, job.name, is_view=each.lower() in views) for each in offers.names]
            seen = [each.name for each in self._access.permitted(who, Action.SEE, targets)]
            raise PlanError(f'job "{job.name}" has no "{relation}"', hint=did_you_mean(relation, seen))
        found = offers.of(relation)
        if not (decision := self._access.may(who, Action.READ_ROWS, target)):
            raise PlanError(
                f'{who.name} may not read "{found.name}"',
                detail=f"{decision.reason[0].upper()}{decision.reason[1:]}.",
                hint="An admin can change roles and access lists.",
            )
        return found

    def _check_circle(self, job: str, reader: str | None) -> None:
        """Raise if a job reads, by whatever way, the one that is to read it."""
        if reader is None:
            return
        with self._jobs.store.reading() as session:
            imports = imports_by_job(session)
        ways = [[job]]
        known = {job}
        while ways:
            way = ways.pop(0)
            if way[-1] == reader:
                raise PlanError(
                    f'job "{reader}" would read itself',
                    detail=f"{reader} would read {', which reads '.join(way)}.",
                    hint="Let one of them read what the other reads.",
                )
            for each in sorted({other.job for other in imports.get(way[-1], ())} - known):
                known.add(each)
                ways.append([*way, each])


def _job(name: str) -> Target:
    return Target(ObjectKind.JOB, name, within=application_target(name))


def _relation(name: str, job: str, *, is_view: bool) -> Target:
    return Target(ObjectKind.VIEW if is_view else ObjectKind.STREAM, name, within=_job(job))
