"""ORDER BY and LIMIT: a query tree and its rows go in, the rows in order, or the first of them, come out."""

from collections.abc import Callable, Iterator

from sqlglot import exp

from headrace.errors import PlanError
from headrace.language.statements import Emit
from headrace.plan.context import Context, check_composable
from headrace.plan.naming import ADDED, is_star, listed, outputs_first
from headrace.plan.scope import did_you_mean
from headrace.plan.selects import plan_select
from headrace.plan.sources import settled
from headrace.plan.steps import Column as Named
from headrace.plan.steps import Field, Kind, Ordering, Project, Relation, Scalar, Sort

PlanQuery = Callable[[exp.Expr, Context], Relation]
MOST_ROWS = 2**31 - 1
"""Spark counts the rows of a LIMIT with a Java int."""


def column_of(field: Field, name: str | None = None) -> Named:
    """Return the projection of a column as it is."""
    tree = exp.column(exp.to_identifier(field.name, quoted=True))
    tree.type = field.type
    return Named(name or field.name, Scalar(tree, field.type))


def ordered(tree: exp.Expr, relation: Relation, context: Context) -> Relation:
    """Return the rows of a query with its ORDER BY, LIMIT and OFFSET, all over columns of the result."""
    limit, offset = (_whole(tree.args.get(key), context) for key in ("limit", "offset"))
    if tree.args.get("order") is None and limit is None and offset is None:
        return relation
    terms = tuple(_ordering(term, relation, tree, context) for term in _terms(tree, relation))
    step = Sort(relation.step, terms, limit, offset)
    if relation.kind is Kind.STATIC or (limit is None and offset is None):
        return Relation(step, relation.fields, relation.kind, relation.times)
    check_composable(relation, context.span(tree))
    return Relation(step, relation.fields, Kind.CHANGELOG)


def first_by_others(
    tree: exp.Select, relation: Relation, context: Context, emit: Emit | None, plan_query: PlanQuery
) -> Relation | None:
    """Plan the first rows by an order of which some terms are no columns of the result; None if all are."""
    limited = tree.args.get("limit") is not None or tree.args.get("offset") is not None
    if tree.args.get("order") is None or not limited or tree.args.get("distinct") is not None:
        return None
    terms = list(_terms(tree, relation))
    fields = [_output_field(term.this, relation, tree, context) for term in terms]
    if all(fields):
        return None
    wider = tree.copy()
    for part in ("order", "limit", "offset"):
        wider.set(part, None)
    for number, (term, field) in enumerate(zip(terms, fields, strict=True)):
        name = field.name if field is not None else f"{ADDED}{number}"
        if field is None:
            alias = exp.alias_(outputs_first(term.this, tree), name, quoted=True)
            wider.set("expressions", [*wider.expressions, alias])
        term.set("this", exp.column(exp.to_identifier(name, quoted=True)))
    rows = plan_select(wider, context, emit, plan_query)
    shown = exp.Select(expressions=wider.expressions, order=exp.Order(expressions=terms))
    for part in ("limit", "offset"):
        shown.set(part, tree.args.get(part))
    kept = settled(ordered(shown, rows, context), context.span(tree))
    columns = tuple(column_of(field) for field in relation.fields)
    return Relation(Project(kept.step, columns), relation.fields, kept.kind)


def _terms(tree: exp.Expr, relation: Relation) -> Iterator[exp.Ordered]:
    """Yield the terms of an order; ALL is each column of the result, from the left."""
    order = tree.args.get("order")
    for term in order.expressions if order is not None else ():
        this = term.this if isinstance(term, exp.Ordered) else term
        for node in _columns(relation) if isinstance(this, exp.Var) and this.name.upper() == "ALL" else [this.copy()]:
            given = term.args if isinstance(term, exp.Ordered) else {}
            yield exp.Ordered(this=node, desc=given.get("desc"), nulls_first=given.get("nulls_first"))


def _columns(relation: Relation) -> list[exp.Expr]:
    return [column_of(field).value.tree for field in relation.fields]


def _ordering(term: exp.Ordered, relation: Relation, tree: exp.Expr, context: Context) -> Ordering:
    descending = bool(term.args.get("desc"))
    nulls = term.args.get("nulls_first")
    field = _output_field(term.this, relation, tree, context)
    if field is None:
        raise PlanError(
            "ORDER BY takes columns of the result here",
            hint=did_you_mean(term.this.name or term.this.sql(), list(relation.names)),
            span=context.span(term.this),
        )
    scalar = column_of(field).value
    return Ordering(
        Scalar(scalar.tree, scalar.type, context.span(term.this)),
        descending,
        bool(nulls) if nulls is not None else not descending,
    )


def _output_field(node: exp.Expr, relation: Relation, tree: exp.Expr, context: Context) -> Field | None:
    """Return the column of the result that a term means: by its place, its name or its expression."""
    by_name = {field.name.lower(): field for field in relation.fields}
    if isinstance(node, exp.Literal) and node.is_int:
        position = int(node.name)
        if not 0 < position <= len(relation.fields):
            raise PlanError(
                f"ORDER BY {position}: the list has {len(relation.fields)} columns", span=context.span(node)
            )
        return relation.fields[position - 1]
    if isinstance(node, exp.Column) and not node.table and node.name.lower() in by_name:
        return by_name[node.name.lower()]
    if not isinstance(tree, exp.Select):
        return None
    if isinstance(node, exp.Column) and node.table:
        return _of_input(node, by_name, tree)
    meant = outputs_first(node, tree)
    return next((by_name.get(name.lower()) for name, value in listed(tree) if value == meant), None)


def _of_input(node: exp.Column, by_name: dict[str, Field], tree: exp.Select) -> Field | None:
    """Return the column of the result that is a column of an input, as it is; None if that is not sure."""
    column, table = node.name.lower(), node.table.lower()
    inputs = [tree.args["from_"], *(tree.args.get("joins") or ()), *(tree.args.get("laterals") or ())]
    if table not in {each.alias_or_name.lower() for each in inputs}:
        return None
    shared = {each.name.lower() for join in tree.args.get("joins") or () for each in join.args.get("using") or ()}
    for name, value in listed(tree):
        if not isinstance(value, exp.Column) or value.name.lower() != column:
            continue
        if value.table.lower() == table or (not value.table and column not in shared):
            return by_name.get(name.lower())
    named = {name.lower() for name, _ in listed(tree)}
    stars = [item.table.lower() for item in tree.expressions if isinstance(item, exp.Column) and is_star(item)]
    stars += ["" for item in tree.expressions if isinstance(item, exp.Star) and not any(item.args.values())]
    if column in named or column in shared or not {"", table} & set(stars):
        return None
    return by_name.get(column)


def _whole(node: exp.Expr | None, context: Context) -> int | None:
    """Return the number of rows that LIMIT, OFFSET or FETCH says; None is all of them."""
    if node is None:
        return None
    value = node.args.get("count") if isinstance(node, exp.Fetch) else node.expression
    if isinstance(value, exp.Var) and value.name.upper() == "ALL" and isinstance(node, exp.Limit):
        return None
    if not (isinstance(value, exp.Literal) and value.is_int):
        raise PlanError(f"{node.key.upper()} takes a whole number", span=context.span(node))
    if int(value.name) > MOST_ROWS:
        raise PlanError(
            f"{node.key.upper()} {value.name} is more than can be counted",
            hint=f"The most is {MOST_ROWS}. Leave it out for all rows.",
            span=context.span(node),
        )
    return int(value.name)
