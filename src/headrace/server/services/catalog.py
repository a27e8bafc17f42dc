"""Who asks goes in; every stream, table, view and sink of the jobs that they may see comes out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Any, Literal

from headrace.catalog.objects import Sink, Stream, Table
from headrace.connectors.durations import duration_text
from headrace.errors import value_without_secrets
from headrace.jobs.texts import feeds
from headrace.language.dialect import Headrace
from headrace.language.statements import ColumnDefinition
from headrace.plan.scope import did_you_mean
from headrace.plan.steps import Field
from headrace.server.access.access import Access
from headrace.server.access.decisions import Target, Who
from headrace.server.access.roles import Action, ObjectKind
from headrace.server.services.job_reading import JobReading, job_target
from headrace.server.services.mistakes import NotThere, Unwanted
from headrace.server.services.plans import Planned, Plans
from headrace.server.services.views import view_target

__all__ = ["Catalog", "CatalogObject", "Kind", "stream_target"]

MOST = 500
"""How many versions of jobs are remembered in words."""

Kind = Literal["stream", "table", "view", "materialized view", "sink"]


@dataclass(frozen=True, slots=True)
class CatalogObject:
    """A named stream, table, view or sink, and the job that defines it; options are without secrets."""

    name: str
    kind: Kind
    planned: Planned
    columns: tuple[tuple[str, str], ...]
    connector: str = ""
    options: tuple[tuple[str, str], ...] = ()
    watermark: str = ""
    source: Stream | Table | Sink | None = None

    @property
    def job(self) -> str:
        """The name of its job."""
        return self.planned.job.name

    @property
    def known_as(self) -> tuple[str, str]:
        """Its job and its name in lower case: what tells it apart."""
        return self.job, self.name.lower()

    @property
    def target(self) -> Target:
        """It as access lists know it; tables and sinks go by the rules of streams."""
        is_view = self.kind in {"view", "materialized view"}
        return view_target(self.name, self.job) if is_view else stream_target(self.name, self.job)


class Catalog:
    """What jobs define."""

    def __init__(self, jobs: JobReading, plans: Plans, access: Access) -> None:
        self._jobs, self._plans, self._access = jobs, plans, access
        self._known: dict[tuple[str, int], tuple[CatalogObject, ...]] = {}

    def all(self, who: Who) -> list[CatalogObject]:
        """Return every object that somebody may see."""
        return self._visible(who, self._planned(who))

    def with_users(self, who: Who) -> list[tuple[CatalogObject, list[str]]]:
        """Return every object that somebody may see, each with the visible jobs that read it."""
        planned = self._planned(who)
        users = _users(planned)
        return [(each, users.get(each.known_as, [])) for each in self._visible(who, planned)]

    def _planned(self, who: Who) -> list[Planned]:
        return self._plans.of_all(self._jobs.all(who))

    def _visible(self, who: Who, planned: Iterable[Planned]) -> list[CatalogObject]:
        found = [each for one in planned for each in self._of(one)]
        targets = self._access.permitted(who, Action.SEE, [each.target for each in found])
        seen = {_identity(target) for target in targets}
        return [each for each in found if _identity(each.target) in seen]

    def _of(self, planned: Planned) -> tuple[CatalogObject, ...]:
        """Return what a version of a job defines, put into words once."""
        key = (planned.job.id, planned.job.version)
        found = self._known.get(key)  # others may clear it meanwhile
        if found is None:
            if len(self._known) >= MOST:
                self._known.clear()
            found = self._known[key] = tuple(_objects(planned))
        return found

    def find(self, who: Who, name: str, action: Action = Action.SEE) -> CatalogObject:
        """Return an object by its name, or by ``JOB.NAME``; what somebody may not see is not there."""
        visible = self.all(who)
        found = [each for each in visible if name.lower() in {each.name.lower(), f"{each.job}.{each.name}".lower()}]
        if not found:
            known = [each.name for each in visible]
            raise NotThere(f'there is no stream, table, view or sink "{name}"', hint=did_you_mean(name, known))
        if len(found) > 1:
            names = " and ".join(sorted({f"{each.job}.{each.name}" for each in found}))
            raise Unwanted(f'several jobs have "{name}"', hint=f"Choose one: {names}.")
        if action is not Action.SEE:
            self._access.require(who, action, found[0].target)
        return found[0]

    def users(self, who: Who) -> dict[tuple[str, str], list[str]]:
        """Return the visible jobs that read an object, by name or from where it is written, by what tells it apart."""
        return _users(self._planned(who))


def _users(planned: Sequence[Planned]) -> dict[tuple[str, str], list[str]]:
    found: dict[tuple[str, str], set[str]] = {}
    for one in planned:
        for read in one.version.imports:
            found.setdefault((read.job, read.relation.lower()), set()).add(one.job.name)
        others = {
            other.job.name
            for other in planned
            if other.job.id != one.job.id
            and any(feeds(each, used) for each in one.version.provides for used in other.version.uses)
        }
        for sink in one.plan.sinks if others else ():
            found.setdefault((one.job.name, sink), set()).update(others)
    return {thing: sorted(names) for thing, names in found.items()}


def stream_target(name: str, job: str) -> Target:
    """Return a stream as access lists know it: it is in its job."""
    return Target(ObjectKind.STREAM, name, within=job_target(job))


def _identity(target: Target) -> tuple[str, str, str]:
    return target.kind.value, target.name, target.within.name if target.within else ""


def _objects(planned: Planned) -> Iterable[CatalogObject]:
    plan = planned.plan
    for lower, stream in plan.streams.items():
        if lower in plan.imports:
            continue  # it is another job's
        mark = stream.watermark
        told = "" if mark is None else f"{mark.column} - {duration_text(mark.delay)}"
        yield CatalogObject(
            stream.name, "stream", planned, _columns(stream.columns), *_connector(stream), watermark=told, source=stream
        )
    for lower, table in plan.tables.items():
        if lower in plan.imports:
            continue
        yield CatalogObject(table.name, "table", planned, _columns(table.columns), *_connector(table), source=table)
    outputs = {output.name.lower(): output for output in plan.outputs}
    for name, relation in plan.views.items():
        output = outputs.get(name)
        kept = output is not None and output.view is not None
        store = output.view.store if output is not None and output.view is not None else ""
        shown = output.name if output is not None else name
        yield CatalogObject(shown, "materialized view" if kept else "view", planned, _fields(relation.fields), store)
    for sink in plan.sinks.values():
        output = outputs.get(sink.name.lower())
        columns = _columns(sink.columns) if output is None else _fields(output.relation.fields)
        yield CatalogObject(sink.name, "sink", planned, columns, *_connector(sink), source=sink)


def _columns(columns: Iterable[ColumnDefinition]) -> tuple[tuple[str, str], ...]:
    return tuple((each.name, "" if each.type is None else each.type.sql(dialect=Headrace)) for each in columns)


def _fields(several: Iterable[Field]) -> tuple[tuple[str, str], ...]:
    return tuple((each.name, each.type.sql(dialect=Headrace)) for each in several)


def _connector(thing: Stream | Table | Sink) -> tuple[str, tuple[tuple[str, str], ...]]:
    shown = []
    for options in (thing.options, thing.common):
        for each in fields(options) if options is not None else ():
            value = getattr(options, each.name)
            if each.metadata.get("secret") or value in (None, (), {}, "") or value == each.default:
                continue
            shown.append((each.name, value_without_secrets(_text(value))))
    return thing.connector, tuple(shown)


def _text(value: Any) -> str:
    if isinstance(value, timedelta):
        return duration_text(value)
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
