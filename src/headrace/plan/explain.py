"""A plan goes in, its topology comes out: steps, the state each keeps and until when, and warnings."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from sqlglot import exp

from headrace.catalog.objects import Table
from headrace.connectors.durations import duration_text
from headrace.connectors.kafka.options import KafkaReading
from headrace.language.dialect import Headrace
from headrace.plan.joins import conjuncts
from headrace.plan.match_text import described_match
from headrace.plan.steps import (
    Aggregate,
    AssignWindows,
    Column,
    Deduplicate,
    Filter,
    Join,
    Kind,
    LateRows,
    Literals,
    Match,
    Method,
    Project,
    Rank,
    ReadDead,
    ReadRelation,
    ReadTable,
    Relation,
    Rename,
    Scalar,
    Scan,
    SetOperation,
    Sort,
    Step,
    TopRows,
    Union,
    Unnest,
    asked,
    inputs,
    is_maintained,
    is_static,
)
from headrace.plan.windows import Cumulate, Hop, Session, Tumble, Window


@dataclass(frozen=True, slots=True)
class Described:
    """One step as people read it: what it does, what it remembers, what to beware of."""

    title: str
    details: tuple[str, ...] = ()
    state: str | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Node:
    """A described step and the steps it reads from."""

    described: Described
    inputs: tuple["Node", ...] = field(default=())

    def walk(self) -> Iterator["Node"]:
        """Yield this node and all below it."""
        yield self
        for each in self.inputs:
            yield from each.walk()


def sql(scalar: Scalar, computed: Mapping[str, exp.Expr] = MappingProxyType({})) -> str:
    """Return an expression as one line of SQL, quotes only where they are needed.

    ``computed`` are columns without a name of their own: what they stand for is shown instead.
    """
    tree = scalar.tree.copy()
    if computed:
        tree = tree.transform(lambda node: _computation(node, computed))
    for identifier in tree.find_all(exp.Identifier):
        if all(part.isidentifier() for part in str(identifier.this).split(".")):
            identifier.set("quoted", False)
    return str(tree.sql(dialect=Headrace, comments=False))


def _computation(node: exp.Expr, computed: Mapping[str, exp.Expr]) -> exp.Expr:
    if not isinstance(node, exp.Column) or node.name not in computed:
        return node
    found = computed[node.name].copy()
    return exp.paren(found) if isinstance(found, exp.Binary) and node.parent is not None else found


def _nameless(step: Step) -> dict[str, exp.Expr]:
    """Return what an aggregation computes for the steps above it, by the names it makes up."""
    while isinstance(step, Filter):
        step = step.input
    if not isinstance(step, Aggregate):
        return {}
    columns = (*step.keys, *step.aggregates)
    return {each.name: each.value.tree for each in columns if each.name.startswith(("_agg_", "_key_"))}


def describe(step: Step) -> Described:
    """Return what one step does, in words."""
    match step:
        case Scan(stream=stream):
            watermark = stream.watermark
            details = [f"from {stream.connector}{_options(stream.options)}"]
            if watermark is not None:
                details.append(
                    f"event time {watermark.column}, watermark {duration_text(watermark.delay)} behind the latest"
                    + (
                        f", follows the clock after {duration_text(watermark.idle_after)} without a row"
                        if watermark.idle_after is not None
                        else ""
                    )
                )
            details.append(f"what does not parse goes to {stream.name}.dead")
            once = stream.connector == "socket"
            beware = (f"stream {stream.name} cannot be read again: each run starts anew, and a crash loses rows",)
            return Described(f"read stream {stream.name}", tuple(details), warnings=beware if once else ())
        case ReadDead(stream=source):
            kind = "table" if isinstance(source, Table) else "stream"
            return Described(f"read what does not parse of {kind} {source.name}")
        case LateRows(time=time):
            return Described(f"keep the rows that come when the watermark has passed their {time}")
        case ReadTable(table=table):
            return _describe_table(table)
        case ReadRelation(name=name):
            return Described(f"read {name}, defined by the program")
        case Literals(sql=text):
            return Described(f"literal rows: {text}")
        case Rename(names=names, label=label):
            return Described(f"name columns for {label}: {', '.join(names)}")
        case Project(input=below, columns=columns):
            computed = _nameless(below)
            return Described("select " + ", ".join(_column(column, computed) for column in columns))
        case Filter(input=below, condition=condition):
            return Described(f"keep rows where {sql(condition, _nameless(below))}")
        case Unnest(generator=generator, names=names, outer=outer):
            return Described(
                f"one row per element: {sql(generator)} as {', '.join(names)}" + (", or NULL" if outer else "")
            )
        case AssignWindows(window=window, time=time):
            return Described(f"put rows into windows: {window_text(window)} by {time}")
        case Aggregate():
            return _describe_aggregate(step)
        case Join():
            return _describe_join(step)
        case Deduplicate(keys=keys, time=time, within_watermark=within):
            return _describe_deduplicate(keys, time, within)
        case TopRows(partition=partition, order=order, limit=limit, time_key=time_key):
            terms = ", ".join(sql(term.value) + (" DESC" if term.descending else "") for term in order)
            return Described(
                f"keep the first {limit} rows by {terms} of each {', '.join(partition)}",
                state=f"the rows of each {', '.join(partition)}, until the watermark passes {time_key}",
            )
        case Match():
            return Described(*described_match(step))
        case Rank(columns=columns):
            return _describe_rank(step, columns)
        case SetOperation(kept=kept, every=every):
            title = f"rows of the first input that are {'also' if kept else 'not'} in the second"
            title += ", as often as they are there" if every else ""
            return Described(title, state="how often each row is there on each side, for ever")
        case Union(inputs=several):
            return Described(f"union of {len(several)} inputs")
        case Sort(order=order, limit=limit):
            terms = ", ".join(sql(term.value) + (" DESC" if term.descending else "") for term in order)
            text = f"order by {terms}" if terms else "any order"
            text += f", first {limit}" if limit is not None else ""
            if not is_maintained(step):
                return Described(f"{text}, when complete")
            grows = not any(is_maintained(each) for each in inputs(step))
            state = "the first rows" if grows and limit is not None else "every row, for ever, in one place"
            return Described(f"{text}, kept current", state=state)


def _describe_table(table: Table) -> Described:
    if table.connector == "view":
        read = "its changes are followed" if table.live else "looked up as it stands with each batch"
        return Described(f"read view {table.name}", (read,))
    source = f"from {table.connector}{_options(table.options)}"
    if table.live:
        key = ", ".join(table.primary_key)
        return Described(
            f"read table {table.name}",
            (source, f"the last write of each {key} counts"),
            f"one row for each {key}",
        )
    refresh = getattr(table.common, "refresh", None)
    every = refresh is not None and refresh.lower() != "never"
    return Described(f"read table {table.name}", (source, *([f"read anew every {refresh}"] if every else [])))


def _describe_rank(step: Rank, columns: tuple[Column, ...]) -> Described:
    partitions = {", ".join(part.sql(dialect=Headrace) for part in _partition(each)) for each in columns}
    of = " and ".join(f"each {each.replace('`', '')}" if each else "all rows together" for each in sorted(partitions))
    title = "compare rows: " + ", ".join(sql(column.value) for column in columns)
    if all(is_static(each) for each in inputs(step)):
        return Described(title)
    beware = ("all rows are compared in one place: the window has no PARTITION BY",) if "" in partitions else ()
    return Described(title, (f"over the rows of {of}",), f"the rows of {of}, for ever", beware)


def _partition(column: Column) -> list[exp.Expr]:
    return list(column.value.tree.args.get("partition_by") or ())


def _column(column: Column, computed: Mapping[str, exp.Expr]) -> str:
    text = sql(column.value, computed)
    return text if text == column.name else f"{text} AS {column.name}"


def _options(options: object) -> str:
    path = getattr(options, "path", None)
    if path is not None:
        return f" {path} ({getattr(options, 'format', '')})"
    if isinstance(options, KafkaReading):
        pattern = getattr(options, "topic_pattern", None)
        topics = f"topics like {pattern}" if pattern is not None else f"topic {', '.join(options.topic)}"
        return f" {topics} ({options.format})"
    return ""


def window_text(window: Window) -> str:
    """Return a window in a few words."""
    match window:
        case Tumble(size=size):
            return f"tumbling, {duration_text(size)}"
        case Hop(size=size, slide=slide):
            return f"hopping, {duration_text(size)} every {duration_text(slide)}"
        case Session(gap=gap):
            return f"sessions with a gap of {duration_text(gap)}"
        case Cumulate(size=size, step=step):
            return f"cumulating to {duration_text(size)} in steps of {duration_text(step)}"


def _describe_aggregate(step: Aggregate) -> Described:
    keys = ", ".join(sql(key.value) for key in step.keys) or "everything"
    values = ", ".join(sql(column.value) for column in step.aggregates) or "nothing but the keys"
    details = [f"computes {values}", f"method: {step.method.value}"]
    if step.window is not None:
        details[1] += f" ({window_text(step.window)} by {step.time})"
    if step.note is not None:
        details.append(step.note)
    details.append(
        "publishes rows as they change" if step.updating else "publishes each group once, when it is complete"
    )
    warnings: tuple[str, ...] = ()
    if step.method is Method.SESSIONS:
        state = "one row per open session, until the watermark passes its end"
    elif step.time_key is not None:
        what = "one row per key and pane or window" if step.method is Method.PANES else "one row per group"
        state = f"{what}, until the watermark passes {step.time_key}"
    elif step.keys:
        state = "one row per group, for ever"
        warnings = (f"state grows for ever: one row for each {keys}",)
    else:
        state = "one row"
    return Described(f"group by {keys}", tuple(details), state, warnings)


def _describe_join(step: Join) -> Described:
    condition = sql(step.condition) if step.condition is not None else "true"
    title = f"{step.kind.value} join on {condition}"
    if step.maintained:
        return _describe_maintained(step, title)
    if not step.streaming:
        return Described(title, ("the table is read once per batch",))
    left, right = step.until
    warnings = tuple(
        f"state grows for ever: the {side} rows of the join are never forgotten"
        for side, until in (("left", left), ("right", right))
        if until is None
    )
    return Described(
        title,
        state=f"left rows until {left or 'for ever'}; right rows until {right or 'for ever'}".replace(
            "until for ever", "for ever"
        ),
        warnings=warnings,
    )


def _describe_maintained(step: Join, title: str) -> Described:
    tests = conjuncts(step.condition.tree) if step.condition is not None else []
    equal = any(isinstance(test, (exp.EQ, exp.NullSafeEQ)) for test in tests)
    warnings = [] if equal else ["every row is compared with every other, in one place: the join has no equality"]
    growing = [side for side, below in (("left", step.left), ("right", step.right)) if not is_maintained(below)]
    warnings += [f"state grows for ever: the {side} rows of the join are never forgotten" for side in growing]
    details = ("a change on either side changes what was published",)
    return Described(title, details, "the rows of both sides", tuple(warnings))


def _describe_deduplicate(keys: tuple[str, ...], time: str | None, within: bool) -> Described:
    title = f"keep the first row of each {', '.join(keys)}"
    if time is None:
        return Described(
            title,
            state="every key, for ever",
            warnings=(f"state grows for ever: one row for each {', '.join(keys)}",),
        )
    until = f"{time} + its delay" if within else time
    return Described(title, state=f"every key, until the watermark passes {until}")


def tree(step: Step) -> Node:
    """Return the described steps as a tree; renaming and passing on are left out."""
    if isinstance(step, Rename):
        return tree(step.input)
    return Node(describe(step), tuple(tree(each) for each in (*inputs(step), *asked(step))))


def warnings(relation: Relation) -> tuple[str, ...]:
    """Return what to beware of in a relation's plan."""
    found: list[str] = []
    for node in tree(relation.step).walk():
        found.extend(warning for warning in node.described.warnings if warning not in found)
    return tuple(found)


def explain_relation(relation: Relation) -> str:
    """Return the steps of a relation as indented text, last step first."""
    lines = [f"{_KIND[relation.kind]}"]
    _write(tree(relation.step), "", lines)
    lines.extend(f"warning: {each}" for each in warnings(relation))
    return "\n".join(lines)


_KIND = {
    Kind.APPEND: "append: rows are published once and never change",
    Kind.CHANGELOG: "changelog: rows are published, withdrawn and replaced",
    Kind.STATIC: "static: rows are read once",
}


def _write(node: Node, indent: str, lines: list[str]) -> None:
    lines.append(f"{indent}-> {node.described.title}")
    lines.extend(f"{indent}     {detail}" for detail in node.described.details)
    if node.described.state is not None:
        lines.append(f"{indent}     state: {node.described.state}")
    for each in node.inputs:
        _write(each, indent + "   ", lines)
