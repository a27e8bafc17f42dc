"""A panel and the rows of its query go in; a chart, a table, a number or a map changes in place."""

from collections import deque
from datetime import UTC, datetime

from headrace.errors import HeadraceError
from headrace.server.console.backend import Backend
from headrace.server.console.formatting import amount, cell
from headrace.server.console.live import Chart, RowGrid
from headrace.server.console.pages.quick_chart import along_time, number
from headrace.server.console.parts import Tag, box, show_problem
from headrace.server.console.values.rows import RowPage
from headrace.server.services.dashboards import Panel

__all__ = ["LivePanel", "column_of", "drawn_columns"]

MOMENTS = 600
"""How many values a line over time remembers."""


class LivePanel:
    """A panel on the screen."""

    def __init__(self, panel: Panel) -> None:
        self.panel = panel
        self.moments: deque[tuple[str, tuple[float | None, ...]]] = deque(maxlen=MOMENTS)
        self.failed = ""
        self.place = box("panel-body")
        with self.place:
            self._build()

    def _build(self) -> None:
        match self.panel.kind:
            case "number":
                with box("figure"):
                    self.value = Tag("div", "…", "value")
                    Tag("div", self.panel.unit or "", "muted")
            case "table":
                self.grid = RowGrid()
            case kind:
                self.chart = Chart(kind, label=self.panel.title, unit=self.panel.unit or "")

    async def refresh(self, backend: Backend) -> None:
        """Ask once more, and show the answer or what is wrong with it."""
        try:
            page = await backend.query(self.panel.query)
            if self.failed:
                self.failed = ""
                self.place.clear()
                with self.place:
                    self._build()
            self._show(page)
        except HeadraceError as error:
            if self.failed != str(error):
                self.failed = str(error)
                self.place.clear()
                with self.place:
                    show_problem(error)

    def _show(self, page: RowPage) -> None:
        panel = self.panel
        match panel.kind:
            case "number":
                place = column_of(page, panel.value) if panel.value else (drawn_columns(page, panel) or [0])[0]
                value = page.rows[0][place] if page.rows else None
                as_number = number(value)
                self.value.text = cell(value) if as_number is None else amount(as_number)
            case "table":
                self.grid.fill(page.columns, page.rows)
            case "map":
                self._show_map(page)
            case _:
                self._show_chart(page)

    def _show_chart(self, page: RowPage) -> None:
        panel = self.panel
        drawn = drawn_columns(page, panel)
        names = [page.columns[each].name for each in drawn]
        if panel.x is None:
            values = tuple(number(page.rows[0][each]) for each in drawn) if page.rows else (None,) * len(drawn)
            self.moments.append((datetime.now(UTC).isoformat(), values))
            series = [(name, [moment[1][n] for moment in self.moments]) for n, name in enumerate(names)]
            self.chart.put([moment[0] for moment in self.moments], series, time=True)
            return
        along = column_of(page, panel.x)
        rows, time = along_time(page.rows, along)
        x = [row[along].isoformat() if time else cell(row[along]) for row in rows]
        series = [(name, [number(row[each]) for row in rows]) for name, each in zip(names, drawn, strict=True)]
        self.chart.put(x, series, time=time)

    def _show_map(self, page: RowPage) -> None:
        panel = self.panel
        latitude, longitude = column_of(page, panel.latitude or ""), column_of(page, panel.longitude or "")
        value = column_of(page, panel.value) if panel.value else None
        label = column_of(page, panel.label) if panel.label else None
        points = []
        for row in page.rows:
            x, y = number(row[longitude]), number(row[latitude])
            if x is not None and y is not None:
                weight = number(row[value]) if value is not None else 1.0
                points.append((cell(row[label]) if label is not None else "", x, y, weight or 0.0))
        self.chart.put_points(points)


def column_of(page: RowPage, name: str) -> int:
    """Return the place of a column by its name."""
    names = [column.name for column in page.columns]
    if name not in names:
        raise HeadraceError(f'the query has no column "{name}"', hint=f"It has: {', '.join(names)}.")
    return names.index(name)


def drawn_columns(page: RowPage, panel: Panel) -> list[int]:
    """Return the places of the columns that are drawn: those named, or all that are numbers."""
    if panel.y:
        return [column_of(page, name) for name in panel.y]
    first = page.rows[0] if page.rows else ()
    return [n for n, value in enumerate(first) if number(value) is not None and page.columns[n].name != panel.x]
