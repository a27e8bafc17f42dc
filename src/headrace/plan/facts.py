"""A query goes in; what its answer and its state depend on beyond what `explain` tells comes out, by readable names.

The steps are in `explain`; here are the types and computed columns of what is read, the functions that are called,
and what of a step is left out there. A column that a query does not read counts for nothing, unless it is NOT NULL:
then it decides which records are rows.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from itertools import chain

from sqlglot import exp

from headrace.catalog.imports import VIEW
from headrace.catalog.objects import Function, Stream, Table
from headrace.connectors.datagen.options import DatagenSource
from headrace.connectors.options import sql_literal
from headrace.language.dialect import Headrace
from headrace.language.statements import ColumnDefinition
from headrace.plan import types
from headrace.plan.explain import describe, tree, window_text
from headrace.plan.match_facts import match_facts
from headrace.plan.settings import Settings
from headrace.plan.steps import (
    Aggregate,
    AssignWindows,
    Deduplicate,
    Kind,
    Literals,
    Match,
    Ordering,
    ReadDead,
    ReadRelation,
    ReadTable,
    Rename,
    Scan,
    Sort,
    Step,
    TopRows,
    scalars,
)
from headrace.plan.used import columns_of, uses
from headrace.plan.windows import Session

__all__ = ["UNKNOWN", "facts", "settings_facts"]

UNKNOWN = ""
"""The type of a column that only Spark will tell: it may be any."""

_READING = ("header", "delimiter", "timestamp_format", "verify", "key", "avro_schema", "rows_per_second", "start")
"""Options of a source that decide what its rows are; others say where they are, or how many are taken at once."""
_ON_FIRST_RUN = frozenset({"kafka"})
"""Connectors for which `start` says where the first run begins, and nothing about the rows."""
_MEANING = (
    "spark.sql.session.", "spark.sql.ansi.", "spark.sql.caseSensitive", "spark.sql.legacy.", "spark.sql.timestampType",
    "spark.sql.mapKeyDedupPolicy", "spark.sql.decimalOperations.", "spark.sql.json.", "spark.sql.csv.",
    "spark.sql.jsonGenerator.", "spark.sql.streaming.multipleWatermarkPolicy",
)  # fmt: skip
"""How the names of Spark's settings begin that change what a query means."""
_CALL = re.compile(r"([A-Za-z_]\w*)`?\s*\(")


def settings_facts(settings: Settings) -> dict[str, str]:
    """Return the settings that change what every query means."""
    return {f"SET {name}": value for name, value in sorted(settings.spark.items()) if name.startswith(_MEANING)}


def facts(steps: Iterable[Step], functions: Mapping[str, Function]) -> dict[str, str]:
    """Return what queries that have one state depend on; each name with what it is now."""
    found = _Facts()
    for each, read in chain.from_iterable(map(uses, steps)):
        _source(each, read, found)
        for value in scalars(each):
            found.call(value.tree)
            for lookup in value.lookups:
                if lookup.relation.kind is Kind.STATIC:
                    found.add("what is looked up", _lines(lookup.relation.step))
        for name, text in _step(each, read):
            found.add(name, text)
    for name in sorted(found.called & functions.keys()):
        found.named[f"function {name}"] = _function(functions[name])
    return found.named


@dataclass(slots=True)
class _Facts:
    """What was found so far, and the names of all functions that are called."""

    named: dict[str, str] = field(default_factory=dict)
    called: set[str] = field(default_factory=set)
    _times: Counter[str] = field(default_factory=Counter)

    def add(self, name: str, text: str) -> None:
        """Note what is true of one step; several steps may have a fact of one name."""
        self._times[name] += 1
        number = self._times[name]
        self.named[name if number == 1 else f"{name} ({number})"] = text

    def call(self, called: exp.Expr | str) -> None:
        """Note the functions that an expression calls; of a text, all that may be one."""
        if isinstance(called, str):
            self.called.update(name.lower() for name in _CALL.findall(called))
        else:
            self.called.update(str(node.name).lower() for node in called.find_all(exp.Anonymous))


def _function(function: Function) -> str:
    where = f"{function.module}:{function.attribute}" if function.module else "of the program"
    return f"{where}, returns {types.type_name(function.returns)}"


def _lines(step: Step) -> str:
    nodes = tree(step).walk()
    return "; ".join(line for node in nodes for line in (node.described.title, *node.described.details))


# --- what is read --------------------------------------------------------------------------------------


def _source(step: Step, read: frozenset[str], found: _Facts) -> None:
    match step:
        case Scan(stream=source) | ReadDead(stream=Stream() as source):
            _options(source, found)
            _columns(source, read, found)
        case ReadTable(table=source) | ReadDead(stream=Table() as source):
            _options(source, found)
            whole = isinstance(step, ReadTable) and _keeps_rows(source)
            _columns(source, columns_of(step) if whole else {*read, *source.primary_key}, found)
            if source.primary_key:
                found.named[f"key of {source.name}"] = ", ".join(source.primary_key)
            if whole:
                found.named[f"order of the columns of {source.name}"] = ", ".join(columns_of(step))
        case ReadRelation(name=name, fields=known):
            for each in known:
                if each.name in read:
                    found.named[f"column {each.name} of {name}"] = _type(each.type)
        case Literals(sql=text):
            found.call(text)


def _keeps_rows(table: Table) -> bool:
    """Say whether the last row of each key is kept, with all its columns, whatever is read of them."""
    return table.live and table.connector != VIEW


def _options(source: Stream | Table, found: _Facts) -> None:
    """Note the options of a source that are not as they are by default."""
    default = {each.name: each.default for each in fields(source.options)}
    for name in _READING:
        value = getattr(source.options, name, None)
        if name not in default or value == default[name] or (name == "start" and source.connector in _ON_FIRST_RUN):
            continue
        plain = ", ".join(value) if isinstance(value, tuple) else value
        found.named[f"{name} of {source.name}"] = sql_literal(plain if isinstance(plain, bool | int) else str(plain))


def _columns(source: Stream | Table, read: Iterable[str], found: _Facts) -> None:
    generated = source.options.expressions if isinstance(source.options, DatagenSource) else {}
    made = {name.lower(): " ".join(text.split()) for name, text in generated.items()}
    for column in _with_computed(source, read):
        text = _column(column)
        if column.name.lower() in made:
            text += f" from {made[column.name.lower()]}"
            found.call(made[column.name.lower()])
        if column.computed is not None:
            found.call(column.computed)
        found.named[f"column {column.name} of {source.name}"] = text


def _with_computed(source: Stream | Table, read: Iterable[str]) -> Iterator[ColumnDefinition]:
    """Yield the columns of a source that count: those read, those that a row must have, and what they come from."""
    known = {column.name.lower(): column for column in source.columns}
    wanted = {name.lower() for name in read}
    wanted |= {name for name, column in known.items() if not column.nullable}
    if isinstance(source, Stream) and source.watermark is not None:
        wanted.add(source.watermark.column.lower())
    left = list(wanted)
    while left:
        column = known.get(left.pop())
        if column is not None and column.computed is not None:
            more = {each.name.lower() for each in column.computed.find_all(exp.Column)} - wanted
            wanted |= more
            left += more
    yield from (column for name, column in known.items() if name in wanted)


def _column(column: ColumnDefinition) -> str:
    """Return what a column is: its type, or what it is computed from.

    >>> from headrace.errors import Source, Span
    >>> place = Span(Source("s", "s"), 0, 1)
    >>> _column(ColumnDefinition("k", types.BIGINT, False, None, place))
    'BIGINT NOT NULL'
    """
    kind = _type(column.type) if column.type is not None else ""
    text = kind
    if column.computed is not None:
        text = str(column.computed.sql(dialect=Headrace, comments=False))
        text += f", a {kind}" if kind else ""
    return text if column.nullable else f"{text} NOT NULL"


def _type(kind: exp.DataType) -> str:
    return UNKNOWN if kind.this == types.Type.UNKNOWN else types.type_name(kind)


# --- what is done with it ------------------------------------------------------------------------------


def _step(step: Step, read: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Yield what `explain` does not tell of a step."""
    match step:
        case Match():
            yield from match_facts(step)
        case AssignWindows(window=window) | Aggregate(window=window):
            if window is not None and not isinstance(window, Session) and window.offset:
                yield f"offset of windows ({window_text(window)})", str(window.offset)
        case TopRows(order=order) | Sort(order=order):
            offset = step.offset if isinstance(step, Sort) else None
            yield "order", ", ".join(map(_ordering, order)) + (f", from row {offset + 1} on" if offset else "")
        case Deduplicate():
            yield f'memory of "{describe(step).title}"', str(describe(step).state)
        case Rename():
            yield from _renamed(step, read)


def _ordering(term: Ordering) -> str:
    text = str(term.value.tree.sql(dialect=Headrace, comments=False)).replace("`", "")
    return f"{text}{' DESC' if term.descending else ''} NULLS {'FIRST' if term.nulls_first else 'LAST'}"


def _renamed(step: Rename, read: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Yield the new names that are more than the name of an input before the old one."""
    below = columns_of(step.input)
    pairs = zip(step.names, below, strict=True) if len(below) == len(step.names) else ()
    given = [f"{new} from {old}" for new, old in pairs if new in read and new not in {old, f"{step.label}.{old}"}]
    if given:
        yield "naming of columns", ", ".join(given)
