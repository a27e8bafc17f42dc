"""GROUP BY: keys and aggregates go in, the step that computes them and the new scope come out."""

from dataclasses import dataclass

from sqlglot import exp

from headrace.errors import PlanError
from headrace.language.statements import Emit
from headrace.plan import types
from headrace.plan.binding import OF_EACH, Binder, aggregates_in
from headrace.plan.context import check_composable, not_supported
from headrace.plan.panes import why_not_by_panes
from headrace.plan.scope import Scope
from headrace.plan.sources import WINDOW_NAMES, SourceItem, assigned
from headrace.plan.steps import (
    Aggregate,
    AssignWindows,
    Column,
    Field,
    Filter,
    Kind,
    Method,
    Relation,
    Scalar,
    Step,
    is_stateful,
    kind_over,
    walk,
)
from headrace.plan.windows import Cumulate, Hop, Session, Tumble

WINDOW_EDGES = ("window_start", "window_end")


@dataclass(slots=True)
class Grouped:
    """A grouped relation, and how expressions over the input become expressions over it."""

    relation: Relation
    keys: tuple[Column, ...]
    aggregates: list[Column]
    scope: Scope

    def over(self, scalar: Scalar) -> Scalar:
        """Return an expression of the SELECT list in terms of the grouped columns."""
        return Scalar(self._replace(scalar.tree), scalar.type, scalar.span, scalar.lookups)

    def _replace(self, node: exp.Expr) -> exp.Expr:
        for column in (*self.keys, *self.aggregates):
            if node == column.value.tree:
                result = exp.column(exp.to_identifier(column.name, quoted=True))
                result.type = column.value.type
                return result
        if isinstance(node, exp.Select):
            return node.copy()  # a query of its own, over its own columns
        if isinstance(node, exp.Column):
            if node.name in WINDOW_NAMES and "window_end" in self.relation.names:
                return window_column(node.name)
            raise PlanError(
                f'column "{node.name}" is neither grouped by nor aggregated',
                hint=f"Add {node.name} to GROUP BY, or aggregate it, for example any_value({node.name}).",
                span=self.scope.span(node),
            )
        copy = node.copy()
        for key, value in node.args.items():
            if isinstance(value, exp.Expr):
                copy.set(key, self._replace(value))
            elif isinstance(value, list):
                copy.set(key, [self._replace(v) if isinstance(v, exp.Expr) else v for v in value])
        copy.type = node.type
        return copy


def window_column(name: str) -> exp.Expr:
    """Return a window's column over its start and end; the time is the last microsecond before the end."""
    if name != "window_time":
        tree: exp.Expr = exp.column(exp.to_identifier(name, quoted=True))
    else:
        end = exp.column(exp.to_identifier("window_end", quoted=True))
        tree = exp.func("timestamp_micros", exp.func("unix_micros", end) - exp.Literal.number(1))
    tree.type = types.TIMESTAMP
    return tree


def group(
    item: SourceItem | None,
    relation: Relation,
    where: Scalar | None,
    keys: list[Scalar],
    computed: list[Scalar],
    emit: Emit | None,
    binder: Binder,
    node: exp.Expr,
) -> Grouped:
    """Plan the grouping of a relation; ``item`` is its one input if that has a window still to apply."""
    scope = binder.scope
    span = scope.span(node)
    check_composable(relation, span)
    _check_asked(keys + computed, scope)
    aggregates = _aggregates(computed, scope)
    named = _named_keys(keys)
    windowed = [key for key in named if _is_window_key(key)]
    window, time, note = None, None, None
    if item is not None and item.window is not None:
        if not windowed:
            raise PlanError(
                "the window is not grouped by",
                detail="Rows of different windows would fall into one group.",
                hint="Add window_start, window_end to GROUP BY.",
                span=span,
            )
        method, note = _window_method(item, where, named, aggregates, emit)
        if method is Method.WINDOWS:
            relation = assigned(item, span)
        else:
            window, time = item.window, item.time
        named = _with_whole_window(named)
    else:
        named = _with_window_ends(named, relation)
        method = Method.WINDOWS if any(_time_name(k) in relation.times for k in named) else Method.KEYS
    if where is not None:
        relation = filtered(relation, where)
    step = relation.step
    if relation.kind is Kind.CHANGELOG and method is not Method.KEYS:
        raise PlanError(
            "a window over rows that change",
            detail="A window closes once, but these rows can be withdrawn after that.",
            hint="Group by window_start of rows that do not change, or leave the window out.",
            span=span,
        )
    time_key = _time_key(named, relation, method)
    updating = _is_updating(relation, time_key, emit, span)
    if updating and time_key is not None:
        _check_updating(step, span)
        if method is Method.SESSIONS:
            raise not_supported("EMIT CHANGES over sessions", span, "Leave it out: sessions are final when closed.")
    aggregate = Aggregate(step, tuple(named), tuple(aggregates), method, window, time, time_key, updating, note)
    fields = tuple(Field(column.name, column.value.type) for column in (*named, *aggregates))
    kind = Kind.CHANGELOG if updating else relation.kind
    times = frozenset() if time_key is None else frozenset({time_key})
    grouped = Relation(aggregate, fields, kind, times)
    return Grouped(grouped, tuple(named), aggregates, scope)


def _check_asked(values: list[Scalar], scope: Scope) -> None:
    """Refuse a subquery that is asked of each row where rows become groups."""
    for value in values:
        for select in value.tree.find_all(exp.Select):
            if OF_EACH in select.meta:
                raise not_supported(
                    "a subquery that speaks of the rows outside it, in a grouped query,",
                    value.span or scope.span(select),
                    "Group in a subquery or view, and ask over it.",
                )


def filtered(relation: Relation, condition: Scalar) -> Relation:
    """Return the rows of a relation for which a condition is true; one that asks a stream can change its mind."""
    kind = kind_over(relation.kind, [condition])
    times = relation.times if kind is relation.kind else frozenset[str]()
    return Relation(Filter(relation.step, condition), relation.fields, kind, times)


def _aggregates(computed: list[Scalar], scope: Scope) -> list[Column]:
    found: list[Column] = []
    for scalar in computed:
        for node in aggregates_in(scalar.tree):
            for inner in node.iter_expressions():
                if aggregates_in(inner) and not isinstance(
                    node, (exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls)
                ):
                    raise PlanError(
                        "an aggregate stands inside an aggregate",
                        hint="Compute the inner one in a view or subquery.",
                        span=scope.span(inner),
                    )
            if all(node != column.value.tree for column in found):
                kind = types.type_of(types.annotate(node))
                found.append(Column(f"_agg_{len(found)}", Scalar(node, kind, scope.span(node), scalar.lookups)))
    return found


def _named_keys(keys: list[Scalar]) -> list[Column]:
    named: list[Column] = []
    for key in keys:
        if any(key.tree == column.value.tree for column in named):
            continue
        plain = isinstance(key.tree, exp.Column)
        named.append(Column(key.tree.name if plain else f"_key_{len(named)}", key))
    return named


def _is_window_key(key: Column) -> bool:
    return isinstance(key.value.tree, exp.Column) and key.value.tree.name in WINDOW_NAMES


def _time_name(key: Column) -> str | None:
    return key.value.tree.name if isinstance(key.value.tree, exp.Column) else None


def _with_whole_window(named: list[Column]) -> list[Column]:
    """Return the keys with the window's start and end last; its time follows from the end."""
    others = [column for column in named if column.name not in WINDOW_NAMES]
    window = [Column(name, Scalar(window_column(name), types.TIMESTAMP)) for name in WINDOW_EDGES]
    return [*others, *window]


def _with_window_ends(named: list[Column], relation: Relation) -> list[Column]:
    """Return the keys with the end of each window whose start is one: the end is what the watermark passes.

    Only of windows of one length is the end a consequence of the start.
    """
    if not one_length(relation.step):
        return named
    known = {_time_name(key) for key in named}
    ends = [
        name.removesuffix("window_start") + "window_end"
        for name in known
        if name is not None and name.endswith("window_start")
    ]
    added = [name for name in sorted(ends) if name in relation.times and name not in known]
    return [*named, *(Column(name, Scalar(_plain_column(name), types.TIMESTAMP)) for name in added)]


def one_length(step: Step) -> bool:
    """Say whether all windows below a step are tumbling or hopping, and of one length."""
    windows = [each.window for each in walk(step) if isinstance(each, (AssignWindows, Aggregate)) and each.window]
    return len({each.size for each in windows if isinstance(each, (Tumble, Hop))}) == 1 and all(
        isinstance(each, (Tumble, Hop)) for each in windows
    )


def _plain_column(name: str) -> exp.Expr:
    tree = exp.column(exp.to_identifier(name, quoted=True))
    tree.type = types.TIMESTAMP
    return tree


def _uses_window(scalar: Scalar | None) -> bool:
    return scalar is not None and any(column.name in WINDOW_NAMES for column in scalar.tree.find_all(exp.Column))


def _window_method(
    item: SourceItem, where: Scalar | None, keys: list[Column], aggregates: list[Column], emit: Emit | None
) -> tuple[Method, str | None]:
    others = [key.value for key in keys if not _is_window_key(key)]
    uses = _uses_window(where) or any(map(_uses_window, (*others, *(a.value for a in aggregates))))
    if isinstance(item.window, Session):
        return Method.SESSIONS, None
    if not isinstance(item.window, (Hop, Cumulate)) or item.window.overlap == 1:
        return Method.WINDOWS, None
    factor = f"each row is counted into up to {item.window.overlap} windows"
    if uses:
        return Method.WINDOWS, f"{factor}: the query uses the window before it is grouped"
    if emit is Emit.CHANGES:
        return Method.WINDOWS, f"{factor}: rows are published as they change"
    reason = why_not_by_panes([a.value for a in aggregates])
    if reason is not None:
        return Method.WINDOWS, f"{factor}: {reason}"
    return Method.PANES, None


def _time_key(keys: list[Column], relation: Relation, method: Method) -> str | None:
    if method in {Method.PANES, Method.SESSIONS}:
        return "window_end"
    names = [key.name for key in keys if _time_name(key) in relation.times]
    if "window_end" in names:
        return "window_end"
    return names[0] if names else None


def _is_updating(relation: Relation, time_key: str | None, emit: Emit | None, span: object) -> bool:
    if relation.kind is Kind.STATIC:
        return False
    if time_key is None:
        if emit is Emit.ON_WINDOW_CLOSE:
            raise PlanError(
                "EMIT ON WINDOW CLOSE without a window",
                detail="A group without a window is never complete.",
                hint="Group by a window, or use EMIT CHANGES.",
                span=span,  # type: ignore[arg-type]
            )
        return True
    return emit is Emit.CHANGES


def _check_updating(step: Step, span: object) -> None:
    if any(is_stateful(each) for each in walk(step)):
        raise not_supported(
            "an aggregate whose rows change over joined, grouped or distinct rows",
            span,  # type: ignore[arg-type]
            "Group by a window, so that its rows are final.",
        )
