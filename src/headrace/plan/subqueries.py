"""EXISTS and IN over a query whose rows come or change: the condition goes in, the inputs joined with it come out."""

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from headrace.errors import PlanError
from headrace.plan.binding import Binder, aggregates_in
from headrace.plan.context import Context
from headrace.plan.inputs import Inputs, prefixed
from headrace.plan.joins import conjuncts, join
from headrace.plan.scope import Item, Scope
from headrace.plan.sources import SourceItem, plan_source, settled
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
    if found is None:
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
    if not isinstance(query, exp.Select) or query.args.get("from_") is None or query.args.get("where") is None:
        return query, []
    scope = Scope(context.source, _items(query, context, plan_query))
    own: list[exp.Expr] = []
    outer: list[exp.Expr] = []
    for test in conjuncts(query.args["where"].this):
        columns = [each for each in test.find_all(exp.Column) if each.find_ancestor(exp.Select) is query]
        (own if all(_is_known(scope, column) for column in columns) else outer).append(test)
    if not outer:
        return query, []
    aggregated = any(aggregates_in(item) for item in query.expressions)
    if query.args.get("group") or query.args.get("limit") or query.args.get("distinct") or aggregated:
        raise PlanError(
            "a grouped subquery cannot speak of the rows outside it",
            hint="Join with a grouped subquery or view, by what both have in common.",
            span=context.span(outer[0]),
        )
    names: dict[exp.Expr, str] = {}
    if found.value is not None:
        names[query.expressions[0].unalias()] = "_0"
    tests = [_renamed(test, scope, names) for test in outer]
    copy = query.copy()
    listed = [exp.alias_(tree.copy(), name, quoted=True) for tree, name in names.items()]
    copy.set("expressions", listed or [exp.alias_(exp.Literal.number(1), "_0", quoted=True)])
    copy.set("where", exp.Where(this=exp.and_(*own, copy=True)) if own else None)
    return copy, tests


def _items(query: exp.Select, context: Context, plan_query: PlanQuery) -> list[Item]:
    nodes = [query.args["from_"].this]
    joins = [*(nodes[0].args.get("joins") or ()), *(query.args.get("joins") or ())]
    nodes += [each.this for each in joins if not isinstance(each.this, exp.Lateral)]
    items = []
    for node in nodes:
        source = plan_source(node, context, plan_query)
        names = tuple(each.name for each in source.fields)
        items.append(Item(source.alias, source.fields, names))
    return items


def _is_known(scope: Scope, column: exp.Column) -> bool:
    try:
        scope.resolve(column)
    except PlanError as error:
        return "ambiguous" in error.message
    return True


_INNER = "headrace_inner"


def _numbered(relation: Relation) -> Relation:
    """Return a subquery's rows under names that no outer column has, so that none becomes ambiguous."""
    names = tuple(f"_{i}" for i in range(len(relation.fields)))
    fields = tuple(Field(name, each.type) for name, each in zip(names, relation.fields, strict=True))
    times = frozenset(new for new, old in zip(names, relation.names, strict=True) if old in relation.times)
    return Relation(Rename(relation.step, names, "a subquery"), fields, relation.kind, times)


def _renamed(test: exp.Expr, scope: Scope, names: dict[exp.Expr, str]) -> exp.Expr:
    """Return a condition in which the columns of the subquery go by their new names."""

    def rename(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Column) or not _is_known(scope, node):
            return node
        name = names.setdefault(node.copy(), f"_{len(names)}")
        return _column(name, node)

    return test.copy().transform(rename)


def _column(name: str, place: exp.Expr) -> exp.Column:
    column = exp.column(exp.to_identifier(name, quoted=True), table=exp.to_identifier(_INNER, quoted=True))
    column.this.meta.update(place.this.meta if isinstance(place, exp.Column) else place.meta)
    return column


def _placed(test: exp.Expr, alias: str) -> exp.Expr:
    """Return a condition that finds the columns of the subquery under its alias."""
    for column in test.find_all(exp.Column):
        if column.table == _INNER:
            column.set("table", exp.to_identifier(alias, quoted=True))
    return test


def _equality(found: Membership, relation: Relation, context: Context) -> exp.Expr:
    if found.value is None or (len(relation.fields) != 1 and relation.names[0] != "_0"):
        raise PlanError("IN takes a query of one column", span=context.span(found.query))
    equal: exp.Expr = exp.EQ(this=found.value.copy(), expression=_column("_0", found.value))
    if not found.negated:
        return equal
    # with NULL on either side it is not known that the value is not among those of the query
    return exp.Coalesce(this=exp.paren(equal, copy=False), expressions=[exp.true()])
