"""Routes that tell how a job is doing: versions, events, logs, figures, topology; at once or as they come."""

from dataclasses import asdict
from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Query, Request, Response

from headrace.jobs.figures import as_dict as figures_as_dict
from headrace.jobs.model import Version
from headrace.plan.topology import as_dict, topology
from headrace.server.access.roles import Action
from headrace.server.rest.asking import Reading
from headrace.server.rest.jobs import Name, report_of
from headrace.server.rest.models import job_reading as models
from headrace.server.rest.models.fields import Page
from headrace.server.rest.models.texts import Topology
from headrace.server.rest.paging import Paged
from headrace.server.rest.sse import EVENT_STREAM, event_stream, last_event
from headrace.server.services.following import follow_events, follow_figures, follow_log
from headrace.server.services.runtime import NodeFigures, node_figures

__all__ = ["router"]

router = APIRouter(tags=["jobs"])

Resume = Annotated[
    str | None,
    Query(max_length=100, description="The id of the last event, for clients that cannot send Last-Event-ID."),
]


@router.get("/jobs/{job}/versions")
def versions(job: Name, asking: Reading, paged: Paged) -> Page[models.Version]:
    """List the versions of a job, the newest first; of variables only the names are told."""
    found = asking.services.jobs.versions(asking.who, job)
    return paged.page(found, place=lambda each: f"{each.number:012}", shown=_version, newest_first=True)


@router.get("/jobs/{job}/events")
def events(
    job: Name,
    asking: Reading,
    after: Annotated[int, Query(ge=0, le=2**62, description="The next of the page before.")] = 0,
    limit: Annotated[int, Query(ge=1, le=500)] = 200,
) -> Page[models.Event]:
    """Show what happened to a job, the oldest first."""
    found = asking.services.jobs.events(asking.who, job, after=after, limit=limit + 1)
    items = [
        models.Event(id=each.id, at=each.at, state=each.state, reason=each.reason, error=report_of(each.error))
        for each in found[:limit]
    ]
    return Page(items=items, next=str(items[-1].id) if len(found) > limit else None)


@router.get("/jobs/{job}/logs")
def logs(job: Name, asking: Reading, lines: Annotated[int, Query(ge=1, le=10_000)] = 200) -> models.LogLines:
    """Show the last lines of a job's log."""
    return models.LogLines(lines=list(asking.services.jobs.log(asking.who, job, lines)))


@router.get("/jobs/{job}/figures")
def figures(job: Name, asking: Reading) -> models.Figures:
    """Show the latest figures of each output, and those of the last minutes."""
    found = asking.services.jobs.show(asking.who, job)
    jobs = asking.services.jobs.jobs
    return models.Figures(
        outputs=[figures_as_dict(each) for each in jobs.figures(found)],
        history=[
            models.HistoryPoint(at=each.at, outputs={name: dict(values) for name, values in each.outputs.items()})
            for each in jobs.history(found).points
        ],
    )


@router.get("/jobs/{job}/rejected")
def rejected(job: Name, asking: Reading, limit: Annotated[int, Query(ge=1, le=1000)] = 200) -> models.Rejected:
    """Show how many rows came late to each output, and late rows and dead records with their reasons."""
    found = asking.services.shown.rejected(asking.who, job, limit)
    return models.Rejected(
        late=[models.LateCount(**asdict(each)) for each in found.late],
        late_rows=[models.RejectedRow(**asdict(each)) for each in found.late_rows],
        dead=[models.RejectedRow(**asdict(each)) for each in found.dead],
        unkept=dict(found.unkept),
        forgotten=list(found.forgotten),
    )


@router.get("/jobs/{job}/rows")
def shown_rows(job: Name, asking: Reading) -> Page[models.ShownRow]:
    """Show the last rows of a job's bare SELECTs and console sinks, the newest first."""
    return Page(items=[models.ShownRow(**asdict(each)) for each in asking.services.shown.shown(asking.who, job)])


@router.get("/jobs/{job}/topology")
def job_topology(job: Name, asking: Reading) -> Topology:
    """Show the steps of a job as a graph, each with what is known of it now under ``figures``."""
    found = asking.services.jobs.show(asking.who, job)
    plan = asking.services.plans.of(found).plan
    graph = topology(plan)
    by_node = {
        each.node: _node(each) for each in node_figures(plan, graph, found, asking.services.jobs.jobs.figures(found))
    }
    plain = as_dict(graph)
    for node in plain["nodes"]:
        node["figures"] = by_node.get(node["id"])
    return Topology(**plain)


@router.get("/jobs/{job}/figures/events", responses=EVENT_STREAM, response_class=Response)
async def follow_job_figures(job: Name, request: Request, asking: Reading, last_event_id: Resume = None) -> Response:
    """Follow the figures of a job; the id of an event is the instant that it is of."""
    services = asking.services
    found = await to_thread.run_sync(services.jobs.show, asking.who, job)
    return event_stream(
        asking,
        follow_figures(services.jobs.jobs, found, last_event(request, last_event_id)),
        lambda: services.jobs.show(asking.again(), found.id),
    )


@router.get("/jobs/{job}/logs/events", responses=EVENT_STREAM, response_class=Response)
async def follow_job_log(
    job: Name,
    request: Request,
    asking: Reading,
    lines: Annotated[int, Query(ge=0, le=10_000, description="How many of the last lines come first.")] = 200,
    last_event_id: Resume = None,
) -> Response:
    """Follow the log of a job, some lines an event."""
    services = asking.services
    found = await to_thread.run_sync(services.jobs.show, asking.who, job, Action.READ_LOGS)
    folder = services.jobs.jobs.folder_of(found)
    return event_stream(
        asking,
        follow_log(folder, lines, last_event(request, last_event_id)),
        lambda: services.jobs.show(asking.again(), found.id, Action.READ_LOGS),
    )


@router.get("/jobs/{job}/events/events", responses=EVENT_STREAM, response_class=Response)
async def follow_job_events(job: Name, request: Request, asking: Reading, last_event_id: Resume = None) -> Response:
    """Follow the moves of a job from state to state."""
    services = asking.services
    found = await to_thread.run_sync(services.jobs.show, asking.who, job)
    last = last_event(request, last_event_id) or ""
    after = int(last) if last.isdecimal() and len(last) < 19 else 0
    return event_stream(
        asking, follow_events(services.jobs.jobs, found, after), lambda: services.jobs.show(asking.again(), found.id)
    )


def _version(version: Version) -> models.Version:
    return models.Version(
        number=version.number,
        text=version.text,
        directory=version.directory,
        variables=sorted(version.variables),
        provides=list(version.provides),
        uses=list(version.uses),
        created_at=version.created_at,
        created_by=version.created_by,
    )


def _node(figures: NodeFigures) -> dict[str, Any]:
    return {
        "rows_per_second": figures.rows_per_second,
        "state_rows": figures.state_rows,
        "state_bytes": figures.state_bytes,
        "watermark_at": figures.watermark_at,
        "lag": None if figures.lag is None else figures.lag.total_seconds(),
        "health": figures.health,
        "note": figures.note,
    }
