"""A query whose columns have types goes in; out comes one that means in SQLite what it means in Spark.

SQLite keeps decimals and instants as text, and NaN too: comparing, adding and summing them goes through functions and
a collation of our own. Everything else is left as it is.
"""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from sqlglot import exp

from headrace.errors import PlanError, Source
from headrace.language.intervals import interval
from headrace.language.spans import span_of
from headrace.plan.types import TIMESTAMP, Type
from headrace.views.sqlite_functions import date_text, instant
from headrace.views.sqlite_values import DECIMAL_COLLATION, NAN, instant_text

__all__ = ["rewritten", "type_in"]

_INSTANTS = {Type.TIMESTAMP, Type.TIMESTAMPTZ, Type.TIMESTAMPLTZ, Type.TIMESTAMPNTZ}
_DOUBLES = {Type.FLOAT, Type.DOUBLE}
_NESTED = {Type.STRUCT, Type.MAP, Type.ARRAY}
_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ)
_DECIMAL_NAMES: dict[type[exp.Expr], str] = {
    exp.Add: "add", exp.Sub: "sub", exp.Mul: "mul", exp.Div: "div", exp.Mod: "mod",
}  # fmt: skip
_SAME_TYPE = (
    exp.Alias, exp.Paren, exp.Filter, exp.Window, exp.Neg, exp.Max, exp.Min, exp.AnyValue, exp.First, exp.Last,
    exp.FirstValue, exp.LastValue, exp.Lag, exp.Lead, exp.Nullif, exp.Coalesce, exp.Greatest, exp.Least, exp.Ordered,
    exp.Distinct,
)  # fmt: skip


def type_in(node: exp.Expr | None) -> exp.DataType | None:
    """Return the type of an expression as far as it can be told."""
    match node:
        case None:
            return None
        case exp.Subquery() | exp.Select() | exp.SetOperation():
            return type_in(node.selects[0]) if len(node.selects) == 1 else None
        case exp.Case() | exp.If():
            return _first_type(_branches(node))
        case _ if isinstance(node, _SAME_TYPE):
            return _first_type([node.this, *node.expressions])
        case _:
            return node.type if isinstance(node.type, exp.DataType) else None


def _first_type(nodes: Iterable[exp.Expr | None]) -> exp.DataType | None:
    """Return the type that several alternatives have together: a decimal's before that of a plain number."""
    found = [kind for kind in map(type_in, nodes) if kind is not None and kind.this not in {Type.UNKNOWN, Type.NULL}]
    return next((kind for kind in found if kind.this == Type.DECIMAL), found[0] if found else None)


def _branches(node: exp.Expr) -> list[exp.Expr | None]:
    if isinstance(node, exp.If):
        return [node.args.get("true"), node.args.get("false")]
    return [*(each.args.get("true") for each in node.args["ifs"]), node.args.get("default")]


def rewritten(tree: exp.Expr, source: Source, now: datetime) -> exp.Expr:
    """Return a tree for SQLite; ``now`` is the moment at which the query is asked."""
    rewrite = _Rewrite(source, now)
    root = exp.Subquery(this=tree)
    for node in reversed(list(tree.walk())):
        new = rewrite.node(node)
        if new is not node:
            node.replace(new)
    result: exp.Expr = root.this
    return result


class _Rewrite:
    """One rewrite of each node, its inner nodes first."""

    def __init__(self, source: Source, now: datetime) -> None:
        self.source = source
        self.now = now

    def node(self, node: exp.Expr) -> exp.Expr:
        """Return what stands in place of a node, changed in place where it stays."""
        match node:
            case exp.CurrentTimestamp():
                return _text(instant_text(self.now), TIMESTAMP)
            case exp.Cast():
                return self._cast(node)
            case exp.Dot() | exp.Bracket() if not isinstance(node.parent, (exp.Dot, exp.Bracket)):
                return self._inner(node)
            case exp.Between():
                self._compare(node, ("this", "low", "high"))
            case exp.In():
                self._in(node)
            case exp.Sum() | exp.Avg():
                return self._aggregate(node)
            case exp.Max() | exp.Min() | exp.Ordered():
                if _is(node.this, Type.DECIMAL):
                    node.set("this", _collated(node.this))
            case exp.Greatest() | exp.Least():
                if _is(node, Type.DECIMAL):
                    node.set("this", _collated(node.this))
                    node.set("expressions", [_collated(each) for each in node.expressions])
            case exp.Neg() if _is(node.this, Type.DECIMAL):
                return _call("headrace_decimal_sub", [exp.Literal.number(0), node.this], type_in(node.this))
            case _ if isinstance(node, _COMPARISONS):
                self._compare(node, ("this", "expression"))
            case _ if type(node) in _DECIMAL_NAMES:
                return self._arithmetic(node)
        return node

    def _cast(self, node: exp.Cast) -> exp.Expr:
        kind = node.to
        if kind.this in _INSTANTS or kind.this == Type.DATE:
            inner = self._literal_time(node.this, day=kind.this == Type.DATE)
            name = "headrace_date" if kind.this == Type.DATE else "headrace_instant"
            return inner if inner is not node.this else _call(name, [inner], kind)
        if kind.this == Type.DECIMAL:
            scale = kind.expressions[1].name if len(kind.expressions) > 1 else "0"
            return _call("headrace_decimal", [node.this, exp.Literal.number(scale)], kind)
        return node

    def _inner(self, node: exp.Expr) -> exp.Expr:
        """Read a field, an element or an entry out of the JSON that a nested value is kept as."""
        path, base = "", node
        while isinstance(base, (exp.Dot, exp.Bracket)):
            if isinstance(base, exp.Dot):
                step = '."' + base.expression.name.replace('"', '\\"') + '"'
            else:
                index = base.expressions[0] if len(base.expressions) == 1 else None
                if not isinstance(index, exp.Literal):
                    return node
                step = '."' + index.name.replace('"', '\\"') + '"' if index.is_string else f"[{index.name}]"
            path, base = step + path, base.this
        kind = type_in(base)
        if kind is None or kind.this not in _NESTED:
            return node
        return exp.Anonymous(this="json_extract", expressions=[base.copy(), exp.Literal.string("$" + path)])

    def _compare(self, node: exp.Expr, names: tuple[str, ...]) -> None:
        convert = self._conversion([node.args[name] for name in names])
        if convert is not None:
            for name in names:
                node.set(name, convert(node.args[name]))

    def _in(self, node: exp.In) -> None:
        convert = self._conversion([node.this, *node.expressions])
        if convert is not None:
            node.set("this", convert(node.this))
            node.set("expressions", [convert(each) for each in node.expressions])

    def _conversion(self, operands: list[exp.Expr]) -> Callable[[exp.Expr], exp.Expr] | None:
        """Return what makes operands comparable, or None if they are as they stand."""
        kinds = [_kind(each) for each in operands]
        if any(kind in _INSTANTS for kind in kinds):
            return self._instant
        if Type.DATE in kinds:
            return lambda each: self._literal_time(each, day=True)
        if Type.DECIMAL in kinds:
            doubles = any(kind in _DOUBLES and not _is_number(each) for kind, each in zip(kinds, operands, strict=True))
            return _as_double if doubles else _collated
        return None

    def _instant(self, node: exp.Expr) -> exp.Expr:
        if _kind(node) in _INSTANTS or isinstance(node, exp.Null):
            return node
        inner = self._literal_time(node, day=False)
        return inner if inner is not node else _call("headrace_instant", [node], TIMESTAMP)

    def _literal_time(self, node: exp.Expr, *, day: bool) -> exp.Expr:
        """Return text that the user wrote as views keep it; anything else stays."""
        if not (isinstance(node, exp.Literal) and node.is_string):
            return node
        text = date_text(node.name) if day else instant(node.name)
        if text is None:
            raise PlanError(
                f'"{node.name}" is not a {"date" if day else "time"}',
                hint="Write it as '2024-01-31'." if day else "Write it as '2024-01-31 10:00:00', in UTC.",
                span=span_of(node, self.source),
            )
        return _text(text, exp.DataType.build("date") if day else TIMESTAMP)

    def _arithmetic(self, node: exp.Expr) -> exp.Expr:
        left, right = node.this, node.expression
        if _is_interval(right) or _is_interval(left):
            return self._shifted(node)
        kinds = {_kind(left), _kind(right)}
        if kinds & _INSTANTS:
            raise PlanError(
                "times can only be shifted by an interval here",
                hint="Subtract unix_timestamp of one from that of the other for the seconds between them.",
                span=span_of(node, self.source),
            )
        if Type.DECIMAL in kinds:
            doubles = any(_kind(each) in _DOUBLES and not _is_number(each) for each in (left, right))
            if not doubles:
                kind = next(type_in(each) for each in (left, right) if _is(each, Type.DECIMAL))
                return _call(f"headrace_decimal_{_DECIMAL_NAMES[type(node)]}", [left, right], kind)
            left, right = _as_double(left), _as_double(right)
        if isinstance(node, exp.Mod) and kinds & _DOUBLES:
            return _call("headrace_mod", [left, right], exp.DataType.build("double"))
        node.set("this", _without_nan(left))
        node.set("expression", _without_nan(right))
        return node

    def _shifted(self, node: exp.Expr) -> exp.Expr:
        moment, span = (node.expression, node.this) if _is_interval(node.this) else (node.this, node.expression)
        if _kind(moment) not in {*_INSTANTS, Type.DATE} or not isinstance(node, (exp.Add, exp.Sub)):
            raise PlanError("an interval can only be added to a time here", span=span_of(node, self.source))
        length = interval(span, span_of(span, self.source)) // timedelta(microseconds=1)
        amount = exp.Literal.number(-length if isinstance(node, exp.Sub) else length)
        return _call("headrace_shift", [moment, amount], TIMESTAMP)

    def _aggregate(self, node: exp.Expr) -> exp.Expr:
        if _is(node.this, Type.DECIMAL):
            kind = type_in(node.this) if isinstance(node, exp.Sum) else exp.DataType.build("double")
            name = "headrace_decimal_sum" if isinstance(node, exp.Sum) else "headrace_decimal_avg"
            return _call(name, [node.this], kind)
        if _kind(node.this) in _DOUBLES and not isinstance(node.parent, (exp.Window, exp.Filter)):
            seen = node.this.expressions[0] if isinstance(node.this, exp.Distinct) else node.this
            any_nan = exp.Max(this=exp.EQ(this=seen.copy(), expression=exp.Literal.string(NAN)))
            case = exp.Case(
                ifs=[exp.If(this=any_nan, true=exp.Literal.string(NAN))],
                default=node.copy(),
            )
            case.type = exp.DataType.build("double")
            return exp.Paren(this=case)
        return node


def _kind(node: exp.Expr | None) -> exp.DType | None:
    kind = type_in(node)
    return kind.this if kind is not None and isinstance(kind.this, exp.DType) else None


def _is(node: exp.Expr | None, kind: exp.DType) -> bool:
    return _kind(node) == kind


def _is_interval(node: exp.Expr) -> bool:
    while isinstance(node, (exp.Paren, exp.Neg)):
        node = node.this
    return isinstance(node, exp.Interval)


def _is_number(node: exp.Expr) -> bool:
    while isinstance(node, (exp.Paren, exp.Neg)):
        node = node.this
    return isinstance(node, exp.Literal) and not node.is_string


def _text(text: str, kind: exp.DataType) -> exp.Expr:
    literal = exp.Literal.string(text)
    literal.type = kind
    return literal


def _call(name: str, arguments: list[exp.Expr], kind: exp.DataType | None) -> exp.Expr:
    call = exp.Anonymous(this=name, expressions=[each.copy() for each in arguments])
    call.type = kind
    return call


def _collated(node: exp.Expr) -> exp.Expr:
    """Return an expression as text that is compared by its size as a number."""
    inner = node.copy()
    if not (isinstance(inner, exp.Column) and _is(inner, Type.DECIMAL)):
        inner = exp.Cast(this=inner, to=exp.DataType.build("text"))
    result = exp.Collate(this=inner, expression=exp.Identifier(this=DECIMAL_COLLATION, quoted=False))
    result.type = type_in(node)
    return result


def _as_double(node: exp.Expr) -> exp.Expr:
    if not _is(node, Type.DECIMAL):
        return node
    cast = exp.Cast(this=node.copy(), to=exp.DataType.build("double"))
    cast.type = exp.DataType.build("double")
    return cast


def _without_nan(node: exp.Expr) -> exp.Expr:
    """Return an operand of arithmetic: text would count as 0 there, so NaN becomes NULL."""
    if not (isinstance(node, exp.Column) and _kind(node) in _DOUBLES):
        return node
    result = exp.Nullif(this=node.copy(), expression=exp.Literal.string(NAN))
    result.type = type_in(node)
    return result
