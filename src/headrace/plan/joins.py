"""Joins: two inputs and a condition go in; the step, and how long each side is kept, come out."""

from dataclasses import dataclass
from datetime import timedelta

from sqlglot import exp

from headrace.errors import HeadraceError, PlanError, Source, Span
from headrace.language.intervals import format_interval, interval
from headrace.plan.context import check_composable
from headrace.plan.lookups import as_table
from headrace.plan.steps import Join, JoinKind, Kind, Relation, Scalar
from headrace.plan.windows import ZERO

_OUTER = {JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL}
_WITHOUT_RIGHT = {JoinKind.LEFT, JoinKind.FULL, JoinKind.SEMI}
"""Joins some or all of whose rows have no row of the right."""


@dataclass(slots=True)
class Bounds:
    """What a join's condition says of the times of its sides: lower <= left - right <= upper."""

    left: str | None = None
    right: str | None = None
    lower: timedelta | None = None
    upper: timedelta | None = None

    def add(self, left: str, right: str, lower: timedelta | None, upper: timedelta | None) -> None:
        """Take in one more comparison of the two times."""
        if (self.left, self.right) not in ((None, None), (left, right)):
            return
        self.left, self.right = left, right
        if lower is not None:
            self.lower = lower if self.lower is None else max(self.lower, lower)
        if upper is not None:
            self.upper = upper if self.upper is None else min(self.upper, upper)


def join_kind(node: exp.Join) -> JoinKind:
    """Return which rows a written join keeps."""
    side, kind = str(node.side or "").upper(), str(node.kind or "").upper()
    if kind in {"SEMI", "ANTI"}:
        return JoinKind[kind]
    if side in {"LEFT", "RIGHT", "FULL"}:
        return JoinKind[side]
    if node.args.get("on") is None and not node.args.get("using"):
        return JoinKind.CROSS
    return JoinKind.INNER


def join(
    left: Relation,
    right: Relation,
    kind: JoinKind,
    condition: Scalar | None,
    extra: tuple[exp.Expr, ...],
    span: Span | None,
) -> Relation:
    """Plan a join of two relations whose column names do not clash.

    ``extra`` are conditions that stand in WHERE: they bound an inner join as its own would.
    """
    for side in (left, right):
        check_composable(side, span)
    if Kind.CHANGELOG in {left.kind, right.kind} and not _by_window(left, right, kind):
        return _maintained(left, right, kind, condition, span)
    left, right = (_table_as_it_stands(side) for side in (left, right))
    streaming = left.kind is right.kind is Kind.APPEND
    keeps_right = kind not in {JoinKind.SEMI, JoinKind.ANTI}
    fields = left.fields + (right.fields if keeps_right else ())
    kinds = {left.kind, right.kind}
    result = Kind.STATIC if kinds == {Kind.STATIC} else Kind.APPEND
    if not streaming:
        _check_mixed(left, right, kind, span)
        times = left.times | (right.times if keeps_right else frozenset())
        return Relation(Join(left.step, right.step, kind, condition, False), fields, result, times)
    if kind is JoinKind.ANTI:
        return _maintained(left, right, kind, condition, span)
    tests = list(_conjuncts(condition.tree)) if condition is not None else []
    if kind in {JoinKind.INNER, JoinKind.CROSS}:
        tests += extra
    if not any(_is_equality(test, left, right) for test in tests):
        raise PlanError(
            "a join of two streams needs an equality",
            detail="Without one, every row would have to be compared with every other.",
            hint="Add ON left.key = right.key, or equal windows.",
            span=span,
        )
    bounds = _bounds(tests, left.times, right.times)
    until = (_left_until(bounds), _right_until(bounds))
    if kind in _OUTER and (until[0] is None or until[1] is None):
        return _maintained(left, right, kind, condition, span)
    effective = JoinKind.INNER if kind is JoinKind.CROSS else kind
    step = Join(left.step, right.step, effective, condition, True, bounds.left, bounds.right, until)
    return Relation(step, fields, result, _times(bounds, kind))


def _times(bounds: Bounds, kind: JoinKind) -> frozenset[str]:
    """Return the times that the watermark still follows behind a join of two streams.

    A row that is kept for ever meets its partner long after its own time, and a row without a partner has no time of
    the other side.
    """
    found = set()
    if bounds.left is not None and bounds.lower is not None and kind not in {JoinKind.RIGHT, JoinKind.FULL}:
        found.add(bounds.left)
    if bounds.right is not None and bounds.upper is not None and kind not in _WITHOUT_RIGHT:
        found.add(bounds.right)
    return frozenset(found)


def _by_window(left: Relation, right: Relation, kind: JoinKind) -> bool:
    """Say whether rows that are in windows meet a keyed table: they are final, so the table is looked up."""
    pairs = {JoinKind.INNER, JoinKind.CROSS}
    for rows, table, kinds in ((left, right, pairs | {JoinKind.LEFT}), (right, left, pairs | {JoinKind.RIGHT})):
        windowed = rows.kind is Kind.APPEND and any(name.endswith("window_end") for name in rows.times)
        if windowed and kind in kinds and as_table(table) is not None:
            return True
    return False


def _table_as_it_stands(side: Relation) -> Relation:
    return (as_table(side) or side) if side.kind is Kind.CHANGELOG else side


def _maintained(
    left: Relation, right: Relation, kind: JoinKind, condition: Scalar | None, span: Span | None
) -> Relation:
    """Plan a join whose pairs go again when a side changes; a table that never changes needs no memory."""
    keeps_right = kind not in {JoinKind.SEMI, JoinKind.ANTI}
    fields = left.fields + (right.fields if keeps_right else ())
    both = Kind.STATIC not in {left.kind, right.kind}
    if not both:
        _check_mixed(left, right, kind, span)
    step = Join(left.step, right.step, kind, condition, streaming=False, maintained=both)
    return Relation(step, fields, Kind.CHANGELOG)


def _check_mixed(left: Relation, right: Relation, kind: JoinKind, span: Span | None) -> None:
    static_kept = (kind is JoinKind.LEFT and left.kind is Kind.STATIC and right.kind is not Kind.STATIC) or (
        kind is JoinKind.RIGHT and right.kind is Kind.STATIC and left.kind is not Kind.STATIC
    )
    mixed = left.kind is not right.kind
    semi_stream = kind in {JoinKind.SEMI, JoinKind.ANTI} and left.kind is Kind.STATIC and mixed
    if static_kept or semi_stream or (kind is JoinKind.FULL and mixed):
        raise PlanError(
            f"a {kind.value} join that keeps the rows of a table has no end",
            detail="A table's row has no partner only once the stream has ended.",
            hint="Put the stream on the side whose rows are kept.",
            span=span,
        )


def _conjuncts(tree: exp.Expr) -> list[exp.Expr]:
    tree = tree.unnest()
    if isinstance(tree, exp.And):
        return _conjuncts(tree.this) + _conjuncts(tree.expression)
    return [tree]


conjuncts = _conjuncts


def _names(tree: exp.Expr) -> set[str]:
    return {column.name for column in tree.find_all(exp.Column)}


def _is_equality(test: exp.Expr, left: Relation, right: Relation) -> bool:
    if not isinstance(test, (exp.EQ, exp.NullSafeEQ)):
        return False
    first, second = _names(test.this), _names(test.expression)
    lefts, rights = set(left.names), set(right.names)
    return bool(first and second) and ((first <= lefts and second <= rights) or (first <= rights and second <= lefts))


def _bounds(tests: list[exp.Expr], lefts: frozenset[str], rights: frozenset[str]) -> Bounds:
    bounds = Bounds()
    for test in tests:
        for first, comparison, second in _comparisons(test):
            operator = comparison
            one, two = _shifted(first), _shifted(second)
            if one is None or two is None:
                continue
            (a, a_shift), (b, b_shift) = one, two
            gap = b_shift - a_shift
            if a in rights and b in lefts:
                a, b, gap, operator = b, a, -gap, _MIRROR[operator]
            if a in lefts and b in rights:
                lower = gap if operator in {">", "="} else None
                upper = gap if operator in {"<", "="} else None
                bounds.add(a, b, lower, upper)
    return bounds


_MIRROR = {"<": ">", ">": "<", "=": "="}


def _comparisons(test: exp.Expr) -> list[tuple[exp.Expr, str, exp.Expr]]:
    match test:
        case exp.Between():
            return [(test.this, ">", test.args["low"]), (test.this, "<", test.args["high"])]
        case exp.GT() | exp.GTE():
            return [(test.this, ">", test.expression)]
        case exp.LT() | exp.LTE():
            return [(test.this, "<", test.expression)]
        case exp.EQ():
            return [(test.this, "=", test.expression)]
        case _:
            return []


def _shifted(tree: exp.Expr) -> tuple[str, timedelta] | None:
    """Return the column and the constant that ``column + constant`` is made of."""
    tree = tree.unnest()
    if isinstance(tree, exp.Column):
        return tree.name, ZERO
    if isinstance(tree, (exp.Add, exp.Sub)) and isinstance(tree.expression, exp.Interval):
        inner = _shifted(tree.this)
        shift = _constant(tree.expression)
        if inner is None or shift is None:
            return None
        return inner[0], inner[1] + (shift if isinstance(tree, exp.Add) else -shift)
    return None


def _constant(node: exp.Interval) -> timedelta | None:
    try:
        return interval(node, Span(Source("", ""), 0, 0))
    except HeadraceError:
        return None


def _left_until(bounds: Bounds) -> str | None:
    if bounds.left is None or bounds.lower is None:
        return None
    return _until(bounds.left, -bounds.lower)


def _right_until(bounds: Bounds) -> str | None:
    if bounds.right is None or bounds.upper is None:
        return None
    return _until(bounds.right, bounds.upper)


def _until(name: str, slack: timedelta) -> str:
    if slack == ZERO:
        return f"the watermark passes {name}"
    sign = "+" if slack > ZERO else "-"
    return f"the watermark passes {name} {sign} {format_interval(abs(slack))}"
