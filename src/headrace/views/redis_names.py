"""A query goes in, the views whose names stand in it come out."""

from collections.abc import Sequence

from sqlglot import exp

from headrace.errors import Source
from headrace.language.parser import parse
from headrace.language.statements import SelectRows
from headrace.views.definition import ViewDefinition

__all__ = ["views_read"]


def views_read(sql: str, views: Sequence[ViewDefinition]) -> list[ViewDefinition]:
    """Return the views that a query may read; what is wrong with the query is for others to say."""
    names = {
        table.name.lower()
        for statement in parse(Source("query", sql))
        if isinstance(statement, SelectRows)
        for table in statement.query.tree.find_all(exp.Table)
    }
    return [view for view in views if view.name.lower() in names]
