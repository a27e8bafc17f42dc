"""The statements of an application go in, its plan comes out: relations, outputs, answers, settings."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sqlglot import exp

from headrace.catalog.build import function_of, sink_of, stream_of, table_of
from headrace.catalog.imports import Import, imported
from headrace.catalog.objects import Function, Sink, Stream, Table
from headrace.catalog.view_options import view_options
from headrace.connectors.kafka.metadata import METADATA, with_columns
from headrace.errors import HeadraceError, PlanError, Source, shallow
from headrace.language import statements as st
from headrace.plan import types
from headrace.plan.binding import Binder
from headrace.plan.context import COMPANIONS, DEAD, LATE, Context, lookup_names
from headrace.plan.explain import explain_relation
from headrace.plan.feeding import feed_sink, view_key
from headrace.plan.keys import key_of
from headrace.plan.late import late_relation
from headrace.plan.lookups import looked_up
from headrace.plan.observing import Observation, check_observed, observation_of, stream_name
from headrace.plan.outputs import Answer, Output
from headrace.plan.queries import plan_query, renamed
from headrace.plan.real_time import check_real_time, is_real_time
from headrace.plan.repeatable import check_repeatable
from headrace.plan.scope import Item, Scope, did_you_mean
from headrace.plan.settings import Settings, read_settings
from headrace.plan.sources import settled
from headrace.plan.steps import Field, Kind, ReadDead, ReadRelation, ReadTable, Relation, Scan

DEAD_FIELDS = (
    Field("raw", types.STRING),
    Field("reason", types.STRING),
    Field("position", types.STRING),
)


@dataclass(slots=True)
class Plan:
    """Everything an application says, resolved."""

    streams: dict[str, Stream] = field(default_factory=dict)
    tables: dict[str, Table] = field(default_factory=dict)
    views: dict[str, Relation] = field(default_factory=dict)
    materialized: set[str] = field(default_factory=set)
    sinks: dict[str, Sink] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)
    outputs: list[Output] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    relations: dict[str, Relation] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    sets: list[st.SetOption] = field(default_factory=list)
    settings: Settings = field(default_factory=Settings)
    statements: int = 0
    imports: dict[str, Import] = field(default_factory=dict)
    """What other jobs have that it reads; their streams and tables are among its own, under names with a dot."""
    observations: dict[str, Observation] = field(default_factory=dict)

    def relation(self, name: str) -> Relation:
        """Return the relation of a view, stream, table, sink or companion, for a program that asks."""
        for output in self.outputs:
            if output.name.lower() == name.lower():
                return output.relation
        return self.context(Source(name, name)).relation(name, None)

    def uses(self, connector: str) -> bool:
        """Say whether a stream, table or sink has this connector."""
        several: list[Stream | Table | Sink] = [*self.streams.values(), *self.tables.values(), *self.sinks.values()]
        return any(each.connector == connector for each in several)

    def context(self, source: Source) -> Context:
        """Return what a query in a text may refer to."""
        return Context(source, self.relations, self.functions, self._lookup_name)

    _lookup_name: Any = field(default_factory=lookup_names)


def plan_application(parsed: Iterable[st.Statement], source: Source, plan: Plan | None = None) -> Plan:
    """Plan statements one after the other, on top of what an earlier text has defined."""
    plan = plan if plan is not None else Plan()
    for statement in parsed:
        try:
            with shallow("the statement"):
                _plan_statement(statement, source, plan)
        except HeadraceError as error:
            if error.span is None:
                error.span = statement.span
            raise
        plan.statements += 1
    with shallow():
        return _settled(plan)


def _settled(plan: Plan) -> Plan:
    """Return a plan with what all its statements together say of each output."""
    plan.settings = read_settings(plan.sets)
    plan.outputs = [_in_real_time(output, plan.settings) for output in plan.outputs]
    for output in plan.outputs:
        check_real_time(output, plan.settings, plan.functions)
        if not is_real_time(output, plan.settings):
            check_repeatable(output.relation, output.span)
    return plan


def _in_real_time(output: Output, settings: Settings) -> Output:
    """Return an output whose tables are looked up if it runs in real-time mode, where nothing can be withdrawn."""
    if not is_real_time(output, settings):
        return output
    return replace(output, relation=looked_up(output.relation) or output.relation)


def define_relation(plan: Plan, name: str, fields: tuple[Field, ...], kind: Kind, times: frozenset[str]) -> None:
    """Make a relation that a program has defined known to later statements."""
    plan.names[name.lower()] = "RELATION"
    step = ReadRelation(name.lower(), kind is Kind.STATIC, fields)
    plan.relations[name.lower()] = Relation(step, fields, kind, times)


def define_import(plan: Plan, what: Import) -> None:
    """Make what another job has known to later statements, as ``JOB.NAME``."""
    found, source = imported(what)
    plan.imports[what.name.lower()] = what
    if isinstance(found, Stream):
        _add_stream(found, source, plan)
    else:
        _add_table(found, plan)


def _plan_statement(statement: st.Statement, source: Source, plan: Plan) -> None:
    match statement:
        case st.CreateStream():
            if _is_new(plan, statement.name, "STREAM", statement.if_not_exists):
                stream = stream_of(statement)
                _add_stream(stream, source, plan)
                if stream.common.late == "keep":
                    _keep_late(stream, plan)
        case st.CreateTable():
            if _is_new(plan, statement.name, "TABLE", statement.if_not_exists):
                _add_table(table_of(statement), plan)
        case st.CreateView():
            if _is_new(plan, statement.name, "VIEW", statement.if_not_exists):
                _create_view(statement, source, plan)
        case st.CreateSink():
            if _is_new(plan, statement.name, "SINK", statement.if_not_exists):
                sink = sink_of(statement)
                plan.sinks[sink.name.lower()] = sink
                if statement.query is not None:
                    plan.outputs.append(feed_sink(sink, statement.query, (), plan.context(source), sink.name))
        case st.CreateFunction():
            if _is_new(plan, statement.name, "FUNCTION", statement.if_not_exists):
                plan.functions[statement.name.text.lower()] = function_of(statement)
        case st.InsertInto():
            _insert(statement, source, plan)
        case st.SelectRows():
            relation = plan_query(statement.query.tree, plan.context(source), statement.query.emit)
            number = 1 + sum(output.role == "select" for output in plan.outputs)
            plan.outputs.append(
                Output(f"query_{number}", relation, None, "select", key=key_of(relation), span=statement.span)
            )
        case st.Observe():
            _observe(statement, source, plan)
        case st.SetOption():
            plan.sets.append(statement)
            read_settings(plan.sets)
        case st.Explain():
            plan.answers.append(_explain(statement, source, plan))
        case st.Show():
            plan.answers.append(_show(statement, plan))
        case st.Describe():
            plan.answers.append(_describe(statement, source, plan))
        case st.Drop():
            _drop(statement, plan)


def _is_new(plan: Plan, name: st.Name, kind: str, if_not_exists: bool) -> bool:
    lower = name.text.lower()
    if "." in lower:
        raise PlanError(
            f'name "{name.text}" contains a dot',
            hint="Dots are kept for companions such as clicks.dead.",
            span=name.span,
        )
    if lower not in plan.names:
        plan.names[lower] = kind
        return True
    if if_not_exists:
        return False
    raise PlanError(
        f'"{name.text}" is defined twice',
        detail=f"A {plan.names[lower].lower()} of that name stands further up.",
        hint="Choose another name, DROP the first, or write IF NOT EXISTS.",
        span=name.span,
    )


def _add_table(table: Table, plan: Plan) -> None:
    plan.tables[table.name.lower()] = table
    fields = tuple(Field(c.name, c.type or types.UNKNOWN) for c in table.columns)
    kind = Kind.CHANGELOG if table.live else Kind.STATIC
    plan.relations[table.name.lower()] = Relation(ReadTable(table), fields, kind)
    if table.live and table.connector != "view":
        plan.relations[f"{table.name.lower()}{DEAD}"] = Relation(ReadDead(table), DEAD_FIELDS, Kind.APPEND)


def _add_stream(stream: Stream, source: Source, plan: Plan) -> None:
    stored = tuple(Field(c.name, c.type or types.UNKNOWN) for c in stream.stored)
    stored += tuple(Field(each.column, exp.DataType.build(each.type, dialect="spark")) for each in METADATA)
    scope = Scope(source, [Item(stream.name, stored, tuple(f.name for f in stored))])
    fields = []
    for column in stream.columns:
        kind = column.type
        if column.computed is not None:
            kind = _computed_type(column, scope, plan) if kind is None else kind
        fields.append(Field(column.name, kind or types.UNKNOWN))
    times = frozenset({stream.watermark.column} if stream.watermark is not None else ())
    for each in fields:
        known = types.family(each.type) is not None
        if each.name in times and known and not types.is_timestamp(each.type):
            raise PlanError(
                f'event time "{each.name}" is {types.type_name(each.type)}, not TIMESTAMP',
                hint="Declare the column as TIMESTAMP, or compute one: at TIMESTAMP AS timestamp_millis(ms).",
                span=stream.watermark.span if stream.watermark else None,
            )
    lower = stream.name.lower()
    plan.streams[lower] = stream
    plan.relations[lower] = Relation(Scan(stream), tuple(fields), Kind.APPEND, times)
    plan.relations[f"{lower}{DEAD}"] = Relation(ReadDead(stream), DEAD_FIELDS, Kind.APPEND)
    late = late_relation(stream, fields)
    if late is not None:
        plan.relations[f"{lower}{LATE}"] = late


def _keep_late(stream: Stream, plan: Plan) -> None:
    """Keep the late rows of a stream in a materialised view of its own, as the user would who wrote it."""
    name = f"{stream.name}_late"
    if name.lower() in plan.names:
        raise PlanError(
            f"late = 'keep' makes a view \"{name}\", and there is something else of that name",
            hint=f"Leave the option out, and keep the rows of {stream.name}{LATE} in a view or sink of your own.",
            span=stream.span,
        )
    relation = plan.relations[f"{stream.name.lower()}{LATE}"]
    options = view_options((), f'view "{name}"', stream.span)
    _add_view(Output(name, relation, None, "view", options, span=stream.span), plan)


def _add_view(output: Output, plan: Plan) -> None:
    lower = output.name.lower()
    plan.views[lower] = plan.relations[lower] = output.relation
    plan.names[lower] = "MATERIALIZED VIEW"
    plan.materialized.add(lower)
    plan.outputs.append(output)


def _computed_type(column: st.ColumnDefinition, scope: Scope, plan: Plan) -> exp.DataType:
    tree = column.computed
    if tree is None:
        return types.UNKNOWN
    if isinstance(tree, exp.Anonymous) and tree.name.lower() in {"proctime", "ingestion_time"}:
        return types.TIMESTAMP
    binder = Binder(scope, plan.functions, _no_subquery, plan._lookup_name)
    return binder.bind(with_columns(tree)).type


def _no_subquery(tree: exp.Expr) -> Relation:
    raise PlanError("a subquery cannot stand in a computed column")


def _create_view(statement: st.CreateView, source: Source, plan: Plan) -> None:
    context = plan.context(source)
    relation = settled(plan_query(statement.query.tree, context, statement.query.emit), statement.query.span)
    if statement.columns:
        relation = renamed(relation, list(statement.columns), context, statement.query.tree)
    lower = statement.name.text.lower()
    owner = f'view "{statement.name.text}"'
    if statement.options and not statement.materialized:
        raise PlanError(
            f"{owner} is not materialised, so it has no options",
            hint="Write CREATE MATERIALIZED VIEW: its rows are then kept.",
            span=statement.options[0].span,
        )
    if statement.materialized:
        options = view_options(statement.options, owner, statement.name.span)
        key = view_key(options, relation, statement)
        _add_view(Output(statement.name.text, relation, None, "view", options, key, span=statement.span), plan)
    else:
        plan.views[lower] = plan.relations[lower] = relation


def _insert(statement: st.InsertInto, source: Source, plan: Plan) -> None:
    sink = plan.sinks.get(statement.target.text.lower())
    if sink is None:
        kind = plan.names.get(statement.target.text.lower())
        raise PlanError(
            f'unknown sink "{statement.target.text}"'
            if kind is None
            else f'"{statement.target.text}" is a {kind.lower()}, not a sink',
            hint=did_you_mean(statement.target.text, [each.name for each in plan.sinks.values()]),
            span=statement.target.span,
        )
    taken = {output.name.lower() for output in plan.outputs}
    name, number = sink.name, 2
    while name.lower() in taken:
        name, number = f"{sink.name}_{number}", number + 1
    plan.outputs.append(feed_sink(sink, statement.query, statement.columns, plan.context(source), name))


def _observe(statement: st.Observe, source: Source, plan: Plan) -> None:
    lower = statement.name.text.lower()
    if lower in plan.observations:
        raise PlanError(f'"{statement.name.text}" is observed twice', span=statement.name.span)
    planned = plan_query(statement.query.tree, plan.context(source), statement.query.emit)
    stream = plan.streams.get(stream_name(statement.query.tree).lower())
    plan.observations[lower] = observation_of(statement, planned, stream, source)


def _explain(statement: st.Explain, source: Source, plan: Plan) -> Answer:
    inner = statement.statement
    query = getattr(inner, "query", None)
    if query is None:
        raise PlanError("EXPLAIN takes a query", span=statement.span)
    relation = plan_query(query.tree, plan.context(source), query.emit)
    text = explain_relation(relation)
    return Answer(("plan",), tuple((line,) for line in text.splitlines()))


_SHOWN: Mapping[str, str] = {
    "STREAMS": "STREAM", "TABLES": "TABLE", "VIEWS": "VIEW", "MATERIALIZED VIEWS": "MATERIALIZED VIEW",
    "SINKS": "SINK", "FUNCTIONS": "FUNCTION",
}  # fmt: skip


def _show(statement: st.Show, plan: Plan) -> Answer:
    if statement.kind == "OPTIONS":
        settings = read_settings(plan.sets)
        rows = [
            (n, str(getattr(settings, n)))
            for n in ("shuffle_partitions", "trigger", "state", "latency", "checkpoint_interval", "partial_matches")
        ]
        return Answer(("name", "value"), (*rows, *settings.spark.items()))
    kinds = {_SHOWN[statement.kind]} | ({"MATERIALIZED VIEW"} if statement.kind == "VIEWS" else set())
    return Answer(("name",), tuple((n,) for n, kind in sorted(plan.names.items()) if kind in kinds))


def _describe(statement: st.Describe, source: Source, plan: Plan) -> Answer:
    relation = plan.context(source).relation(statement.name.text, statement.name.span)
    rows = tuple(
        (f.name, types.type_name(f.type), "event time" if f.name in relation.times else "") for f in relation.fields
    )
    return Answer(("column", "type", "note"), rows)


def _made_by(output: Output) -> tuple[str, ...]:
    """Return the view or the sink without which there would be no such output."""
    if output.sink is not None:
        return (output.sink.name.lower(),)
    return (output.name.lower(),) if output.role == "view" else ()


def _drop(statement: st.Drop, plan: Plan) -> None:
    lower = statement.name.text.lower()
    kind = plan.names.get(lower)
    if kind is None:
        if statement.if_exists:
            return
        raise PlanError(
            f'unknown {statement.kind.lower()} "{statement.name.text}"',
            hint=did_you_mean(statement.name.text, list(plan.names)),
            span=statement.name.span,
        )
    if kind != statement.kind:
        raise PlanError(
            f'"{statement.name.text}" is a {kind.lower()}, not a {statement.kind.lower()}',
            span=statement.name.span,
        )
    del plan.names[lower]
    for known in (plan.streams, plan.tables, plan.views, plan.sinks, plan.functions, plan.relations):
        known.pop(lower, None)
    for companion in COMPANIONS:
        plan.relations.pop(f"{lower}{companion}", None)
    plan.materialized.discard(lower)
    plan.outputs = [each for each in plan.outputs if lower not in _made_by(each)]
    plan.outputs = [output for output in plan.outputs if output.name.lower() != lower]


def check_runnable(plan: Plan) -> None:
    """Raise if an application has nothing that anybody would see."""
    if not plan.outputs and not plan.answers:
        raise PlanError(
            "nothing to run",
            detail="The application defines names, but publishes no rows.",
            hint="Add a SELECT, a CREATE SINK … AS SELECT, or a CREATE MATERIALIZED VIEW.",
        )
    check_observed(plan.observations.values(), plan.outputs)


__all__ = ["Answer", "Output", "Plan", "check_runnable", "define_import", "define_relation", "plan_application"]
