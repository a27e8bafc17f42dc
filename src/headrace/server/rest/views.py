"""Routes of rows: views by key, page, SQL and change; and the catalog with a tap into topics and files."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import asdict
from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import Field

from headrace.errors import HeadraceError
from headrace.server.access.roles import Action
from headrace.server.rest.asking import Reading, rows_response
from headrace.server.rest.models import rows as models
from headrace.server.rest.models.fields import Page
from headrace.server.rest.paging import Paged
from headrace.server.rest.sse import EVENT_STREAM, event_stream, last_event
from headrace.server.services.catalog import CatalogObject
from headrace.server.services.following import Happening, Mark, changes_of, follow_parts
from headrace.server.services.mistakes import NotThere
from headrace.server.services.records import Place, Record
from headrace.server.services.services import Services
from headrace.server.services.tap import followed, tapping
from headrace.server.services.views import JobView, Views
from headrace.views.definition import FeedBatch, Reflects, ViewDefinition

__all__ = ["router"]

router = APIRouter(tags=["views"])

LARGEST = 2**53
FIRST = 20
"""How many rows that are there already are shown to who follows a stream."""
Name = Annotated[
    str,
    Path(
        min_length=1,
        max_length=300,
        pattern=r"^[^\x00-\x1f]+$",
        description="The name, or JOB.NAME if several jobs have it.",
        examples=["alerts"],
    ),
]


Places = Annotated[
    list[Annotated[str, Field(max_length=1000, pattern=r"^[^\x00-\x1f]+:[0-9]{1,18}:[0-9]{1,18}$")],],
    Query(
        min_length=1,
        max_length=50,
        description="topic:partition:offset, or file:block:number. Repeatable.",
        examples=[["payments:0:17"]],
    ),
]


@router.get("/views")
def views(asking: Reading, paged: Paged) -> Page[models.View]:
    """List the materialised views that one may see."""
    services = asking.services
    found = services.views.all(asking.who)
    return paged.page(found, place=lambda each: f"{each.job}/{each.name}", shown=lambda each: _view(services, each))


@router.post("/views/query", response_model=models.ViewAnswer)
def query(body: models.QueryWish, asking: Reading) -> Response:
    """Answer a SELECT over views that one may read; nothing can be changed by it."""
    answer = asking.services.views.query(asking.who, body.sql, body.limit)
    rows = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
    return rows_response({"columns": list(answer.columns), "rows": rows, "truncated": answer.truncated})


@router.get("/views/{view}")
def show(view: Name, asking: Reading) -> models.View:
    """Show a view: its columns, key, and how far its rows are."""
    return _view(asking.services, asking.services.views.find(asking.who, view, Action.SEE))


@router.get("/views/{view}/rows", response_model=models.ViewRows)
def rows(
    view: Name,
    asking: Reading,
    search: Annotated[str, Query(max_length=200, description="A text that occurs in any column.")] = "",
    order_by: Annotated[str | None, Query(max_length=300, description="A column; the key without it.")] = None,
    descending: bool = False,
    offset: Annotated[int, Query(ge=0, le=LARGEST)] = 0,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 100,
) -> Response:
    """Show some rows of a view."""
    found = asking.services.views.find(asking.who, view)
    with asking.services.views.turns.of(asking.who.name):
        page = asking.services.views.rows(
            found, search=search, order_by=order_by, descending=descending, offset=offset, limit=limit
        )
    end = offset + len(page.rows)
    return rows_response(
        {
            "columns": [{"name": each.name, "type": each.type} for each in page.definition.columns],
            "key": list(page.definition.key),
            "rows": _named(page.definition, page.rows),
            "total": page.total,
            "next": end if page.rows and end < page.total else None,
            "batch": page.reflects.batch,
        }
    )


@router.get("/views/{view}/row", response_model=models.ViewRows)
def row(
    view: Name,
    asking: Reading,
    key: Annotated[
        list[str], Query(min_length=1, max_length=50, description="Values of the key columns; fewer give several rows.")
    ],
) -> Response:
    """Show the row of a key."""
    definition, found = asking.services.views.get(asking.services.views.find(asking.who, view), key)
    if not found:
        raise NotThere(f'view "{definition.name}" has no row with this key')
    columns = [{"name": each.name, "type": each.type} for each in definition.columns]
    rows = _named(definition, found)
    return rows_response(
        {"columns": columns, "key": list(definition.key), "rows": rows, "total": len(rows), "next": None, "batch": None}
    )


@router.get("/views/{view}/changes", response_model=models.ViewChanges)
def changes(
    view: Name,
    asking: Reading,
    after: Annotated[int | None, Query(ge=-1, le=LARGEST, description="The next of the answer before.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """Show what batches changed in a view after a position, as far as they are there now."""
    found = asking.services.views.find(asking.who, view, Action.TAP)
    columns = [each.name for each in asking.services.views.columns(found)]
    with asking.services.views.turns.of(asking.who.name):
        batches = asking.services.views.changes(found, after, limit)
    last = batches[-1].batch if batches else after
    return rows_response({"batches": [_batch(columns, each) for each in batches], "next": last})


@router.get("/views/{view}/changes/events", responses=EVENT_STREAM, response_class=Response)
async def follow(
    view: Name,
    request: Request,
    asking: Reading,
    after: Annotated[
        str, Query(pattern=r"^(now|start|[0-9]{1,15})$", description="Where to begin: now, start, or after a batch.")
    ] = "now",
) -> Response:
    """Follow a view; each event is a batch, or a part of one with ``more`` to come, and its id says up to where."""
    service = asking.services.views
    found = await to_thread.run_sync(service.find, asking.who, view, Action.TAP)
    mark = await to_thread.run_sync(_mark, service, found, last_event(request, None) or after)
    columns = [each.name for each in await to_thread.run_sync(service.columns, found)]
    return event_stream(
        asking,
        follow_parts(service, found, columns, mark),
        lambda: service.find(asking.again(), f"{found.job}.{found.name}", Action.TAP),
    )


@router.get("/catalog")
def catalog(asking: Reading, paged: Paged) -> Page[models.CatalogObject]:
    """List every stream, table, view and sink of the jobs that one may see."""
    return paged.page(
        asking.services.catalog.with_users(asking.who),
        place=lambda pair: f"{pair[0].job}/{pair[0].name}/{pair[0].kind}",
        shown=lambda pair: _object(*pair),
    )


@router.get("/catalog/{name}")
def described(name: Name, asking: Reading) -> models.CatalogObject:
    """Show a stream, table, view or sink."""
    found = asking.services.catalog.find(asking.who, name)
    return _object(found, asking.services.catalog.users(asking.who).get(found.known_as, []))


@router.get("/catalog/{name}/recent", response_model=Page[models.Tapped])
def recent(name: Name, asking: Reading, limit: Annotated[int, Query(ge=1, le=500)] = 50) -> Response:
    """Show the last rows of a stream, table or sink in Kafka or in files; of others the answer says why not."""
    found = asking.services.catalog.find(asking.who, name, Action.TAP)
    with asking.services.views.turns.of(asking.who.name), tapping(found) as tap:
        messages = tap.recent(limit)
    return rows_response({"items": [asdict(each) for each in messages], "next": None})


@router.get("/jobs/{job}/records", response_model=Page[models.Record])
def records(job: Name, at: Places, asking: Reading) -> Response:
    """Show the records at places that EVIDENCE() noted, in the order in which they are asked for."""
    found = asking.services.records.at(asking.who, job, [Place.read(each) for each in at])
    return rows_response({"items": [_record(each) for each in found], "next": None})


@router.get("/catalog/{name}/events", responses=EVENT_STREAM, response_class=Response)
async def follow_rows(name: Name, asking: Reading) -> Response:
    """Follow a stream, table or sink in Kafka or in files: the last rows, then those that come, a sample of many."""
    catalog = asking.services.catalog
    found = await to_thread.run_sync(catalog.find, asking.who, name, Action.TAP)

    async def happenings() -> AsyncIterator[Happening]:
        async with aclosing(followed(found, FIRST)) as batches:
            async for batch in batches:
                for each in batch:
                    yield Happening("row", "", asdict(each))

    return event_stream(
        asking, happenings(), lambda: catalog.find(asking.again(), f"{found.job}.{found.name}", Action.TAP)
    )


def _record(record: Record) -> dict[str, Any]:
    found = record.found
    return {
        "place": str(record.place),
        "stream": record.stream,
        "at": None if found is None else found.at,
        "key": None if found is None else found.key,
        "row": None if found is None else found.row,
        "text": None if found is None else found.text,
    }


def _view(services: Services, view: JobView) -> models.View:
    options = view.output.view
    reflects = Reflects()
    try:
        definition, reflects = services.glances.at(view)
        key, columns = definition.key, definition.columns
    except HeadraceError:  # it is not there yet, or its store does not answer: the plan knows the rest
        key, columns = view.output.key, services.views.planned_columns(view)
    return models.View(
        name=view.name,
        job=view.job,
        store="" if options is None else options.store,
        key=list(key),
        columns=[models.Column(name=each.name, type=each.type) for each in columns],
        batch=reflects.batch,
        watermark=reflects.watermark,
        positions=dict(reflects.positions),
        at=reflects.at,
    )


def _mark(service: Views, view: JobView, text: str) -> Mark:
    if text == "now":
        try:
            return Mark(service.position(view))
        except NotThere:
            return Mark()
    if text == "start":
        return Mark()
    mark = Mark.read(text)
    service.changes(view, mark.after, 1)  # one that is no longer kept is refused before anything is sent
    return mark


def _named(definition: ViewDefinition, rows: Any) -> list[dict[str, Any]]:
    names = [each.name for each in definition.columns]
    return [dict(zip(names, row, strict=True)) for row in rows]


def _batch(columns: list[str], batch: FeedBatch) -> dict[str, Any]:
    return {"batch": batch.batch, "at": batch.at, "changes": changes_of(columns, batch)}


def _object(thing: CatalogObject, users: list[str]) -> models.CatalogObject:
    return models.CatalogObject(
        name=thing.name,
        kind=thing.kind,
        job=thing.job,
        columns=[models.Column(name=name, type=kind) for name, kind in thing.columns],
        connector=thing.connector,
        options=dict(thing.options),
        watermark=thing.watermark,
        used_by=users,
    )
