"""A query tree goes in; an error comes out at the place of a clause that parses and that no plan would carry out."""

from collections.abc import Mapping

from sqlglot import exp

from headrace.plan.context import Context, not_supported

_MODIFIERS = frozenset({"with_", "order", "limit", "offset"})
_SET = frozenset({"this", "expression", "expressions", "distinct", "by_name"}) | _MODIFIERS
_PLANNED: Mapping[type[exp.Expr], frozenset[str]] = {
    exp.Select: frozenset(
        {"expressions", "hint", "distinct", "from_", "laterals", "joins", "where", "group", "having", "qualify"}
    )
    | _MODIFIERS,
    exp.Subquery: frozenset({"this", "alias", "joins"}) | _MODIFIERS,
    exp.Union: _SET,
    exp.Except: _SET,
    exp.Intersect: _SET,
    exp.Values: frozenset({"expressions", "alias"}) | _MODIFIERS,
    exp.Table: frozenset({"this", "alias", "db", "catalog", "joins", "version", "when"}),
    exp.Join: frozenset({"this", "on", "side", "kind", "using", "method"}),
    exp.Group: frozenset({"expressions", "grouping_sets", "cube", "rollup", "all"}),
    exp.Ordered: frozenset({"this", "desc", "nulls_first"}),
    exp.Order: frozenset({"expressions"}),
    exp.Limit: frozenset({"this", "expression", "limit_options"}),
    exp.Fetch: frozenset({"direction", "count", "limit_options"}),
    exp.LimitOptions: frozenset({"rows"}),
    exp.Window: frozenset({"this", "partition_by", "order", "spec", "over"}),
    exp.WindowSpec: frozenset({"kind", "start", "start_side", "end", "end_side"}),
}
"""What of each kind of node is planned, or refused where it is planned with a reason of its own."""
_NOWHERE = ("pivots", "sample")
"""What may hang on any input of a FROM clause."""
_CALLED = {
    "sample": "TABLESAMPLE", "locks": "FOR UPDATE", "totals": "WITH TOTALS", "percent": "a LIMIT in PERCENT",
    "with_ties": "WITH TIES", "exclude": "EXCLUDE in the frame of a window", "cluster": "CLUSTER BY",
    "distribute": "DISTRIBUTE BY", "sort": "SORT BY", "connect": "CONNECT BY", "windows": "a named WINDOW",
}  # fmt: skip


def check_understood(tree: exp.Expr, context: Context) -> None:
    """Raise where a query says something that would be passed over."""
    for node in tree.walk():
        planned = _PLANNED.get(type(node))
        for name, value in node.args.items():
            dropped = name in _NOWHERE if planned is None else name not in planned
            if value and dropped:
                raise not_supported(_called(node, name), context.span(_placed(node, value)))
        if isinstance(node, exp.Join) and node.kind in {"SEMI", "ANTI"} and node.side == "RIGHT":
            raise not_supported(
                f"a RIGHT {node.kind} JOIN", context.span(node), f"Change the sides: b LEFT {node.kind} JOIN a."
            )
        if isinstance(node, (exp.Any, exp.All)) and isinstance(node.this, exp.Query):
            hint = "Write value IN (query), or compare with the least or the greatest: (SELECT max(n) FROM t)."
            raise not_supported(f"{node.key.upper()} of a query", context.span(node.parent or node), hint)
        if isinstance(node, exp.Table) and node.args.get("joins") and not isinstance(node.parent, exp.From):
            raise not_supported("a join in parentheses", context.span(node), "Write it as a subquery.")


def _called(node: exp.Expr, name: str) -> str:
    if isinstance(node, exp.Window) and name == "alias":
        return "a named WINDOW"
    if name == "pivots":
        return "UNPIVOT" if node.args[name][0].args.get("unpivot") else "PIVOT"
    return _CALLED.get(name, f"this form of {node.key.upper()}")


def _placed(node: exp.Expr, value: object) -> exp.Expr:
    """Return what is to be pointed at: the clause itself if its place is known."""
    first = value[0] if isinstance(value, list) else value
    return first if isinstance(first, exp.Expr) else node
