"""A subquery that speaks of the outer rows goes in; its rows, and what it says of each outer row, come out apart."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sqlglot import exp

from headrace.errors import PlanError
from headrace.plan.binding import INNER, Correlated, aggregates_in
from headrace.plan.context import Context
from headrace.plan.joins import conjuncts
from headrace.plan.keys import keys_of
from headrace.plan.scope import Item, Scope
from headrace.plan.single import refused
from headrace.plan.sources import plan_source, settled
from headrace.plan.steps import Relation

PlanQuery = Callable[[exp.Expr, Context], Relation]


@dataclass(frozen=True, slots=True)
class Spoken:
    """The conditions of a subquery: those over its own columns, and those that speak of the outer row."""

    scope: Scope
    own: tuple[exp.Expr, ...]
    outer: tuple[exp.Expr, ...]

    def renamed(self, tree: exp.Expr, names: dict[exp.Expr, str]) -> exp.Expr:
        """Return an expression in which the columns of the subquery go by names ``_0``, ``_1`` and so on."""

        def rename(node: exp.Expr) -> exp.Expr:
            if not isinstance(node, exp.Column) or not _is_known(self.scope, node):
                return node
            return inner_column(names.setdefault(node.copy(), f"_{len(names)}"), node)

        return tree.copy().transform(rename)

    def without_outer(self, query: exp.Select, names: dict[exp.Expr, str]) -> exp.Select:
        """Return the query with its own conditions, giving what was named."""
        copy = query.copy()
        listed = [exp.alias_(tree.copy(), name, quoted=True) for tree, name in names.items()]
        copy.set("expressions", listed or [exp.alias_(exp.Literal.number(1), "_0", quoted=True)])
        copy.set("where", exp.Where(this=exp.and_(*self.own, copy=True)) if self.own else None)
        for part in ("distinct", "order", "limit"):
            copy.set(part, None)
        return copy


def spoken(query: exp.Expr, context: Context, plan_query: PlanQuery) -> Spoken | None:
    """Return what a subquery says of the outer rows, None if it says nothing."""
    if not isinstance(query, exp.Select) or query.args.get("from_") is None or query.args.get("where") is None:
        return None
    scope = Scope(context.source, _items(query, context, plan_query))
    own: list[exp.Expr] = []
    outer: list[exp.Expr] = []
    for test in conjuncts(query.args["where"].this):
        columns = [each for each in test.find_all(exp.Column) if each.find_ancestor(exp.Select) is query]
        (own if all(_is_known(scope, column) for column in columns) else outer).append(test)
    return Spoken(scope, tuple(own), tuple(outer)) if outer else None


def correlated(tree: exp.Expr, outside: Scope, context: Context, plan_query: PlanQuery) -> Correlated | None:
    """Plan a subquery of an expression that speaks of the outer row, None if it does not."""
    query = (tree.args.get("query") or tree.this).unnest()
    found = spoken(query, context, plan_query)
    if found is None:
        return None
    names: dict[exp.Expr, str] = {}
    values: list[exp.Expr] = []
    if isinstance(tree, exp.Subquery):
        _check_one_value(query, found, context)
        values = [found.renamed(item.unalias(), names) for item in query.expressions]
    else:
        check_plain(query, found.outer[0], isinstance(tree, exp.Exists), context)
        for item in query.expressions if isinstance(tree, exp.In) else ():
            name = names.setdefault(item.unalias().copy(), f"_{len(names)}")
            values.append(inner_column(name, item))
    tests = tuple(found.renamed(test, names) for test in found.outer)
    inner = found.without_outer(query, names)
    relation = settled(plan_query(inner, context), context.span(query))
    if isinstance(tree, exp.Subquery) and not aggregates_in(query.expressions[0]):
        if not _is_by_key(relation, tests, outside):
            raise refused(context.span(tree))
        values = [exp.AnyValue(this=value) for value in values]
    return Correlated(relation, tuple(values), tests)


def _check_one_value(query: exp.Select, found: Spoken, context: Context) -> None:
    """Refuse what is no aggregate, or value by key, of the rows that are equal to the outer one in something."""
    check_plain(query, found.outer[0], False, context, aggregated=True)
    if len(query.expressions) != 1:
        raise PlanError("a subquery that stands for one value gives one column", span=context.span(query))
    for column in query.expressions[0].find_all(exp.Column):
        if not _is_known(found.scope, column):
            raise PlanError(
                "a subquery speaks of the rows outside it in its WHERE alone",
                hint="Compute with the column of the outer row outside the subquery.",
                span=context.span(column),
            )
    for test in found.outer:
        sides = [_speaks_of(side, found.scope) for side in (test.this, test.expression)] if _is_equality(test) else []
        if {True, False} != set(sides):
            raise PlanError(
                "a subquery that stands for one value can only be equal to the rows outside it",
                hint="Write an equality of a column of the subquery and one of the outer query.",
                span=context.span(test),
            )


def _is_equality(test: exp.Expr) -> bool:
    return isinstance(test, (exp.EQ, exp.NullSafeEQ))


def _speaks_of(tree: exp.Expr, scope: Scope) -> bool | None:
    """Return whether an expression is of the outer row, None if it is of both."""
    known = {_is_known(scope, column) for column in tree.find_all(exp.Column)}
    return None if len(known) != 1 else False in known


def _is_by_key(relation: Relation, tests: tuple[exp.Expr, ...], outside: Scope) -> bool:
    """Say whether the outer row says all of what identifies a row of a subquery."""
    equal = set()
    for one, other in _equal_columns(tests):
        field = next(each for each in relation.fields if each.name == one.name)
        if field.type == outside.resolve(other).type:
            equal.add(one.name)
    return any(key <= equal for key in keys_of(relation))


def _equal_columns(tests: tuple[exp.Expr, ...]) -> Iterator[tuple[exp.Column, exp.Column]]:
    for test in tests:
        pair = (test.this, test.expression) if isinstance(test, exp.EQ) else ()
        if pair and all(isinstance(each, exp.Column) for each in pair):
            yield pair if pair[0].table == INNER else pair[::-1]


def check_plain(
    query: exp.Select, outer: exp.Expr, existence: bool, context: Context, *, aggregated: bool = False
) -> None:
    """Refuse a query of which other rows are left once it is known which outer row is meant.

    That rows are told once, and for EXISTS how many are told at most, changes nothing.
    """
    grouped = query.args.get("group") or query.args.get("having")
    if grouped or (not aggregated and any(aggregates_in(item) for item in query.expressions)):
        raise PlanError(
            "a grouped subquery cannot speak of the rows outside it",
            hint="Join with a grouped subquery or view, by what both have in common.",
            span=context.span(outer),
        )
    limit = query.args.get("limit")
    first = limit is not None and not (existence and _is_at_least_one(limit))
    if first or query.args.get("offset") or query.args.get("qualify") or (aggregated and query.args.get("distinct")):
        raise PlanError(
            "a subquery of the first rows cannot speak of the rows outside it",
            hint="Join with a view that has the rank of each row, by what both have in common.",
            span=context.span(outer),
        )


def _is_at_least_one(limit: exp.Expr) -> bool:
    count = limit.args.get("count") if isinstance(limit, exp.Fetch) else limit.expression
    return isinstance(count, exp.Literal) and count.is_int and int(count.name) > 0


def inner_column(name: str, place: exp.Expr) -> exp.Column:
    """Return a column of a subquery, at a place in the text."""
    column = exp.column(exp.to_identifier(name, quoted=True), table=exp.to_identifier(INNER, quoted=True))
    column.this.meta.update(place.this.meta if isinstance(place, exp.Column) else place.meta)
    return column


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
