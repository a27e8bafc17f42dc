"""A query tree goes in, the relation that answers it comes out."""

from sqlglot import exp

from headrace.errors import PlanError
from headrace.language.dialect import Headrace
from headrace.language.statements import Emit
from headrace.plan import types
from headrace.plan.context import Context, check_composable, not_supported
from headrace.plan.scope import did_you_mean
from headrace.plan.selects import plan_select
from headrace.plan.sources import settled
from headrace.plan.steps import Column as Named
from headrace.plan.steps import (
    Deduplicate,
    Field,
    Kind,
    Literals,
    Ordering,
    Project,
    Relation,
    Rename,
    Scalar,
    SetOperation,
    Sort,
    Union,
)


def plan_query(tree: exp.Expr, context: Context, emit: Emit | None = None) -> Relation:
    """Plan a whole query: WITH, set operations, SELECT, ORDER BY and LIMIT."""
    tree = _without_parentheses(tree)
    context = _with_names(tree, context)
    match tree:
        case exp.Select():
            relation = plan_select(tree, context, emit, plan_query)
            if (first := _first_by_others(tree, relation, context, emit)) is not None:
                return first
        case exp.Union():
            relation = _union(tree, context, emit)
        case exp.Values():
            relation = _values(tree, context)
        case exp.Subquery():
            relation = settled(plan_query(tree.this, context, emit), context.span(tree))
        case exp.Table():
            table = context.relation(table_name(tree), context.span(tree))
            relation = table
        case exp.Except() | exp.Intersect():
            relation = _set_operation(tree, context, emit)
        case _:
            raise not_supported("this kind of query", context.span(tree))
    return _ordered(tree, relation, context)


def table_name(table: exp.Table) -> str:
    """Return the dotted name of a table as written."""
    return ".".join(part.name for part in table.parts)


def _without_parentheses(tree: exp.Expr) -> exp.Expr:
    while isinstance(tree, (exp.Subquery, exp.Paren)) and not any(map(tree.args.get, ("order", "limit", "offset"))):
        tree = tree.this
    return tree


def _with_names(tree: exp.Expr, context: Context) -> Context:
    with_ = tree.args.get("with_")
    if with_ is None:
        return context
    if with_.args.get("recursive"):
        raise not_supported("WITH RECURSIVE", context.span(with_))
    for each in with_.expressions:
        relation = plan_query(each.this, context)
        columns = [column.name for column in each.args["alias"].args.get("columns") or ()]
        if columns:
            relation = renamed(relation, columns, context, each)
        context = context.including({each.alias.lower(): relation})
    return context


def renamed(relation: Relation, columns: list[str], context: Context, node: exp.Expr) -> Relation:
    """Return a relation with new column names, as many as it has columns."""
    if len(columns) != len(relation.fields):
        raise PlanError(
            f"{len(columns)} column names are given for {len(relation.fields)} columns",
            detail=f"The query gives: {', '.join(relation.names)}.",
            span=context.span(node),
        )
    times = frozenset(new for new, old in zip(columns, relation.names, strict=True) if old in relation.times)
    fields = tuple(Field(new, old.type) for new, old in zip(columns, relation.fields, strict=True))
    return Relation(Rename(relation.step, tuple(columns), "columns"), fields, relation.kind, times)


def _values(tree: exp.Values, context: Context) -> Relation:
    alias = tree.args.get("alias")
    names = [column.name for column in alias.args.get("columns") or ()] if alias is not None else []
    first = tree.expressions[0]
    cells = first.expressions if isinstance(first, exp.Tuple) else [first]
    names = names or [f"col{i + 1}" for i in range(len(cells))]
    fields = tuple(Field(name, types.type_of(types.annotate(cell))) for name, cell in zip(names, cells, strict=False))
    bare = tree.copy()
    bare.set("alias", None)
    columns = ", ".join(f"`{name}`" for name in names)
    sql = f"SELECT * FROM {bare.sql(dialect=Headrace)} AS t({columns})"
    return Relation(Literals(sql, context.span(tree)), fields, Kind.STATIC)


def _union(tree: exp.Union, context: Context, emit: Emit | None) -> Relation:
    first, second = _sides(tree, context, emit)
    if (first.kind is Kind.STATIC) != (second.kind is Kind.STATIC):
        raise PlanError(
            "UNION of a stream and a table",
            detail="The table has no end to wait for and no time, so the union would never be complete.",
            hint="Declare the table's data as a stream, or give the table a primary key.",
            span=context.span(tree),
        )
    times = frozenset(
        left.name
        for left, right in zip(first.fields, second.fields, strict=True)
        if left.name in first.times and right.name in second.times
    )
    kind = Kind.CHANGELOG if Kind.CHANGELOG in {first.kind, second.kind} else first.kind
    step = Union((first.step, Rename(second.step, first.names, "union")))
    relation = Relation(step, first.fields, kind, times if kind is not Kind.CHANGELOG else frozenset())
    return distinct(relation) if tree.args.get("distinct") else relation


def _set_operation(tree: exp.Except | exp.Intersect, context: Context, emit: Emit | None) -> Relation:
    first, second = _sides(tree, context, emit)
    if (first.kind is Kind.STATIC) != (second.kind is Kind.STATIC):
        raise not_supported(
            f"{tree.key.upper()} of a stream and a table that is only looked up",
            context.span(tree),
            "Give the table a primary key, and no refresh.",
        )
    kind = Kind.STATIC if first.kind is Kind.STATIC else Kind.CHANGELOG
    right = Rename(second.step, first.names, tree.key)
    step = SetOperation(first.step, right, isinstance(tree, exp.Intersect), not tree.args.get("distinct"))
    return Relation(step, first.fields, kind)


def _sides(tree: exp.SetOperation, context: Context, emit: Emit | None) -> tuple[Relation, Relation]:
    """Plan the two sides of a set operation, whose columns must fit each other."""
    what = tree.key.upper()
    first, second = (plan_query(side, context, emit) for side in (tree.this, tree.expression))
    for part, side in ((first, tree.this), (second, tree.expression)):
        check_composable(part, context.span(side))
    by_name = bool(tree.args.get("by_name"))
    if by_name:
        second = _reordered(second, first.names, context, tree.expression)
    if len(first.fields) != len(second.fields):
        raise PlanError(
            f"{what} of {len(first.fields)} columns with {len(second.fields)}",
            detail=f"The first query gives {', '.join(first.names)}; the second {', '.join(second.names)}.",
            span=context.span(tree.expression),
        )
    for left, right in zip(first.fields, second.fields, strict=True):
        if not types.comparable(left.type, right.type):
            raise PlanError(
                f"{what} puts {types.type_name(left.type)} and {types.type_name(right.type)} "
                f'into one column "{left.name}"',
                hint="Convert one side with CAST.",
                span=context.span(tree.expression),
            )
    return first, second


def _reordered(relation: Relation, names: tuple[str, ...], context: Context, node: exp.Expr) -> Relation:
    by_name = {field.name.lower(): field for field in relation.fields}
    columns = []
    for name in names:
        field = by_name.get(name.lower())
        if field is None:
            raise PlanError(
                f'UNION BY NAME misses column "{name}"',
                hint=did_you_mean(name, list(relation.names)),
                span=context.span(node),
            )
        columns.append(column_of(field))
    return Relation(
        Project(relation.step, tuple(columns)),
        tuple(Field(c.name, c.value.type) for c in columns),
        relation.kind,
        relation.times,
    )


def column_of(field: Field, name: str | None = None) -> Named:
    """Return the projection of a column as it is."""
    tree = exp.column(exp.to_identifier(field.name, quoted=True))
    tree.type = field.type
    return Named(name or field.name, Scalar(tree, field.type))


def distinct(relation: Relation) -> Relation:
    """Return a relation without repeated rows; event time among the columns bounds what is remembered."""
    time = next((name for name in relation.names if name in relation.times), None)
    step = Deduplicate(relation.step, relation.names, time, within_watermark=False)
    return Relation(step, relation.fields, relation.kind, relation.times)


def _ordered(tree: exp.Expr, relation: Relation, context: Context) -> Relation:
    order, limit, offset = (tree.args.get(key) for key in ("order", "limit", "offset"))
    if order is None and limit is None and offset is None:
        return relation
    terms = tuple(_ordering(term, relation, tree, context) for term in (order.expressions if order else ()))
    step = Sort(relation.step, terms, _whole(limit, context), _whole(offset, context))
    return Relation(step, relation.fields, relation.kind, relation.times)


def _first_by_others(tree: exp.Select, relation: Relation, context: Context, emit: Emit | None) -> Relation | None:
    """Plan the first rows by an order of which some terms are no columns of the result; None if all are."""
    order = tree.args.get("order")
    limited = tree.args.get("limit") is not None or tree.args.get("offset") is not None
    if order is None or not limited or tree.args.get("distinct") is not None:
        return None
    terms = [
        term.copy() if isinstance(term, exp.Ordered) else exp.Ordered(this=term.copy()) for term in order.expressions
    ]
    if all(_output_field(term.this, relation, tree) is not None for term in terms):
        return None
    wider = tree.copy()
    for part in ("order", "limit", "offset"):
        wider.set(part, None)
    for number, term in enumerate(terms):
        field = _output_field(term.this, relation, tree)
        if field is None:
            alias = exp.alias_(term.this.copy(), f"_order_{number}", quoted=True)
            wider.set("expressions", [*wider.expressions, alias])
            term.set("this", exp.column(exp.to_identifier(f"_order_{number}", quoted=True)))
    rows = plan_select(wider, context, emit, plan_query)
    shown = exp.Select(expressions=wider.expressions, order=exp.Order(expressions=terms))
    for part in ("limit", "offset"):
        shown.set(part, tree.args.get(part))
    kept = settled(_ordered(shown, rows, context), context.span(tree))
    columns = tuple(column_of(field) for field in relation.fields)
    return Relation(Project(kept.step, columns), relation.fields, kept.kind)


def _ordering(term: exp.Expr, relation: Relation, tree: exp.Expr, context: Context) -> Ordering:
    node = term.this if isinstance(term, exp.Ordered) else term
    descending = bool(isinstance(term, exp.Ordered) and term.args.get("desc"))
    nulls = term.args.get("nulls_first") if isinstance(term, exp.Ordered) else None
    field = _output_field(node, relation, tree)
    if field is None:
        raise PlanError(
            "ORDER BY takes columns of the result here",
            hint=did_you_mean(node.name or node.sql(), list(relation.names)),
            span=context.span(node),
        )
    scalar = column_of(field).value
    return Ordering(
        Scalar(scalar.tree, scalar.type, context.span(node)),
        descending,
        bool(nulls) if nulls is not None else not descending,
    )


def _output_field(node: exp.Expr, relation: Relation, tree: exp.Expr) -> Field | None:
    if isinstance(node, exp.Literal) and node.is_int and 0 < int(node.name) <= len(relation.fields):
        return relation.fields[int(node.name) - 1]
    if isinstance(node, exp.Column):
        for field in relation.fields:
            if field.name.lower() == node.name.lower():
                return field
    if isinstance(tree, exp.Select):
        for field, item in zip(relation.fields, tree.expressions, strict=False):
            if item.unalias() == node:
                return field
    return None


def _whole(node: exp.Expr | None, context: Context) -> int | None:
    if node is None:
        return None
    value = node.expression
    if not (isinstance(value, exp.Literal) and value.is_int):
        raise PlanError(f"{node.key.upper()} takes a whole number", span=context.span(node))
    return int(value.name)
