"""A relation and the pattern that is sought in it go in, the relation of its matches comes out."""

from dataclasses import dataclass
from datetime import timedelta

from sqlglot import exp

from headrace.errors import PlanError
from headrace.language.expressions import MatchRecognize
from headrace.language.intervals import interval
from headrace.language.patterns import format_pattern
from headrace.plan import types
from headrace.plan.binding import Binder
from headrace.plan.context import Context, not_supported
from headrace.plan.navigation import Navigation
from headrace.plan.patterns import Program, TakeRow, compiled
from headrace.plan.scope import Item, Scope
from headrace.plan.slots import CLASSIFIER, EVIDENCE, EVIDENCE_TYPE
from headrace.plan.steps import (
    AssignWindows,
    Column,
    Field,
    Filter,
    Kind,
    Match,
    Project,
    Relation,
    Rename,
    Scalar,
    Scan,
    Shown,
    Skip,
    Step,
    Union,
    Unnest,
    inputs,
)

_SHOWN = {
    None: Shown.ONE_ROW,
    "ONE ROW PER MATCH": Shown.ONE_ROW,
    "ALL ROWS PER MATCH": Shown.ALL_ROWS,
    "ALL ROWS PER MATCH SHOW EMPTY MATCHES": Shown.ALL_ROWS,
    "ALL ROWS PER MATCH OMIT EMPTY MATCHES": Shown.ALL_ROWS_OMIT_EMPTY,
    "ALL ROWS PER MATCH WITH UNMATCHED ROWS": Shown.ALL_ROWS_WITH_UNMATCHED,
}
_SKIP = {
    None: Skip.PAST_LAST_ROW,
    "PAST LAST ROW": Skip.PAST_LAST_ROW,
    "TO NEXT ROW": Skip.TO_NEXT_ROW,
    "TO FIRST": Skip.TO_FIRST,
    "TO LAST": Skip.TO_LAST,
    "TO": Skip.TO_LAST,
}


@dataclass(frozen=True, slots=True)
class _Order:
    time: str | None
    arrival: bool
    ties: tuple[tuple[str, bool, bool], ...]
    names: tuple[str, ...]


def plan_match(node: MatchRecognize, relation: Relation, alias: str, context: Context) -> Relation:
    """Plan the search for a pattern in a relation that goes by a name."""
    _check_input(node, relation, context)
    columns = (*relation.fields, Field(CLASSIFIER, types.STRING), Field(EVIDENCE, EVIDENCE_TYPE))
    scope = Scope(context.source, [Item(alias, columns, tuple(each.name for each in columns))])
    binder = Binder(scope, context.functions, _no_subquery, context.lookup_name)
    partition = tuple(_column(each, scope, "PARTITION BY") for each in node.partition_by)
    order = _order(node, relation, scope)
    program = compiled(node.pattern, context.span(node))
    _check_program(node, program, context)
    subsets = {
        subset.this.name.lower(): tuple(_number(program, member.name) for member in subset.expressions)
        for subset in node.subsets
    }
    navigation = Navigation(binder, program.variables, subsets)
    conditions = tuple(
        (_number(program, each.alias), navigation.condition(each.this, each.alias)) for each in node.definitions
    )
    measures = tuple(Column(each.alias, navigation.measure(each.this)) for each in node.measures)
    if any(each.name == EVIDENCE for each in navigation.values):
        _check_traceable(node, relation.step, context)
    shown = _SHOWN[node.args.get("rows")]
    within = _within(node, order, context)
    before, after = _columns(relation, partition, order, shown)
    for name in (*partition, *order.names, *((order.time,) if order.time else ()), *before, *after):
        _carry(navigation, relation, name)
    step = Match(
        relation.step,
        partition,
        order.time,
        order.arrival,
        order.ties,
        format_pattern(node.pattern),
        program,
        tuple(navigation.values),
        tuple(navigation.slots),
        tuple(navigation.aggregates),
        conditions,
        measures,
        before,
        after,
        shown,
        _SKIP[node.args.get("skip")],
        _skip_to(node, program, subsets),
        within,
        bool(node.args.get("timeout")),
        context.span(node),
    )
    fields = (
        *(_field(relation, name) for name in before),
        *(Field(each.name, each.value.type) for each in measures),
        *(_field(relation, name) for name in after),
    )
    _check_names(node, fields, context)
    return Relation(step, fields, Kind.APPEND)


def _check_input(node: MatchRecognize, relation: Relation, context: Context) -> None:
    if relation.kind is Kind.CHANGELOG:
        raise PlanError(
            "a pattern over rows that change",
            detail="A match is published once, but these rows can be withdrawn after that.",
            hint="Search the stream itself, and join or group after it.",
            span=context.span(node.this),
        )
    if relation.kind is Kind.STATIC:
        raise not_supported("MATCH_RECOGNIZE over a table", context.span(node.this))


def _check_program(node: MatchRecognize, program: Program, context: Context) -> None:
    left_out = any(isinstance(each, TakeRow) and each.left_out for each in program.instructions)
    if left_out and _SHOWN[node.args.get("rows")] is Shown.ALL_ROWS_WITH_UNMATCHED:
        raise PlanError(
            "rows that are left out, and WITH UNMATCHED ROWS",
            detail="It could not be told whether a row is missing because it was left out.",
            hint="Write ALL ROWS PER MATCH, or take {- -} out of the pattern.",
            span=context.span(node),
        )


def _check_traceable(node: MatchRecognize, step: Step, context: Context) -> None:
    """Raise if a row cannot say where in a stream it stood."""
    match step:
        case Scan():
            return
        case Project() | Filter() | Rename() | Unnest() | AssignWindows() | Union():
            for each in inputs(step):
                _check_traceable(node, each, context)
        case _:
            raise PlanError(
                "EVIDENCE() over rows that do not come straight from a stream",
                detail="A row that was joined, grouped or matched stands nowhere in a stream.",
                hint="Collect what identifies the rows instead, for example with collect_list(id).",
                span=context.span(node),
            )


def _column(node: exp.Expr, scope: Scope, clause: str) -> str:
    bound = scope.resolve(node) if isinstance(node, exp.Column) else None
    if not isinstance(bound, exp.Column):
        raise PlanError(
            f"{clause} of a pattern takes columns",
            hint="Compute it in a subquery: FROM (SELECT *, … AS name FROM …) MATCH_RECOGNIZE (…).",
            span=scope.span(node),
        )
    return bound.name


def _order(node: MatchRecognize, relation: Relation, scope: Scope) -> _Order:
    order = node.args.get("order")
    terms = list(order.expressions) if order is not None else []
    if not terms:
        raise PlanError(
            "MATCH_RECOGNIZE needs ORDER BY",
            detail="A pattern speaks of rows that follow each other.",
            hint="Order by the stream's event time, or write ORDER BY ARRIVAL.",
            span=scope.span(node),
        )
    first = terms[0].this
    if _is_arrival(first, relation):
        if len(terms) > 1:
            raise PlanError("ORDER BY ARRIVAL stands alone", span=scope.span(terms[1]))
        return _Order(next(iter(sorted(relation.times)), None), True, (), ())
    time = _column(first, scope, "ORDER BY")
    if time not in relation.times:
        known = ", ".join(sorted(relation.times))
        raise PlanError(
            f'"{time}" is not the event time of these rows',
            detail=(
                f"The watermark follows {known}: only it can tell that no earlier row is to come."
                if known
                else "No watermark tells that no earlier row is to come."
            ),
            hint=f"Order by {known} first." if known else f"Declare WATERMARK FOR {time}, or write ORDER BY ARRIVAL.",
            span=scope.span(first),
        )
    if terms[0].args.get("desc"):
        raise PlanError("time goes forward: DESC cannot stand first", span=scope.span(terms[0]))
    ties = []
    for term in terms[1:]:
        descending = bool(term.args.get("desc"))
        nulls_first = term.args.get("nulls_first")
        ties.append((_column(term.this, scope, "ORDER BY"), descending, bool(nulls_first)))
    names = tuple(name for name, _, _ in ties)
    return _Order(time, False, tuple(ties), names)


def _is_arrival(node: exp.Expr, relation: Relation) -> bool:
    named = isinstance(node, exp.Column) and not node.table and node.name.upper() == "ARRIVAL"
    return named and all(name.lower() != "arrival" for name in relation.names)


def _within(node: MatchRecognize, order: _Order, context: Context) -> timedelta | None:
    given = node.args.get("within")
    if given is None:
        return None
    span = context.span(given) or context.span(node)
    if span is None:
        raise ValueError("an interval without a place")
    if order.time is None:
        raise PlanError(
            "WITHIN over rows that have no event time",
            hint="Declare a WATERMARK for the stream: the time of a row is then known.",
            span=span,
        )
    within = interval(given, span)
    if within <= timedelta(0):
        raise PlanError("WITHIN takes an interval above zero", span=span)
    return within


def _skip_to(node: MatchRecognize, program: Program, subsets: dict[str, tuple[int, ...]]) -> tuple[int, ...]:
    variable = node.args.get("skip_variable")
    if variable is None:
        return ()
    return subsets.get(variable.name.lower()) or (_number(program, variable.name),)


def _number(program: Program, name: str) -> int:
    return [each.lower() for each in program.variables].index(name.lower())


def _columns(
    relation: Relation, partition: tuple[str, ...], order: _Order, shown: Shown
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the columns that stand before and behind the measures, as the standard has them."""
    if shown is Shown.ONE_ROW:
        return partition, ()
    leading = [*partition, *([order.time] if order.time and not order.arrival else []), *order.names]
    before = tuple(dict.fromkeys(leading))
    return before, tuple(name for name in relation.names if name not in before)


def _field(relation: Relation, name: str) -> Field:
    return next(each for each in relation.fields if each.name == name)


def _carry(navigation: Navigation, relation: Relation, name: str) -> None:
    """Let a row have a column that no expression asks for."""
    if all(each.name != name for each in navigation.values):
        column = exp.column(exp.to_identifier(name, quoted=True))
        column.type = _field(relation, name).type
        navigation.values.append(Column(name, Scalar(column, column.type)))


def _check_names(node: MatchRecognize, fields: tuple[Field, ...], context: Context) -> None:
    seen: set[str] = set()
    for each in fields:
        if each.name.lower() in seen:
            measure = next((m for m in node.measures if m.alias.lower() == each.name.lower()), node)
            raise PlanError(
                f'two columns are called "{each.name}"',
                detail="A match has the columns of PARTITION BY, the measures, and with ALL ROWS those of its rows.",
                hint="Give the measure another name.",
                span=context.span(measure),
            )
        seen.add(each.name.lower())


def _no_subquery(tree: exp.Expr) -> Relation:
    raise PlanError("a subquery cannot stand in MATCH_RECOGNIZE")
