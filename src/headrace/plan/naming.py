"""The names that a SELECT list gives: expressions that may use them go in, expressions over the inputs come out."""

from collections.abc import Iterator

from sqlglot import exp

from headrace.language.dialect import Headrace
from headrace.plan.binding import is_aggregate, is_generator

ADDED = "_order_"
"""How the columns are called that are computed only to order by them."""


def name_of(item: exp.Expr, position: int) -> str:
    """Return the name of a column of the result, by how it is written or where it stands."""
    if item.alias:
        return str(item.alias)
    if isinstance(item, (exp.Column, exp.Dot)):
        return str(item.name) if isinstance(item, exp.Column) else str(item.expression.name)
    if isinstance(item, exp.Func) and not isinstance(item, (exp.Connector, exp.Cast, exp.Case)):
        return str(item.sql(dialect=Headrace)).lower()
    return f"col{position + 1}"


def is_star(item: exp.Expr) -> bool:
    """Say whether an item of the list stands for several columns: ``*`` or ``alias.*``."""
    return isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star))


def listed(select: exp.Select) -> Iterator[tuple[str, exp.Expr]]:
    """Yield name and expression of the items that are one column each and have a name wherever they stand."""
    shifted = False
    for position, item in enumerate(select.expressions):
        value = item.unalias()
        if is_star(item) or is_generator(value) or isinstance(item, exp.Aliases):
            shifted = True
        elif not shifted or name_of(item, 0) == name_of(item, 1):
            yield name_of(item, position), value


def outputs_first(tree: exp.Expr, select: exp.Select) -> exp.Expr:
    """Return an expression of ORDER BY or HAVING in which the names of the list stand for what they name.

    As in Spark, such a name goes before a column of the inputs; what is aggregated is of the inputs all the same.

    >>> import sqlglot
    >>> outputs_first(sqlglot.parse_one("n + sum(n)"), sqlglot.parse_one("SELECT -n AS n, k")).sql()
    '(-n) + SUM(n)'
    """
    named = {name.lower(): value for name, value in listed(select)}

    def named_by(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column):
            value = named.get(node.name.lower()) if not node.table else None
            if value is None:
                return node.copy()
            return value.copy() if isinstance(value, exp.Column) else exp.paren(value)
        if is_aggregate(node) or isinstance(node, (exp.Query, exp.Window)):
            return node.copy()
        copy = node.copy()
        for key, value in node.args.items():
            if isinstance(value, exp.Expr):
                copy.set(key, named_by(value))
            elif isinstance(value, list):
                copy.set(key, [named_by(each) if isinstance(each, exp.Expr) else each for each in value])
        return copy

    return named_by(tree)
