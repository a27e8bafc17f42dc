"""A graph of steps goes in, the places of its boxes and lines and the texts in them come out, ready to be drawn."""

from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import Any

from headrace.plan.layout import Box, Line, Picture, arrange
from headrace.plan.topology import Graph, GraphNode
from headrace.server.console.formatting import count, duration, instant, rate, size
from headrace.server.services.runtime import NodeFigures

__all__ = ["figures_of", "picture_of"]

CHARACTER, LINE, PADDING = 6.5, 17, 12
WIDEST_RIGHT, WIDEST_DOWN = 36, 28
"""How many characters a line of a box has at most; where boxes of a layer stand side by side, fewer."""
FIGURES = 3
"""How many lines of figures a node of a running job has at most."""


def picture_of(graph: Graph, *, live: bool, down: bool = False) -> dict[str, Any]:
    """Return what the browser draws: boxes with texts, and lines with their tips, from left to right or downwards."""
    texts = {node.id: _texts(node, WIDEST_DOWN if down else WIDEST_RIGHT, live=live) for node in graph.nodes}
    sizes: dict[str, tuple[float, float]] = {
        node.id: (_width(texts[node.id]), len(texts[node.id]) * LINE + 2 * PADDING - 2 + (_room(node) if live else 0))
        for node in graph.nodes
    }
    picture = _downwards(sizes, graph.edges) if down else arrange(sizes, graph.edges)
    nodes = {node.id: node for node in graph.nodes}
    boxes = [
        {
            "id": box.name,
            "role": _role(nodes[box.name]),
            **{"x": box.x, "y": box.y, "width": box.width, "height": box.height},
            "rule": box.y + PADDING + len(texts[box.name]) * LINE + 2,
            "texts": [{"kind": kind, "text": text} for kind, text in texts[box.name]],
        }
        for box in picture.boxes
    ]
    lines = [{"rows": nodes[line.start].rows.value, **_path(line, down=down)} for line in picture.lines]
    return {"width": picture.width, "height": picture.height, "boxes": boxes, "lines": lines}


def figures_of(steps: Sequence[NodeFigures]) -> dict[str, Any]:
    """Return the figures by node: health and up to three short lines."""
    return {step.node: {"health": step.health, "title": _title(step), "texts": _figures(step)} for step in steps}


def _figures(step: NodeFigures) -> list[str]:
    texts = []
    if step.rows_per_second is not None:
        texts.append(f"{rate(step.rows_per_second)} rows/s")
    if step.state_bytes is not None:
        texts.append(f"{size(step.state_bytes)} · {count(step.state_rows)} rows kept")
    if step.watermark_at is not None:
        behind = f" ({duration(step.lag)} behind)" if step.lag is not None else ""
        texts.append(f"to {instant(step.watermark_at)[11:]}{behind}")
    return texts[:FIGURES]


def _title(step: NodeFigures) -> str:
    words = {"good": "healthy", "warning": "needs attention", "bad": "in trouble", "unknown": "no figures yet"}
    return words[step.health] + (f": {step.note}" if step.note else "")


def _texts(node: GraphNode, widest: int, *, live: bool) -> list[tuple[str, str]]:
    entries = [("name", node.name)] if node.name is not None else []
    entries.append(("title", node.title))
    details = node.details[:2] if live else node.details
    entries += [("detail", detail) for detail in details]
    if node.state is not None and not live:
        entries.append(("kept", f"state: {node.state}"))
    entries += [("warning", f"⚠ {warning}") for warning in node.warnings]
    lines = [(kind, wrap(text, widest) or [""]) for kind, text in entries]
    return [(kind, line) for kind, wrapped in lines for line in (wrapped[:2] if live else wrapped[:4])]


def _room(node: GraphNode) -> int:
    lines = FIGURES if node.state is not None else 2
    return lines * 16 + 12


def _width(lines: list[tuple[str, str]]) -> float:
    return max(max(len(text) for _, text in lines) * CHARACTER + 2 * PADDING + 14, 178.0)


def _role(node: GraphNode) -> str:
    return "stateful" if node.role == "step" and node.state is not None else node.role


def _downwards(sizes: Mapping[str, tuple[float, float]], edges: Sequence[tuple[str, str]]) -> Picture:
    """Arrange boxes downwards: from left to right, turned; each box keeps its own height."""
    turned = arrange({name: (height, width) for name, (width, height) in sizes.items()}, edges)
    boxes = tuple(Box(box.name, box.y, box.x, box.height, sizes[box.name][1]) for box in turned.boxes)
    ends = {box.name: box.y + box.height for box in boxes}
    lines = []
    for line in turned.lines:
        (_, first_x), *rest = line.points
        lines.append(Line(line.start, line.end, ((first_x, ends[line.start]), *((y, x) for x, y in rest))))
    return Picture(boxes, tuple(lines), turned.height, turned.width)


def _path(line: Line, *, down: bool) -> dict[str, str]:
    """Return the way of a line and the tip of its arrow, which takes the last pixels."""
    # Worked out along the way of the flow: ``a`` runs with it, ``b`` across.
    points = [(y, x) for x, y in line.points] if down else list(line.points)

    def at(a: float, b: float) -> str:
        return f"{b:.1f} {a:.1f}" if down else f"{a:.1f} {b:.1f}"

    (a, b), *rest = points
    path = f"M{at(a, b)}"
    for number, (next_a, next_b) in enumerate(rest, 1):
        end = next_a - 7 if number == len(rest) else next_a
        middle = (a + end) / 2
        path += f" C{at(middle, b)} {at(middle, next_b)} {at(end, next_b)}"
        a, b = next_a, next_b
    return {"path": path, "tip": f"M{at(a - 8, b - 4.5)} L{at(a, b)} L{at(a - 8, b + 4.5)} z"}
