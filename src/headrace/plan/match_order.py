"""The PARTITION BY and ORDER BY of a pattern go in, columns of its input come out."""

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from headrace.errors import PlanError
from headrace.language.expressions import MatchRecognize
from headrace.plan import types
from headrace.plan.navigation import HIDDEN
from headrace.plan.scope import Scope
from headrace.plan.steps import Field, Kind, Relation, Scan, walk

_UNORDERED = frozenset({types.Type.MAP, types.Type.VARIANT})


@dataclass(frozen=True, slots=True)
class MatchOrder:
    """The order of the rows of a partition: their time, whether they are taken as they come, and what breaks ties."""

    time: str | None
    arrival: bool
    ties: tuple[tuple[str, bool, bool], ...]
    names: tuple[str, ...]


def relation_field(relation: Relation, name: str) -> Field:
    """Return a column of a relation."""
    return next(each for each in relation.fields if each.name == name)


def partition_columns(node: MatchRecognize, scope: Scope) -> tuple[str, ...]:
    """Return the columns of PARTITION BY."""
    found: list[str] = []
    for each in node.partition_by:
        name = _column(each, scope, "PARTITION BY")
        if name in found:
            raise PlanError(f"PARTITION BY names {name} twice", span=scope.span(each))
        found.append(name)
    return tuple(found)


def _column(node: exp.Expr, scope: Scope, clause: str) -> str:
    bound = scope.resolve(node) if isinstance(node, exp.Column) else None
    if not isinstance(bound, exp.Column) or bound.name in HIDDEN:
        raise PlanError(
            f"{clause} of a pattern takes columns",
            hint="Compute it in a subquery: FROM (SELECT *, … AS name FROM …) MATCH_RECOGNIZE (…).",
            span=scope.span(node),
        )
    unordered = next((each for each in _types(bound.type) if each.this in _UNORDERED), None)
    if unordered is not None:
        raise PlanError(
            f"{clause} of a pattern cannot take a {types.type_name(unordered)}",
            detail="Spark can neither compare nor order such values.",
            hint="Take what tells them apart out of it in a subquery, or compute a text: to_json(…).",
            span=scope.span(node),
        )
    return bound.name


def _types(kind: exp.DataType | None) -> Iterator[exp.DataType]:
    """Yield a type and those inside it."""
    return kind.find_all(exp.DataType) if kind is not None else iter(())


def match_order(node: MatchRecognize, relation: Relation, scope: Scope) -> MatchOrder:
    """Return the order in which the rows of a relation are searched."""
    order = node.args.get("order")
    terms = list(order.expressions) if order is not None else []
    if not terms:
        raise PlanError(
            "MATCH_RECOGNIZE needs ORDER BY",
            detail="A pattern speaks of rows that follow each other.",
            hint="Order by the stream's event time, or write ORDER BY ARRIVAL.",
            span=scope.span(node),
        )
    first = terms[0].this
    if _is_arrival(first, relation):
        if len(terms) > 1:
            raise PlanError("ORDER BY ARRIVAL stands alone", span=scope.span(terms[1]))
        if terms[0].args.get("desc"):
            raise PlanError("rows arrive one after the other: DESC cannot follow ARRIVAL", span=scope.span(terms[0]))
        return MatchOrder(_arrival_time(node, relation, scope), True, (), ())
    if relation.kind is Kind.STATIC:
        return _static_order(terms, relation, scope)
    time = _column(first, scope, "ORDER BY")
    if time not in relation.times:
        detail, hint = _untimed(time, relation)
        raise PlanError(
            f'"{time}" is not the event time of these rows', detail=detail, hint=hint, span=scope.span(first)
        )
    if terms[0].args.get("desc"):
        raise PlanError("time goes forward: DESC cannot stand first", span=scope.span(terms[0]))
    ties = _terms(terms[1:], scope)
    return MatchOrder(time, False, ties, tuple(name for name, _, _ in ties))


def _arrival_time(node: MatchRecognize, relation: Relation, scope: Scope) -> str | None:
    """Return the time that WITHIN speaks of where rows are taken as they come: the stream's own, not a window's."""
    own = sorted(name for name in relation.times if name not in {"window_end", "window_time"})
    if len(own) > 1 and node.args.get("within") is not None:
        raise PlanError(
            "WITHIN over rows that have several times",
            detail=f"Each of {', '.join(own)} is an event time; by arrival, none of them stands in ORDER BY.",
            hint="Keep only the one that counts, in a subquery: FROM (SELECT … FROM …) MATCH_RECOGNIZE (…).",
            span=scope.span(node),
        )
    return next(iter(own or sorted(relation.times)), None)


def _untimed(time: str, relation: Relation) -> tuple[str, str]:
    """Return why rows cannot be ordered by a column, and what can be done."""
    if relation.times:
        known = ", ".join(sorted(relation.times))
        detail = f"The watermark follows {known}: only it can tell that no earlier row is to come."
        return detail, f"Order by {known} first."
    if any(isinstance(each, Scan) and each.stream.watermark is not None for each in walk(relation.step)):
        detail = "They are given when they are known, which may be long after the time that they tell."
        return detail, "Write ORDER BY ARRIVAL, or search the stream itself."
    detail = "No watermark tells that no earlier row is to come."
    return detail, f"Declare WATERMARK FOR {time}, or write ORDER BY ARRIVAL."


def _static_order(terms: list[exp.Expr], relation: Relation, scope: Scope) -> MatchOrder:
    """Return the order of rows that are all there: any will do, and a time that stands first is the time of a row."""
    order = _terms(terms, scope)
    name, descending, nulls_first = order[0]
    timed = not descending and nulls_first and types.is_timestamp(relation_field(relation, name).type)
    ties = order[1:] if timed else order
    return MatchOrder(name if timed else None, False, ties, tuple(each for each, _, _ in ties))


def _terms(terms: list[exp.Expr], scope: Scope) -> tuple[tuple[str, bool, bool], ...]:
    return tuple(
        (_column(term.this, scope, "ORDER BY"), bool(term.args.get("desc")), bool(term.args.get("nulls_first")))
        for term in terms
    )


def _is_arrival(node: exp.Expr, relation: Relation) -> bool:
    named = isinstance(node, exp.Column) and not node.table and node.name.upper() == "ARRIVAL"
    return named and all(name.lower() != "arrival" for name in relation.names)
