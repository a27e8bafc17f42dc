"""Routes of texts: checking and explaining them, and keeping them as applications with dashboards."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Path, Response

from headrace.jobs.submission import NAME
from headrace.plan.mermaid import mermaid
from headrace.plan.svg import svg
from headrace.plan.topology import as_dict
from headrace.server.access.decisions import Target
from headrace.server.access.roles import Action, ObjectKind
from headrace.server.rest.asking import Asking, Changing, Reading
from headrace.server.rest.models import texts as models
from headrace.server.rest.models.fields import Page
from headrace.server.rest.paging import Paged
from headrace.server.rest.sse import EVENT_STREAM, event_stream
from headrace.server.services import language
from headrace.server.services.applications import Application, ApplicationVersion, Dashboard
from headrace.server.services.following import Happening
from headrace.server.services.surroundings import Surroundings
from headrace.server.services.trying import rows_of

__all__ = ["router"]

router = APIRouter(tags=["applications"])

_SYSTEM = Target(ObjectKind.SYSTEM)
UNNAMED = "application"
"""What a text is called that is no application yet."""
Name = Annotated[str, Path(pattern=f"^{NAME.pattern}$", max_length=100, examples=["fraud"])]


@router.post("/check")
def check(body: models.Text, asking: Reading) -> models.Checked:
    """Say what is wrong with a text, without running it. It looks for functions in Python, so it needs a developer."""
    _require(asking)
    around = _around(body, asking)
    resolve = asking.services.names.resolver(asking.who, body.name)
    found = language.check(body.text, body.name or UNNAMED, around.directory, around.variables, resolve)
    return models.Checked(
        ok=not any(each.severity == "error" for each in found),
        diagnostics=[
            models.Diagnostic(
                line=each.line,
                column=each.column,
                length=each.length,
                message=each.message,
                detail=each.detail,
                hint=each.hint,
                severity=each.severity,
            )
            for each in found
        ],
    )


@router.post("/explain")
def explain(body: models.Text, asking: Reading) -> models.Explained:
    """Show the steps of an application, the state they keep and until when, without running it."""
    _require(asking)
    around = _around(body, asking)
    resolve = asking.services.names.resolver(asking.who, body.name)
    found = language.explain(body.text, body.name or UNNAMED, around.directory, around.variables, resolve)
    return models.Explained(
        text=found.text,
        topology=models.Topology(**as_dict(found.graph)),
        mermaid=mermaid(found.graph),
        svg=svg(found.graph, title=body.name or UNNAMED),
    )


@router.post("/try/events", responses=EVENT_STREAM, response_class=Response)
async def try_text(body: models.Trial, asking: Reading) -> Response:
    """Run the last query of a text without its sinks, for a while; each event is a row that came or went."""
    services = asking.services
    trial = await to_thread.run_sync(lambda: services.trial(asking.who, body.text, _around(body, asking)))
    names = [name for name, _ in trial.columns]

    async def happenings() -> AsyncIterator[Happening]:
        async with aclosing(rows_of(trial, services.trials, body.seconds)) as rows:
            async for row in rows:
                yield Happening("row", "", {"_change": row.change, **dict(zip(names, row.values, strict=True))})

    def allowed() -> None:
        services.control.access.require(asking.again(), Action.TRY, _SYSTEM)

    return event_stream(asking, happenings(), allowed)


@router.get("/applications")
def applications(asking: Reading, paged: Paged) -> Page[models.Application]:
    """List the applications that the server keeps."""
    found = asking.services.applications.all(asking.who)
    return paged.page(found, place=lambda each: each.name, shown=_application)


@router.get("/applications/{name}/versions")
def versions(name: Name, asking: Reading, paged: Paged) -> Page[models.ApplicationVersion]:
    """Show all texts of an application, the newest first."""
    found = asking.services.applications.versions(asking.who, name)
    return paged.page(found, place=lambda each: f"{each.number:012}", shown=_version, newest_first=True)


@router.get("/applications/{name}")
def application(name: Name, asking: Reading) -> models.ApplicationVersion:
    """Show the newest text of an application."""
    return _version(asking.services.applications.versions(asking.who, name)[0])


@router.put("/applications/{name}", response_model=models.ApplicationVersion)
def save(name: Name, body: models.ApplicationWish, change: Changing) -> Response:
    """Keep a text as the newest version of an application; it may have mistakes."""

    def act(_: str) -> models.ApplicationVersion:
        saved = change.services.applications.save(change.who, name, body.text, expected=body.expected)
        return _version(saved)

    return change.apply(body, act)


@router.delete("/applications/{name}", status_code=204)
def delete(name: Name, change: Changing) -> Response:
    """Forget an application with all its texts and its dashboard; its job stays."""
    return change.apply(None, lambda _: change.services.applications.delete(change.who, name), status=204)


@router.get("/dashboards")
def dashboards(asking: Reading, paged: Paged) -> Page[models.Dashboard]:
    """List the dashboards."""
    found = asking.services.applications.dashboards(asking.who)
    return paged.page(found, place=lambda each: each.name, shown=_dashboard)


@router.get("/dashboards/{name}")
def dashboard(name: Name, asking: Reading) -> models.Dashboard:
    """Show the dashboard of an application."""
    return _dashboard(asking.services.applications.dashboard(asking.who, name))


@router.put("/dashboards/{name}", response_model=models.Dashboard)
def save_dashboard(name: Name, body: models.DashboardWish, change: Changing) -> Response:
    """Keep the dashboard of an application."""

    def act(_: str) -> models.Dashboard:
        saved = change.services.applications.save_dashboard(
            change.who, name, body.text, from_file=body.from_file, over_edited=body.over_edited
        )
        return _dashboard(saved)

    return change.apply(body, act)


def _require(asking: Asking) -> None:
    asking.services.control.access.require(asking.who, Action.CHECK, _SYSTEM)


def _around(body: models.Text, asking: Asking) -> Surroundings:
    return asking.services.around_text(asking.who, body.name, body.directory, body.variables)


def _application(kept: Application) -> models.Application:
    newest = kept.newest
    return models.Application(
        name=kept.name, version=newest.number, changed_at=newest.created_at, changed_by=newest.created_by
    )


def _version(kept: ApplicationVersion) -> models.ApplicationVersion:
    return models.ApplicationVersion(
        name=kept.name, number=kept.number, text=kept.text, created_at=kept.created_at, created_by=kept.created_by
    )


def _dashboard(found: Dashboard) -> models.Dashboard:
    return models.Dashboard(
        name=found.name,
        text=found.text,
        changed_at=found.changed_at,
        changed_by=found.changed_by,
        as_file=found.as_file,
    )
