"""The batches of a change feed go in; lines come out on a stream, each row with what happened to it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TextIO

from rich.cells import cell_len

from headrace.cli.render import Output, cell_text, is_numeric, line_text, print_rows, rule_text, visible
from headrace.cli.shown import CHANGE

if TYPE_CHECKING:
    from headrace.views.definition import FeedBatch

__all__ = ["BATCH", "ChangePrinter"]

BATCH = "_batch"


@dataclass(slots=True)
class ChangePrinter:
    """Prints batches one after the other under one head; lines for machines also carry the batch."""

    columns: tuple[str, ...]
    output: Output
    stream: TextIO
    _widths: list[int] = field(default_factory=list)

    def show(self, batch: "FeedBatch") -> None:
        """Print what a batch changed, what went before what came."""
        changes = (("delete", batch.delta.deleted), ("insert", batch.delta.inserted))
        rows = [
            {**dict(zip(self.columns, row, strict=True)), BATCH: batch.batch, CHANGE: change}
            for change, rows in changes
            for row in rows
        ]
        if self.output == "table":
            self._table(rows)
        else:
            columns = [*self.columns, BATCH, CHANGE]
            print_rows(rows, columns, self.output, self.stream, header=not self._widths)
            self._widths = self._widths or [0]
        self.stream.flush()

    def _table(self, rows: Sequence[dict[str, Any]]) -> None:
        """Print rows under one head; a column that needs more room takes it from there on."""
        columns = [*self.columns, CHANGE]
        cells = [[cell_text(row[column]) for column in columns] for row in rows]
        numeric = [is_numeric([row[column] for row in rows]) for column in columns]
        head = [visible(column) for column in columns]
        with_head = not self._widths
        widths = self._widths = self._widths or [cell_len(each) for each in head]
        for line in cells:
            widths[:] = map(max, widths, map(cell_len, line))
        if with_head:
            self.stream.write(f"{line_text(head, widths, numeric)}\n{rule_text(widths)}\n")
        self.stream.writelines(f"{line_text(line, widths, numeric)}\n" for line in cells)
