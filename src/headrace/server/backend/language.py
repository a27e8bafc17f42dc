"""Texts go in; diagnostics, explanations, previews and kept applications come out."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, suppress

from headrace.errors import HeadraceError
from headrace.jobs.offers import Resolve
from headrace.server.access.decisions import Target, Who
from headrace.server.access.roles import Action, ObjectKind
from headrace.server.backend.session import SessionPart
from headrace.server.console.values.rows import Column, RowBatch
from headrace.server.console.values.texts import ApplicationSummary, DashboardSummary
from headrace.server.services import language
from headrace.server.services.dashboards import parse as parse_dashboard
from headrace.server.services.language import Diagnostic, Explained
from headrace.server.services.mistakes import Unwanted
from headrace.server.services.trying import TriedRow, rows_of

__all__ = ["LanguagePart"]

_SYSTEM = Target(ObjectKind.SYSTEM)
CHECK_EVERY = 5.0
"""Seconds after which somebody who tries a query is asked for their rights again."""


class LanguagePart(SessionPart):
    """Texts, the applications that they are kept as, and dashboards."""

    async def check(self, text: str, application: str = "") -> Sequence[Diagnostic]:
        """Return what is wrong with a text, without a JVM; the job of an application lends its folder and variables."""

        def checked(who: Who) -> list[Diagnostic]:
            self._services.control.access.require(who, Action.CHECK, _SYSTEM)
            around, resolve = self._services.around_job(who, application), self._resolver(who, application)
            name = application or "application"
            found = language.check(text, name, around.directory, around.variables, resolve, asks=True)
            return around.starred(found)

        return await self._ask(checked)

    async def explain(self, text: str, application: str = "") -> Explained:
        """Return what a text without mistakes would do; the job of an application lends its folder and variables."""

        def explained(who: Who) -> Explained:
            self._services.control.access.require(who, Action.CHECK, _SYSTEM)
            around, resolve = self._services.around_job(who, application), self._resolver(who, application)
            name = application or "application"
            with around.starring():
                return around.starred(language.explain(text, name, around.directory, around.variables, resolve))

        return await self._ask(explained)

    def _resolver(self, who: Who, application: str) -> Resolve:
        return self._services.names.resolver(who, application or None)

    async def preview(self, text: str, application: str = "") -> AsyncIterator[RowBatch]:
        """Run the last query of a text in a process of its own, without its sinks, and give its rows as they come."""
        around = await self._ask(lambda who: self._services.around_job(who, application))
        with around.starring():
            trial = await self._ask(lambda who: self._services.trial(who, text, around))
            columns = tuple(Column(name, kind) for name, kind in trial.columns)
            async with aclosing(self._while_allowed(rows_of(trial, self._services.trials))) as rows:
                async for row in rows:
                    yield RowBatch(columns, (row.values,), (), (row.change,))

    async def _while_allowed(self, rows: AsyncGenerator[TriedRow, None]) -> AsyncGenerator[TriedRow, None]:
        """Give rows as they come; that their user may still try is asked again and again, also while none come."""
        checked_at = time.monotonic()
        coming = asyncio.ensure_future(anext(rows, None))
        try:
            while True:
                await asyncio.wait({coming}, timeout=CHECK_EVERY)
                if time.monotonic() - checked_at >= CHECK_EVERY:
                    await self._ask(lambda who: self._services.control.access.require(who, Action.TRY, _SYSTEM))
                    checked_at = time.monotonic()
                if not coming.done():
                    continue
                row = coming.result()
                if row is None:
                    return
                coming = asyncio.ensure_future(anext(rows, None))
                yield row
        finally:
            coming.cancel()
            with suppress(asyncio.CancelledError, HeadraceError):
                await coming
            await rows.aclose()

    async def applications(self) -> Sequence[ApplicationSummary]:
        """Return the applications that the user may see."""

        def found(who: Who) -> list[ApplicationSummary]:
            jobs = {job.name for job in self._services.jobs.all(who)}
            return [
                ApplicationSummary(
                    each.name,
                    each.newest.created_at,
                    each.newest.created_by,
                    (each.name,) if each.name in jobs else (),
                )
                for each in self._services.applications.all(who)
            ]

        return await self._ask(found)

    async def application(self, name: str) -> str:
        """Return the text of an application."""
        return await self._ask(lambda who: self._services.applications.versions(who, name)[0].text)

    async def save_application(self, name: str, text: str) -> None:
        """Keep the text of an application, new or changed."""
        await self._ask(lambda who: self._services.applications.save(who, name, text))

    async def dashboards(self) -> Sequence[DashboardSummary]:
        """Return the dashboards that the user may see."""

        def found(who: Who) -> list[DashboardSummary]:
            return [_summary(each.name, each.text) for each in self._services.applications.dashboards(who)]

        return await self._ask(found)

    async def dashboard(self, name: str) -> str:
        """Return the YAML text of a dashboard."""
        return await self._ask(lambda who: self._services.applications.dashboard(who, name).text)

    async def save_dashboard(self, name: str, text: str, *, expected: str | None = None) -> None:
        """Keep the YAML text of a dashboard, new or changed; refuse it if another than the expected is kept by now."""

        def saved(who: Who) -> None:
            applications = self._services.applications
            kept = {each.name: each for each in applications.dashboards(who)}.get(name)
            if expected is not None and expected != ("" if kept is None else kept.text):
                by = "" if kept is None else f"{kept.changed_by} changed it at {kept.changed_at:%Y-%m-%d %H:%M:%S} UTC."
                raise Unwanted(
                    f'the dashboard "{name}" is no longer as you have seen it',
                    detail=by or "It was deleted.",
                    hint="Load the page again to see it, and change that.",
                )
            applications.save_dashboard(who, name, text)

        await self._ask(saved)


def _summary(name: str, text: str) -> DashboardSummary:
    try:
        found = parse_dashboard(text, f"{name}.yaml")
    except HeadraceError:  # its own page says what is wrong with it
        return DashboardSummary(name, name, name, 0)
    return DashboardSummary(name, found.title, name, len(found.panels))
