"""Types without a JVM: an expression over typed columns goes in, its type or a type error comes out."""

from collections.abc import Callable

from sqlglot import exp
from sqlglot.optimizer.annotate_types import annotate_types

from headrace.errors import PlanError, Span
from headrace.language.dialect import Headrace

Type = exp.DType
UNKNOWN = exp.DataType.build("unknown")
BOOLEAN = exp.DataType.build("boolean")
TIMESTAMP = exp.DataType.build("timestamp", dialect="spark")
BIGINT = exp.DataType.build("bigint")
STRING = exp.DataType.build("string", dialect="spark")

_FAMILIES: dict[str, frozenset[Type]] = {
    "number": frozenset(
        {
            Type.TINYINT, Type.SMALLINT, Type.INT, Type.BIGINT, Type.FLOAT, Type.DOUBLE, Type.DECIMAL,
        }
    ),
    "text": frozenset({Type.TEXT, Type.VARCHAR, Type.CHAR, Type.NCHAR, Type.NVARCHAR}),
    "boolean": frozenset({Type.BOOLEAN}),
    "time": frozenset(
        {
            Type.DATE, Type.DATETIME, Type.TIMESTAMP, Type.TIMESTAMPTZ, Type.TIMESTAMPLTZ,
            Type.TIMESTAMPNTZ,
        }
    ),
    "interval": frozenset({Type.INTERVAL}),
    "binary": frozenset({Type.BINARY, Type.VARBINARY}),
    "array": frozenset({Type.ARRAY, Type.LIST}),
    "map": frozenset({Type.MAP}),
    "struct": frozenset({Type.STRUCT}),
}  # fmt: skip
_BY_TYPE = {member: family for family, members in _FAMILIES.items() for member in members}
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod)
_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)
_NESTED = frozenset({"array", "map", "struct"})


def family(kind: exp.DataType | None) -> str | None:
    """Return the family of a type, or None where it is not known.

    >>> family(exp.DataType.build("decimal(10, 2)")), family(UNKNOWN)
    ('number', None)
    """
    return _BY_TYPE.get(kind.this) if kind is not None else None


def type_name(kind: exp.DataType) -> str:
    """Return a type as the user would write it."""
    return str(kind.sql(dialect=Headrace))


def is_timestamp(kind: exp.DataType) -> bool:
    """Say whether a type can be an event time."""
    return kind.this in {Type.TIMESTAMP, Type.TIMESTAMPTZ, Type.TIMESTAMPLTZ}


def annotate(tree: exp.Expr) -> exp.Expr:
    """Return a copy of an expression in which every node knows its type, as far as that can be told.

    The columns must carry their type already; each is stood in for by a NULL of that type.
    """
    copy = tree.copy()

    def stand_in(node: exp.Expr) -> exp.Expr:
        if isinstance(node, (exp.Column, exp.Dot)) and node.type is not None:
            if node.type.this == Type.UNKNOWN:
                return node
            cast = exp.Cast(this=exp.Null(), to=_nowhere(node.type))
            cast.meta.update(_position(node))
            return cast
        return node

    return annotate_types(copy.transform(stand_in, copy=False), dialect=Headrace)


def _nowhere(kind: exp.DataType) -> exp.DataType:
    """Return a copy of a type without its place: it stands where the column was declared."""
    copy = kind.copy()
    for node in copy.walk():
        for key in ("start", "end", "line", "col"):
            node.meta.pop(key, None)
    return copy


def _position(node: exp.Expr) -> dict[str, int]:
    found = [child.meta for child in node.walk() if "start" in child.meta]
    if not found:
        return {}
    return {"start": min(m["start"] for m in found), "end": max(m["end"] for m in found)}


def type_of(annotated: exp.Expr) -> exp.DataType:
    """Return the type of an annotated expression."""
    return annotated.type if isinstance(annotated.type, exp.DataType) else UNKNOWN


def check(annotated: exp.Expr, span: Callable[[exp.Expr], Span | None]) -> None:
    """Raise where an operator is given what it can never take; what is not known passes."""
    for node in annotated.walk():
        if isinstance(node, _COMPARISONS):
            _check_comparison(node, span)
        elif isinstance(node, _ARITHMETIC):
            _check_arithmetic(node, span)
        elif isinstance(node, exp.Connector):
            for side in (node.this, node.expression):
                check_boolean(side, span(side), f"an operand of {node.key.upper()}")
        elif isinstance(node, exp.Not):
            check_boolean(node.this, span(node.this), "the operand of NOT")
        elif isinstance(node, (exp.Sum, exp.Avg)):
            _check_number(node, span)


def check_boolean(node: exp.Expr, place: Span | None, what: str) -> None:
    """Raise if an annotated expression is known not to be a condition."""
    kind = type_of(node)
    known = family(kind)
    if known is not None and known != "boolean":
        raise PlanError(
            f"{what} is {type_name(kind)}, not BOOLEAN",
            hint="Compare it with a value, for example with > 0 or IS NOT NULL.",
            span=place,
        )


def _check_comparison(node: exp.Expr, span: Callable[[exp.Expr], Span | None]) -> None:
    left, right = type_of(node.this), type_of(node.expression)
    if not comparable(left, right):
        raise PlanError(
            f"{type_name(left)} and {type_name(right)} cannot be compared",
            hint="Convert one side with CAST.",
            span=span(node),
        )


def comparable(left: exp.DataType, right: exp.DataType) -> bool:
    """Say whether Spark can compare two types, text being convertible to any simple one."""
    first, second = family(left), family(right)
    if first is None or second is None or first == second:
        return True
    return "text" in (first, second) and not _NESTED & {first, second} and "interval" not in (first, second)


def _check_arithmetic(node: exp.Expr, span: Callable[[exp.Expr], Span | None]) -> None:
    left, right = type_of(node.this), type_of(node.expression)
    for kind, side in ((left, node.this), (right, node.expression)):
        if family(kind) in _NESTED | {"boolean", "binary"}:
            raise PlanError(
                f"{type_name(kind)} cannot be an operand of {node.key.upper()}",
                hint="Use a number, or for times an INTERVAL.",
                span=span(side),
            )
    both = {family(left), family(right)}
    if both == {"time", "number"} and Type.DATE not in (left.this, right.this):
        raise PlanError(
            f"{type_name(left)} and {type_name(right)} cannot be combined by {node.key.upper()}",
            hint="Add or subtract an interval instead, for example INTERVAL 5 SECONDS.",
            span=span(node),
        )


def _check_number(node: exp.Expr, span: Callable[[exp.Expr], Span | None]) -> None:
    argument = node.this.expressions[0] if isinstance(node.this, exp.Distinct) else node.this
    kind = type_of(argument)
    known = family(kind)
    if known is not None and known not in {"number", "interval", "text"}:
        raise PlanError(
            f"{node.key.upper()} takes numbers, not {type_name(kind)}",
            hint="Aggregate a number, or count the rows with COUNT(*).",
            span=span(argument),
        )


def field_type(kind: exp.DataType, name: str) -> exp.DataType | None:
    """Return the type of a struct's field, None if the struct has no such field."""
    for each in kind.expressions:
        if isinstance(each, exp.ColumnDef) and each.name.lower() == name.lower():
            return each.args["kind"] if each.args.get("kind") is not None else UNKNOWN
    return None


def field_names(kind: exp.DataType) -> list[str]:
    """Return the names of a struct's fields."""
    return [each.name for each in kind.expressions if isinstance(each, exp.ColumnDef)]
