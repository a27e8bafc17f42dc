"""A version of a job goes in; what others may read of it by name, and how they read it, come out. No JVM is started."""

import os
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

from sqlglot import exp
from sqlglot.errors import ParseError

from headrace.catalog.imports import Import, ImportKind, imported
from headrace.catalog.objects import Sink, Stream, Table
from headrace.connectors.files.options import FilesSource, FilesTable
from headrace.connectors.kafka.options import PREFIX, KafkaReading, KafkaSink
from headrace.errors import HeadraceError, PlanError
from headrace.jobs.model import Version
from headrace.language import fill, parse
from headrace.language.format import format_statement
from headrace.language.outside import outside_names
from headrace.language.statements import ColumnDefinition, CreateSink, CreateStream, CreateTable, Option, Watermark
from headrace.plan.application import Plan, define_import
from headrace.plan.outputs import Output
from headrace.plan.scope import did_you_mean
from headrace.plan.steps import Kind, Scan, walk
from headrace.plan.types import Type, type_name
from headrace.views.kept import Kept

__all__ = ["Offers", "Resolve", "broken_by", "resolved"]

Created = TypeVar("Created", CreateStream, CreateTable, CreateSink)
Resolve = Callable[[str, str], Import]
"""Takes a job and a relation; returns how it is read, or raises HeadraceError if a reader finds no such thing."""

_CONNECTION = (
    "bootstrap_servers", "security_protocol", "sasl_", "ssl_", "delimiter", "schema_registry",
    f"{PREFIX}security.", f"{PREFIX}sasl.", f"{PREFIX}ssl.", f"{PREFIX}client.",
)  # fmt: skip
"""How the names of options begin that a reader of a sink's topic needs too."""


@dataclass(frozen=True, slots=True)
class Offers:
    """What one version of a job has for others.

    ``types`` are those of its outputs as Spark gave them when it ran, by output and column, where that is known.
    """

    job: str
    version: Version
    plan: Plan
    types: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """What could be read, whether or not it can."""
        own: list[Stream | Table | Sink] = [
            *self.plan.streams.values(),
            *self.plan.tables.values(),
            *self.plan.sinks.values(),
        ]
        views = [output.name for output in self.plan.outputs if output.view is not None]
        return [each.name for each in own if each.name.lower() not in self.plan.imports] + views

    def of(self, relation: str) -> Import:
        """Return how others read a relation; raise HeadraceError, without a place, if they cannot."""
        lower = relation.lower()
        if lower in self.plan.sinks:
            return self._sink(self.plan.sinks[lower])
        view = next((each for each in self.plan.outputs if each.view is not None and each.name.lower() == lower), None)
        if view is not None:
            return self._view(view)
        if lower in self.plan.streams or lower in self.plan.tables:
            return self._declared(relation)
        if lower in self.plan.views:
            raise PlanError(
                f'view "{relation}" of job "{self.job}" is not kept',
                detail="It is a query with a name, computed where it is used.",
                hint=f"Let {self.job} keep it: CREATE MATERIALIZED VIEW {relation}.",
            )
        raise PlanError(f'job "{self.job}" has no "{relation}"', hint=did_you_mean(relation, self.names))

    def _declared(self, relation: str) -> Import:
        kind: ImportKind
        source: Stream | Table
        statement: CreateStream | CreateTable
        if relation.lower() in self.plan.streams:
            kind, source = "stream", self.plan.streams[relation.lower()]
            statement = self._statement(relation, CreateStream)
        else:
            kind, source = "table", self.plan.tables[relation.lower()]
            statement = self._statement(relation, CreateTable)
        if not isinstance(source.options, KafkaReading | FilesSource | FilesTable):
            raise PlanError(
                f'{kind} "{source.name}" of job "{self.job}" cannot be read by others',
                detail=f"Its rows come from {source.connector}, which has them for one reader alone.",
                hint=f"Let {self.job} write them into a topic, or keep them in a materialised view.",
            )
        fields = self.plan.relations[relation.lower()].fields
        columns = tuple((each.name, _type(each.type)) for each in fields)
        key = tuple(statement.primary_key)
        return self._import(source.name, kind, columns, key, format_statement(statement))

    def _sink(self, sink: Sink) -> Import:
        options = sink.options
        if not isinstance(options, KafkaSink) or options.topic is None:
            where = sink.connector if not isinstance(options, KafkaSink) else "topics that its rows name"
            raise PlanError(
                f'sink "{sink.name}" of job "{self.job}" cannot be read by others',
                detail=f"It goes into {where}; only one topic of Kafka is read by the name of its sink.",
                hint="Keep the rows in a materialised view as well, and read that.",
            )
        if options.format == "avro" and options.schema_registry is None:
            raise PlanError(
                f'sink "{sink.name}" of job "{self.job}" cannot be read by others',
                detail="Its messages are Avro without a schema registry, so they do not tell their schema.",
                hint="Add schema_registry to the sink, or write JSON.",
            )
        fed = [each for each in self.plan.outputs if each.sink is not None and each.sink.name == sink.name]
        if not fed:
            raise PlanError(f'sink "{sink.name}" of job "{self.job}" is given no rows')
        left_out = {each.lower() for each in (*options.headers, options.partition_column or "")}
        columns = tuple(each for each in self._sink_columns(sink, fed[0]) if each[0].lower() not in left_out)
        upsert = options.format == "upsert"
        key = tuple(options.key or fed[0].key) if upsert else ()
        statement = self._reading(sink, fed, columns, key, upsert=upsert)
        return self._import(sink.name, "sink", columns, key, statement)

    def _sink_columns(self, sink: Sink, output: Output) -> list[tuple[str, str]]:
        if sink.columns:
            return [(each.name, type_name(each.type)) for each in sink.columns if each.type is not None]
        columns = self._columns(output)
        unknown = [name for name, kind in columns if not kind or kind == "DECIMAL"]
        if unknown:
            raise PlanError(
                f'the types of sink "{sink.name}" of job "{self.job}" are not known yet',
                detail=f"What Spark makes of {', '.join(unknown)} is known once the job has run.",
                hint=f"Wait until {self.job} runs, or declare the columns of the sink.",
            )
        return columns

    def _reading(
        self, sink: Sink, fed: list[Output], columns: Iterable[tuple[str, str]], key: tuple[str, ...], *, upsert: bool
    ) -> str:
        """Return the statement of the stream or table that a sink's topic is to its readers."""
        written = self._statement(sink.name, CreateSink)
        span = written.span
        kept = [each for each in written.options if each.name.lower().startswith(_CONNECTION)]
        more = {"connector": "kafka", "topic": sink.options.topic, "format": sink.options.format}
        if upsert:
            more["key"] = ", ".join(key)
        options = (*(Option(name, value, span, span) for name, value in more.items()), *kept)
        defined = tuple(
            ColumnDefinition(name, exp.DataType.build(kind, dialect="spark"), True, None, span)
            for name, kind in columns
        )
        if upsert:
            return format_statement(CreateTable(written.name, defined, None, key, options, False, span))
        return format_statement(CreateStream(written.name, defined, self._watermark(fed), (), options, False, span))

    def _watermark(self, fed: list[Output]) -> Watermark | None:
        """Return the event time that a sink's rows keep, as far behind as the streams that they came from were."""
        times = [set(each.relation.times) & set(each.relation.names) for each in fed]
        common = sorted(set.intersection(*times)) if all(each.relation.kind is Kind.APPEND for each in fed) else []
        if not common:
            return None
        marks = [
            step.stream.watermark.delay
            for output in fed
            for step in walk(output.relation.step)
            if isinstance(step, Scan) and step.stream.watermark is not None
        ]
        assert fed[0].span is not None
        return Watermark(common[0], max(marks, default=timedelta(0)), None, fed[0].span)

    def _view(self, output: Output) -> Import:
        options = output.view
        assert options is not None
        root = self.version.state
        local = "://" not in root or root.startswith("file://")
        state = Path(root.removeprefix("file://")) / self.job if local else None
        path = None
        if options.store == "sqlite":
            path = str(Kept(Path(self.version.directory), state, self.job).path_of(options))
        place = {
            "store": options.store, "path": path, "url": options.url, "password": options.password,
            "schema": options.schema, "prefix": options.prefix,
        }  # fmt: skip
        made = self._import(output.name, "view", tuple(self._columns(output)), output.key, "")
        return replace(made, place=place)

    def _columns(self, output: Output) -> list[tuple[str, str]]:
        seen = self.types.get(output.name.lower(), {})
        return [(each.name, _type(_parsed(seen.get(each.name)) or each.type)) for each in output.relation.fields]

    def _statement(self, name: str, kind: type[Created]) -> Created:
        """Return the statement that made a thing; one that was dropped and made anew is the last."""
        values = ChainMap(dict(self.version.variables), dict(os.environ))
        written = parse(fill(self.version.text, f"{self.job}.sql", values))
        return [each for each in written if isinstance(each, kind) and each.name.text.lower() == name.lower()][-1]

    def _import(
        self,
        relation: str,
        kind: ImportKind,
        columns: tuple[tuple[str, str], ...],
        key: tuple[str, ...],
        statement: str,
    ) -> Import:
        return Import(
            self.job,
            relation,
            kind,
            self.version.number,
            columns,
            key,
            statement,
            self.version.directory,
        )


def resolved(text: str, name: str, variables: Mapping[str, str], resolve: Resolve | None) -> tuple[Import, ...]:
    """Return what a text reads of other jobs; raise HeadraceError at its place for what it cannot read."""
    if resolve is None:
        return ()
    source = fill(text, f"{name}.sql", ChainMap(dict(variables), dict(os.environ)))
    found: dict[str, Import] = {}
    for each in outside_names(parse(source), source):
        try:
            what = resolve(each.job, each.relation)
            define_import(Plan(), what)
        except HeadraceError as error:
            mistake = PlanError(error.message, detail=error.detail, hint=error.hint, span=each.span)
            raise mistake from error
        other = found.setdefault(what.name.lower(), what)
        if other.job != what.job:
            raise PlanError(
                f'"{what.name}" and "{other.name}" cannot be told apart',
                detail="Names in a query are matched without regard to case.",
                span=each.span,
            )
    return tuple(found.values())


def broken_by(read: Import, before: Offers, after: Offers) -> str | None:
    """Return why a reader of a job could not go on with a new version of it, None if it could; a part of a sentence."""
    try:
        old, new = before.of(read.relation), after.of(read.relation)
    except HeadraceError as error:
        return error.message
    if old.kind != new.kind:
        return f"{read.relation} would be a {new.kind}, not a {old.kind}"
    if tuple(map(str.lower, old.key)) != tuple(map(str.lower, new.key)):
        return f"the key of {read.relation} would be another"
    then, now = _by_name(old), _by_name(new)
    for name, _ in read.columns:
        if name.lower() not in now:
            return f"{read.relation} would have no column {name}"
        if name.lower() in then and then[name.lower()] != now[name.lower()]:
            was, becomes = (each[name.lower()] or "another type" for each in (then, now))
            return f"{name} of {read.relation} would be {becomes}, not {was}"
    elsewhere = old.place != new.place if old.kind == "view" else imported(old)[0].options != imported(new)[0].options
    return f"{read.relation} would be somewhere else" if elsewhere else None


def _by_name(what: Import) -> dict[str, str]:
    return {name.lower(): kind for name, kind in what.columns}


def _parsed(text: str | None) -> exp.DataType | None:
    """Return a type in Spark's words, None if there is none that a statement can have."""
    try:
        return None if text is None else exp.DataType.build(text, dialect="spark")
    except ParseError:
        return None


def _type(kind: exp.DataType) -> str:
    unknown = kind.this == Type.UNKNOWN or any(each.this == Type.UNKNOWN for each in kind.find_all(exp.DataType))
    return "" if unknown else type_name(kind)
