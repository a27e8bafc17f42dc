"""A query tree goes in, the relation that answers it comes out."""

from sqlglot import exp

from headrace.catalog.reserved import check_column_name
from headrace.errors import PlanError
from headrace.language.dialect import Headrace
from headrace.language.statements import Emit
from headrace.plan import types
from headrace.plan.context import Context, check_composable, not_supported
from headrace.plan.ordering import column_of, first_by_others, ordered
from headrace.plan.scope import did_you_mean
from headrace.plan.selects import plan_select
from headrace.plan.sources import settled
from headrace.plan.steps import Deduplicate, Field, Kind, Literals, Project, Relation, Rename, SetOperation, Union
from headrace.plan.understood import check_understood


def plan_query(tree: exp.Expr, context: Context, emit: Emit | None = None) -> Relation:
    """Plan a whole query: WITH, set operations, SELECT, ORDER BY and LIMIT."""
    if tree.parent is None:
        check_understood(tree, context)
    tree = _without_parentheses(tree)
    context = _with_names(tree, context)
    match tree:
        case exp.Select():
            relation = plan_select(tree, context, emit, plan_query)
            if (first := first_by_others(tree, relation, context, emit, plan_query)) is not None:
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
    return ordered(tree, relation, context)


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
    seen: set[str] = set()
    for each in with_.expressions:
        if each.alias.lower() in seen:
            raise PlanError(
                f'WITH has two queries called "{each.alias}"',
                hint="Give one of them another name.",
                span=context.span(each.args["alias"]),
            )
        seen.add(each.alias.lower())
        relation = settled(plan_query(each.this, context), context.span(each.this))
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
    for name in columns:
        check_column_name(name, context.span(node))
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
    first, second = (
        settled(plan_query(side, context, emit), context.span(side)) for side in (tree.this, tree.expression)
    )
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


def distinct(relation: Relation) -> Relation:
    """Return a relation without repeated rows; event time among the columns bounds what is remembered."""
    time = next((name for name in relation.names if name in relation.times), None)
    step = Deduplicate(relation.step, relation.names, time, within_watermark=False)
    return Relation(step, relation.fields, relation.kind, relation.times)
