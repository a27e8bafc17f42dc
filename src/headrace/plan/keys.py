"""A relation goes in, the columns that identify its rows come out."""

from collections.abc import Iterator

from sqlglot import exp

from headrace.plan.grouping import one_length
from headrace.plan.joins import conjuncts
from headrace.plan.steps import (
    Aggregate,
    Deduplicate,
    Filter,
    Join,
    JoinKind,
    Project,
    Rank,
    ReadTable,
    Relation,
    Rename,
    SetOperation,
    Sort,
    Step,
    TopRows,
)

Key = frozenset[str]


def keys_of(relation: Relation) -> set[Key]:
    """Return every set of columns that is known to identify a row."""
    return _keys(relation.step, relation.names)


def key_of(relation: Relation) -> tuple[str, ...]:
    """Return the columns that identify a row, in the order of the relation; none if there may be equal rows."""
    keys = keys_of(relation)
    if not keys:
        return ()
    best = min(keys, key=lambda key: (len(key), sorted(key)))
    return tuple(name for name in relation.names if name in best)


def _keys(step: Step, names: tuple[str, ...]) -> set[Key]:
    """Return every set of columns that is known to identify a row of a step, whose columns have these names."""
    match step:
        case ReadTable(table=table) if table.primary_key:
            known = {each.lower(): each for each in names}
            return {frozenset(known[column.lower()] for column in table.primary_key)}
        case Aggregate(keys=keys):
            return _of_groups(step) if keys else set()
        case Deduplicate(keys=columns, input=below, within_watermark=within):
            return _keys(below, names) if within else {frozenset(columns)} | _keys(below, names)
        case SetOperation(every=False):
            return {frozenset(names)}
        case TopRows(partition=partition, rank_name=rank, input=below):
            return {frozenset((*partition, rank))} | _keys(below, _without(names, (rank,)))
        case Rank(columns=columns, input=below):
            return _keys(below, _without(names, tuple(column.name for column in columns)))
        case Filter(input=below):
            return _keys(below, names) | _first_of_each(step)
        case Sort(input=below):
            return _keys(below, names)
        case Rename(input=below, names=new):
            old = _names_below(below)
            return _renamed(_keys(below, old), dict(zip(old, new, strict=True))) if len(old) == len(new) else set()
        case Project(columns=columns, input=below):
            passed: dict[str, str] = {}
            for column in columns:
                if (name := _passed_on(column.value.tree)) is not None:
                    passed.setdefault(name, column.name)
            return _renamed(_keys(below, _names_below(below)), passed)
        case Join():
            return _of_join(step)
        case _:
            return set()


def _of_groups(step: Aggregate) -> set[Key]:
    """Return what identifies a group; one end of a window tells the other where all windows have one length."""
    whole = frozenset(key.name for key in step.keys)
    keys = {whole}
    if {"window_start", "window_end"} <= whole and step.time_key == "window_end" and one_length(step):
        keys |= {whole - {"window_start"}, whole - {"window_end"}}
    return keys


def _renamed(keys: set[Key], names: dict[str, str]) -> set[Key]:
    return {frozenset(names[name] for name in key) for key in keys if all(name in names for name in key)}


def _without(names: tuple[str, ...], added: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in names if name not in added)


def _names_below(step: Step) -> tuple[str, ...]:
    """Return the names of a step's columns as far as they are known from the steps themselves."""
    match step:
        case ReadTable(table=table):
            return tuple(column.name for column in table.columns)
        case Aggregate(keys=keys, aggregates=aggregates):
            return tuple(column.name for column in (*keys, *aggregates))
        case Project(columns=columns):
            return tuple(column.name for column in columns)
        case Rename(names=names):
            return names
        case Rank(input=below, columns=columns):
            return (*_names_below(below), *(column.name for column in columns))
        case TopRows(input=below, rank_name=rank):
            return (*_names_below(below), rank)
        case Filter(input=below) | Sort(input=below) | Deduplicate(input=below):
            return _names_below(below)
        case SetOperation(left=left):
            return _names_below(left)
        case Join(left=left, right=right, kind=kind):
            beside = () if kind in {JoinKind.SEMI, JoinKind.ANTI} else _names_below(right)
            return (*_names_below(left), *beside)
        case _:
            return ()


def _of_join(step: Join) -> set[Key]:
    lefts, rights = _names_below(step.left), _names_below(step.right)
    left, right = _keys(step.left, lefts), _keys(step.right, rights)
    if step.kind in {JoinKind.SEMI, JoinKind.ANTI}:
        return left
    equal = _equal_columns(step)
    pairable = step.kind is not JoinKind.FULL
    keys = {
        one | other
        for one in left
        for other in right
        if pairable or (one in _never_null(step.left) and other in _never_null(step.right))
    }
    if step.kind is JoinKind.FULL:
        pairs = dict(_pairs(step))
        keys |= {
            frozenset(_merged(name, pairs[name]) for name in key)
            for key in left & _never_null(step.left)
            if key <= pairs.keys() and frozenset(pairs[name] for name in key) in right & _never_null(step.right)
        }
    if any(key <= equal for key in right) and step.kind in {JoinKind.INNER, JoinKind.LEFT}:
        keys |= left  # a left row meets at most one right row
    if any(key <= equal for key in left) and step.kind in {JoinKind.INNER, JoinKind.RIGHT}:
        keys |= right
    return keys


def _pairs(step: Join) -> Iterator[tuple[str, str]]:
    """Yield the columns that the condition sets equal, that of the left side first."""
    lefts, rights = set(_names_below(step.left)), set(_names_below(step.right))
    for test in conjuncts(step.condition.tree) if step.condition is not None else ():
        if isinstance(test, exp.EQ):
            one, other = test.this.unnest(), test.expression.unnest()
            if not (isinstance(one, exp.Column) and isinstance(other, exp.Column) and _same_type(one, other)):
                continue
            if one.name in lefts and other.name in rights:
                yield one.name, other.name
            elif other.name in lefts and one.name in rights:
                yield other.name, one.name


def _same_type(one: exp.Expr, other: exp.Expr) -> bool:
    """Say whether two columns are equal as they stand: a conversion can make different values equal."""
    return one.type is not None and one.type == other.type


def _never_null(step: Step) -> set[Key]:
    """Return the keys of a step that are those of a table: what identifies its rows is never NULL, but in a view."""
    match step:
        case ReadTable(table=table) if table.primary_key and table.connector != "view":
            known = {column.name.lower(): column.name for column in table.columns}
            return {frozenset(known[column.lower()] for column in table.primary_key)}
        case Rename(input=below, names=new):
            old = _names_below(below)
            return _renamed(_never_null(below), dict(zip(old, new, strict=True))) if len(old) == len(new) else set()
        case Filter(input=below):
            return _never_null(below)
        case Project(input=below, columns=columns):
            passed = {c.value.tree.name: c.name for c in columns if isinstance(c.value.tree, exp.Column)}
            return _renamed(_never_null(below), passed)
        case _:
            return set()


def _equal_columns(step: Join) -> Key:
    """Return the columns that the condition sets equal to one of the other side."""
    return frozenset(name for pair in _pairs(step) for name in pair)


def _merged(left: str, right: str) -> str:
    """Return what stands for the key of a full join: that of the side which has a row."""
    return f"{left} or {right}"


def _passed_on(tree: exp.Expr) -> str | None:
    """Return the column that an expression passes on as it is, or the merged one of a full join."""
    match tree:
        case exp.Column():
            return str(tree.name)
        case exp.Coalesce(this=exp.Column() as left, expressions=[exp.Column() as right]):
            return _merged(left.name, right.name)
        case _:
            return None


def _first_of_each(step: Filter) -> set[Key]:
    """Return the partition of a row_number() of which only the first row is kept."""
    if not isinstance(step.input, Rank):
        return set()
    found: set[Key] = set()
    for test in conjuncts(step.condition.tree):
        if not (isinstance(test, (exp.EQ, exp.LTE)) and test.expression.name == "1"):
            continue
        for column in step.input.columns:
            window = column.value.tree
            parts = window.args.get("partition_by") or []
            first = isinstance(test.this, exp.Column) and test.this.name == column.name
            if first and isinstance(window.this, exp.RowNumber) and all(isinstance(p, exp.Column) for p in parts):
                found.add(frozenset(part.name for part in parts))
    return {key for key in found if key}
