"""A chart of some rows at once: columns to choose from above, the chart below."""

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from headrace.server.console.formatting import cell
from headrace.server.console.live import Chart
from headrace.server.console.parts import Tag, box, choice
from headrace.server.console.values.rows import Column, RowPage

__all__ = ["QuickChart", "along_time", "number", "sensible_axes"]


class QuickChart:
    """A chart whose axes the user chooses; it begins with a sensible choice."""

    def __init__(self) -> None:
        self.page = RowPage((), (), 0)
        with box("line wrap"):
            self.kind = choice(["bar", "line"], "bar", "Kind").style("width:110px")
            self.x = choice([], None, "Along").style("width:190px")
            self.y = choice([], None, "Value").style("width:190px")
            self.told = Tag("span", "", "muted small")
        for each in (self.kind, self.x, self.y):
            each.on_value_change(self._show)
        self.place = box().style("margin-top:8px")
        self.drawn = ""
        self.chart: Chart | None = None

    def show(self, page: RowPage) -> None:
        """Chart other rows; the axes stay if they still can."""
        names = [column.name for column in page.columns]
        self.page = RowPage((), (), 0)
        if self.x.options != names:
            along, value = sensible_axes(page.columns)
            self.x.set_options(names, value=along)
            self.y.set_options(names, value=value)
        self.page = page
        self._show()

    def _show(self) -> None:
        names = [column.name for column in self.page.columns]
        if self.x.value not in names or self.y.value not in names:
            return
        if self.drawn != self.kind.value or self.chart is None:
            self.drawn = str(self.kind.value)
            self.place.clear()
            with self.place:
                self.chart = Chart(self.drawn, label="Quick chart").style("height:240px")
        along, value = names.index(str(self.x.value)), names.index(str(self.y.value))
        rows, time = along_time(self.page.rows, along)
        if time:
            rows = sorted(rows, key=lambda row: row[along])
        x = [row[along].isoformat() if time else cell(row[along]) for row in rows]
        self.chart.put(x, [(str(self.y.value), [number(row[value]) for row in rows])], time=time)
        less = len(self.page.rows) < self.page.total
        self.told.text = f"the first {len(self.page.rows)} of {self.page.total:,} rows" if less else ""


def along_time(rows: Sequence[tuple[Any, ...]], along: int) -> tuple[Sequence[tuple[Any, ...]], bool]:
    """Return the rows that can be drawn along a column, and whether it holds instants: a row without one has no place.

    >>> along_time([(None, 1), (datetime(2026, 3, 1), 2)], 0)
    ([(datetime.datetime(2026, 3, 1, 0, 0), 2)], True)
    >>> along_time([(None, 1), ("Kenya", 2)], 0)
    ([(None, 1), ('Kenya', 2)], False)
    """
    timed = [row for row in rows if isinstance(row[along], datetime)]
    return (timed, True) if timed else (rows, False)


def sensible_axes(columns: Sequence[Column]) -> tuple[str | None, str | None]:
    """Return the columns that a chart begins with: a name or an instant along, a number up.

    >>> sensible_axes([Column("id", "INT"), Column("city", "STRING"), Column("people", "BIGINT")])
    ('city', 'people')
    """
    numbers = [c.name for c in columns if c.type.upper().startswith(("INT", "BIGINT", "DOUBLE", "FLOAT", "DECIMAL"))]
    others = [c.name for c in columns if c.name not in numbers]
    if not columns:
        return None, None
    return (others or [columns[0].name])[0], (numbers or [columns[-1].name])[-1]


def number(value: object) -> float | None:
    """Return a value as a number, or None if it is none.

    >>> number(Decimal("1.5")), number("2"), number("two"), number(True)
    (1.5, 2.0, None, None)
    """
    if isinstance(value, bool) or value is None or isinstance(value, date):
        return None
    if isinstance(value, int | float | Decimal):
        return float(value)
    try:
        return float(str(value))
    except ValueError:
        return None
