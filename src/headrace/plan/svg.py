"""A graph of an application goes in, an SVG picture of it comes out, in layers from left to right."""

from html import escape
from textwrap import wrap

from headrace.plan.layout import Box, Line, Picture, arrange
from headrace.plan.steps import Kind
from headrace.plan.topology import Graph, GraphNode

__all__ = ["svg"]

LINE_HEIGHT, PADDING, CHARACTER = 17, 12, 7.0
WIDEST = 40
_COLOURS = {
    "source": ("#e8f1fb", "#3b73af"),
    "step": ("#ffffff", "#8a94a0"),
    "stateful": ("#fff6e0", "#c58a17"),
    "output": ("#e7f6ec", "#3d8f5a"),
}
_STROKES = {
    Kind.APPEND: 'stroke-width="1.5"',
    Kind.CHANGELOG: 'stroke-width="3"',
    Kind.STATIC: 'stroke-width="1.5" stroke-dasharray="5 4"',
}
_STYLE = """
  text { font: 12px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #333c46 }
  .heading { font-size: 16px; font-weight: 600; fill: #1d242c }
  .title { font-weight: 600; fill: #1d242c }
  .name { font-style: italic; fill: #3b73af }
  .state { fill: #8a5c00 }
  .warning { fill: #b3261e; font-weight: 600 }
  .legend { font-size: 11px; fill: #5b6672 }
"""


def svg(graph: Graph, title: str) -> str:
    """Return the picture of a graph as the text of an SVG file."""
    texts = {node.id: _texts(node) for node in graph.nodes}
    sizes = {name: (_width(lines), len(lines) * LINE_HEIGHT + 2 * PADDING - 4) for name, lines in texts.items()}
    picture = arrange(sizes, graph.edges)
    nodes = {node.id: node for node in graph.nodes}
    top = 44
    width, height = max(picture.width, 480), picture.height + top + 28
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{_STYLE}</style>",
        '<defs><marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerUnits="userSpaceOnUse" '
        'markerWidth="11" markerHeight="11" orient="auto">'
        '<path d="M0 0 L10 5 L0 10 z" fill="#5b6672"/></marker></defs>',
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#fbfcfd"/>',
        f'<text class="heading" x="24" y="30">{escape(title)}</text>',
        f'<g transform="translate(0 {top})">',
        *(_edge(line, nodes[line.start].rows) for line in picture.lines),
        *(_node(nodes[box.name], box, texts[box.name]) for box in picture.boxes),
        "</g>",
        *_legend(picture, top),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _texts(node: GraphNode) -> list[tuple[str, str]]:
    """Return the lines of a node, each with its class."""
    entries = [("name", f"view {node.name}")] if node.name is not None else []
    entries.append(("title", node.title))
    entries += [("detail", detail) for detail in node.details]
    if node.state is not None:
        entries.append(("state", f"state: {node.state}"))
    entries += [("warning", f"⚠ {warning}") for warning in node.warnings]
    return [(kind, line) for kind, text in entries for line in wrap(text, WIDEST) or [""]]


def _width(lines: list[tuple[str, str]]) -> float:
    # Bold letters are a little wider; the browser's own font is not known here.
    widths = [len(text) * (CHARACTER + (0.5 if kind in ("title", "warning") else 0)) for kind, text in lines]
    return max(*widths, 120.0) + 2 * PADDING


def _node(node: GraphNode, box: Box, lines: list[tuple[str, str]]) -> str:
    style = "stateful" if node.role == "step" and node.state is not None else node.role
    fill, stroke = _COLOURS[style]
    parts = [
        f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" '
        f'rx="{8 if node.role == "step" else 16}" fill="{fill}" stroke="{stroke}" stroke-width="1.2"/>'
    ]
    for number, (kind, text) in enumerate(lines):
        y = box.y + PADDING + 10 + number * LINE_HEIGHT
        parts.append(f'<text class="{kind}" x="{box.x + PADDING:.1f}" y="{y:.1f}">{escape(text)}</text>')
    return "\n".join(parts)


def _edge(line: Line, rows: Kind) -> str:
    (x, y), *rest = line.points
    path = f"M{x:.1f} {y:.1f}"
    for next_x, next_y in rest:
        middle = (x + next_x) / 2
        path += f" C{middle:.1f} {y:.1f} {middle:.1f} {next_y:.1f} {next_x:.1f} {next_y:.1f}"
        x, y = next_x, next_y
    return f'<path d="{path}" fill="none" stroke="#5b6672" {_STROKES[rows]} marker-end="url(#arrow)"/>'


def _legend(picture: Picture, top: float) -> list[str]:
    parts, x, y = [], 24.0, picture.height + top + 10
    for kind, text in ((Kind.APPEND, "append"), (Kind.CHANGELOG, "changelog"), (Kind.STATIC, "read once")):
        parts.append(f'<path d="M{x:.0f} {y - 4:.0f} h28" stroke="#5b6672" {_STROKES[kind]}/>')
        parts.append(f'<text class="legend" x="{x + 34:.0f}" y="{y:.0f}">{text}</text>')
        x += 34 + len(text) * 7 + 24
    return parts
