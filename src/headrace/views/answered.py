"""What a run that ends has published: its rows in the query's order, and its changes batch by batch."""

from dataclasses import dataclass
from typing import Any

from headrace.plan.outputs import Output
from headrace.plan.steps import Kind, Relation, Sort
from headrace.values import sort_key
from headrace.views.store import Change, MemoryStore, Store

__all__ = ["Answered", "ordered"]


@dataclass(slots=True)
class Answered:
    """What an output has published: its columns, its rows as they stand, and the changes batch by batch."""

    output: Output
    store: Store

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns, in the order of the query."""
        return self.output.relation.names

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows in the query's order, or by all columns if it has none."""
        return ordered(self.store.rows(), self.output.relation)

    def changes(self) -> list[tuple[int, list[Change]]]:
        """Return the changes of each batch, in a fixed order within a batch, withdrawals first."""
        if not isinstance(self.store, MemoryStore):
            raise TypeError("only a run that ends keeps its changes")
        return [
            (batch, sorted(changes, key=lambda c: (c.change != "delete", sort_key(c.row))))
            for batch, changes in sorted(self.store.batches.items())
            if changes
        ]


def ordered(rows: list[dict[str, Any]], relation: Relation) -> list[dict[str, Any]]:
    """Return rows in the order that a query asks for, or by all columns; of rows that end, the part that it asks for.

    Of rows that come and go only that part was published.
    """
    result = sorted(rows, key=sort_key)
    if not isinstance(relation.step, Sort):
        return result
    for term in reversed(relation.step.order):
        name = term.value.tree.name
        present = [row for row in result if row[name] is not None]
        absent = [row for row in result if row[name] is None]
        present.sort(key=lambda row, name=name: sort_key({name: row[name]}), reverse=term.descending)  # type: ignore[misc]
        result = absent + present if term.nulls_first else present + absent
    if relation.kind is not Kind.STATIC:
        return result
    first = relation.step.offset or 0
    last = None if relation.step.limit is None else first + relation.step.limit
    return result[first:last]
