"""Changes and figures go in, a terminal picture that renews itself comes out."""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group, RenderableType
from rich.live import Live as RichLive
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from headrace.cli.render import cell_text, is_numeric, visible
from headrace.cli.shown import CHANGE, Shown
from headrace.cli.status import (
    Figures,
    Meter,
    bytes_text,
    dead_notices,
    duration_text,
    lag_notices,
    pattern_rows,
    status_line,
    watermark_text,
)
from headrace.plan.application import Plan
from headrace.plan.steps import Kind
from headrace.values import sort_key, to_json_line
from headrace.views.answered import ordered
from headrace.views.store import Change

if TYPE_CHECKING:
    from headrace.spark.progress import Progress

__all__ = ["Live", "Recent"]

MOST_ROWS = 20
WIDE = 110


@dataclass(slots=True)
class Recent:
    """The rows of one output that changed last: as they stand if they change, else the last ones."""

    shown: Shown
    rows: dict[str, dict[str, Any]] = field(default_factory=dict)
    last: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=MOST_ROWS))
    total: int = 0

    @property
    def keeps(self) -> bool:
        """Whether rows are withdrawn, so that all of them must be known."""
        return self.shown.output.relation.kind is Kind.CHANGELOG

    def take(self, changes: Sequence[Change]) -> None:
        """Take in the changes of a batch."""
        if not self.keeps:
            rows = self.shown.rows(changes)
            self.total += len(rows)
            self.last.extend(rows[:MOST_ROWS] if self.shown.output.relation.kind is Kind.STATIC else rows)
            return
        for each in changes:
            key = to_json_line(each.row)
            self.rows.pop(key, None)
            if each.change == "insert":
                self.rows[key] = each.row

    def remember(self, rows: Sequence[dict[str, Any]]) -> None:
        """Take in the rows that an earlier run left."""
        if self.keeps:
            self.rows = {to_json_line(row): row for row in rows}

    def newest(self, most: int) -> list[dict[str, Any]]:
        """Return the rows to show: the first if the query orders them, else those that came last."""
        if not self.keeps:
            return list(self.last)[-most:]
        rows = list(self.rows.values())
        if self.shown.is_ordered_late:
            return ordered(rows, self.shown.output.relation)[:most]
        return sorted(rows[-most:], key=sort_key)

    @property
    def count(self) -> int:
        """How many rows there are."""
        return len(self.rows) if self.keeps else self.total


@dataclass(slots=True)
class Live:
    """The picture of a running application: its condition above, its newest rows below."""

    name: str
    plan: Plan
    shown: dict[str, Shown]
    remembered: Callable[[str], Sequence[dict[str, Any]]] = lambda _: ()
    console: Console = field(default_factory=Console)
    meter: Meter = field(default_factory=Meter)
    note: str = "Ctrl-C stops"
    _recent: dict[str, Recent] = field(default_factory=dict)
    _figures: list[Figures] = field(default_factory=list)
    _notices: list[str] = field(default_factory=list)
    _now: datetime | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._recent = {name: Recent(shown) for name, shown in self.shown.items()}
        for name, recent in self._recent.items():
            recent.remember(self.remembered(name))

    def take(self, name: str, _batch: int, changes: Sequence[Change]) -> None:
        """Take in what a batch changed."""
        with self._lock:
            self._recent[name].take(changes)

    def tick(self, figures: "Sequence[Progress]", now: datetime) -> None:
        """Take in how the outputs are doing."""
        with self._lock:
            self._now = now
            self._figures = [self.meter.measure(each, now) for each in figures]
            self._notices = [*dead_notices(figures, self.plan), *lag_notices(figures, self.plan)]

    def say_stopping(self) -> None:
        """Show that the end is near."""
        self.note = "stopping after this batch; Ctrl-C again stops at once"

    @contextmanager
    def running(self) -> Iterator[None]:
        """Keep the picture on the terminal, renewed a few times a second; its last state stays."""
        with RichLive(get_renderable=self.picture, console=self.console, refresh_per_second=4, redirect_stderr=False):
            yield

    def picture(self) -> RenderableType:
        """Return the picture as of now."""
        with self._lock:
            parts: list[RenderableType] = [
                Panel(self._condition(), title=visible(self.name), subtitle=self.note, title_align="left")
            ]
            parts += [Text(f"! {text}", style="yellow") for text in self._notices]
            parts += [_rows_table(recent, self._most_rows()) for recent in self._recent.values()]
            return Group(*parts)

    def _most_rows(self) -> int:
        """Return how many rows of each output fit: what does not fit would push the rest out of sight."""
        lines = 1 if self.console.width >= WIDE else 3
        taken = 4 + lines * len(self._figures) + len(self._notices)
        each = (self.console.height - taken) // max(1, len(self._recent)) - 5
        return max(1, min(each, MOST_ROWS))

    def _condition(self) -> RenderableType:
        if not self._figures or self._now is None:
            return Text("starting ...")
        if self.console.width < WIDE:
            return Text("\n".join(status_line(each, self._now) for each in self._figures))
        table = Table(box=None, pad_edge=False, header_style="dim")
        for heading in (
            "output",
            "in",
            "in/s",
            "out",
            "out/s",
            "batch",
            "time",
            "watermark",
            "lag",
            "behind",
            "state",
            "late",
            "dead",
        ):
            table.add_column(heading, justify="left" if heading == "output" else "right", no_wrap=True)
        for each in self._figures:
            table.add_row(*_cells(each, self._now))
        return table


def _cells(figures: Figures, now: datetime) -> Iterator[str]:
    yield visible(figures.name)
    yield f"{figures.rows_in:,}"
    yield f"{figures.in_per_second:,.0f}"
    yield f"{figures.rows_out:,}"
    yield f"{figures.out_per_second:,.0f}"
    yield str(figures.batch) if figures.batch >= 0 else ""
    yield f"{figures.batch_time.total_seconds():.2f} s" if figures.batch >= 0 else ""
    yield watermark_text(figures.watermark_at, now) if figures.watermark_at is not None else ""
    yield duration_text(figures.lag) if figures.lag is not None else ""
    yield f"{figures.behind:,}" if figures.behind is not None else ""
    patterns = (f"\n{visible(name)} {rows:,}" for name, rows in pattern_rows(figures).items())
    yield f"{figures.state_rows:,} rows {bytes_text(figures.state_bytes)}" + "".join(patterns)
    yield f"{figures.late:,}"
    yield f"{figures.dead:,}"


def _rows_table(recent: Recent, most: int) -> RenderableType:
    rows = recent.newest(most)
    columns = [name for name in recent.shown.columns if not (recent.keeps and name == CHANGE)]
    title = f"{recent.shown.name}: {recent.count:,} row{'' if recent.count == 1 else 's'}"
    if recent.count > len(rows):
        title += f", the last {len(rows)}"
    table = Table(header_style="bold")
    for name in columns:
        numeric = is_numeric([row[name] for row in rows])
        table.add_column(Text(visible(name)), justify="right" if numeric else "left", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(cell_text(row[name])) for name in columns))
    return Group(Text(visible(title), style="bold"), table)
