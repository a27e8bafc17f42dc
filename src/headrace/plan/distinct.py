"""DISTINCT inside aggregates, which Spark refuses on streams: rewritten over the set of values."""

from sqlglot import exp


def without_distinct(tree: exp.Expr) -> exp.Expr:
    """Return an aggregate in which DISTINCT is computed from the set of values.

    >>> import sqlglot
    >>> without_distinct(sqlglot.parse_one("count(DISTINCT a)", read="spark")).sql("spark")
    'SIZE(COLLECT_SET(a))'
    """
    if isinstance(tree, exp.Filter):
        inner = without_distinct(tree.this)
        if inner is tree.this:
            return tree
        condition = tree.expression
        for collect in list(inner.find_all(exp.ArrayUniqueAgg)):
            collect.replace(exp.Filter(this=collect.copy(), expression=condition.copy()))
        return inner
    argument = tree.args.get("this")
    if not isinstance(argument, exp.Distinct):
        return tree
    values = argument.expressions
    value = values[0] if len(values) == 1 else exp.func("struct", *values)
    if len(values) > 1:
        complete = exp.and_(*[exp.not_(exp.Is(this=v.copy(), expression=exp.Null())) for v in values])
        value = exp.If(this=complete, true=value, false=exp.Null())
    collected = exp.ArrayUniqueAgg(this=value.copy())
    match tree:
        case exp.Count():
            return exp.func("size", collected, dialect="spark")
        case exp.Min() | exp.Max():
            return type(tree)(this=values[0].copy())
        case _:
            return tree
