"""The figures of a job over time: rows, latency, watermark and state, in charts that move in place."""

from collections.abc import Sequence
from datetime import timedelta

from nicegui import ui

from headrace.server.console.layout import Console
from headrace.server.console.live import Chart
from headrace.server.console.parts import box, card, guarded
from headrace.server.console.values.jobs import Point

__all__ = ["build_figures", "milliseconds"]

MOST = 900
"""How many points a chart shows."""


async def build_figures(console: Console, name: str) -> None:
    """Build the charts of a job."""
    points: list[Point] = list(await console.backend.history(name))
    charts: list[Chart] = []
    with box("columns-2"):
        for title, unit in (
            ("Rows per second", ""),
            ("Latency: the longest wait of a row", "ms"),
            ("Watermark behind", "ms"),
            ("State", "bytes"),
        ):
            with card(title), box("card-body").style("padding:8px"):
                charts.append(Chart(label=f"{title} of {name}", unit=unit, group=f"job {name}"))
    _show(charts, points)

    async def refresh() -> None:
        new = await console.backend.history(name, points[-1].at if points else None)
        if new:
            points.extend(new)
            del points[:-MOST]
            _show(charts, points)

    ui.timer(2.0, guarded(refresh), immediate=False)


def _show(charts: Sequence[Chart], points: Sequence[Point]) -> None:
    at = [point.at.isoformat() for point in points]
    rows, latency, lag, state = charts
    rows.put(at, [("in", [p.in_per_second for p in points]), ("out", [p.out_per_second for p in points])], time=True)
    latency.put(at, [("latency", [milliseconds(p.latency) for p in points])], time=True)
    lag.put(at, [("behind", [milliseconds(p.lag) for p in points])], time=True)
    state.put(at, [("state", [float(p.state_bytes) for p in points])], time=True)


def milliseconds(length: timedelta | None) -> float | None:
    """Return a length of time as a number for a chart.

    >>> milliseconds(timedelta(seconds=1.5))
    1500.0
    """
    return None if length is None else length.total_seconds() * 1000
