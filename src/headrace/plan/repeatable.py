"""A relation whose rows come and go goes in; an error comes out if it computes what cannot be computed again."""

from sqlglot import exp

from headrace.catalog.objects import Table
from headrace.errors import PlanError, Span
from headrace.plan.steps import (
    Join,
    ReadTable,
    Relation,
    Scalar,
    Step,
    inputs,
    is_maintained,
    is_static,
    scalars,
    walk,
)

_BY_CLOCK = (exp.CurrentTimestamp, exp.CurrentDate, exp.CurrentTime, exp.Localtimestamp)
_BY_CHANCE = (exp.Rand, exp.Randn, exp.Uuid)
_CLOCK_NAMES = frozenset({"now", "current_timestamp", "current_date", "localtimestamp", "curdate"})
_CHANCE_NAMES = frozenset(
    {
        "rand",
        "random",
        "randn",
        "randstr",
        "uniform",
        "uuid",
        "shuffle",
        "monotonically_increasing_id",
        "spark_partition_id",
    }
)


def check_repeatable(relation: Relation, span: Span | None) -> None:
    """Raise where a row that is withdrawn could not be computed as it was published."""
    if not is_maintained(relation.step):
        return
    for step in walk(relation.step):
        if not is_maintained(step):
            continue
        _check_tables(step, span)
        for value in scalars(step):
            check_value(value, "a query whose rows change", span)


def check_value(value: Scalar, where: str, span: Span | None) -> None:
    """Raise if an expression depends on the clock or on chance, which no second run repeats."""
    for node in value.tree.find_all(exp.Func):
        name = node.name.lower() if isinstance(node, exp.Anonymous) else node.sql_name().lower()
        clock = isinstance(node, exp.StrToUnix) and node.args.get("this") is None
        if clock or isinstance(node, _BY_CLOCK) or name in _CLOCK_NAMES:
            raise PlanError(
                f"{name}() in {where}",
                detail="The answer would change with time alone, without a row that says so.",
                hint="Use windows over event time, or compare with a time that comes with the rows.",
                span=value.span or span,
            )
        if isinstance(node, _BY_CHANCE) or name in _CHANCE_NAMES:
            raise PlanError(
                f"{name}() in {where}",
                detail="What was published must come out the same when it is computed again.",
                hint="Compute it in the stream itself, before rows are joined or grouped.",
                span=value.span or span,
            )


def _check_tables(step: Step, span: Span | None) -> None:
    """Raise where rows that change meet a table that is read anew: what they met cannot be withdrawn any more."""
    sides = [*inputs(step)] if isinstance(step, Join) else []
    sides += [lookup.relation.step for value in scalars(step) for lookup in value.lookups]
    for side in sides:
        for each in walk(side) if is_static(side) else ():
            if isinstance(each, ReadTable) and _is_read_anew(each.table):
                topic = each.table.connector == "kafka"
                rest = "" if topic else " Or write refresh = 'never'."
                raise PlanError(
                    f'rows that change meet table "{each.table.name}", which is read anew',
                    detail="A row that is withdrawn must meet what it met when it was published."
                    + (" A topic that is looked up is read for each batch." if topic else ""),
                    hint=f"Leave refresh out: the table then changes the answer itself.{rest}",
                    span=span,
                )


def _is_read_anew(table: Table) -> bool:
    refresh = getattr(table.common, "refresh", None)
    return table.connector == "kafka" or (refresh is not None and refresh.lower() != "never")
