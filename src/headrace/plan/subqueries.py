"""EXISTS and IN over a query whose rows come or change: the condition goes in, the inputs joined with it come out."""

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from headrace.errors import PlanError
from headrace.plan.binding import INNER, Binder
from headrace.plan.context import Context
from headrace.plan.correlated import check_plain, inner_column, spoken
from headrace.plan.inputs import Inputs, prefixed
from headrace.plan.joins import join
from headrace.plan.scope import Scope
from headrace.plan.sources import SourceItem, settled
from headrace.plan.steps import Field, JoinKind, Kind, Relation, Rename

PlanQuery = Callable[[exp.Expr, Context], Relation]


@dataclass(frozen=True, slots=True)
class Membership:
    """``[NOT] EXISTS (query)``, or ``value [NOT] IN (query)``."""

    query: exp.Expr
    value: exp.Expr | None
    negated: bool


def join_subquery(inputs: Inputs, condition: exp.Expr, context: Context, plan_query: PlanQuery) -> bool:
    """Turn a condition of WHERE into a semi or anti join, if it is a membership; say whether it was.

    A table that is only looked up stays in the condition, unless the query speaks of the outer rows.
    """
    found = _membership(condition)
    if found is None or isinstance(found.value, exp.Tuple):
        return False
    listed = found.query.expressions if isinstance(found.query, exp.Select) else []
    if found.value is not None and len(listed) > 1:
        raise PlanError("IN takes a query of one column", span=context.span(found.query))
    query, tests = _apart(found, context, plan_query)
    relation = settled(plan_query(query, context), context.span(found.query))
    if relation.kind is Kind.STATIC and not tests:
        return False
    if found.value is None and not tests and not (relation.kind is inputs.relation.kind is Kind.APPEND):
        return False  # whether there is a row at all is one value, which the condition asks for
    if found.value is not None:
        tests = [*tests, _equality(found, relation, context)]
    relation = _numbered(relation)
    inputs.prefix_first()
    inputs.subqueries += 1
    alias = f"subquery_{inputs.subqueries}"
    right, described = prefixed(SourceItem(alias, relation))
    condition_tree = exp.and_(*[_placed(test, alias) for test in tests], copy=False) if tests else None
    scope = Scope(context.source, [*inputs.items, described], shared=inputs.shared)
    binder = Binder(scope, context.functions, lambda tree: plan_query(tree, context), context.lookup_name)
    test = binder.condition(condition_tree, "WHERE") if condition_tree is not None else None
    kind = JoinKind.ANTI if found.negated else JoinKind.SEMI
    inputs.relation = join(inputs.relation, right, kind, test, (), context.span(condition))
    return True


def _membership(condition: exp.Expr) -> Membership | None:
    inner = condition.unnest()
    negated = isinstance(inner, exp.Not)
    if negated:
        inner = inner.this.unnest()
    if isinstance(inner, exp.Exists):
        return Membership(inner.this.unnest(), None, negated)
    if isinstance(inner, exp.In) and inner.args.get("query") is not None:
        return Membership(inner.args["query"].unnest(), inner.this, negated)
    return None


def _apart(found: Membership, context: Context, plan_query: PlanQuery) -> tuple[exp.Expr, list[exp.Expr]]:
    """Return the query without what it says of the outer rows, and that as conditions over its columns.

    The columns that the conditions need are named ``_0``, ``_1`` and so on; the value of an IN comes first.
    """
    query = found.query
    said = spoken(query, context, plan_query)
    if said is None or not isinstance(query, exp.Select):
        return query, []
    check_plain(query, said.outer[0], found.value is None, context)
    names: dict[exp.Expr, str] = {}
    if found.value is not None:
        names[query.expressions[0].unalias()] = "_0"
    tests = [said.renamed(test, names) for test in said.outer]
    return said.without_outer(query, names), tests


def _numbered(relation: Relation) -> Relation:
    """Return a subquery's rows under names that no outer column has, so that none becomes ambiguous."""
    names = tuple(f"_{i}" for i in range(len(relation.fields)))
    fields = tuple(Field(name, each.type) for name, each in zip(names, relation.fields, strict=True))
    times = frozenset(new for new, old in zip(names, relation.names, strict=True) if old in relation.times)
    return Relation(Rename(relation.step, names, "a subquery"), fields, relation.kind, times)


def _placed(test: exp.Expr, alias: str) -> exp.Expr:
    """Return a condition that finds the columns of the subquery under its alias."""
    for column in test.find_all(exp.Column):
        if column.table == INNER:
            column.set("table", exp.to_identifier(alias, quoted=True))
    return test


def _equality(found: Membership, relation: Relation, context: Context) -> exp.Expr:
    if found.value is None or (len(relation.fields) != 1 and relation.names[0] != "_0"):
        raise PlanError("IN takes a query of one column", span=context.span(found.query))
    equal: exp.Expr = exp.EQ(this=found.value.copy(), expression=inner_column("_0", found.value))
    if not found.negated:
        return equal
    # with NULL on either side it is not known that the value is not among those of the query
    return exp.Coalesce(this=exp.paren(equal, copy=False), expressions=[exp.true()])
