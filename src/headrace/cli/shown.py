"""What of an application the screen shows: outputs go in, their changes as rows to print come out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headrace.connectors.console.options import ConsoleSink
from headrace.plan.application import Output, Plan
from headrace.plan.steps import Kind, Sort
from headrace.values import sort_key
from headrace.views.answered import ordered
from headrace.views.store import Change

__all__ = ["CHANGE", "Shown", "shown_outputs"]

CHANGE = "_change"
LONGEST = 40

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Shown:
    """An output that goes to the screen, and whether each of its rows says if it came or went."""

    output: Output
    with_change: bool

    @property
    def name(self) -> str:
        """The name of the output."""
        return self.output.name

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are printed."""
        return (*self.output.relation.names, *([CHANGE] if self.with_change else []))

    @property
    def console(self) -> ConsoleSink | None:
        """What its console sink asks for, if it has one."""
        sink = self.output.sink
        return sink.options if sink is not None and isinstance(sink.options, ConsoleSink) else None

    @property
    def is_ordered_late(self) -> bool:
        """Whether the query asks for an order that rows printed as they come cannot have."""
        relation = self.output.relation
        return isinstance(relation.step, Sort) and relation.kind is not Kind.STATIC

    def rows(self, changes: Sequence[Change]) -> list[Row]:
        """Return a batch's changes as rows, withdrawals first; rows read once have the query's order."""
        if self.output.relation.kind is Kind.STATIC:
            rows = ordered([each.row for each in changes], self.output.relation)
            return [{**row, CHANGE: "insert"} for row in rows] if self.with_change else rows
        settled = sorted(changes, key=lambda each: (each.change != "delete", sort_key(each.row)))
        if self.with_change:
            return [{**each.row, CHANGE: each.change} for each in settled]
        return [each.row for each in settled if each.change == "insert"]

    def in_table(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Return as much of one batch's rows as a console sink shows in a table."""
        console = self.console
        if console is None:
            return rows
        if not console.truncate:
            return rows[: console.rows]
        return [{name: _cut(value) for name, value in row.items()} for row in rows[: console.rows]]


def shown_outputs(plan: Plan, *, changes: bool) -> list[Shown]:
    """Return the outputs that the screen shows: bare SELECTs and console sinks."""
    return [
        Shown(output, changes or output.relation.kind is Kind.CHANGELOG)
        for output in plan.outputs
        if output.role == "select" or (output.sink is not None and output.sink.connector == "console")
    ]


def _cut(value: Any) -> Any:
    return value[: LONGEST - 1] + "…" if isinstance(value, str) and len(value) > LONGEST else value
