"""A step goes in; each step below it comes out, with the columns of it that the steps above read.

Where it is not sure, a column counts as read.
"""

from collections.abc import Iterable, Iterator

from sqlglot import exp

from headrace.plan.sources import WINDOW_FIELDS, WINDOW_NAMES
from headrace.plan.steps import (
    Aggregate,
    AssignWindows,
    Deduplicate,
    Filter,
    Join,
    JoinKind,
    LateRows,
    Literals,
    Match,
    Project,
    Rank,
    ReadDead,
    ReadRelation,
    ReadTable,
    Rename,
    Scalar,
    Scan,
    SetOperation,
    Sort,
    Step,
    TopRows,
    Union,
    Unnest,
    inputs,
    scalars,
)

__all__ = ["columns_of", "uses"]


def uses(step: Step, read: Iterable[str] | None = None) -> Iterator[tuple[Step, frozenset[str]]]:
    """Yield a step and all below it, each with those of its columns that are read; of the step itself, all.

    What expressions look up comes after the inputs of their step.
    """
    needed = frozenset(columns_of(step) if read is None else read)
    yield step, needed
    for below, names in zip(inputs(step), _needed(step, needed), strict=True):
        yield from uses(below, names)
    for value in scalars(step):
        for lookup in value.lookups:
            asked = frozenset(lookup.relation.names)
            yield from uses(lookup.relation.step, asked & _columns([value]) or asked)


def columns_of(step: Step) -> tuple[str, ...]:
    """Return the names of the columns that a step gives, none where only Spark knows them."""
    match step:
        case Scan(stream=stream):
            return tuple(column.name for column in stream.columns)
        case ReadTable(table=table):
            return tuple(column.name for column in table.columns)
        case ReadRelation(fields=fields):
            return tuple(field.name for field in fields)
        case ReadDead() | Literals():
            return ()
        case Rename(names=names):
            return names
        case Project(columns=columns):
            return tuple(column.name for column in columns)
        case Aggregate(keys=keys, aggregates=aggregates):
            return tuple(column.name for column in (*keys, *aggregates))
        case Match(before=before, measures=measures, after=after):
            return (*before, *(column.name for column in measures), *after)
        case Join(left=left, right=right, kind=kind):
            half = kind in {JoinKind.SEMI, JoinKind.ANTI}
            return columns_of(left) if half else (*columns_of(left), *columns_of(right))
        case Union() | SetOperation():
            return columns_of(inputs(step)[0])
        case AssignWindows(input=below):
            kept = (name for name in columns_of(below) if name not in WINDOW_NAMES)
            return (*kept, *(field.name for field in WINDOW_FIELDS))
        case LateRows(input=below, added=added):
            return (*columns_of(below), *added)
        case Unnest(input=below, names=names):
            return (*columns_of(below), *names)
        case Rank(input=below, columns=columns):
            return (*columns_of(below), *(column.name for column in columns))
        case TopRows(input=below, rank_name=rank):
            return (*columns_of(below), rank)
        case Filter(input=below) | Deduplicate(input=below) | Sort(input=below):
            return columns_of(below)


def _needed(step: Step, read: frozenset[str]) -> tuple[frozenset[str], ...]:
    """Return what a step reads of each of its inputs for the columns that are read of it."""
    below = [columns_of(each) for each in inputs(step)]
    match step:
        case Rename() | Union():
            return tuple(_by_place(columns_of(step), names, read) for names in below)
        case SetOperation() | TopRows():  # they compare whole rows
            return tuple(map(frozenset, below))
        case Project(columns=columns):
            names = _columns(column.value for column in columns if column.name in read)
        case Aggregate(time=time):
            names = _columns(scalars(step)) | _named(time)
        case Match(values=values):
            names = _columns(column.value for column in values)
        case Join(left_time=left, right_time=right):
            names = read | _columns(scalars(step)) | _named(left, right)
        case Deduplicate(keys=keys, time=time):
            names = read | _named(*keys, time)
        case AssignWindows(time=time) | LateRows(time=time):
            names = read | _named(time)
        case _:
            names = read | _columns(scalars(step))
    return tuple(names.intersection(each) for each in below)


def _by_place(names: tuple[str, ...], below: tuple[str, ...], read: frozenset[str]) -> frozenset[str]:
    if len(names) != len(below):
        return frozenset(below)
    return frozenset(old for new, old in zip(names, below, strict=True) if new in read)


def _columns(values: Iterable[Scalar]) -> frozenset[str]:
    return frozenset(column.name for value in values for column in value.tree.find_all(exp.Column))


def _named(*names: str | None) -> frozenset[str]:
    return frozenset(name for name in names if name is not None)
