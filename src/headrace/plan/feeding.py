"""What a sink or a view is given: a query goes in, the output comes out, or why its rows do not fit there."""

from headrace.catalog.objects import Sink
from headrace.catalog.reserved import check_not_change
from headrace.catalog.view_options import ViewOptions
from headrace.connectors.kafka.checks import check_sink_columns
from headrace.connectors.kafka.options import KafkaSink
from headrace.connectors.postgres.options import PostgresSink
from headrace.connectors.redis.options import RedisSink
from headrace.connectors.sqlite.options import SqliteSink
from headrace.errors import PlanError
from headrace.language import statements as st
from headrace.plan import types
from headrace.plan.context import Context, not_supported
from headrace.plan.keys import key_of, keys_of
from headrace.plan.lookups import looked_up
from headrace.plan.outputs import Output
from headrace.plan.queries import plan_query, renamed
from headrace.plan.scope import did_you_mean
from headrace.plan.sources import settled
from headrace.plan.steps import Kind, Relation, is_maintained


def feed_sink(sink: Sink, query: st.Query, columns: tuple[str, ...], context: Context, name: str) -> Output:
    """Plan the query of a sink."""
    relation = settled(plan_query(query.tree, context, query.emit), query.span)
    if not takes_changes_of(sink):
        relation = looked_up(relation) or relation
    if columns:
        relation = renamed(relation, list(columns), context, query.tree)
    if sink.columns:
        relation = _fitted(relation, sink, bool(columns), context, query)
    if isinstance(sink.options, KafkaSink):
        check_sink_columns(sink.options, [(f.name, f.type) for f in relation.fields], query.span)
        _check_changes(sink.options, relation, query)
    if relation.kind is Kind.CHANGELOG and not is_maintained(relation.step) and sink.connector == "files":
        raise PlanError(
            f'sink "{sink.name}" takes only rows that do not change',
            detail="The query publishes a row and later replaces it; a file cannot take a row back.",
            hint="Leave EMIT CHANGES out: the rows of a window are then final.",
            span=query.span,
        )
    if relation.kind is Kind.CHANGELOG and sink.connector == "files":
        for each in relation.names:
            check_not_change(each, "a file of rows that change", query.span)
    key = key_of(relation)
    if isinstance(sink.options, (PostgresSink, SqliteSink, RedisSink)):
        key = _table_key(sink, relation, query)
    return Output(name, relation, sink, "sink", key=key, span=query.span)


def takes_changes_of(sink: Sink) -> bool:
    """Say whether rows that change are at home in a sink, so that they need not be avoided."""
    if isinstance(sink.options, KafkaSink):
        return sink.options.format == "upsert"
    return sink.connector not in {"files", "noop"}


def _table_key(sink: Sink, relation: Relation, query: st.Query) -> tuple[str, ...]:
    """Return the columns by which a sink's table is written; rows that change must have such."""
    known = {name.lower(): name for name in relation.names}
    for column in sink.options.key:
        if column.lower() not in known:
            raise PlanError(
                f'key names "{column}", which the query does not give',
                hint=did_you_mean(column, list(relation.names)),
                span=query.span,
            )
    key = tuple(known[column.lower()] for column in sink.options.key)
    _check_key(key, relation, query)
    if relation.kind is Kind.CHANGELOG and not key:
        key = key_of(relation)
    if relation.kind is Kind.CHANGELOG and not key:
        raise PlanError(
            f'sink "{sink.name}" needs a key',
            detail="The query publishes a row and later replaces it; nothing tells which row of the table that is.",
            hint="Add key = 'column', or publish what identifies a row.",
            span=query.span,
        )
    if relation.kind is Kind.CHANGELOG and not is_maintained(relation.step):
        raise not_supported(
            f"connector {sink.connector} under EMIT CHANGES over a window", query.span, "Leave EMIT CHANGES out."
        )
    return key


def _check_changes(options: KafkaSink, relation: Relation, query: st.Query) -> None:
    """Refuse rows that change in a topic that cannot take them back, and a key that does not identify them."""
    if relation.kind is Kind.CHANGELOG and options.format != "upsert":
        raise PlanError(
            f"format {options.format} takes only rows that do not change",
            detail="The query publishes a row and later replaces it or takes it back.",
            hint="Write format = 'upsert': the last message of a key counts, one without a value deletes it.",
            span=query.span,
        )
    if is_maintained(relation.step) and not options.key and not key_of(relation):
        raise PlanError(
            "nothing among the columns identifies a row",
            detail="The last message of a key counts, so each row needs one.",
            hint="Publish what the query groups by, or name it: key = 'column'.",
            span=query.span,
        )
    names = {name.lower(): name for name in relation.names}
    _check_key(tuple(names[column.lower()] for column in options.key), relation, query)
    if relation.kind is not Kind.CHANGELOG and options.format == "upsert" and not options.key:
        raise PlanError(
            "format upsert needs a key for rows that do not change", hint="Add key = 'column'.", span=query.span
        )


def _check_key(key: tuple[str, ...], relation: Relation, query: st.Query) -> None:
    """Refuse a key of which several rows are there at once: each would replace the one before it, and be lost."""
    known = keys_of(relation)
    if relation.kind is not Kind.CHANGELOG or not key or not known or any(each <= set(key) for each in known):
        return
    raise PlanError(
        f"key {', '.join(key)} does not identify a row",
        detail=f"The query tells its rows apart by {', '.join(key_of(relation))}; several may have the same "
        f"{', '.join(key)}, and only one of them would be kept.",
        hint=f"Write key = '{', '.join(key_of(relation))}', or leave it out.",
        span=query.span,
    )


def key_warning(output: Output) -> str | None:
    """Return what to beware of where rows that change are written by a key of which the query says nothing."""
    key = getattr(output.sink.options, "key", ()) if output.sink is not None else ()
    if not key or output.relation.kind is not Kind.CHANGELOG or keys_of(output.relation):
        return None
    return f"rows are written by key {', '.join(key)}: of several rows with the same one alone is kept"


def _fitted(relation: Relation, sink: Sink, by_name: bool, context: Context, query: st.Query) -> Relation:
    """Return the relation with the sink's column names, or raise where it does not fit."""
    if len(sink.columns) != len(relation.fields):
        raise PlanError(
            f'sink "{sink.name}" has {len(sink.columns)} columns, the query gives {len(relation.fields)}',
            detail=f"The sink: {', '.join(c.name for c in sink.columns)}. The query: {', '.join(relation.names)}.",
            span=query.span,
        )
    if by_name:
        known = {c.name.lower(): c for c in sink.columns}
        for name in relation.names:
            if name.lower() not in known:
                raise PlanError(
                    f'sink "{sink.name}" has no column "{name}"',
                    hint=did_you_mean(name, [c.name for c in sink.columns]),
                    span=query.span,
                )
        pairs = [(known[f.name.lower()], f) for f in relation.fields]
    else:
        pairs = list(zip(sink.columns, relation.fields, strict=True))
    for column, each in pairs:
        wanted, given = types.family(column.type), types.family(each.type)
        if wanted and given and wanted != given:
            raise PlanError(
                f'column "{column.name}" of sink "{sink.name}" is '
                f"{types.type_name(column.type or types.UNKNOWN)}, the query gives {types.type_name(each.type)}",
                hint="Convert it with CAST.",
                span=query.span,
            )
    return renamed(relation, [column.name for column, _ in pairs], context, query.tree)


def view_key(options: ViewOptions, relation: Relation, statement: st.CreateView) -> tuple[str, ...]:
    """Return the columns that identify a row of a view: those declared, or those that the query tells."""
    known = {name.lower(): name for name in relation.names}
    for option, columns in (("key", options.key), *(("index", each) for each in options.indexes)):
        for column in columns:
            if column.lower() not in known:
                raise PlanError(
                    f'{option} names "{column}", which is no column of view "{statement.name.text}"',
                    hint=did_you_mean(column, list(relation.names)),
                    span=next(each.value_span for each in statement.options if each.name.lower() == option),
                )
    key = tuple(known[column.lower()] for column in options.key) or key_of(relation)
    if relation.kind is Kind.CHANGELOG and not is_maintained(relation.step) and not key:
        raise PlanError(
            "a view of windows that change needs their keys among its columns",
            hint="Add what it groups by, window_start included, to the SELECT list, or leave EMIT CHANGES out.",
            span=statement.query.span,
        )
    return key
