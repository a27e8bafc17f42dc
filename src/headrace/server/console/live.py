"""Elements that change in place: values go in, the browser touches only what differs."""

from collections.abc import Iterable, Sequence
from typing import Any

from nicegui import ui
from nicegui.element import Element

from headrace.plan.topology import Graph
from headrace.server.console.formatting import cell
from headrace.server.console.pictures import figures_of, picture_of
from headrace.server.console.values.rows import Column, RowPage
from headrace.server.services.runtime import NodeFigures

__all__ = ["Chart", "JobTable", "Jump", "LogView", "RowGrid", "Topology", "grid_columns", "grid_rows"]

# The chart below uses the library that this element brings along.
_ = ui.echart


class JobTable(Element, component="components/job_table.js"):
    """Jobs by name: ``put`` all of them once, then ``patch`` what has changed."""

    def put(self, rows: Sequence[dict[str, Any]], total: str) -> None:
        """Show these jobs and no others."""
        self.run_method("put", rows, total)

    def patch(self, changes: Sequence[dict[str, Any]], total: str) -> None:
        """Change fields of jobs that are shown, found by ``name``."""
        self.run_method("patch", changes, total)


class RowGrid(Element, component="components/row_grid.js"):
    """Rows of which only those in sight are in the page."""

    def __init__(self, *, none: str = "No rows.", marks: bool = False) -> None:
        super().__init__()
        self.props["none"] = none
        self.props["marks"] = marks

    def begin(self, columns: Sequence[Column], total: int, order: str | None, *, down: bool, top: bool = True) -> None:
        """Show rows that are fetched as they come into sight: the element emits ``window``."""
        self.run_method("reset", grid_columns(columns), total, {"order": order, "down": down, "top": top})

    def put(self, start: int, page: RowPage, changed: Iterable[str] = ()) -> None:
        """Give the rows from a place on; those whose keys have changed light up."""
        self.run_method("put", start, grid_rows(page.rows), list(page.keys), page.total, list(changed))

    def again(self) -> None:
        """Fetch what is in sight once more."""
        self.run_method("again")

    def fill(self, columns: Sequence[Column], rows: Sequence[tuple[object, ...]]) -> None:
        """Show all rows at once."""
        self.run_method("fill", grid_columns(columns), grid_rows(rows))

    def replace(self, columns: Sequence[Column], rows: Sequence[tuple[object, ...]], marks: Sequence[str] = ()) -> None:
        """Show these rows and no others, each with its mark: insert, update or delete."""
        self.run_method("replace", grid_columns(columns), grid_rows(rows), list(marks))

    def prepend(
        self,
        columns: Sequence[Column],
        rows: Sequence[tuple[object, ...]],
        marks: Sequence[str] = (),
        limit: int = 1000,
    ) -> None:
        """Put new rows on top; the oldest fall out below."""
        newest_first = grid_rows(rows)[::-1]
        self.run_method("prepend", grid_columns(columns), newest_first, list(marks)[::-1], limit)


class Topology(Element, component="components/topology.js"):
    """A graph of steps, with figures on its nodes while it runs."""

    def __init__(self, label: str) -> None:
        super().__init__()
        self.props["label"] = label

    def draw(self, graph: Graph, *, live: bool) -> None:
        """Draw a graph, from left to right where that fits, else downwards; a live one has room for figures."""
        self.run_method("draw", picture_of(graph, live=live), picture_of(graph, live=live, down=True))

    def put(self, steps: Sequence[NodeFigures]) -> None:
        """Change the figures."""
        self.run_method("put", figures_of(steps))


class LogView(Element, component="components/log_view.js"):
    """Lines of a log, with a filter of their own."""

    def add(self, lines: Sequence[dict[str, str]]) -> None:
        """Add lines at the end; the first ones fall out."""
        self.run_method("add", lines)


class Chart(Element, component="components/chart.js", esm={"headrace-land": "components/land"}):
    """A line or bar chart, or a map; ``unit`` is nothing, ms or bytes."""

    def __init__(
        self, kind: str = "line", *, label: str = "", unit: str = "", group: str = "", limit: float | None = None
    ) -> None:
        super().__init__()
        self.props.update(kind=kind, label=label, unit=unit, group=group, limit=limit)

    def put(self, x: Sequence[object], series: Sequence[tuple[str, Sequence[float | None]]], *, time: bool) -> None:
        """Show values over instants (ISO texts) or over names."""
        values = [{"name": name, "values": list(numbers)} for name, numbers in series]
        self.run_method("put", {"x": list(x), "time": time, "series": values})

    def put_points(self, points: Sequence[tuple[str, float, float, float]]) -> None:
        """Show points on a map: name, longitude, latitude, value."""
        named = [{"name": n, "longitude": x, "latitude": y, "value": v} for n, x, y, v in points]
        self.run_method("put", {"points": named})


class Jump(Element, component="components/jump.js"):
    """A field that goes to a page or an object by its name."""

    def put(self, places: Sequence[dict[str, str]]) -> None:
        """Say what can be gone to."""
        self.run_method("put", places)


_NUMBERS = ("INT", "BIGINT", "SMALLINT", "TINYINT", "LONG", "FLOAT", "DOUBLE", "DECIMAL", "NUMERIC", "REAL")


def grid_columns(columns: Sequence[Column]) -> list[dict[str, Any]]:
    """Return columns as the grid wants them: numbers stand on the right.

    >>> grid_columns([Column("price", "decimal(10,2)")])
    [{'name': 'price', 'type': 'decimal(10,2)', 'right': True}]
    """
    return [{"name": c.name, "type": c.type, "right": c.type.upper().startswith(_NUMBERS)} for c in columns]


def grid_rows(rows: Sequence[tuple[object, ...]]) -> list[list[str | None]]:
    """Return rows as texts, with None for NULL."""
    return [[None if value is None else cell(value) for value in row] for row in rows]
