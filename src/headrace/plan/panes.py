"""Aggregates that can be computed in pieces: one goes in, its partial and combining forms come out.

A hopping window is cut into panes that do not overlap. Rows are aggregated into panes once, and
the panes of a window are combined after. An aggregate without a known pair of forms is computed
over the whole window instead, which is always right and slower.
"""

from dataclasses import dataclass

from sqlglot import exp

from headrace.language.dialect import Headrace
from headrace.plan import types
from headrace.plan.steps import Scalar


@dataclass(frozen=True, slots=True)
class Split:
    """SQL of the partial aggregates over rows, and of the final value over ``{0}``, ``{1}``… of panes."""

    partials: tuple[str, ...]
    final: str


_SAME = frozenset({"min", "max", "bool_and", "bool_or", "every", "some", "any", "bit_and", "bit_or", "bit_xor"})
_SKETCHES = {
    "hll_sketch_agg": "hll_union_agg({0}, true)",
    "hll_union_agg": "hll_union_agg({0}, true)",
    "theta_sketch_agg": "theta_union_agg({0})",
    "theta_union_agg": "theta_union_agg({0})",
    "kll_sketch_agg_bigint": "kll_merge_agg_bigint({0})",
    "kll_sketch_agg_double": "kll_merge_agg_double({0})",
    "kll_sketch_agg_float": "kll_merge_agg_float({0})",
}
_DECIMAL = types.Type.DECIMAL


def why_not_by_panes(aggregates: list[Scalar]) -> str | None:
    """Return why some aggregate cannot be computed in pieces, None if all can."""
    for aggregate in aggregates:
        if split(aggregate) is None:
            name = aggregate.tree.sql(dialect=Headrace).replace("`", "")
            return f"{name} cannot be combined from parts"
    return None


def split(aggregate: Scalar) -> Split | None:
    """Return the two forms of an aggregate, None if there are none."""
    tree, condition = aggregate.tree, ""
    if isinstance(tree, exp.Filter):
        condition = f" FILTER (WHERE {tree.expression.this.sql(dialect=Headrace)})"
        tree = tree.this
    if tree.find(exp.Distinct, exp.Order, exp.IgnoreNulls, exp.RespectNulls):
        return None
    name = _name(tree)
    arguments = [_sql(node) for node in _arguments(tree)]
    call = f"{name}({', '.join(arguments)}){condition}"
    if name in _SAME:
        return Split((call,), name + "({0})")
    if name in _SKETCHES:
        if len(arguments) > 1:
            return None
        return Split((call,), _SKETCHES[name])
    match name:
        case "count" | "count_if":
            return Split((call,), "coalesce(sum({0}), 0)")
        case "sum":
            kind = types.type_of(types.annotate(_arguments(tree)[0]))
            if kind.this == _DECIMAL or types.family(kind) != "number":
                return None
            return Split((call,), "sum({0})")
        case "avg" | "mean":
            return _average(tree, arguments, condition)
        case "max_by" | "min_by":
            best = name.removesuffix("_by")
            order = arguments[1]
            return Split((call, f"{best}({order}){condition}"), name + "({0}, {1})")
        case "any_value":
            return Split((call,), "any_value({0}, true)") if len(arguments) == 1 else None
        case "collect_list" | "array_agg":
            return Split((call,), "flatten(collect_list({0}))")
        case "collect_set":
            return Split((call,), "array_distinct(flatten(collect_list({0})))")
        case _:
            return None


def _average(tree: exp.Expr, arguments: list[str], condition: str) -> Split | None:
    kind = types.type_of(types.annotate(_arguments(tree)[0]))
    if kind.this == _DECIMAL or types.family(kind) != "number":
        return None
    value = arguments[0]
    return Split(
        (f"sum(CAST({value} AS DOUBLE)){condition}", f"count({value}){condition}"),
        "try_divide(sum({0}), sum({1}))",
    )


def _name(tree: exp.Expr) -> str:
    if isinstance(tree, exp.Anonymous):
        return str(tree.name).lower()
    return str(tree.sql(dialect=Headrace)).split("(", 1)[0].lower()


def _arguments(tree: exp.Expr) -> list[exp.Expr]:
    if isinstance(tree, exp.Anonymous):
        return list(tree.expressions)
    found = []
    for key in tree.arg_types:
        value = tree.args.get(key)
        if isinstance(value, exp.Expr):
            found.append(value)
        elif isinstance(value, list):
            found.extend(each for each in value if isinstance(each, exp.Expr))
    return found


def _sql(tree: exp.Expr) -> str:
    return str(tree.sql(dialect=Headrace))
