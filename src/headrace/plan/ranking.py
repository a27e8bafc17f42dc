"""QUALIFY row_number(): the first rows of each window, or the first row of each key."""

from typing import TYPE_CHECKING

from sqlglot import exp

from headrace.errors import PlanError
from headrace.plan import types
from headrace.plan.context import Context, check_composable, not_supported
from headrace.plan.steps import (
    Column,
    Deduplicate,
    Field,
    Filter,
    Kind,
    Ordering,
    Rank,
    Relation,
    Scalar,
    TopRows,
    kind_over,
)

if TYPE_CHECKING:
    from headrace.plan.grouping import Grouped
    from headrace.plan.selects import Block


def ranking_filter(select: exp.Select) -> exp.Select:
    """Rewrite ``SELECT … FROM (SELECT …, row_number() OVER … AS n …) WHERE n <= 3`` with QUALIFY inside."""
    from_ = select.args.get("from_")
    source = from_.this if from_ is not None else None
    where = select.args.get("where")
    if where is None or not isinstance(source, exp.Subquery) or not isinstance(source.this, exp.Select):
        return select
    inner = source.this
    beside = [select.args.get("joins"), source.args.get("joins"), select.args.get("laterals")]
    if any(beside) or any(inner.args.get(part) for part in ("limit", "offset", "distinct")):
        return select
    ranks = {
        item.alias.lower(): item.this
        for item in inner.expressions
        if isinstance(item, exp.Alias) and _is_row_number(item.this)
    }
    if len(ranks) != 1 or inner.args.get("qualify") is not None:
        return select
    from headrace.plan.joins import conjuncts

    tests = conjuncts(where.this)
    for test in tests:
        if _limit(test, ranks) is not None:
            copy = select.copy()
            nested = copy.args["from_"].this.this
            nested.set("qualify", exp.Qualify(this=test.copy()))
            rest = [other.copy() for other in tests if other is not test]
            copy.set("where", exp.Where(this=exp.and_(*rest, copy=False)) if rest else None)
            return copy
    return select


def _is_row_number(node: exp.Expr) -> bool:
    return isinstance(node, exp.Window) and isinstance(node.this, exp.RowNumber)


def _limit(test: exp.Expr, ranks: dict[str, exp.Expr]) -> int | None:
    """Return N where a test says ``row_number <= N`` in any of its forms."""
    if not isinstance(test, (exp.EQ, exp.LTE, exp.LT)):
        return None
    column, number = test.this, test.expression
    known = _is_row_number(column) or (isinstance(column, exp.Column) and column.name.lower() in ranks)
    if not known or not (isinstance(number, exp.Literal) and number.is_int):
        return None
    value = int(number.name)
    if isinstance(test, exp.EQ):
        return 1 if value == 1 else None
    return value - 1 if isinstance(test, exp.LT) else value


def rank(
    block: "Block",
    relation: Relation,
    values: list[Scalar],
    qualify: exp.Expr,
    grouped: "Grouped | None",
) -> Relation:
    """Plan a QUALIFY over a relation, and the SELECT list after it."""
    if relation.kind is Kind.STATIC:
        return compared(block, relation, values, _bound_test(block, qualify, grouped))
    aliases = {
        item.alias.lower(): item.this
        for item in block.select.expressions
        if isinstance(item, exp.Alias) and _is_row_number(item.this)
    }
    limit = _limit(qualify.unnest(), aliases)
    window = qualify.find(exp.Window) or _named_window(qualify, aliases)
    others = [each for value in values for each in value.tree.find_all(exp.Window)]
    several = len({each.sql() for each in others}) > 1
    if limit is None or window is None or several or relation.kind is Kind.CHANGELOG:
        return compared(block, relation, values, _bound_test(block, qualify, grouped))

    def bound(node: exp.Expr) -> Scalar:
        scalar = block.binder.bind(node)
        return grouped.over(scalar) if grouped is not None else scalar

    partition = [bound(node) for node in window.args.get("partition_by") or ()]
    order = [_ordering(term, bound) for term in (window.args["order"].expressions if window.args.get("order") else ())]
    extra = tuple(
        Column(f"_rank_{i}", scalar) for i, scalar in enumerate(partition) if not isinstance(scalar.tree, exp.Column)
    )
    if extra:
        return compared(block, relation, values, _bound_test(block, qualify, grouped))
    names = tuple(scalar.tree.name for scalar in partition)
    time_key = next((name for name in names if name in relation.times), None)
    if time_key is not None:
        return _top(block, relation, values, names, order, limit, time_key)
    if limit == 1 and _is_by_time_alone(order, relation):
        step = Deduplicate(relation.step, names, order[0].value.tree.name, within_watermark=True)
        kept = Relation(step, relation.fields, relation.kind, relation.times)
        return _projected(block, kept, values, None)
    return compared(block, relation, values, _bound_test(block, qualify, grouped))


def _is_by_time_alone(order: list[Ordering], relation: Relation) -> bool:
    """Say whether rows are ordered by event time and nothing else: the first that comes then stands for its key.

    A further term chooses among rows of one time, and the one it chooses may come later.
    """
    if len(order) != 1 or order[0].descending:
        return False
    tree = order[0].value.tree
    return isinstance(tree, exp.Column) and tree.name in relation.times


def _named_window(qualify: exp.Expr, aliases: dict[str, exp.Expr]) -> exp.Expr | None:
    """Return the window function that a test names by its alias."""
    columns = [column.name.lower() for column in qualify.find_all(exp.Column)]
    return next((aliases[name] for name in columns if name in aliases), None)


def _bound_test(block: "Block", qualify: exp.Expr, grouped: "Grouped | None") -> Scalar:
    test = block.binder.condition(_without_aliases(qualify, block), "QUALIFY")
    return grouped.over(test) if grouped is not None else test


def compared(block: "Block", relation: Relation, values: list[Scalar], test: Scalar | None) -> Relation:
    """Plan window functions over rows that come and go: ranks and the like are columns, then rows are kept by them."""
    from headrace.plan.selects import project

    check_composable(relation, block.context.span(block.select))
    named: list[Column] = []
    for scalar in (*values, *([test] if test is not None else [])):
        for window in scalar.tree.find_all(exp.Window):
            if relation.kind is not Kind.STATIC:
                _check_kept(window, block.context)
            if all(window != each.value.tree for each in named):
                type_ = types.type_of(types.annotate(window.copy()))
                named.append(Column(f"_over_{len(named)}", Scalar(window, type_, scalar.span, scalar.lookups)))
    if not named:
        raise PlanError("QUALIFY without a window function", span=block.context.span(block.select))
    fields = (*relation.fields, *(Field(each.name, each.value.type) for each in named))
    kind = Kind.STATIC if relation.kind is Kind.STATIC else Kind.CHANGELOG
    result = Relation(Rank(relation.step, tuple(named)), fields, kind)
    if test is not None:
        result = Relation(Filter(result.step, _over(test, named)), fields, kind_over(kind, [test]))
    return project(result, block.names, [_over(value, named) for value in values])


def _check_kept(window: exp.Window, context: Context) -> None:
    """Refuse a window function that no operator keeps current."""
    frame = window.args.get("spec")
    what, hint = None, None
    if frame is not None and frame.args.get("kind") == "RANGE":
        bounds = [frame.args.get(each) for each in ("start", "end")]
        if any(isinstance(each, exp.Expr) for each in bounds):
            what, hint = "a RANGE frame with a distance", "Use ROWS, or a join with a condition on the distance."
    if isinstance(window.this, exp.IgnoreNulls) and isinstance(window.this.this, (exp.Lag, exp.Lead)):
        what, hint = "IGNORE NULLS of lag and lead", "Leave the rows with NULL out in a subquery."
    if window.this.find(exp.Distinct):
        what, hint = (
            "DISTINCT in a window function",
            "Use collect_set, or join with a grouped subquery.",
        )
    if what is not None:
        raise not_supported(f"{what} over rows that come and go", context.span(window), hint)


def _over(scalar: Scalar, named: list[Column]) -> Scalar:
    """Return an expression that reads window functions from the columns that hold them."""

    def read(node: exp.Expr) -> exp.Expr:
        for each in named:
            if node == each.value.tree:
                column = exp.column(exp.to_identifier(each.name, quoted=True))
                column.type = each.value.type
                return column
        return node

    return Scalar(scalar.tree.transform(read), scalar.type, scalar.span, scalar.lookups)


def _ordering(term: exp.Expr, bound: object) -> Ordering:
    node = term.this if isinstance(term, exp.Ordered) else term
    descending = bool(isinstance(term, exp.Ordered) and term.args.get("desc"))
    nulls = term.args.get("nulls_first") if isinstance(term, exp.Ordered) else None
    scalar = bound(node)  # type: ignore[operator]
    return Ordering(scalar, descending, bool(nulls) if nulls is not None else not descending)


def _top(
    block: "Block",
    relation: Relation,
    values: list[Scalar],
    names: tuple[str, ...],
    order: list[Ordering],
    limit: int,
    time_key: str,
) -> Relation:
    if not order:
        raise PlanError("row_number() needs an ORDER BY", span=block.context.span(block.select))
    step = TopRows(relation.step, names, tuple(order), limit, "_rank", time_key)
    fields = (*relation.fields, Field("_rank", types.BIGINT))
    top = Relation(step, fields, relation.kind, relation.times)
    return _projected(block, top, values, "_rank")


def _projected(block: "Block", relation: Relation, values: list[Scalar], rank_name: str | None) -> Relation:
    from headrace.plan.selects import project

    replaced = []
    for value in values:
        if _is_row_number(value.tree):
            tree: exp.Expr
            tree = exp.Literal.number(1) if rank_name is None else exp.column(exp.to_identifier(rank_name, quoted=True))
            tree.type = types.BIGINT
            replaced.append(Scalar(tree, types.BIGINT, value.span))
        else:
            replaced.append(value)
    return project(relation, block.names, replaced)


def _without_aliases(qualify: exp.Expr, block: "Block") -> exp.Expr:
    copy = qualify.copy()
    for item in block.select.expressions:
        if isinstance(item, exp.Alias) and _is_row_number(item.this):
            for column in list(copy.find_all(exp.Column)):
                if column.name.lower() == item.alias.lower():
                    column.replace(item.this.copy())
    return copy


def _column(field: Field) -> exp.Expr:
    tree = exp.column(exp.to_identifier(field.name, quoted=True))
    tree.type = field.type
    return tree
