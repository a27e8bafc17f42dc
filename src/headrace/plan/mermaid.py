"""A graph of an application goes in, a Mermaid flowchart comes out."""

from headrace.plan.steps import Kind
from headrace.plan.topology import Graph, GraphNode

__all__ = ["mermaid"]

_ARROWS = {Kind.APPEND: "-->", Kind.CHANGELOG: "==>", Kind.STATIC: "-.->"}
_SHAPES = {"source": ("[(", ")]"), "step": ("[", "]"), "output": ("([", "])")}
_STYLES = (
    "classDef source fill:#e8f1fb,stroke:#3b73af,color:#14304d",
    "classDef step fill:#ffffff,stroke:#8a94a0,color:#1d242c",
    "classDef stateful fill:#fff6e0,stroke:#c58a17,color:#4a3406",
    "classDef output fill:#e7f6ec,stroke:#3d8f5a,color:#123b21",
)


def mermaid(graph: Graph) -> str:
    """Return the text of a flowchart; thick arrows carry rows that change, dotted ones rows read once."""
    lines = ["flowchart LR"]
    rows = {node.id: node.rows for node in graph.nodes}
    for node in graph.nodes:
        opening, closing = _SHAPES[node.role]
        lines.append(f'  {node.id}{opening}"{_label(node)}"{closing}:::{_style(node)}')
    lines += [f"  {start} {_ARROWS[rows[start]]} {end}" for start, end in graph.edges]
    lines += [f"  {style}" for style in _STYLES]
    return "\n".join(lines) + "\n"


def _style(node: GraphNode) -> str:
    return "stateful" if node.role == "step" and node.state is not None else node.role


def _label(node: GraphNode) -> str:
    parts = [f"<i>view {_escaped(node.name)}</i>"] if node.name is not None else []
    parts.append(f"<b>{_escaped(node.title)}</b>")
    parts += [_escaped(detail) for detail in node.details]
    if node.state is not None:
        parts.append(f"state: {_escaped(node.state)}")
    parts += [f"⚠ {_escaped(warning)}" for warning in node.warnings]
    return "<br/>".join(parts)


def _escaped(text: str) -> str:
    """Return text that stays text in a quoted label: what means something to Mermaid or HTML is a number.

    >>> _escaped('a < "b"')
    'a #60; #34;b#34;'
    """
    return "".join(f"#{ord(char)};" if char in '"<>&#;`\\' else char for char in text.replace("\n", " "))
