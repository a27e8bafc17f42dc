"""Changes go in, lines come out on a stream as they happen: JSON, CSV or the rows of a growing table."""

import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TextIO

from rich.cells import cell_len

from headrace.cli.failures import silence
from headrace.cli.render import Output, cell_text, is_numeric, line_text, print_rows, rule_text, visible
from headrace.cli.shown import Shown
from headrace.views.store import Change

__all__ = ["Lines"]


@dataclass(slots=True)
class Lines:
    """Prints the changes of outputs, each told by its own thread, without mixing their lines.

    When nobody reads any more, ``closed`` is called instead, once.
    """

    shown: dict[str, Shown]
    output: Output
    closed: Callable[[], None]
    stream: TextIO = field(default_factory=lambda: sys.stdout)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _last: str | None = None
    _widths: dict[str, list[int]] = field(default_factory=dict)
    _is_closed: bool = False

    def take(self, name: str, _batch: int, changes: Sequence[Change]) -> None:
        """Print the changes of one batch of an output."""
        shown = self.shown[name]
        with self._lock:
            if self._is_closed:
                return
            try:
                self._print(shown, shown.rows(changes))
                self.stream.flush()
            except BrokenPipeError:
                self._is_closed = True
                silence()
                self.closed()

    def _print(self, shown: Shown, rows: list[dict[str, Any]]) -> None:
        if not rows:
            return
        if self.output == "json":
            print_rows(rows, shown.columns, "json", self.stream)
            return
        switched, self._last = shown.name != self._last, shown.name
        if self.output == "csv":
            print_rows(rows, shown.columns, "csv", self.stream, header=switched)
            return
        if switched and len(self.shown) > 1:
            self.stream.write(f"{shown.name}\n")
        self._print_table(shown, shown.in_table(rows), switched)
        if (left := len(rows) - len(shown.in_table(rows))) > 0:
            self.stream.write(f" ... and {left} more rows\n")

    def _print_table(self, shown: Shown, rows: Sequence[dict[str, Any]], with_head: bool) -> None:
        """Print rows under one head; a column that needs more room takes it from there on."""
        columns = shown.columns
        cells = [[cell_text(row[column]) for column in columns] for row in rows]
        head = [visible(column) for column in columns]
        widths = self._widths.setdefault(shown.name, [cell_len(each) for each in head])
        for line in cells:
            widths[:] = map(max, widths, map(cell_len, line))
        numeric = [is_numeric([row[column] for row in rows]) for column in columns]
        if with_head:
            self.stream.write(f"{line_text(head, widths, numeric)}\n{rule_text(widths)}\n")
        self.stream.writelines(f"{line_text(line, widths, numeric)}\n" for line in cells)
