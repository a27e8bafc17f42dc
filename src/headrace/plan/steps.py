"""The steps of a plan, as frozen values: running and explaining walk the same list.

Inside a step, expressions name columns of its input without qualifiers. Where several inputs
meet, their columns are renamed to ``alias.column`` first, so every name is unique.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import Any

from sqlglot import exp

from headrace.catalog.objects import Stream, Table
from headrace.errors import PlanError, Span
from headrace.plan.patterns import Program
from headrace.plan.slots import EVIDENCE, Slot
from headrace.plan.windows import Window


class Kind(Enum):
    """How the rows of a relation come and go."""

    APPEND = "append"
    CHANGELOG = "changelog"
    STATIC = "static"


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a relation; its type may be unknown until Spark has analysed it."""

    name: str
    type: exp.DataType


@dataclass(frozen=True, slots=True)
class Relation:
    """What a step gives: its columns, how rows come and go, and which columns carry event time."""

    step: "Step"
    fields: tuple[Field, ...]
    kind: Kind
    times: frozenset[str] = frozenset()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(field.name for field in self.fields)


@dataclass(frozen=True, slots=True)
class Lookup:
    """A query over tables that stands inside an expression; the expression names it as a view."""

    view: str
    relation: Relation


@dataclass(frozen=True, slots=True)
class Scalar:
    """An expression over the columns of one step's input, with its place in the user's text."""

    tree: exp.Expr
    type: exp.DataType
    span: Span | None = None
    lookups: tuple[Lookup, ...] = ()


@dataclass(frozen=True, slots=True)
class Column:
    """One named expression of a projection, a grouping or an aggregation."""

    name: str
    value: Scalar


@dataclass(frozen=True, slots=True)
class Scan:
    """Read a stream: parsed rows, those that do not parse kept apart, watermark set."""

    stream: Stream


@dataclass(frozen=True, slots=True)
class ReadDead:
    """Read what of a stream, or of what is written into a keyed table, does not parse, with the reason."""

    stream: Stream | Table


@dataclass(frozen=True, slots=True)
class LateRows:
    """Keep the rows that come when the watermark has passed their time, and add why and where from."""

    input: "Step"
    time: str
    added: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReadTable:
    """Read a table as it stands."""

    table: Table


@dataclass(frozen=True, slots=True)
class ReadRelation:
    """Read a relation that a program defined from a DataFrame."""

    name: str
    static: bool = False
    fields: tuple[Field, ...] = ()


@dataclass(frozen=True, slots=True)
class Literals:
    """Rows written in the query itself (VALUES, or a SELECT without FROM)."""

    sql: str
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Rename:
    """Give the columns of the input new names, in order."""

    input: "Step"
    names: tuple[str, ...]
    label: str


@dataclass(frozen=True, slots=True)
class Project:
    """Compute columns."""

    input: "Step"
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class Filter:
    """Keep the rows for which a condition is true."""

    input: "Step"
    condition: Scalar


@dataclass(frozen=True, slots=True)
class Unnest:
    """Turn each row into one per element of a generator's result."""

    input: "Step"
    generator: Scalar
    names: tuple[str, ...]
    outer: bool


@dataclass(frozen=True, slots=True)
class AssignWindows:
    """Add window_start, window_end and window_time to each row, once per window it belongs to."""

    input: "Step"
    window: Window
    time: str


class Method(Enum):
    """How a grouped query is computed."""

    KEYS = "by key"
    WINDOWS = "by window"
    PANES = "by panes, combined into windows"
    SESSIONS = "by session"


@dataclass(frozen=True, slots=True)
class Aggregate:
    """Group rows and compute aggregates; ``time_key`` is the grouping column that the watermark closes."""

    input: "Step"
    keys: tuple[Column, ...]
    aggregates: tuple[Column, ...]
    method: Method
    window: Window | None
    time: str | None
    time_key: str | None
    updating: bool
    note: str | None = None


class JoinKind(Enum):
    """Which rows a join keeps."""

    INNER = "inner"
    LEFT = "left"
    RIGHT = "right"
    FULL = "full"
    SEMI = "semi"
    ANTI = "anti"
    CROSS = "cross"


@dataclass(frozen=True, slots=True)
class Join:
    """Join two inputs; ``until`` says, per side, how long its rows are kept (None: for ever).

    ``maintained`` says that pairs are withdrawn again when a side changes.
    """

    left: "Step"
    right: "Step"
    kind: JoinKind
    condition: Scalar | None
    streaming: bool
    left_time: str | None = None
    right_time: str | None = None
    until: tuple[str | None, str | None] = (None, None)
    maintained: bool = False


@dataclass(frozen=True, slots=True)
class Deduplicate:
    """Keep the first row of each key; ``time`` is the event time that lets keys be forgotten."""

    input: "Step"
    keys: tuple[str, ...]
    time: str | None
    within_watermark: bool


@dataclass(frozen=True, slots=True)
class TopRows:
    """Keep the first rows of each closed window by an order."""

    input: "Step"
    partition: tuple[str, ...]
    order: tuple["Ordering", ...]
    limit: int
    rank_name: str
    time_key: str


@dataclass(frozen=True, slots=True)
class Rank:
    """Add columns that compare each row with the others of its partition, as they stand."""

    input: "Step"
    columns: tuple[Column, ...]


class Shown(Enum):
    """Which rows a match gives."""

    ONE_ROW = "one row per match"
    ALL_ROWS = "all rows per match"
    ALL_ROWS_OMIT_EMPTY = "all rows per match, none for an empty one"
    ALL_ROWS_WITH_UNMATCHED = "all rows, those without a match included"


class Skip(Enum):
    """Where the search goes on after a match."""

    PAST_LAST_ROW = "past its last row"
    TO_NEXT_ROW = "at the row after its first"
    TO_FIRST = "at the first row of"
    TO_LAST = "at the last row of"


@dataclass(frozen=True, slots=True)
class Match:
    """Search the rows of each partition for a pattern.

    ``order`` are the columns that order rows of the same time: name, descending, nulls first. Conditions and measures
    are expressions over slots; aggregates are over the values of a row. ``static`` says that all rows are there from
    the beginning, so that none is waited for.
    """

    input: "Step"
    partition: tuple[str, ...]
    time: str | None
    arrival: bool
    order: tuple[tuple[str, bool, bool], ...]
    pattern: str
    program: Program
    values: tuple[Column, ...]
    slots: tuple[Slot, ...]
    aggregates: tuple[Scalar, ...]
    conditions: tuple[tuple[int, Scalar], ...]
    measures: tuple[Column, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]
    shown: Shown
    skip: Skip
    skip_to: tuple[int, ...]
    within: timedelta | None
    timeouts: bool
    static: bool = False
    span: Span | None = None

    @property
    def traced(self) -> bool:
        """Whether its rows must say where they stood."""
        return any(each.name == EVIDENCE for each in self.values)


@dataclass(frozen=True, slots=True)
class SetOperation:
    """Keep the rows of the left input that are, or are not, among those of the right."""

    left: "Step"
    right: "Step"
    kept: bool
    every: bool


@dataclass(frozen=True, slots=True)
class Union:
    """Put the rows of all inputs into one relation, column by column."""

    inputs: tuple["Step", ...]


@dataclass(frozen=True, slots=True)
class Ordering:
    """One term of an ORDER BY."""

    value: Scalar
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True)
class Sort:
    """Order rows and keep a part of them, where the rows are complete or the part is kept current."""

    input: "Step"
    order: tuple[Ordering, ...]
    limit: int | None
    offset: int | None


Step = (
    Scan
    | ReadDead
    | LateRows
    | ReadTable
    | ReadRelation
    | Literals
    | Rename
    | Project
    | Filter
    | Unnest
    | AssignWindows
    | Aggregate
    | Join
    | Deduplicate
    | TopRows
    | Rank
    | Match
    | SetOperation
    | Union
    | Sort
)


def inputs(step: Step) -> tuple[Step, ...]:
    """Return the steps that a step reads from, left to right."""
    match step:
        case Join(left=left, right=right) | SetOperation(left=left, right=right):
            return (left, right)
        case Union(inputs=several):
            return several
        case Scan() | ReadDead() | ReadTable() | ReadRelation() | Literals():
            return ()
        case _:
            return (step.input,)


def walk(step: Step) -> Iterator[Step]:
    """Yield a step and everything below it, sources last, with what its expressions ask of streams."""
    yield step
    for each in (*inputs(step), *asked(step)):
        yield from walk(each)


def asked(step: Step) -> tuple[Step, ...]:
    """Return the queries over streams that stand inside a step's expressions."""
    lookups = (lookup for value in scalars(step) for lookup in value.lookups)
    return tuple(lookup.relation.step for lookup in lookups if lookup.relation.kind is not Kind.STATIC)


def scalars(step: Step) -> Iterator[Scalar]:
    """Yield the expressions that a step itself evaluates."""
    match step:
        case Project(columns=columns) | Rank(columns=columns):
            yield from (column.value for column in columns)
        case Filter(condition=condition):
            yield condition
        case Unnest(generator=generator):
            yield generator
        case Aggregate(keys=keys, aggregates=aggregates):
            yield from (column.value for column in (*keys, *aggregates))
        case Join(condition=Scalar() as condition):
            yield condition
        case Match(values=values, aggregates=aggregated, conditions=conditions, measures=measures):
            yield from (column.value for column in (*values, *measures))
            yield from (*aggregated, *(condition for _, condition in conditions))
        case TopRows(order=order) | Sort(order=order):
            yield from (term.value for term in order)


def is_stateful(step: Step) -> bool:
    """Say whether a step remembers rows between batches."""
    match step:
        case Aggregate() | Deduplicate() | TopRows() | LateRows():
            return True
        case Match(static=static):
            return not static
        case Join(streaming=streaming):
            return streaming
        case _:
            return False


def kind_over(kind: Kind, values: Iterable[Scalar]) -> Kind:
    """Return how rows come and go after expressions were computed over them: what asks a stream can change its mind."""
    asking = [value for value in values if any(each.relation.kind is not Kind.STATIC for each in value.lookups)]
    if asking and kind is Kind.STATIC:
        raise PlanError(
            "rows that are only looked up cannot depend on rows that change",
            hint="Give the table a primary key, and no refresh: then it is kept current.",
            span=asking[0].span,
        )
    return Kind.CHANGELOG if asking else kind


def is_maintained(step: Step) -> bool:
    """Say whether the rows of a step come and go, so that the step needs an operator of our own."""
    match step:
        case ReadTable(table=table):
            return table.live
        case Aggregate(updating=True, time_key=None) | Join(maintained=True):
            return True
        case Rank() | SetOperation():
            return not is_static(step)
        case _ if any(lookup.relation.kind is not Kind.STATIC for value in scalars(step) for lookup in value.lookups):
            return True
        case Sort(input=below, limit=limit, offset=offset) if limit is not None or offset is not None:
            return not is_static(below)
        case _:
            return any(is_maintained(each) for each in inputs(step))


def is_static(step: Step) -> bool:
    """Say whether a step gives the same rows for ever."""
    match step:
        case Scan() | ReadDead():
            return False
        case ReadTable(table=table):
            return not table.live
        case ReadRelation(static=static):
            return static
        case _:
            return all(is_static(each) for each in inputs(step)) and not any(
                not is_static(lookup.relation.step) for value in scalars(step) for lookup in value.lookups
            )


def unsorted(relation: Relation) -> Step:
    """Return the step that gives a relation's rows in any order."""
    return relation.step.input if isinstance(relation.step, Sort) else relation.step


def as_plain(value: Any) -> Any:
    """Return a duration or other value of a step in a form that JSON can carry."""
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)
