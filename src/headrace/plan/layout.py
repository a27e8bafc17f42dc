"""Sizes and edges go in; where each box stands and each line runs comes out, in layers from left to right."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

__all__ = ["Box", "Line", "Picture", "arrange"]

MARGIN, BETWEEN_LAYERS, BETWEEN_BOXES = 24.0, 56.0, 22.0
SWEEPS = 6

Edge = tuple[str, str]
Spot = tuple[str, int]
"""A box, or the place where an edge to a later layer passes through a layer."""


@dataclass(frozen=True, slots=True)
class Box:
    """A node's rectangle."""

    name: str
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Line:
    """An edge's way from the right side of a box to the left side of another."""

    start: str
    end: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """Everything in its place."""

    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]
    width: float
    height: float


def arrange(sizes: Mapping[str, tuple[float, float]], edges: Sequence[Edge]) -> Picture:
    """Lay out a graph without cycles whose nodes come after those they read from."""
    if not sizes:
        return Picture((), (), 2 * MARGIN, 2 * MARGIN)
    layer = _layers(list(sizes), edges)
    ways = {edge: _way(edge, layer) for edge in edges}
    columns: list[list[Spot]] = [[] for _ in range(1 + max(layer.values()))]
    for name in sizes:
        columns[layer[name]].append((name, -1))
    for way in ways.values():
        for spot in way[1:-1]:
            columns[spot[1]].append(spot)
    heights = {(name, -1): size[1] for name, size in sizes.items()}
    centres = _centres(columns, list(ways.values()), heights)
    widths = [max((sizes[name][0] for name, n in column if n < 0), default=0.0) for column in columns]
    lefts = [MARGIN]
    for width in widths:
        lefts.append(lefts[-1] + width + BETWEEN_LAYERS)
    boxes = tuple(
        Box(name, lefts[layer[name]], centres[name, -1] - size[1] / 2, widths[layer[name]], size[1])
        for name, size in sizes.items()
    )
    lines = tuple(Line(*edge, _points(way, layer, centres, lefts, widths)) for edge, way in ways.items())
    height = max(box.y + box.height for box in boxes) + MARGIN
    return Picture(boxes, lines, lefts[-1] - BETWEEN_LAYERS + MARGIN, height)


def _layers(names: Sequence[str], edges: Sequence[Edge]) -> dict[str, int]:
    """Return the layer of each node: one after its last input; a source stands next to its first reader."""
    layer = dict.fromkeys(names, 0)
    for name in names:
        layer[name] = max((layer[start] + 1 for start, end in edges if end == name), default=0)
    for name in names:
        readers = [layer[end] for start, end in edges if start == name]
        if readers and not any(end == name for _, end in edges):
            layer[name] = min(readers) - 1
    return layer


def _way(edge: Edge, layer: Mapping[str, int]) -> list[Spot]:
    start, end = edge
    between = range(layer[start] + 1, layer[end])
    return [(start, -1), *((f"{start} {end}", number) for number in between), (end, -1)]


def _centres(
    columns: list[list[Spot]], ways: Sequence[Sequence[Spot]], heights: Mapping[Spot, float]
) -> dict[Spot, float]:
    """Return the height at which each spot is centred: near its neighbours, and none on another."""
    before: dict[Spot, list[Spot]] = {}
    after: dict[Spot, list[Spot]] = {}
    for way in ways:
        for left, right in pairwise(way):
            before.setdefault(right, []).append(left)
            after.setdefault(left, []).append(right)
    centres = {spot: float(place) for column in columns for place, spot in enumerate(column)}
    for sweep in range(SWEEPS):
        forth = sweep % 2 == 0
        for column in columns if forth else reversed(columns):
            wanted = {spot: _mean((before if forth else after).get(spot, ()), centres, spot) for spot in column}
            column.sort(key=lambda spot, wanted=wanted: wanted[spot])  # type: ignore[misc]
            centres.update(
                zip(
                    column,
                    _spread([wanted[s] for s in column], [heights.get(s, 0.0) for s in column]),
                    strict=True,
                )
            )
    top = min(centre - heights.get(spot, 0.0) / 2 for spot, centre in centres.items())
    return {spot: centre - top + MARGIN for spot, centre in centres.items()}


def _mean(neighbours: Sequence[Spot], centres: Mapping[Spot, float], spot: Spot) -> float:
    if not neighbours:
        return centres[spot]
    return sum(centres[each] for each in neighbours) / len(neighbours)


def _spread(wanted: Sequence[float], heights: Sequence[float]) -> list[float]:
    """Return centres close to those wanted, in the same order and without overlap.

    Pushing down from the top and up from the bottom both keep boxes apart, and so does their mean.
    """
    down: list[float] = []
    for number, centre in enumerate(wanted):
        least = down[-1] + _distance(heights, number) if down else centre
        down.append(max(centre, least))
    up: list[float] = []
    for number in reversed(range(len(wanted))):
        most = up[-1] - _distance(heights, number + 1) if up else wanted[number]
        up.append(min(wanted[number], most))
    return [(low + high) / 2 for low, high in zip(down, reversed(up), strict=True)]


def _distance(heights: Sequence[float], number: int) -> float:
    return (heights[number - 1] + heights[number]) / 2 + BETWEEN_BOXES


def _points(
    way: Sequence[Spot],
    layer: Mapping[str, int],
    centres: Mapping[Spot, float],
    lefts: Sequence[float],
    widths: Sequence[float],
) -> tuple[tuple[float, float], ...]:
    """Return the corners of an edge: from the right side, straight through layers, to the left side."""
    points = [(lefts[layer[way[0][0]]] + widths[layer[way[0][0]]], centres[way[0]])]
    for spot in way[1:-1]:
        left = lefts[spot[1]]
        points += [(left, centres[spot]), (left + widths[spot[1]], centres[spot])]
    return (*points, (lefts[layer[way[-1][0]]], centres[way[-1]]))
