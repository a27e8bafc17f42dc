"""A relation and the pattern that is sought in it go in, the relation of its matches comes out."""

from datetime import timedelta

from sqlglot import exp

from headrace.errors import PlanError
from headrace.language.expressions import MatchRecognize
from headrace.language.intervals import interval
from headrace.language.patterns import format_pattern
from headrace.plan import types
from headrace.plan.binding import Binder
from headrace.plan.context import Context
from headrace.plan.late import is_judged
from headrace.plan.match_order import MatchOrder, match_order, partition_columns, relation_field
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

LONGEST_WITHIN = timedelta(days=3_650_000)
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


def plan_match(node: MatchRecognize, relation: Relation, alias: str, context: Context) -> Relation:
    """Plan the search for a pattern in a relation that goes by a name."""
    _check_input(node, relation, context)
    columns = (*relation.fields, Field(CLASSIFIER, types.STRING), Field(EVIDENCE, EVIDENCE_TYPE))
    scope = Scope(context.source, [Item(alias, columns, tuple(each.name for each in columns))])
    binder = Binder(scope, context.functions, _no_subquery, context.lookup_name)
    partition = partition_columns(node, scope)
    order = match_order(node, relation, scope)
    if not order.arrival:
        is_judged(relation.step, context.span(node.this))
    program = compiled(node.pattern, context.span(node))
    _check_program(node, program, context)
    subsets = {
        subset.this.name.lower(): tuple(_number(program, member.name) for member in subset.expressions)
        for subset in node.subsets
    }
    navigation = Navigation(binder, program.variables, subsets, bool(node.args.get("timeout")))
    conditions = tuple(
        (_number(program, each.alias), navigation.condition(each.this, each.alias)) for each in node.definitions
    )
    measures = tuple(Column(each.alias, navigation.measure(each.this)) for each in node.measures)
    if any(each.name == EVIDENCE for each in navigation.values):
        _check_traceable(node, relation.step, context)
    shown = _SHOWN[node.args.get("rows")]
    within = _within(node, order, relation.kind is Kind.STATIC, context)
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
        _skip_to(node, program, subsets, context),
        within,
        bool(node.args.get("timeout")),
        relation.kind is Kind.STATIC,
        context.span(node),
    )
    fields = (
        *(relation_field(relation, name) for name in before),
        *(Field(each.name, each.value.type) for each in measures),
        *(relation_field(relation, name) for name in after),
    )
    _check_names(node, fields, context)
    return Relation(step, fields, relation.kind)


def _check_input(node: MatchRecognize, relation: Relation, context: Context) -> None:
    if relation.kind is Kind.CHANGELOG:
        raise PlanError(
            "a pattern over rows that change",
            detail="A match is published once, but these rows can be withdrawn after that.",
            hint="Search the stream itself, and join or group after it.",
            span=context.span(node.this),
        )


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


def _within(node: MatchRecognize, order: MatchOrder, static: bool, context: Context) -> timedelta | None:
    given = node.args.get("within")
    if given is None:
        return None
    span = context.span(given) or context.span(node)
    if span is None:
        raise ValueError("an interval without a place")
    if order.time is None:
        raise PlanError(
            "WITHIN over rows that have no time",
            hint="Order by a TIMESTAMP first."
            if static
            else "Declare a WATERMARK for the stream: the time of a row is then known.",
            span=span,
        )
    within = interval(given, span)
    if within <= timedelta(0):
        raise PlanError("WITHIN takes an interval above zero", span=span)
    if within > LONGEST_WITHIN:
        raise PlanError(f"WITHIN takes an interval of at most {LONGEST_WITHIN.days:,} days", span=span)
    return within


def _skip_to(
    node: MatchRecognize, program: Program, subsets: dict[str, tuple[int, ...]], context: Context
) -> tuple[int, ...]:
    variable = node.args.get("skip_variable")
    if variable is None:
        return ()
    found = subsets.get(variable.name.lower()) or (_number(program, variable.name),)
    to_first = _SKIP[node.args.get("skip")] is Skip.TO_FIRST
    if program.first() <= set(found) if to_first else program.later().isdisjoint(found):
        raise PlanError(
            f"AFTER MATCH SKIP would always go to the first row of the match: {variable.name} stands there",
            detail="The search would begin at the same row again, and never end.",
            hint="Write SKIP TO NEXT ROW, or name a variable that comes later.",
            span=context.span(variable),
        )
    return found


def _number(program: Program, name: str) -> int:
    return [each.lower() for each in program.variables].index(name.lower())


def _columns(
    relation: Relation, partition: tuple[str, ...], order: MatchOrder, shown: Shown
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the columns that stand before and behind the measures, as the standard has them."""
    if shown is Shown.ONE_ROW:
        return partition, ()
    leading = [*partition, *([order.time] if order.time and not order.arrival else []), *order.names]
    before = tuple(dict.fromkeys(leading))
    return before, tuple(name for name in relation.names if name not in before)


def _carry(navigation: Navigation, relation: Relation, name: str) -> None:
    """Let a row have a column that no expression asks for."""
    if all(each.name != name for each in navigation.values):
        column = exp.column(exp.to_identifier(name, quoted=True))
        column.type = relation_field(relation, name).type
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
