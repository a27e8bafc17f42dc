"""FROM, JOIN, LATERAL and the stream subqueries of WHERE: the inputs of a SELECT come out as one relation."""

from collections.abc import Callable

from sqlglot import exp

from headrace.errors import PlanError
from headrace.plan import types
from headrace.plan.binding import Binder
from headrace.plan.context import Context, check_composable, not_supported
from headrace.plan.inputs import Inputs, prefixed
from headrace.plan.joins import conjuncts, join, join_kind
from headrace.plan.scope import Item, Scope
from headrace.plan.sources import SourceItem, assigned, plan_source
from headrace.plan.steps import Column as Named
from headrace.plan.steps import Field, JoinKind, Project, Relation, Scalar, Unnest
from headrace.plan.subqueries import join_subquery

PlanQuery = Callable[[exp.Expr, Context], Relation]


def plan_from(select: exp.Select, context: Context, plan_query: PlanQuery) -> Inputs:
    """Plan everything that stands before WHERE, and the stream subqueries inside WHERE."""
    first = plan_source(select.args["from_"].this, context, plan_query)
    joins = _joins(select)
    laterals = list(select.args.get("laterals") or ())
    where = conjuncts(select.args["where"].this) if select.args.get("where") is not None else []
    many = bool(joins)
    inputs = _single(first, many)
    for node in joins:
        if isinstance(node.this, exp.Lateral):
            _lateral(inputs, node.this, context, outer=str(node.side or "").upper() == "LEFT")
        else:
            _join(inputs, node, where, context, plan_query)
    for lateral in laterals:
        _lateral(inputs, lateral, context, outer=bool(lateral.args.get("outer")))
    inputs.where = [condition for condition in where if not join_subquery(inputs, condition, context, plan_query)]
    return inputs


def _joins(select: exp.Select) -> list[exp.Join]:
    source = select.args["from_"].this
    return [*(source.args.get("joins") or ()), *(select.args.get("joins") or ())]


def _single(item: SourceItem, many: bool) -> Inputs:
    if not many:
        names = tuple(each.name for each in item.fields)
        pending = item if item.window is not None else None
        return Inputs(item.relation, [Item(item.alias, item.fields, names)], pending, [])
    relation, described = prefixed(item)
    return Inputs(relation, [described], None, [])


def _join(inputs: Inputs, node: exp.Join, where: list[exp.Expr], context: Context, plan_query: PlanQuery) -> None:
    item = plan_source(node.this, context, plan_query)
    if any(each.alias.lower() == item.alias.lower() for each in inputs.items):
        raise PlanError(
            f'two inputs are called "{item.alias}"',
            hint="Give one of them another name with AS.",
            span=context.span(node.this),
        )
    if str(node.method or "").upper() in {"NATURAL", "ASOF"}:
        raise not_supported(f"{node.method} JOIN", context.span(node))
    right, described = prefixed(item)
    scope = Scope(context.source, [*inputs.items, described], shared=inputs.shared)
    binder = Binder(scope, context.functions, lambda tree: plan_query(tree, context), context.lookup_name)
    kind = join_kind(node)
    condition = _condition(node, inputs, described, binder, context)
    extra = _bindable(where, binder)
    inputs.relation = join(inputs.relation, right, kind, condition, extra, context.span(node.this))
    if kind not in {JoinKind.SEMI, JoinKind.ANTI}:
        inputs.items.append(described)
    if node.args.get("using") and kind in {JoinKind.RIGHT, JoinKind.FULL}:
        _merge_shared(inputs, node, described)


def _condition(node: exp.Join, inputs: Inputs, described: Item, binder: Binder, context: Context) -> Scalar | None:
    using = node.args.get("using")
    if using:
        tests = []
        for column in using:
            left = Scope(context.source, inputs.items, shared=inputs.shared).resolve(_bare(column))
            right = Scope(context.source, [described]).resolve(_bare(column))
            tests.append(exp.EQ(this=left, expression=right))
            inputs.shared[column.name.lower()] = left.name
        tree = exp.and_(*tests, copy=False) if len(tests) > 1 else tests[0]
        return Scalar(tree, types.BOOLEAN, context.span(node))
    on = node.args.get("on")
    return binder.condition(on, "ON") if on is not None else None


def _merge_shared(inputs: Inputs, node: exp.Join, right: Item) -> None:
    """Let a column of USING be that of the side which has a row: the left one is NULL where it has none."""
    merged, items = [], []
    for column in node.args["using"]:
        name = column.name.lower()
        left = inputs.shared[name]
        other = next(i for f, i in zip(right.fields, right.inner, strict=True) if f.name.lower() == name)
        field = next(each for each in inputs.relation.fields if each.name == left)
        tree = exp.Coalesce(this=_inner_column(left), expressions=[_inner_column(other)])
        merged.append(Named(f"_using.{column.name}", Scalar(tree, field.type)))
        items.append(Field(column.name, field.type))
        inputs.shared[name] = f"_using.{column.name}"
    passed = [Named(each.name, Scalar(_inner_column(each.name), each.type)) for each in inputs.relation.fields]
    relation = inputs.relation
    fields = (*relation.fields, *(Field(each.name, each.value.type) for each in merged))
    inputs.relation = Relation(Project(relation.step, (*passed, *merged)), fields, relation.kind, relation.times)
    inputs.items.insert(0, Item("_using", tuple(items), tuple(each.name for each in merged)))


def _inner_column(name: str) -> exp.Column:
    return exp.column(exp.to_identifier(name, quoted=True))


def _bare(column: exp.Expr) -> exp.Column:
    if isinstance(column, exp.Column):
        return column
    result = exp.Column(this=column.copy())
    result.this.meta.update(column.meta)
    return result


def _bindable(where: list[exp.Expr], binder: Binder) -> tuple[exp.Expr, ...]:
    """Return those conditions of WHERE that speak only of the inputs joined so far."""
    found = []
    for condition in where:
        if condition.find(exp.Subquery, exp.Exists, exp.Select):
            continue
        try:
            found.extend(conjuncts(binder.resolve(condition, [])))
        except PlanError:
            continue  # it speaks of an input that is joined later; WHERE is bound as a whole after
    return tuple(found)


def _lateral(inputs: Inputs, node: exp.Lateral, context: Context, outer: bool) -> None:
    generator = node.this
    if isinstance(generator, exp.Subquery):
        raise not_supported("LATERAL with a query", context.span(node))
    check_composable(inputs.relation, context.span(node))
    if inputs.pending is not None:
        inputs.relation, inputs.pending = assigned(inputs.pending, context.span(node)), None
    binder = Binder(
        Scope(context.source, inputs.items, shared=inputs.shared),
        context.functions,
        _no_subquery,
        context.lookup_name,
    )
    scalar = binder.bind(generator)
    alias = node.args.get("alias")
    names = [column.name for column in alias.args.get("columns") or ()] if alias is not None else []
    if not names:
        names = ["pos", "col"] if isinstance(generator, exp.Posexplode) else ["col"]
    label = node.alias or "lateral"
    fields = tuple(Field(name, _element(generator, scalar, len(names), i)) for i, name in enumerate(names))
    inner = tuple(f"{label}.{name}" for name in names)
    relation = inputs.relation
    inputs.relation = Relation(
        Unnest(relation.step, scalar, inner, outer),
        (*relation.fields, *(Field(i, f.type) for i, f in zip(inner, fields, strict=True))),
        relation.kind,
        relation.times,
    )
    inputs.items.append(Item(label, fields, inner))


def _element(generator: exp.Expr, scalar: Scalar, columns: int, position: int) -> exp.DataType:
    """Return the type of a column that explode gives, where it is known."""
    if not isinstance(generator, exp.Explode) or columns != 1 or position != 0:
        return types.UNKNOWN
    argument = scalar.tree.this
    kind = types.type_of(types.annotate(argument))
    if kind.this == types.Type.ARRAY and kind.expressions:
        inner = kind.expressions[0]
        return inner if isinstance(inner, exp.DataType) else types.UNKNOWN
    return types.UNKNOWN


def _no_subquery(tree: exp.Expr) -> Relation:
    raise PlanError("a subquery cannot stand in a generator's argument")
