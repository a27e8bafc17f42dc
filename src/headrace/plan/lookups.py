"""Where rows must not change, a keyed table that a stream is joined with is looked up as it stands.

A relation whose rows change only because of such tables goes in; one whose rows are published once comes out.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from sqlglot import exp

from headrace.plan.steps import (
    Filter,
    Join,
    JoinKind,
    Kind,
    Project,
    ReadTable,
    Relation,
    Rename,
    Scan,
    Step,
    Unnest,
    asked,
)

ALWAYS = "0 seconds"
"""A table that is looked up so is read anew as often as its connector can: a topic with each batch."""

_TABLE_ON_THE_RIGHT = frozenset({JoinKind.INNER, JoinKind.CROSS, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI})
_TABLE_ON_THE_LEFT = frozenset({JoinKind.INNER, JoinKind.CROSS, JoinKind.RIGHT})


@dataclass(frozen=True, slots=True)
class _Rebuilt:
    step: Step
    names: tuple[str, ...]
    kind: Kind
    times: frozenset[str] = frozenset()


def looked_up(relation: Relation) -> Relation | None:
    """Return the relation with its tables looked up, None if its rows change for another reason."""
    if relation.kind is not Kind.CHANGELOG:
        return None
    found = _rebuilt(relation.step)
    if found is None or found.kind is not Kind.APPEND:
        return None
    return Relation(found.step, relation.fields, Kind.APPEND, found.times)


def as_table(relation: Relation) -> Relation | None:
    """Return a keyed table as one that is looked up, None if it is more than that."""
    found = _rebuilt(relation.step)
    if found is None or found.kind is not Kind.STATIC:
        return None
    return Relation(found.step, relation.fields, Kind.STATIC)


def _rebuilt(step: Step) -> _Rebuilt | None:
    match step:
        case Scan(stream=stream):
            times = frozenset({stream.watermark.column} if stream.watermark is not None else ())
            return _Rebuilt(step, tuple(column.name for column in stream.columns), Kind.APPEND, times)
        case ReadTable(table=table):
            if table.live:
                table = replace(table, common=replace(table.common, refresh=ALWAYS))
            return _Rebuilt(ReadTable(table), tuple(column.name for column in table.columns), Kind.STATIC)
        case Join():
            return _join(step)
        case Rename(input=below, names=names):
            return _over(below, lambda inner: _renamed(step, inner, names))
        case Project(input=below, columns=columns) if not asked(step):
            return _over(
                below,
                lambda inner: _Rebuilt(
                    replace(step, input=inner.step),
                    tuple(column.name for column in columns),
                    inner.kind,
                    frozenset(
                        column.name
                        for column in columns
                        if isinstance(column.value.tree, exp.Column) and column.value.tree.name in inner.times
                    ),
                ),
            )
        case Filter(input=below) if not asked(step):
            return _over(below, lambda inner: replace(inner, step=replace(step, input=inner.step)))
        case Unnest(input=below, names=names):
            return _over(
                below, lambda inner: replace(inner, step=replace(step, input=inner.step), names=(*inner.names, *names))
            )
        case _:
            return None


def _over(below: Step, build: Callable[[_Rebuilt], _Rebuilt]) -> _Rebuilt | None:
    inner = _rebuilt(below)
    return None if inner is None else build(inner)


def _renamed(step: Rename, inner: _Rebuilt, names: tuple[str, ...]) -> _Rebuilt:
    times = frozenset(new for new, old in zip(names, inner.names, strict=True) if old in inner.times)
    return _Rebuilt(replace(step, input=inner.step), names, inner.kind, times)


def _join(step: Join) -> _Rebuilt | None:
    left, right = _rebuilt(step.left), _rebuilt(step.right)
    if left is None or right is None:
        return None
    names = left.names if step.kind in {JoinKind.SEMI, JoinKind.ANTI} else (*left.names, *right.names)
    kinds = (left.kind, right.kind)
    fits = (
        (kinds == (Kind.APPEND, Kind.STATIC) and step.kind in _TABLE_ON_THE_RIGHT)
        or (kinds == (Kind.STATIC, Kind.APPEND) and step.kind in _TABLE_ON_THE_LEFT)
        or kinds == (Kind.STATIC, Kind.STATIC)
    )
    if not fits:
        return None
    kind = Kind.STATIC if kinds == (Kind.STATIC, Kind.STATIC) else Kind.APPEND
    rebuilt = replace(step, left=left.step, right=right.step, streaming=False, maintained=False)
    return _Rebuilt(rebuilt, names, kind, left.times | right.times)
