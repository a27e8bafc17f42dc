"""A query that stands for one value goes in; the same with at most one row comes out, or an error."""

from collections.abc import Iterator

from sqlglot import exp

from headrace.errors import PlanError, Span
from headrace.plan.steps import (
    Aggregate,
    Deduplicate,
    Filter,
    Join,
    JoinKind,
    Kind,
    Project,
    ReadTable,
    Relation,
    Rename,
    Scalar,
    Sort,
    Step,
)
from headrace.plan.types import family


def single(relation: Relation, span: Span | None) -> Relation:
    """Return a relation of which at most one row is there at a time; one by the whole key of a table is kept so."""
    if relation.kind is Kind.STATIC or _at_most_one(relation.step):
        return relation
    if _is_by_key(relation.step):
        return Relation(Sort(relation.step, (), 1, None), relation.fields, Kind.CHANGELOG)
    raise refused(span)


def refused(span: Span | None) -> PlanError:
    """Return the error for a query of which nobody can say which row is meant."""
    return PlanError(
        "a subquery that may give several rows stands for one value",
        hint="Aggregate it, for example max(n), or add ORDER BY … LIMIT 1.",
        span=span,
    )


def _at_most_one(step: Step) -> bool:
    match step:
        case Aggregate(keys=keys):
            return not keys
        case Sort(limit=limit, input=below):
            return limit in {0, 1} or _at_most_one(below)
        case Join(left=left, right=right, kind=kind) if kind is not JoinKind.FULL:
            return _at_most_one(left) and (kind in {JoinKind.SEMI, JoinKind.ANTI} or _at_most_one(right))
        case Project(input=below) | Filter(input=below) | Rename(input=below) | Deduplicate(input=below):
            return _at_most_one(below)
        case _:
            return False


def _is_by_key(step: Step) -> bool:
    """Say whether conditions set every column of a table's primary key equal to a constant."""
    tests: list[exp.Expr] = []
    while isinstance(step, (Project, Filter)):
        if isinstance(step, Filter):
            tests += _tests(step.condition)
        step = step.input
    if not isinstance(step, ReadTable) or not step.table.primary_key:
        return False
    equal = {column.name.lower() for test in tests for column in _set_equal(test)}
    return {name.lower() for name in step.table.primary_key} <= equal


def _tests(condition: Scalar) -> Iterator[exp.Expr]:
    yield from condition.tree.flatten() if isinstance(condition.tree, exp.And) else [condition.tree]


def _set_equal(test: exp.Expr) -> Iterator[exp.Column]:
    """Yield the column that a condition sets equal to a constant, if it has then but one value."""
    test = test.unnest()
    if isinstance(test, exp.EQ):
        for one, other in ((test.this, test.expression.unnest()), (test.expression, test.this.unnest())):
            if isinstance(one, exp.Column) and _is_constant(other) and (other.is_string or family(one.type) != "text"):
                yield one


def _is_constant(tree: exp.Expr) -> bool:
    return isinstance(tree, (exp.Literal, exp.Cast, exp.Neg)) and not tree.find(exp.Column, exp.Query)
