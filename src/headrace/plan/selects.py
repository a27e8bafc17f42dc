"""One SELECT goes in, its relation comes out: FROM, WHERE, GROUP BY, HAVING, QUALIFY, the list, DISTINCT."""

from collections.abc import Callable
from dataclasses import dataclass, field

from sqlglot import exp

from headrace.catalog.reserved import check_column_name
from headrace.errors import PlanError
from headrace.language.dialect import Headrace
from headrace.language.statements import Emit
from headrace.plan import types
from headrace.plan.binding import Binder, aggregates_in, is_generator
from headrace.plan.context import Context, check_composable, not_supported
from headrace.plan.correlated import correlated
from headrace.plan.from_clause import plan_from
from headrace.plan.grouping import Grouped, filtered, group, window_column
from headrace.plan.inputs import Inputs
from headrace.plan.joins import conjuncts
from headrace.plan.naming import ADDED, is_star, name_of, outputs_first
from headrace.plan.ranking import compared, rank, ranking_filter
from headrace.plan.scope import Scope, did_you_mean
from headrace.plan.steps import Column, Field, Kind, Literals, Project, Relation, Scalar, Unnest, kind_over

PlanQuery = Callable[[exp.Expr, Context], Relation]


@dataclass(slots=True)
class Block:
    """What is being put together while one SELECT is planned."""

    select: exp.Select
    context: Context
    emit: Emit | None
    binder: Binder
    inputs: Inputs
    names: list[str] = field(default_factory=list)
    values: list[Scalar] = field(default_factory=list)


def plan_select(select: exp.Select, context: Context, emit: Emit | None, plan_query: PlanQuery) -> Relation:
    """Plan one SELECT, without its ORDER BY and LIMIT."""
    if select.args.get("from_") is None:
        return _literals(select, context)
    select = ranking_filter(select)
    inputs = plan_from(select, context, plan_query)
    scope = Scope(context.source, inputs.items, shared=inputs.shared)
    binder = Binder(
        scope,
        context.functions,
        lambda tree: plan_query(tree, context),
        context.lookup_name,
        lambda tree, outside: correlated(tree, outside, context, plan_query),
    )
    block = Block(select, context, emit, binder, inputs)
    where = inputs.bind_where(binder)
    _list(block)
    relation = _grouped(block, where) if _is_grouped(block) else _plain(block, where)
    if select.args.get("distinct") is not None:
        relation = _distinct(relation, select, context)
    return relation


def _literals(select: exp.Select, context: Context) -> Relation:
    scope = Scope(context.source, [])
    binder = Binder(scope, context.functions, lambda _: _no_subquery(), context.lookup_name)
    fields = []
    for position, item in enumerate(select.expressions):
        scalar = binder.bind(item.unalias())
        fields.append(Field(item.alias or f"col{position + 1}", scalar.type))
    columns = [
        exp.alias_(item.unalias().copy(), exp.to_identifier(each.name, quoted=True))
        for item, each in zip(select.expressions, fields, strict=True)
    ]
    sql = exp.select(*columns).sql(dialect=Headrace)
    return Relation(Literals(sql, context.span(select)), tuple(fields), Kind.STATIC)


def _no_subquery() -> Relation:
    raise PlanError("a subquery cannot stand in a SELECT without FROM")


def _list(block: Block) -> None:
    """Bind the SELECT list; aliases become usable by what follows."""
    for item in block.select.expressions:
        if is_star(item):
            _star(block, item)
            continue
        value = item.unalias()
        if is_generator(value):
            _generate(block, item, value)
            continue
        block.names.append(name_of(item, len(block.names)))
        scalar = block.binder.bind(value)
        block.values.append(scalar)
        if isinstance(item, exp.Alias):
            block.binder.scope.aliases.setdefault(item.alias.lower(), value)
    if not block.values:
        raise PlanError("the query gives no column", span=block.context.span(block.select))
    _check_names(block)


def _star(block: Block, item: exp.Expr) -> None:
    star = item if isinstance(item, exp.Star) else item.this
    qualifier = item.table if isinstance(item, exp.Column) else None
    except_ = {column.name.lower(): column for column in star.args.get("except_") or ()}
    replaced = {alias.alias.lower(): alias.this for alias in star.args.get("replace") or ()}
    columns = block.binder.scope.star(qualifier or None, block.context.span(item))
    known = [name for name, _, _ in columns]
    for name, column in except_.items():
        if name not in {each.lower() for each in known}:
            raise PlanError(
                f'unknown column "{column.name}" in EXCEPT',
                hint=did_you_mean(column.name, known),
                span=block.context.span(column),
            )
    for name, inner, kind in columns:
        if name.lower() in except_:
            continue
        block.names.append(name)
        if name.lower() in replaced:
            block.values.append(block.binder.bind(replaced[name.lower()]))
            continue
        tree = exp.column(exp.to_identifier(inner, quoted=True))
        tree.type = kind
        block.values.append(Scalar(tree, kind, block.context.span(item)))


def _generate(block: Block, item: exp.Expr, value: exp.Expr) -> None:
    if block.inputs.generated:
        raise PlanError(
            "only one generator can stand in a SELECT list",
            hint="Put the others into LATERAL VIEW.",
            span=block.context.span(item),
        )
    check_composable(block.inputs.relation, block.context.span(item))
    scalar = block.binder.bind(value)
    names = _generated_names(item, value)
    block.inputs.generated = True
    relation = block.inputs.relation
    fields = tuple(Field(name, types.UNKNOWN) for name in names)
    inner = tuple(f"_gen.{name}" for name in names)
    block.inputs.relation = Relation(
        Unnest(relation.step, scalar, inner, outer=False),
        (*relation.fields, *(Field(i, f.type) for i, f in zip(inner, fields, strict=True))),
        relation.kind,
        relation.times,
    )
    for name, each in zip(names, inner, strict=True):
        block.names.append(name)
        tree = exp.column(exp.to_identifier(each, quoted=True))
        tree.type = types.UNKNOWN
        block.values.append(Scalar(tree, types.UNKNOWN, block.context.span(item)))


def _generated_names(item: exp.Expr, value: exp.Expr) -> list[str]:
    if isinstance(item, exp.Aliases):
        return [alias.name for alias in item.aliases]
    two = isinstance(value, exp.Posexplode)
    if item.alias:
        return ["pos", str(item.alias)] if two else [str(item.alias)]
    return ["pos", "col"] if two else ["col"]


def _check_names(block: Block) -> None:
    seen: set[str] = set()
    for name in block.names:
        check_column_name(name, block.context.span(_item(name, block.select)))
        if name.lower() in seen:
            raise PlanError(
                f'two columns are called "{name}"',
                hint="Give one of them another name with AS.",
                span=block.context.span(_item(name, block.select)),
            )
        seen.add(name.lower())


def _item(name: str, select: exp.Select) -> exp.Expr:
    """Return the item of the list that gives a column its name, or the whole where none alone does."""
    return next((item for item in select.expressions if item.alias_or_name.lower() == name.lower()), select)


def _is_grouped(block: Block) -> bool:
    select = block.select
    if select.args.get("group") is not None or select.args.get("having") is not None:
        return True
    return any(aggregates_in(value.tree) for value in block.values)


def _grouped(block: Block, where: Scalar | None) -> Relation:
    select = block.select
    if block.inputs.generated:
        generator = next(item for item in select.expressions if is_generator(item.unalias()))
        raise PlanError(
            "a generator stands in the list of a grouped query",
            hint="Group in a subquery, and use the generator over it.",
            span=block.context.span(generator),
        )
    clause = select.args.get("group")
    keys = _group_keys(block, clause)
    having = select.args.get("having")
    kept = outputs_first(having.this, select) if having is not None else None
    having_scalar = block.binder.condition(kept, "HAVING") if kept is not None else None
    qualify, ranked = _qualify(block)
    computed = [*block.values, *([having_scalar] if having_scalar else []), *ranked]
    for scalar in (where, *keys):
        if scalar is not None and aggregates_in(scalar.tree):
            raise PlanError(
                "an aggregate cannot stand in WHERE or GROUP BY",
                hint="Use HAVING for a condition on groups.",
                span=scalar.span,
            )
    item = block.inputs.pending
    grouped = group(item, block.inputs.relation, where, keys, computed, block.emit, block.binder, clause or select)
    relation = grouped.relation
    if having_scalar is not None:
        relation = filtered(relation, grouped.over(having_scalar))
    values = [grouped.over(value) for value in block.values]
    return _finish(block, relation, values, qualify, grouped)


def _group_keys(block: Block, clause: exp.Expr | None) -> list[Scalar]:
    if clause is None:
        return []
    for key, kind, what in (
        ("grouping_sets", exp.GroupingSets, "GROUPING SETS"), ("cube", exp.Cube, "CUBE"),
        ("rollup", exp.Rollup, "ROLLUP"),
    ):  # fmt: skip
        if clause.args.get(key) or any(isinstance(node, kind) for node in clause.expressions):
            raise not_supported(what, block.context.span(clause))
    if clause.args.get("all"):
        shown = [value for name, value in zip(block.names, block.values, strict=True) if not name.startswith(ADDED)]
        return [value for value in shown if not aggregates_in(value.tree)]
    keys = []
    for node in clause.expressions:
        if isinstance(node, exp.Literal) and node.is_int:
            position = int(node.name)
            if not 0 < position <= len(block.values):
                raise PlanError(
                    f"GROUP BY {position}: the list has {len(block.values)} columns",
                    span=block.context.span(node),
                )
            keys.append(block.values[position - 1])
        else:
            keys.append(_without_paren(block.binder.bind(node)))
    return keys


def _without_paren(scalar: Scalar) -> Scalar:
    return Scalar(scalar.tree.unnest(), scalar.type, scalar.span, scalar.lookups)


def _plain(block: Block, where: Scalar | None) -> Relation:
    relation = block.inputs.settled()
    if where is not None:
        relation = filtered(relation, where)
    qualify, _ = _qualify(block)
    return _finish(block, relation, block.values, qualify, None)


def _qualify(block: Block) -> tuple[exp.Expr | None, list[Scalar]]:
    clause = block.select.args.get("qualify")
    if clause is None:
        return None, []
    parts = [
        part
        for window in clause.find_all(exp.Window)
        for part in (
            *(window.args.get("partition_by") or ()),
            *(window.args["order"].expressions if window.args.get("order") else ()),
        )
    ]
    bind = block.binder.bind
    return clause.this, [bind(part.this if isinstance(part, exp.Ordered) else part) for part in parts]


def _finish(
    block: Block,
    relation: Relation,
    values: list[Scalar],
    qualify: exp.Expr | None,
    grouped: Grouped | None,
) -> Relation:
    if qualify is not None:
        return rank(block, relation, values, qualify, grouped)
    if relation.kind is not Kind.STATIC and any(value.tree.find(exp.Window) for value in values):
        return compared(block, relation, values, None)
    return project(relation, block.names, values)


def project(relation: Relation, names: list[str], values: list[Scalar]) -> Relation:
    """Return a projection; a column passed on as it is keeps its event time."""
    columns = tuple(Column(name, value) for name, value in zip(names, values, strict=True))
    fields = tuple(Field(column.name, column.value.type) for column in columns)
    kind = kind_over(relation.kind, values)
    times = frozenset(column.name for column in columns if _carries_time(column.value.tree, relation))
    return Relation(Project(relation.step, columns), fields, kind, times if kind is relation.kind else frozenset())


def _carries_time(tree: exp.Expr, relation: Relation) -> bool:
    if isinstance(tree, exp.Column):
        return tree.name in relation.times
    return "window_end" in relation.times and tree == window_column("window_time")


def _distinct(relation: Relation, select: exp.Select, context: Context) -> Relation:
    from headrace.plan.queries import distinct

    if select.args["distinct"].args.get("on") is not None:
        raise not_supported("DISTINCT ON", context.span(select))
    check_composable(relation, context.span(select))
    return distinct(relation)


__all__ = ["Block", "conjuncts", "plan_select", "project"]
