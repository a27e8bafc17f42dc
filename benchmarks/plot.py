"""Curves of latencies go in; the text of an SVG file with their cumulative distributions comes out."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

__all__ = ["Curve", "distributions"]

WIDTH, HEIGHT, LEFT, TOP, GAP, BELOW = 400, 300, 80, 92, 36, 100
COLOURS = ("#c2571a", "#1f6fb2", "#3d8f5a", "#7a4fa3")
DASHES = ("", "7 4", "2 3", "10 3 2 3")
SHARES = (0.0, 0.5, 0.9, 0.99, 0.999, 0.9999)
POINTS = 240
_STYLE = """
  text { font: 12px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #333c46 }
  .heading { font-size: 16px; font-weight: 600; fill: #1d242c }
  .panel { font-weight: 600; fill: #1d242c }
  .axis { fill: #5b6672 }
  .tick { font-size: 11px; fill: #5b6672 }
  .curve { fill: none; stroke-width: 2; stroke-linejoin: round }
"""


@dataclass(frozen=True, slots=True)
class Curve:
    """The latencies of one run in milliseconds, sorted; its colour is that of its mode, its dashes of its rate."""

    panel: str
    mode: str
    rate: str
    latencies: Sequence[float]


@dataclass(frozen=True, slots=True)
class Scale:
    """Where a latency and a share are in a panel.

    Latencies are logarithmic. Shares are so in what is left above them, so that 99 % and 99.9 % can be seen apart.
    """

    least: float
    most: float
    nines: float

    def x(self, latency: float) -> float:
        """Return how far from the left a latency is."""
        return WIDTH * math.log(latency / self.least) / math.log(self.most / self.least)

    def y(self, nines: float) -> float:
        """Return how far from the top a share is, given as its number of nines."""
        return HEIGHT * (1 - nines / self.nines)


def distributions(title: str, subtitle: str, curves: Sequence[Curve]) -> str:
    """Return a picture with one panel per kind of curve, all on the same axes."""
    panels, modes, rates = (
        list(dict.fromkeys(names))
        for names in ([c.panel for c in curves], [c.mode for c in curves], [c.rate for c in curves])
    )
    scale = _scale(curves)
    width = max(LEFT + len(panels) * (WIDTH + GAP), 620)
    height = TOP + HEIGHT + BELOW
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{_STYLE}</style>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text class="heading" x="20" y="28">{escape(title)}</text>',
        f'<text class="axis" x="20" y="48">{escape(subtitle)}</text>',
        f'<text class="axis" text-anchor="middle" transform="translate(16 {TOP + HEIGHT / 2}) rotate(-90)">'
        "share of messages at most as late</text>",
    ]
    for number, panel in enumerate(panels):
        parts.append(f'<g transform="translate({LEFT + number * (WIDTH + GAP)} {TOP})">')
        parts.append(f'<text class="panel" x="0" y="-12">{escape(panel)}</text>')
        parts += _grid(scale, labelled=number == 0)
        for curve in curves:
            if curve.panel == panel:
                look = _look(modes.index(curve.mode), rates.index(curve.rate))
                parts.append(f'<path class="curve" {look} d="{_path(curve.latencies, scale)}"/>')
        parts.append("</g>")
    parts += _legend(modes, rates, {(c.mode, c.rate) for c in curves})
    return "\n".join([*parts, "</svg>"]) + "\n"


def _scale(curves: Sequence[Curve]) -> Scale:
    least = max(min(curve.latencies[0] for curve in curves), 0.01)
    most = max(curve.latencies[-1] for curve in curves)
    count = max(len(curve.latencies) for curve in curves)
    ticks = list(_ticks(least / 10, most * 10))
    return Scale(
        max(tick for tick in ticks if tick <= least),
        min(tick for tick in ticks if tick > most),
        min(max(math.ceil(math.log10(count)), 1), _nines(SHARES[-1])),
    )


def _ticks(least: float, most: float) -> Iterator[float]:
    """Return 1, 2 and 5 of each decade.

    >>> list(_ticks(1, 30))
    [1.0, 2.0, 5.0, 10.0, 20.0]
    """
    for decade in range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 1):
        yield from (tick for tick in (digit * 10.0**decade for digit in (1, 2, 5)) if least <= tick <= most)


def _nines(share: float) -> float:
    return -math.log10(1 - share)


def _grid(scale: Scale, *, labelled: bool) -> list[str]:
    parts, ticks = [], list(_ticks(scale.least, scale.most))
    for tick in ticks:
        x, decade = scale.x(tick), math.log10(tick).is_integer()
        parts.append(f'<path d="M{x:.1f} 0 V{HEIGHT}" stroke="{"#ccd3da" if decade else "#eceff2"}"/>')
        if decade or len(ticks) <= 10:
            parts.append(f'<text class="tick" x="{x:.1f}" y="{HEIGHT + 16}" text-anchor="middle">{tick:,g}</text>')
    for share in SHARES:
        y = scale.y(_nines(share))
        if y < -0.5:
            continue
        parts.append(f'<path d="M0 {y:.1f} H{WIDTH}" stroke="#ccd3da"/>')
        if labelled:
            parts.append(f'<text class="tick" x="-7" y="{y + 4:.1f}" text-anchor="end">{100 * share:g} %</text>')
    parts.append(
        f'<text class="axis" x="{WIDTH / 2}" y="{HEIGHT + 36}" text-anchor="middle">'
        "milliseconds from sending to arrival (logarithmic)</text>"
    )
    return parts


def _path(latencies: Sequence[float], scale: Scale) -> str:
    points: list[str] = []
    for step in range(POINTS + 1):
        nines = scale.nines * step / POINTS
        rank = math.ceil((1 - 10**-nines) * len(latencies))
        if rank >= len(latencies) and step:
            break
        points.append(f"{scale.x(max(latencies[max(rank, 1) - 1], scale.least)):.1f} {scale.y(nines):.1f}")
    top = min(math.log10(len(latencies)), scale.nines)
    if top < scale.nines:  # the slowest of all
        points.append(f"{scale.x(latencies[-1]):.1f} {scale.y(top):.1f}")
    return "M" + " L".join(points)


def _look(mode: int, rate: int) -> str:
    dash = DASHES[rate % len(DASHES)]
    return f'stroke="{COLOURS[mode % len(COLOURS)]}"' + (f' stroke-dasharray="{dash}"' if dash else "")


def _legend(modes: list[str], rates: list[str], used: set[tuple[str, str]]) -> list[str]:
    """Return a row for each mode with what its curves look like at each rate."""
    parts = []
    for row, mode in enumerate(modes):
        y = TOP + HEIGHT + 58 + row * 20
        for column, rate in enumerate(rates):
            if (mode, rate) in used:
                x = LEFT + column * 250
                parts.append(f'<path class="curve" {_look(row, column)} d="M{x} {y - 4} h34"/>')
                parts.append(f'<text x="{x + 42}" y="{y}">{escape(f"{mode}, {rate}")}</text>')
    return parts
