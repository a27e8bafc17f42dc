"""A job goes in; the jobs that read it by name come out."""

from collections.abc import Iterable, Mapping

from sqlalchemy import select
from sqlalchemy.orm import Session

from headrace.catalog.imports import Import
from headrace.errors import HeadraceError
from headrace.jobs.model import Job
from headrace.records.job_tables import JobRow, VersionRow

__all__ = ["InUse", "check_unchanged", "imports_by_job", "readers", "views_read"]


class InUse(HeadraceError):
    """Others read what would go or change; ``users`` are their names, each with why it could not go on."""

    def __init__(self, message: str, users: Mapping[str, str], *, detail: str, hint: str) -> None:
        super().__init__(message, detail=detail, hint=hint)
        self.users = dict(users)


def imports_by_job(session: Session) -> dict[str, tuple[Import, ...]]:
    """Return what each job reads of others, as its current version says."""
    query = select(JobRow.name, VersionRow.imports).join(
        VersionRow, (VersionRow.job_id == JobRow.id) & (VersionRow.number == JobRow.version)
    )
    found = session.execute(query.where(JobRow.deleted_at.is_(None), JobRow.rebuild.is_(None)))
    return {name: tuple(map(Import.from_dict, imports or ())) for name, imports in found}


def readers(session: Session, job: Job) -> dict[str, tuple[Import, ...]]:
    """Return the jobs that read a job by name, each with what it reads."""
    mine = {
        name: tuple(each for each in imports if each.job == job.name)
        for name, imports in imports_by_job(session).items()
    }
    return {name: imports for name, imports in mine.items() if imports}


def views_read(session: Session, job: Job) -> dict[str, str]:
    """Return the jobs that follow views of a job by name, each with the names of these views."""
    read = {
        name: ", ".join(each.relation for each in imports if each.kind == "view")
        for name, imports in readers(session, job).items()
    }
    return {name: views for name, views in read.items() if views}


def check_unchanged(session: Session, imports: Iterable[Import]) -> None:
    """Raise if what is read has gone or changed since it was looked up; for the transaction of the reader's command."""
    for each in imports:
        query = select(JobRow.version).where(JobRow.name == each.job, JobRow.deleted_at.is_(None))
        if session.scalar(query) != each.version:
            raise HeadraceError(f'job "{each.job}" was changed by somebody else meanwhile', hint="Look, and try again.")
