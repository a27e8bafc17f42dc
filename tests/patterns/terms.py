"""Expressions of DEFINE and MEASURES, each as SQL and as a function of what it sees; NULL is None in both."""

import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from patterns.twin import Row, View


@dataclass(frozen=True, slots=True)
class Term:
    """An expression; ``parts`` are simpler ones that a failure may be shown with."""

    sql: str
    value: Callable[[View], Any]
    parts: tuple["Term", ...] = ()


Column: TypeAlias = Callable[[Row], Any]


def _v(row: Row) -> Any:
    return row["v"]


def _id(row: Row) -> Any:
    return row["id"]


def _sum(row: Row) -> Any:
    return None if row["v"] is None else row["v"] + row["id"]


_COLUMNS: dict[str, Column] = {"{}v": _v, "{}id": _id, "{0}v + {0}id": _sum}
"""Values of a row; the braces are where the variable stands."""


def _of(name: str | None) -> str:
    return f"{name}." if name else ""


def _said(name: str | None, column: str) -> str:
    return column.format(_of(name))


def _semantics(final: bool | None) -> str:
    return {None: "", True: "FINAL ", False: "RUNNING "}[final]


# --- values of one row ------------------------------------------------------------------------------------------


def column(name: str | None, column: str = "{}v") -> Term:
    """Return ``X.v``: the value of the last row of a variable."""
    return Term(_said(name, column), lambda view: view.value(_COLUMNS[column], view.picked(name)))


def logical(
    name: str | None, *, last: bool = True, offset: int = 0, column: str = "{}v", final: bool | None = None
) -> Term:
    """Return ``LAST(X.v, n)`` or ``FIRST(X.v, n)``."""
    return Term(
        f"{_semantics(final)}{_logical_sql(_said(name, column), last=last, offset=offset)}",
        lambda view: view.value(_COLUMNS[column], view.picked(name, last=last, offset=offset, final=bool(final))),
    )


def _logical_sql(inner: str, *, last: bool, offset: int) -> str:
    return f"{'LAST' if last else 'FIRST'}({inner}{f', {offset}' if offset else ''})"


def physical(name: str | None, shift: int, *, last: bool | None = None, offset: int = 0, column: str = "{}v") -> Term:
    """Return ``PREV(X.v, n)`` or ``NEXT(X.v, n)``, around FIRST or LAST if these are asked for."""
    inner = _said(name, column)
    if last is not None:
        inner = _logical_sql(inner, last=last, offset=offset)
    return Term(
        _physical_sql(inner, shift),
        lambda view: view.value(_COLUMNS[column], view.picked(name, last=last is not False, offset=offset), shift),
    )


def _physical_sql(inner: str, shift: int) -> str:
    steps = f", {abs(shift)}" if abs(shift) != 1 else ""
    return f"{'PREV' if shift <= 0 else 'NEXT'}({inner}{steps})"


def classifier(
    name: str | None = None, *, last: bool | None = None, offset: int = 0, shift: int = 0, final: bool | None = None
) -> Term:
    """Return ``CLASSIFIER(X)``, in FIRST or LAST and in PREV if these are asked for."""
    sql = f"CLASSIFIER({name or ''})"
    if last is not None:
        sql = _logical_sql(sql, last=last, offset=offset)
    if shift:
        sql = _physical_sql(sql, shift)
    return Term(
        _semantics(final) + sql,
        lambda view: view.classified(
            view.picked(name, last=last is not False, offset=offset, final=bool(final)), shift, final=bool(final)
        ),
    )


# --- aggregates -------------------------------------------------------------------------------------------------


def _average(values: list[Any]) -> Any:
    return sum(values) / len(values)


def _distinct(values: list[Any]) -> list[Any]:
    return list(dict.fromkeys(values))


_AGGREGATES: dict[str, Callable[[list[Any]], Any]] = {
    "COUNT({})": len,
    "SUM({})": lambda values: sum(values) if values else None,
    "MIN({})": lambda values: min(values, default=None),
    "MAX({})": lambda values: max(values, default=None),
    "AVG({})": lambda values: _average(values) if values else None,
    "COUNT(DISTINCT {})": lambda values: len(_distinct(values)),
    "SUM(DISTINCT {})": lambda values: sum(_distinct(values)) if values else None,
    "collect_list({})": lambda values: values,
}
AGGREGATES = tuple(_AGGREGATES)


def aggregate(call: str, name: str | None, *, column: str = "{}v", final: bool | None = None) -> Term:
    """Return an aggregate of what is not NULL in the rows of a variable."""

    def value(view: View) -> Any:
        values = (view.value(_COLUMNS[column], each) for each in view.taken(name, final=bool(final)))
        return _AGGREGATES[call]([each for each in values if each is not None])

    return Term(_semantics(final) + call.format(_said(name, column)), value)


def count_rows(name: str | None, *, final: bool | None = None) -> Term:
    """Return ``COUNT(X.*)``."""
    return Term(f"{_semantics(final)}COUNT({_of(name)}*)", lambda view: len(view.taken(name, final=bool(final))))


def filtered_count(name: str | None, bound: int, *, final: bool | None = None) -> Term:
    """Return the count of rows whose value lies above a bound."""

    def value(view: View) -> int:
        values = [view.rows[each.row]["v"] for each in view.taken(name, final=bool(final))]
        return sum(each is not None and each > bound for each in values)

    return Term(f"{_semantics(final)}COUNT(CASE WHEN {_of(name)}v > {bound} THEN 1 END)", value)


def classifiers(name: str | None = None, *, final: bool | None = None) -> Term:
    """Return the list of the variables of rows."""
    return Term(
        f"{_semantics(final)}collect_list(CLASSIFIER({name or ''}))",
        lambda view: [each.variable for each in view.taken(name, final=bool(final))],
    )


# --- facts ------------------------------------------------------------------------------------------------------

MATCH_NUMBER = Term("MATCH_NUMBER()", lambda view: view.number)
TIMED_OUT = Term("TIMED_OUT()", lambda view: view.timed_out)
AWAITED = Term("AWAITED()", lambda view: None if view.awaited is None else list(view.awaited))


# --- what is made of them ---------------------------------------------------------------------------------------

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
COMPARISONS = tuple(_COMPARISONS)


def literal(value: int | str) -> Term:
    """Return a constant."""
    return Term(f"'{value}'" if isinstance(value, str) else str(value), lambda _: value)


def compared(one: Term, sign: str, other: Term) -> Term:
    """Return a comparison: NULL if either side is."""

    def value(view: View) -> bool | None:
        sides = one.value(view), other.value(view)
        return None if None in sides else _COMPARISONS[sign](*sides)

    return Term(f"{one.sql} {sign} {other.sql}", value)


def added(one: Term, other: Term) -> Term:
    """Return a sum."""

    def value(view: View) -> Any:
        sides = one.value(view), other.value(view)
        return None if None in sides else sides[0] + sides[1]

    return Term(f"{one.sql} + {other.sql}", value, (one, other))


def is_null(one: Term) -> Term:
    """Return whether a value is NULL."""
    return Term(f"{one.sql} IS NULL", lambda view: one.value(view) is None)


def coalesced(one: Term, default: int) -> Term:
    """Return a value, or another where it is NULL."""

    def value(view: View) -> Any:
        found = one.value(view)
        return default if found is None else found

    return Term(f"COALESCE({one.sql}, {default})", value, (one,))


def negated(one: Term) -> Term:
    """Return the opposite of a condition."""

    def value(view: View) -> bool | None:
        found = one.value(view)
        return None if found is None else not found

    return Term(f"NOT ({one.sql})", value, (one,))


def both(one: Term, other: Term) -> Term:
    """Return whether two conditions hold."""
    return Term(
        f"({one.sql}) AND ({other.sql})", lambda view: _all(each.value(view) for each in (one, other)), (one, other)
    )


def either(one: Term, other: Term) -> Term:
    """Return whether one of two conditions holds."""
    return Term(
        f"({one.sql}) OR ({other.sql})", lambda view: _any(each.value(view) for each in (one, other)), (one, other)
    )


def _all(values: Iterable[bool | None]) -> bool | None:
    found = list(values)
    return False if False in found else None if None in found else True


def _any(values: Iterable[bool | None]) -> bool | None:
    found = list(values)
    return True if True in found else None if None in found else False


def simpler(term: Term) -> Iterator[Term]:
    """Yield what can stand for a term where something smaller is wanted."""
    for part in term.parts:
        yield part
        yield from simpler(part)
