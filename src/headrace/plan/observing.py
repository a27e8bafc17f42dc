"""An OBSERVE statement goes in; what is measured of a stream, batch by batch, comes out."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from sqlglot import exp

from headrace.catalog.objects import Stream
from headrace.errors import PlanError, Source, Span
from headrace.language import statements as st
from headrace.language.dialect import Headrace
from headrace.language.spans import span_of
from headrace.plan import types
from headrace.plan.binding import aggregates_in
from headrace.plan.outputs import Output
from headrace.plan.steps import Relation, Scan, walk

__all__ = ["Measure", "Observation", "adding_up", "check_observed", "observation_of", "stream_name"]

_HINT = "Write OBSERVE name AS SELECT count(*) AS n, max(amount) AS largest FROM stream."
_CLAUSES = {
    "where": "WHERE",
    "group": "GROUP BY",
    "having": "HAVING",
    "order": "ORDER BY",
    "limit": "LIMIT",
    "distinct": "DISTINCT",
    "qualify": "QUALIFY",
    "with_": "WITH",
    "joins": "a join",
    "laterals": "LATERAL VIEW",
}
_TOTALS = (exp.Count, exp.CountIf, exp.Sum)


@dataclass(frozen=True, slots=True)
class Measure:
    """One figure of an observation: its name, Spark's expression for it, and whether batches can be added up."""

    name: str
    sql: str
    adds_up: bool


@dataclass(frozen=True, slots=True)
class Observation:
    """What is measured of the rows of a stream in each batch."""

    name: str
    stream: str
    measures: tuple[Measure, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


def observation_of(statement: st.Observe, planned: Relation, stream: Stream | None, source: Source) -> Observation:
    """Return what a statement measures; ``planned`` is its query as any other, so names and types are right by now."""
    tree = statement.query.tree
    if not isinstance(tree, exp.Select) or statement.query.emit is not None:
        raise PlanError("OBSERVE takes one SELECT over a stream", hint=_HINT, span=statement.query.span)
    for key, words in _CLAUSES.items():
        clause = tree.args.get(key)
        if clause:
            first = clause[0] if isinstance(clause, list) else clause
            raise PlanError(
                f"OBSERVE takes no {words}" if words != "a join" else "OBSERVE takes one stream, not a join",
                detail="It measures all rows of a stream, on their way.",
                hint="For some of them write count_if(condition), or sum(CASE WHEN condition THEN x END).",
                span=span_of(first, source),
            )
    if stream is None:
        raise PlanError(
            "OBSERVE reads a stream", detail="Nothing else has rows on their way.", span=_from(tree, source)
        )
    return Observation(
        statement.name.text,
        stream.name.lower(),
        tuple(_measure(each, planned, number, source) for number, each in enumerate(tree.expressions)),
        statement.span,
    )


def stream_name(tree: exp.Expr) -> str:
    """Return the name that a SELECT reads from, empty if it is no plain name."""
    clause = tree.args.get("from_") or tree.args.get("from")
    table = None if clause is None else clause.this
    return str(table.name) if isinstance(table, exp.Table) and isinstance(table.this, exp.Identifier) else ""


def adding_up(observations: Iterable[Observation]) -> frozenset[tuple[str, str]]:
    """Return the figures that can be added up over batches, each after its observation."""
    return frozenset((each.name, one.name) for each in observations for one in each.measures if one.adds_up)


def check_observed(observations: Iterable[Observation], outputs: Iterable[Output]) -> None:
    """Raise if a stream is observed that no output reads: no row of it would be on its way."""
    read = {
        step.stream.name.lower() for output in outputs for step in walk(output.relation.step) if isinstance(step, Scan)
    }
    for each in observations:
        if each.stream not in read:
            raise PlanError(
                f'no output reads stream "{each.stream}", so "{each.name}" would never be measured',
                hint="Observe a stream that a view, a sink or a SELECT reads.",
                span=each.span,
            )


def _measure(projection: exp.Expr, planned: Relation, number: int, source: Source) -> Measure:
    inner = projection.unalias()
    span = span_of(projection, source)
    found = aggregates_in(inner)
    if not found:
        raise PlanError(
            "OBSERVE takes aggregates only", detail="It gives one figure for each batch.", hint=_HINT, span=span
        )
    for each in found:
        if isinstance(each, exp.Filter) or each.find(exp.Distinct) is not None:
            raise PlanError(
                "OBSERVE takes no FILTER and no DISTINCT",
                hint="Write count_if(condition), sum(CASE WHEN condition THEN x END) or approx_count_distinct(x).",
                span=span_of(each, source),
            )
    if not isinstance(projection, exp.Alias):
        raise PlanError("a figure needs a name", hint=f"Write {inner.sql(dialect=Headrace)} AS name.", span=span)
    kind = planned.fields[number].type
    if types.family(kind) not in {None, "number", "boolean"}:
        raise PlanError(
            f'figure "{projection.alias}" is {types.type_name(kind)}, not a number',
            hint="Write unix_timestamp(max(at)) for an instant, length(…) for a text.",
            span=span,
        )
    return Measure(projection.alias, inner.sql(dialect=Headrace), isinstance(inner, _TOTALS))


def _from(tree: exp.Select, source: Source) -> Span:
    clause = tree.args.get("from_") or tree.args.get("from")
    return span_of(tree if clause is None else clause, source)
