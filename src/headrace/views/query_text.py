"""The text of a query over views goes in; its tree, or the names of the views that it reads, come out."""

from collections.abc import Sequence
from itertools import takewhile
from typing import cast

from sqlglot import exp

from headrace.errors import PlanError, Source
from headrace.language import parse
from headrace.language.dialect import Headrace
from headrace.language.statements import SelectRows

__all__ = ["name_columns", "single_query", "tables_in", "view_names"]

_HINT = "A query over views is one SELECT, which may start with WITH."


def single_query(source: Source) -> exp.Query:
    """Return the tree of the one SELECT that a text holds; raise PlanError if it holds anything else."""
    statements = parse(source)
    if len(statements) != 1:
        raise PlanError("expected one query" if statements else "the query is empty", hint=_HINT)
    [statement] = statements
    if not isinstance(statement, SelectRows) or not isinstance(statement.query.tree, exp.Query):
        raise PlanError("only a SELECT can be asked of views", hint=_HINT, span=statement.span)
    if statement.query.emit is not None:
        raise PlanError("EMIT has no meaning for rows that are there", hint="Leave it out.", span=statement.span)
    return statement.query.tree.copy()


def tables_in(tree: exp.Expr) -> list[tuple[str, exp.Table]]:
    """Return the tables that a query reads, with their full names, without those that a WITH around them defines."""
    named = [(".".join(part.name for part in table.parts), table) for table in tree.find_all(exp.Table)]
    return [(name, table) for name, table in named if not _of_with(table)]


def _of_with(table: exp.Table) -> bool:
    """Say whether a table is one that a WITH defines, where it stands; a name with a dot never is."""
    if len(table.parts) != 1:
        return False
    name, inner = table.name.lower(), cast("exp.Expr", table)
    while (outer := inner.parent) is not None:
        if any(each.alias.lower() == name for each in _visible(inner, outer)):
            return True
        inner = outer
    return False


def _visible(inner: exp.Expr, outer: exp.Expr) -> Sequence[exp.Expr]:
    """Return what a node defines for a part of it: a WITH what comes before that part, a query all of its WITH."""
    if isinstance(outer, exp.With):
        before = list(takewhile(lambda each: each is not inner, outer.expressions))
        return [*before, inner] if outer.args.get("recursive") else before
    within = outer.args.get("with_")
    return () if within is None or within is inner else cast("Sequence[exp.Expr]", within.expressions)


def view_names(sql: str) -> list[str]:
    """Return the names of the views that a query reads, each once.

    >>> view_names("WITH x AS (SELECT * FROM a) SELECT * FROM x JOIN b JOIN b AS c")
    ['a', 'b']
    """
    found = {name.lower(): name for name, _ in reversed(tables_in(single_query(Source("query", sql))))}
    return sorted(found.values(), key=str.lower)


def name_columns(tree: exp.Expr) -> dict[str, str]:
    """Give every column of the answer a name, as the user wrote it; return these names by their lower case."""
    query: exp.Expr = tree
    while isinstance(query, (exp.SetOperation, exp.Subquery)):
        query = query.this
    spelled = {}
    for position, item in enumerate(list(query.selects) if isinstance(query, exp.Query) else ()):
        if isinstance(item, exp.Star) or item.is_star:
            continue
        is_call = isinstance(item, exp.Func) and not isinstance(item, (exp.Connector, exp.Cast, exp.Case))
        name = item.output_name or (item.sql(dialect=Headrace).lower() if is_call else f"col{position + 1}")
        if not item.output_name:
            item.replace(exp.alias_(item.copy(), name, quoted=True))
        spelled[name.lower()] = name
    return spelled
