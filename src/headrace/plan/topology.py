"""A plan goes in, one graph of its sources, steps and outputs comes out; what is shared stands in it once."""

from dataclasses import dataclass, field
from typing import Any

from headrace.plan.application import Output, Plan
from headrace.plan.context import COMPANIONS
from headrace.plan.explain import Described, describe
from headrace.plan.match_names import pattern_names
from headrace.plan.steps import (
    Aggregate,
    Kind,
    Literals,
    ReadDead,
    ReadRelation,
    ReadTable,
    Rename,
    Scan,
    Step,
    inputs,
    scalars,
)

__all__ = ["Graph", "GraphNode", "as_dict", "from_dict", "topology"]


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A source, a step or an output: what it does, what it remembers, how its rows come and go."""

    id: str
    role: str
    title: str
    rows: Kind
    details: tuple[str, ...] = ()
    state: str | None = None
    warnings: tuple[str, ...] = ()
    name: str | None = None
    """The name of the view that stands here."""
    operator: str | None = None
    """How the figures of a job call the state of this step, if they tell it apart."""


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes, each after those it reads from, and edges from one node's id to another's."""

    nodes: tuple[GraphNode, ...]
    edges: tuple[tuple[str, str], ...]


@dataclass(slots=True)
class _Builder:
    plan: Plan
    nodes: list[GraphNode] = field(default_factory=list)
    edges: list[tuple[str, str]] = field(default_factory=list)
    known: dict[object, GraphNode] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    operators: dict[int, str] = field(default_factory=dict)

    def add(self, step: Step) -> GraphNode:
        """Return the node of a step, made with all below it unless it is there."""
        step = _real(step)
        identity = _identity(step)
        if identity in self.known:
            return self.known[identity]
        below = [self.add(each) for each in inputs(step)]
        for scalar in scalars(step):
            below += [self.add(lookup.relation.step) for lookup in scalar.lookups]
        described = describe(step)
        node = GraphNode(
            id=f"n{len(self.nodes) + 1}",
            role="source" if isinstance(step, (Scan, ReadDead, ReadTable, ReadRelation, Literals)) else "step",
            title=described.title,
            rows=self._kind(step, below),
            details=described.details,
            state=described.state,
            warnings=described.warnings,
            name=self.names.get(id(step)),
            operator=self.operators.get(id(step)),
        )
        self.known[identity] = node
        self._put(node, below)
        return node

    def add_output(self, output: Output) -> None:
        """Add the end of a query: a sink, a view or the screen."""
        described = _describe_output(output)
        below = self.add(output.relation.step)
        node = GraphNode(f"n{len(self.nodes) + 1}", "output", described.title, output.relation.kind, described.details)
        self._put(node, [below])

    def _put(self, node: GraphNode, below: list[GraphNode]) -> None:
        self.nodes.append(node)
        self.edges += dict.fromkeys((each.id, node.id) for each in below)

    def _kind(self, step: Step, below: list[GraphNode]) -> Kind:
        """Return how the rows of a step come and go: as its inputs' do, unless it makes them change."""
        match step:
            case Scan() | ReadDead():
                return Kind.APPEND
            case ReadRelation(name=name):
                return self.plan.relations[name].kind
            case Aggregate(updating=updating) if any(each.rows is not Kind.STATIC for each in below):
                return Kind.CHANGELOG if updating else Kind.APPEND
            case _:
                kinds = {each.rows for each in below}
                return next((kind for kind in (Kind.CHANGELOG, Kind.APPEND) if kind in kinds), Kind.STATIC)


def topology(plan: Plan, name: str | None = None) -> Graph:
    """Return the graph of a whole application, or of one relation; without outputs, that of every view."""
    names = {id(_real(relation.step)): each for each, relation in plan.views.items()}
    builder = _Builder(plan, names=names, operators=pattern_names(plan))
    outputs = plan.outputs
    if name is not None:
        outputs = [output for output in plan.outputs if output.name.lower() == name.lower()]
        if not outputs:
            builder.add(plan.relation(name).step)
    for output in outputs:
        builder.add_output(output)
    if name is None and not outputs:
        sources = {each: relation for each, relation in plan.relations.items() if not each.endswith(COMPANIONS)}
        for relation in (plan.views or sources).values():
            builder.add(relation.step)
    return Graph(tuple(builder.nodes), tuple(builder.edges))


def as_dict(graph: Graph) -> dict[str, Any]:
    """Return a graph as plain values, for machines."""
    return {
        "nodes": [
            {
                "id": node.id,
                "role": node.role,
                "name": node.name,
                "title": node.title,
                "details": list(node.details),
                "state": node.state,
                "rows": node.rows.value,
                "warnings": list(node.warnings),
            }
            for node in graph.nodes
        ],
        "edges": [{"from": start, "to": end} for start, end in graph.edges],
        "warnings": list(dict.fromkeys(each for node in graph.nodes for each in node.warnings)),
    }


def from_dict(plain: dict[str, Any]) -> Graph:
    """Return the graph that plain values tell, as ``as_dict`` has written them; what more they hold is left out."""
    nodes = tuple(
        GraphNode(
            id=node["id"],
            role=node["role"],
            title=node["title"],
            rows=Kind(node["rows"]),
            details=tuple(node["details"]),
            state=node["state"],
            warnings=tuple(node["warnings"]),
            name=node["name"],
        )
        for node in plain["nodes"]
    )
    return Graph(nodes, tuple((edge["from"], edge["to"]) for edge in plain["edges"]))


def _describe_output(output: Output) -> Described:
    promise = {
        Kind.APPEND: "rows are published once",
        Kind.CHANGELOG: "rows are published, withdrawn and replaced",
        Kind.STATIC: "rows are read once",
    }[output.relation.kind]
    details = (", ".join(output.relation.names), promise)
    if output.sink is not None:
        path = getattr(output.sink.options, "path", None)
        target = output.sink.connector + (f" {path}" if path is not None else "")
        return Described(f"sink {output.name}", (f"to {target}", *details))
    if output.role == "view":
        return Described(f"materialized view {output.name}", details)
    return Described(f"screen: {output.name}", details)


def _real(step: Step) -> Step:
    """Return the first step that does something: naming columns is left out, as in the text."""
    while isinstance(step, Rename):
        step = step.input
    return step


def _identity(step: Step) -> object:
    """Return what tells steps apart: sources by name, the rest by being planned once."""
    match step:
        case Scan(stream=stream):
            return ("stream", stream.name.lower())
        case ReadDead(stream=source):
            return ("dead", source.name.lower())
        case ReadTable(table=table):
            return ("table", table.name.lower())
        case ReadRelation(name=name):
            return ("relation", name)
        case _:
            return id(step)
