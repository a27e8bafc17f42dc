"""Routes of jobs: submitting and listing them, and the commands that change them."""

from datetime import datetime
from pathlib import Path as File
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from headrace.jobs.alert_book import KeptAlert
from headrace.jobs.model import Job, Savepoint
from headrace.jobs.reports import Report
from headrace.jobs.states import State
from headrace.jobs.submission import NAME
from headrace.server.rest.asking import Changing, Reading, rows_response
from headrace.server.rest.models import jobs as models
from headrace.server.rest.models.fields import Page
from headrace.server.rest.paging import Paged, Paging
from headrace.server.services.job_service import Submission

__all__ = ["Name", "alert_of", "alerts_page", "job_of", "report_of", "router"]

router = APIRouter(tags=["jobs"])

Name = Annotated[
    str,
    Path(
        pattern=f"^{NAME.pattern}$",
        max_length=100,
        description="The name of a job, or its id.",
        examples=["fraud"],
    ),
]

AlertId = Annotated[str, Path(pattern="^[0-9a-f]{16}$")]


@router.get("/jobs")
def jobs(
    asking: Reading,
    state: Annotated[list[State] | None, Query(max_length=20)] = None,
    name: Annotated[str | None, Query(max_length=100, description="A part of the name.")] = None,
    owner: Annotated[str | None, Query(max_length=64)] = None,
    after: Annotated[str | None, Query(max_length=200, description="The next of the page before.")] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> Page[models.Job]:
    """List the jobs that one may see, by name."""
    page = asking.services.jobs.page(
        asking.who, states=state, name_contains=name, owner=owner, after=after, limit=limit
    )
    return Page(items=[job_of(each) for each in page.jobs], next=page.next)


@router.post("/jobs", status_code=202, response_model=models.Job)
async def submit(body: models.JobWish, change: Changing) -> Response:
    """Submit an application: it runs as soon as there is room. It is code, so it needs a developer."""

    def act(command: str) -> models.Job:
        submitted = change.services.jobs.submit(
            change.who,
            command,
            body.name,
            _submission(body),
            cores=body.cores,
            memory=body.memory,
            master=body.master,
        )
        return job_of(submitted)

    return await change.apply_in_turn(body, act, status=202)


@router.get("/jobs/{job}")
def show(job: Name, asking: Reading) -> models.Job:
    """Show a job."""
    return job_of(asking.services.jobs.show(asking.who, job))


@router.post("/jobs/{job}/stop", status_code=202, response_model=models.Job)
def stop(job: Name, body: models.StopWish, change: Changing) -> Response:
    """Let a job stop between two batches; with a savepoint its state is copied then."""
    service = change.services.jobs
    act = lambda command: job_of(service.stop(change.who, command, job, with_savepoint=body.savepoint))  # noqa: E731
    return change.apply(body, act, status=202, again=True)


@router.post("/jobs/{job}/restart", status_code=202, response_model=models.Restarted)
def restart(job: Name, body: models.RestartWish, change: Changing) -> Response:
    """Start a job again: on its state, on a savepoint's, or on none; from a time, if its sources can begin there."""

    def act(command: str) -> models.Restarted:
        sources = _begins(change, job, body.from_time, body.sources)
        restarted = change.services.jobs.restart(
            change.who,
            command,
            job,
            savepoint=body.savepoint,
            fresh=body.fresh,
            from_time=body.from_time,
            sources=body.sources,
            cores=body.cores,
            memory=body.memory,
        )
        return models.Restarted(**job_of(restarted).model_dump(), sources=sources)

    return change.apply(body, act, status=202, again=True)


@router.post("/jobs/{job}/upgrade", status_code=202, response_model=models.UpgradeReport)
async def upgrade(
    job: Name,
    body: models.UpgradeWish,
    change: Changing,
    dry_run: Annotated[bool, Query(description="Only tell what it would do.")] = False,
) -> Response:
    """Bring a job to a new version on its old state; what cannot keep its state is rebuilt, and the report says why."""

    def act(command: str) -> models.UpgradeReport:
        service, submission = change.services.jobs, _submission(body)
        report = [
            models.Change(output=each.output, fate=each.fate.value, why=each.why)
            for each in service.upgrade_report(change.who, job, submission)
        ]
        if dry_run:
            return models.UpgradeReport(changes=report)
        if body.beside:
            upgraded = service.rebuild(change.who, command, job, submission=submission)
        else:
            upgraded = service.upgrade(change.who, command, job, submission)
        return models.UpgradeReport(changes=report, job=job_of(upgraded))

    return await change.apply_in_turn(body, act, status=202)


@router.get("/jobs/{job}/rebuild")
def show_rebuild(job: Name, asking: Reading) -> models.Rebuild | None:
    """Show how far the rebuild of a job is, null without one; one that has failed stays until the next."""
    found = asking.services.jobs.rebuild_of(asking.who, job)
    if found is None:
        return None
    return models.Rebuild(
        phase=found.phase.value,
        state=found.state,
        reason=found.reason,
        error=report_of(found.error),
        asked_at=found.asked_at,
        behind=found.behind,
        rows_in=found.rows_in,
    )


@router.post("/jobs/{job}/rebuild", status_code=202, response_model=models.Restarted)
def rebuild(job: Name, body: models.RebuildWish, change: Changing) -> Response:
    """Build a job anew beside itself, from all that its sources hold or from a time, and swap when it has caught up.

    Its views stay readable and current meanwhile. Refused for an application whose sinks two drivers would both write.
    """

    def act(command: str) -> models.Restarted:
        service = change.services.jobs
        sources = _begins(change, job, body.from_time, body.sources)
        rebuilt = service.rebuild(change.who, command, job, from_time=body.from_time, sources=body.sources)
        return models.Restarted(**job_of(rebuilt).model_dump(), sources=sources)

    return change.apply(body, act, status=202, again=True)


@router.delete("/jobs/{job}/rebuild", status_code=202, response_model=models.Job)
def cancel_rebuild(job: Name, change: Changing) -> Response:
    """Give up a rebuild, or forget one that has failed; the job goes on as it was."""
    act = lambda command: job_of(change.services.jobs.cancel_rebuild(change.who, command, job))  # noqa: E731
    return change.apply(None, act, status=202, again=True)


@router.delete("/jobs/{job}", status_code=202, response_model=models.Job)
def delete(job: Name, change: Changing) -> Response:
    """Delete a job at rest with its state, savepoints and log; refused while others read what it writes."""
    act = lambda command: job_of(change.services.jobs.delete(change.who, command, job))  # noqa: E731
    return change.apply(None, act, status=202, again=True)


@router.get("/jobs/{job}/savepoints")
def savepoints(job: Name, asking: Reading, paged: Paged) -> Page[models.Savepoint]:
    """List the savepoints of a job, the newest first."""
    return paged.page(
        asking.services.jobs.savepoints(asking.who, job),
        place=lambda each: f"{each.created_at.isoformat()}/{each.id}",
        shown=_savepoint,
        newest_first=True,
    )


@router.post("/jobs/{job}/savepoints", status_code=202, response_model=models.Job)
def make_savepoint(job: Name, change: Changing) -> Response:
    """Copy the state of a job; one that runs stops for it and goes on."""
    act = lambda command: job_of(change.services.jobs.savepoint(change.who, command, job))  # noqa: E731
    return change.apply(None, act, status=202, again=True)


@router.delete("/jobs/{job}/savepoints/{savepoint}", status_code=204)
def delete_savepoint(
    job: Name, savepoint: Annotated[str, Path(pattern="^[0-9a-f]{1,32}$")], change: Changing
) -> Response:
    """Delete a savepoint and its files."""

    def act(command: str) -> None:
        change.services.jobs.delete_savepoint(change.who, command, job, savepoint)

    return change.apply(None, act, status=204, again=True)


@router.get("/jobs/{job}/alerts")
def alerts(job: Name, asking: Reading, paged: Paged) -> Page[models.Alert]:
    """List the alerts of a job since the server started, the newest first."""
    return alerts_page(paged, asking.services.alerts.of(asking.who, job))


@router.get("/jobs/{job}/alerts/{alert}/evidence", response_model=models.Evidence)
def evidence(job: Name, alert: AlertId, asking: Reading) -> Response:
    """Show what is behind an alert now: dead records, sources, errors, partitions or operators."""
    found = asking.services.evidence.of(asking.who, job, alert)
    rows = [dict(zip(found.columns, row, strict=True)) for row in found.rows]
    return rows_response({"columns": list(found.columns), "rows": rows})


@router.post("/jobs/{job}/alerts/{alert}/acknowledge", response_model=models.Alert)
def acknowledge(job: Name, alert: AlertId, change: Changing) -> Response:
    """Take note of an alert."""
    act = lambda _: alert_of(change.services.alerts.acknowledge(change.who, job, alert))  # noqa: E731
    return change.apply(None, act)


def job_of(job: Job) -> models.Job:
    """Return a job as REST tells it."""
    return models.Job(
        id=job.id,
        name=job.name,
        owner=job.owner,
        state=job.state,
        wanted=str(job.wanted),
        reason=job.reason,
        error=report_of(job.error),
        version=job.version,
        attempt=job.attempt,
        restarts=job.restart_count,
        since=job.since,
        submitted_at=job.submitted_at,
        cores=job.cores,
        memory=job.memory,
        master=job.master,
    )


def report_of(report: Report | None) -> models.Report | None:
    """Return what went wrong as REST tells it."""
    return None if report is None else models.Report(**report.as_dict())


def _begins(change: Changing, job: str, at: datetime | None, sources: list[str]) -> list[models.SourceBegins]:
    told = () if at is None else change.services.jobs.begins(change.who, job, at, sources)
    return [models.SourceBegins(source=each.source, at_time=each.at_time, where=each.where) for each in told]


def _submission(body: models.JobWish | models.UpgradeWish) -> Submission:
    return Submission(body.text, None if body.directory is None else File(body.directory), body.variables)


def _savepoint(each: Savepoint) -> models.Savepoint:
    return models.Savepoint(
        id=each.id,
        version=each.version,
        status=each.status,
        created_at=each.created_at,
        created_by=each.created_by,
        manifest=None if each.manifest is None else {k: v for k, v in each.manifest.items() if k != "files"},
        error=report_of(each.error),
    )


def alerts_page(paged: Paging, seen: list[KeptAlert]) -> Page[models.Alert]:
    """Return a page of alerts, the newest first."""
    place = lambda each: f"{each.alert.at.isoformat()}/{each.id}"  # noqa: E731
    return paged.page(seen, place=place, shown=alert_of, newest_first=True)


def alert_of(seen: KeptAlert) -> models.Alert:
    """Return an alert as REST tells it."""
    return models.Alert(
        id=seen.id,
        job=seen.alert.job,
        rule=seen.alert.rule,
        output=seen.alert.output,
        raised_at=seen.alert.at,
        over_at=seen.over_at,
        message=seen.alert.message,
        acknowledged_by=seen.acknowledged_by,
    )
