"""Rows as the console shows them: the catalog, pages of views, answers, changes and taps."""

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from typing import Any

from anyio import to_thread

from headrace.server.access.decisions import Who
from headrace.server.access.roles import Action
from headrace.server.backend.session import SessionPart
from headrace.server.console.values.rows import CatalogObject, Column, RowBatch, RowPage
from headrace.server.services.following import follow_changes
from headrace.server.services.records import Place
from headrace.server.services.tap import followed
from headrace.server.services.tapped import Tapped
from headrace.server.services.views import JobView
from headrace.values import json_text, json_value
from headrace.views.definition import FeedBatch, Row, ViewColumn

__all__ = ["RowPart"]

FIRST = 20


class RowPart(SessionPart):
    """Streams and views."""

    async def catalog(self) -> Sequence[CatalogObject]:
        """Return every object that the user may see."""

        def found(who: Who) -> list[CatalogObject]:
            return [
                CatalogObject(
                    name=each.name,
                    kind=each.kind,
                    columns=tuple(Column(name, kind) for name, kind in each.columns),
                    job=each.job,
                    application=each.job,
                    connector=each.connector,
                    options=each.options,
                    watermark=each.watermark,
                    used_by=tuple(users),
                )
                for each, users in self._services.catalog.with_users(who)
            ]

        return await self._ask(found)

    async def view_rows(
        self,
        name: str,
        *,
        search: str = "",
        order_by: str | None = None,
        descending: bool = False,
        offset: int = 0,
        limit: int = 100,
    ) -> RowPage:
        """Return some rows of a view, and how many there are."""

        def found(who: Who) -> RowPage:
            view = self._services.views.find(who, name)
            with self._services.views.turns.of(who.name):
                page = self._services.views.rows(
                    view, search=search, order_by=order_by, descending=descending, offset=offset, limit=limit
                )
            columns = page.definition.columns
            keys = _keys(columns, page.definition.key, page.rows, offset)
            return RowPage(_columns(columns), tuple(map(tuple, page.rows)), page.total, keys)

        return await self._ask(found)

    async def query(self, text: str, limit: int = 1000) -> RowPage:
        """Answer a SELECT over views."""

        def answered(who: Who) -> RowPage:
            answer = self._services.views.query(who, text, limit)
            columns = tuple(Column(each, "") for each in answer.columns)
            return RowPage(columns, tuple(map(tuple, answer.rows)), len(answer.rows))

        return await self._ask(answered)

    async def changes(self, name: str) -> AsyncIterator[RowBatch]:
        """Give the changes of a view as they happen; first none at all, which says from where on all will be given."""
        service = self._services.views

        def begin(who: Who) -> tuple[JobView, tuple[ViewColumn, ...], tuple[str, ...], int | None]:
            view = service.find(who, name, Action.TAP)
            with service.opened(view) as opened:
                return view, opened.definition.columns, opened.definition.key, opened.reflects().batch

        view, columns, key, position = await self._ask(begin)
        yield RowBatch(_columns(columns), ())
        async for batch in follow_changes(service, view, position):
            await self._ask(lambda who: service.find(who, f"{view.job}.{view.name}", Action.TAP))
            yield await to_thread.run_sync(_changed, columns, key, batch)

    async def records(self, job: str, places: Sequence[str]) -> Sequence[str | None]:
        """Return the records at places that a job has read, as text; None for what is gone."""
        wanted = [Place.read(each) for each in places]
        found = await self._ask(lambda who: self._services.records.at(who, job, wanted))
        return [None if each.found is None else _text(each.found) for each in found]

    async def tap(self, name: str) -> AsyncIterator[RowBatch]:
        """Give rows of a stream as they come: a sample when they are many."""
        thing = await self._ask(lambda who: self._services.catalog.find(who, name, Action.TAP))
        columns = tuple(Column(each, kind) for each, kind in thing.columns)
        async with aclosing(followed(thing, FIRST)) as batches:
            async for found in batches:
                await self._ask(lambda who: self._services.catalog.find(who, f"{thing.job}.{thing.name}", Action.TAP))
                yield _tapped(columns, found)


def _columns(columns: Sequence[ViewColumn]) -> tuple[Column, ...]:
    return tuple(Column(each.name, each.type) for each in columns)


def _keys(columns: Sequence[ViewColumn], key: Sequence[str], rows: Sequence[Row], offset: int = 0) -> tuple[str, ...]:
    """Return what tells which row is which: its key, or its place if it has none."""
    places = [place for place, each in enumerate(columns) if each.name.lower() in {name.lower() for name in key}]
    if not places:
        return tuple(str(offset + number) for number in range(len(rows)))
    return tuple(json_text(json_value([row[place] for place in places])) for row in rows)


def _changed(columns: Sequence[ViewColumn], key: Sequence[str], batch: FeedBatch) -> RowBatch:
    """Return a batch of changes; what went and came with the same key was updated."""
    gone, come = list(batch.delta.deleted), list(batch.delta.inserted)
    went, came = _keys(columns, key, gone), _keys(columns, key, come)
    both = set(went) & set(came) if key else set()
    changes = [(each, row, "delete") for each, row in zip(went, gone, strict=True) if each not in both]
    changes += [(each, row, "update" if each in both else "insert") for each, row in zip(came, come, strict=True)]
    return RowBatch(
        _columns(columns),
        tuple(tuple(row) for _, row, _ in changes),
        tuple(each for each, _, _ in changes),
        tuple(change for _, _, change in changes),
    )


def _text(record: Tapped) -> str:
    return json_text(json_value(record.row)) if record.row is not None else record.text or ""


def _tapped(columns: tuple[Column, ...], found: Sequence[Tapped]) -> RowBatch:
    rows: list[tuple[Any, ...]] = []
    for each in found:
        if each.row is not None:
            lower = {name.lower(): value for name, value in each.row.items()}
            rows.append(tuple(lower.get(column.name.lower()) for column in columns))
        else:
            rows.append(tuple(each.text if place == 0 else None for place in range(len(columns))))
    return RowBatch(columns, tuple(rows), tuple(each.position for each in found))
