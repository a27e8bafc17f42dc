"""The items of a FROM clause: tables, subqueries, window functions and generators."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from sqlglot import exp

from headrace.errors import HeadraceError, PlanError, Span
from headrace.language.expressions import MatchRecognize, WindowTable
from headrace.language.intervals import interval
from headrace.plan import types
from headrace.plan.context import Context, check_composable, not_supported
from headrace.plan.lookups import looked_up
from headrace.plan.matching import plan_match
from headrace.plan.scope import did_you_mean
from headrace.plan.steps import Aggregate, AssignWindows, Field, Join, Kind, Match, Relation, Rename, Sort, walk
from headrace.plan.windows import ZERO, Cumulate, Hop, Session, Tumble, Window

PlanQuery = Callable[[exp.Expr, Context], Relation]
WINDOW_FIELDS = tuple(Field(name, types.TIMESTAMP) for name in ("window_start", "window_end", "window_time"))
WINDOW_NAMES = frozenset(field.name for field in WINDOW_FIELDS)


@dataclass(frozen=True, slots=True)
class SourceItem:
    """One input: its relation, the name it goes by, and a window that is not applied yet."""

    alias: str
    relation: Relation
    window: Window | None = None
    time: str | None = None

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns that a query sees, those of the window included."""
        if self.window is None:
            return self.relation.fields
        kept = tuple(field for field in self.relation.fields if field.name not in WINDOW_NAMES)
        return kept + WINDOW_FIELDS


def plan_source(node: exp.Expr, context: Context, plan_query: PlanQuery) -> SourceItem:
    """Plan one item of a FROM clause."""
    match node:
        case exp.Table():
            return _table(node, context)
        case exp.Subquery():
            relation = settled(plan_query(node.this, context), context.span(node))
            return SourceItem(node.alias, _renamed(relation, node, context))
        case exp.Values():
            return SourceItem(node.alias, plan_query(node, context))
        case WindowTable():
            return _window(node, context, plan_query)
        case MatchRecognize():
            inner = plan_source(node.this, context, plan_query)
            relation = assigned(inner, context.span(node.this))
            matches = plan_match(node, relation, inner.alias, context)
            return SourceItem(node.alias or inner.alias, _renamed(matches, node, context))
        case _:
            raise not_supported("this kind of input in FROM", context.span(node))


def settled(relation: Relation, span: Span | None) -> Relation:
    """Return the relation, or raise if all of it is ordered although its rows never end; its first rows can be kept."""
    if not isinstance(relation.step, Sort) or relation.kind is Kind.STATIC:
        return relation
    if relation.step.limit is None and relation.step.offset is None:
        raise PlanError(
            "ORDER BY without LIMIT needs rows that end",
            detail="A stream has no last row, so it cannot be put in order as a whole.",
            hint="Add LIMIT, or order the rows where they are read.",
            span=span,
        )
    check_composable(relation, span)
    step = Rename(relation.step, relation.names, "the first rows")
    return Relation(step, relation.fields, Kind.CHANGELOG)


def _table(node: exp.Table, context: Context) -> SourceItem:
    name = ".".join(part.name for part in node.parts)
    if node.args.get("version") is not None or node.args.get("when") is not None:
        raise not_supported("FOR SYSTEM_TIME AS OF", context.span(node))
    if isinstance(node.this, exp.Func):
        raise PlanError(
            f'"{node.this.name or node.this.key}" is not a window function',
            hint="There are: TUMBLE, HOP, SESSION, CUMULATE.",
            span=context.span(node),
        )
    relation = context.relation(name, context.span(node))
    return SourceItem(node.alias or node.name, _renamed(relation, node, context))


def _renamed(relation: Relation, node: exp.Expr, context: Context) -> Relation:
    columns = _names(node)
    if not columns:
        return relation
    from headrace.plan.queries import renamed

    return renamed(relation, columns, context, node)


def _names(node: exp.Expr) -> list[str]:
    """Return the names that an alias gives to columns."""
    alias = node.args.get("alias")
    return [column.name for column in alias.args.get("columns") or ()] if alias is not None else []


def _window(node: WindowTable, context: Context, plan_query: PlanQuery) -> SourceItem:
    inner = plan_source(node.this, context, plan_query)
    if inner.window is not None:
        inner = SourceItem(inner.alias, assigned(inner, context.span(node)))
    span = context.span(node)
    window = _read_window(node, context)
    time = _time_column(node, inner, context)
    if inner.relation.kind is Kind.CHANGELOG and (rows := looked_up(inner.relation)) is not None:
        inner = SourceItem(inner.alias, rows)
    if inner.relation.kind is Kind.CHANGELOG:
        raise PlanError(
            "a window over rows that change",
            detail="A window closes once, but these rows can be withdrawn after that.",
            hint="Put the window over the stream itself, and join or group after it.",
            span=span,
        )
    if inner.relation.kind is Kind.APPEND and time not in inner.relation.times:
        _raise_no_watermark(node, inner, time, context)
    item = SourceItem(node.alias or inner.alias, inner.relation, window, time)
    if not _names(node):
        return item
    if isinstance(window, Session):
        raise PlanError("the columns of SESSION cannot be named here", hint="Name them in SELECT.", span=span)
    return SourceItem(item.alias, _renamed(assigned(item, span), node, context))


def _read_window(node: WindowTable, context: Context) -> Window:
    def duration(parameter: exp.Expr) -> timedelta:
        span = context.span(parameter)
        if span is None:
            raise ValueError("an interval without a place")
        return interval(parameter, span)

    kind, parameters = node.kind, node.parameters
    offset_node = node.args.get("offset")
    offset = duration(offset_node) if offset_node is not None else ZERO
    try:
        match kind:
            case "TUMBLE":
                return Tumble(duration(parameters[0]), offset)
            case "HOP":
                return Hop(slide=duration(parameters[0]), size=duration(parameters[1]), offset=offset)
            case "CUMULATE":
                return Cumulate(step=duration(parameters[0]), size=duration(parameters[1]), offset=offset)
            case "SESSION":
                return Session(duration(parameters[0]))
            case _:
                raise not_supported(kind, context.span(node))
    except HeadraceError as error:
        if error.span is None:
            error.span = context.span(node)
        raise


def _time_column(node: WindowTable, inner: SourceItem, context: Context) -> str:
    column = node.time
    if column is None:
        raise PlanError(f"{node.kind} needs a time column", span=context.span(node))
    for field in inner.relation.fields:
        if field.name.lower() == column.name.lower():
            if types.family(field.type) is not None and not types.is_timestamp(field.type):
                raise PlanError(
                    f'column "{field.name}" is {types.type_name(field.type)}, not TIMESTAMP',
                    detail="A window is a piece of time.",
                    span=context.span(column),
                )
            return field.name
    raise PlanError(
        f'unknown column "{column.name}" in {inner.alias}',
        hint=did_you_mean(column.name, list(inner.relation.names)),
        span=context.span(column),
    )


def _raise_no_watermark(node: WindowTable, inner: SourceItem, time: str, context: Context) -> None:
    if inner.relation.times:
        known = ", ".join(sorted(inner.relation.times))
        raise PlanError(
            f'"{time}" is not the event time of "{inner.alias}"',
            detail=f"The watermark follows {known}, so it cannot tell when a window over {time} is complete.",
            hint=f"Use {known} in the window, or declare WATERMARK FOR {time}.",
            span=context.span(node.time or node),
        )
    if any(isinstance(each, (Match, Aggregate, Join)) for each in walk(inner.relation.step)):
        raise PlanError(
            f'the rows of "{inner.alias}" have no event time',
            detail="They are given when a match, a group or a pair is known, which may be long after their time.",
            hint="Put the window over the stream itself, or give a join of two streams a bound in time.",
            span=context.span(node.this),
        )
    raise PlanError(
        f'stream "{inner.alias}" has no watermark',
        detail="The window would never close, so its state would grow without bound.",
        hint=f"Add WATERMARK FOR {time} AS {time} - INTERVAL 5 SECONDS to the stream.",
        span=context.span(node.this),
    )


def assigned(item: SourceItem, span: Span | None) -> Relation:
    """Return an item's rows with the columns of its window, one row for each window it falls in."""
    if item.window is None or item.time is None:
        return item.relation
    if isinstance(item.window, Session):
        raise PlanError(
            "SESSION stands only under GROUP BY",
            detail="Where a session ends is known only when its rows are put together.",
            hint="Group by window_start and window_end, and by what identifies a session.",
            span=span,
        )
    step = AssignWindows(item.relation.step, item.window, item.time)
    times = (item.relation.times - WINDOW_NAMES) | {"window_end", "window_time"}
    return Relation(step, item.fields, item.relation.kind, frozenset(times))
