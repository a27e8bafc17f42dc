"""A job's plan and figures go in; what each node of its topology does now comes out."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from headrace.jobs.figures import Figures
from headrace.jobs.model import Job
from headrace.jobs.states import State
from headrace.plan.application import Plan
from headrace.plan.steps import Kind
from headrace.plan.topology import Graph, GraphNode

__all__ = ["Health", "NodeFigures", "figures_by_output", "health_of", "node_figures"]

_NEVER = datetime.max.replace(tzinfo=UTC)

Health = Literal["good", "warning", "bad", "unknown"]
_HEALTH: Mapping[State, Health] = {
    State.RUNNING: "good",
    State.FINISHED: "good",
    State.FAILED: "bad",
    State.STOPPED: "unknown",
    State.SUBMITTED: "unknown",
    State.STARTING: "unknown",
    State.STOPPING: "unknown",
}
"""What is on its way somewhere is neither well nor ill; what is not named here needs attention."""


@dataclass(frozen=True, slots=True)
class NodeFigures:
    """What a node does now; what cannot be told apart from its neighbours is None."""

    node: str
    rows_per_second: float | None = None
    state_rows: int | None = None
    state_bytes: int | None = None
    watermark_at: datetime | None = None
    lag: timedelta | None = None
    health: Health = "unknown"
    note: str = ""


def health_of(job: Job) -> Health:
    """Return how well a job is, as far as its state tells."""
    return _HEALTH.get(job.state, "warning")


def figures_by_output(plan: Plan, figures: Sequence[Figures]) -> dict[str, Figures]:
    """Return the figures of each output by its name; outputs that are one query have the same, named after all."""
    names = {output.name.lower() for output in plan.outputs}
    found: dict[str, Figures] = {}
    for each in figures:
        members = [part.strip().lower() for part in each.name.replace("+", ",").split(",")]
        for name in members if set(members) <= names else [each.name.lower()]:
            found[name] = each
    return found


def node_figures(plan: Plan, graph: Graph, job: Job, figures: Sequence[Figures]) -> list[NodeFigures]:
    """Return the figures of each node that something is known of."""
    by_output = figures_by_output(plan, figures)
    health = health_of(job)
    ends = [node for node in graph.nodes if node.role == "output"]
    of_node = {
        node.id: found
        for node, output in zip(ends, plan.outputs, strict=False)
        if (found := by_output.get(output.name.lower())) is not None
    }
    reached = _reached(graph, of_node)
    stateful = {id(each): [n for n in graph.nodes if n.state and each in reached[n.id]] for each in figures}
    return [_of(node, of_node, reached[node.id], stateful, health) for node in graph.nodes if reached[node.id]]


def _of(
    node: GraphNode,
    of_node: Mapping[str, Figures],
    reached: Sequence[Figures],
    stateful: Mapping[int, Sequence[GraphNode]],
    health: Health,
) -> NodeFigures:
    if node.id in of_node:
        mine = of_node[node.id]
        note = f"{mine.late} late, {mine.dead} dead" if mine.late or mine.dead else ""
        state: Health = "warning" if health == "good" and mine.dead else health
        return NodeFigures(node.id, mine.out_per_second, None, None, mine.watermark_at, mine.lag, state, note)
    if node.rows is Kind.STATIC:  # what is looked up neither flows nor has a time
        return NodeFigures(node.id, health=health)
    first = reached[0]
    slowest = min(reached, key=lambda each: (each.watermark_at is None, each.watermark_at or _NEVER))
    if node.role == "source":
        stream = node.title.rpartition(" ")[2]
        dead = max((each.dead_of.get(stream, 0) for each in reached), default=0)
        return NodeFigures(
            node.id,
            max((rate for each in reached if (rate := _rate_of(stream, each)) is not None), default=None),
            watermark_at=slowest.watermark_at,
            lag=slowest.lag,
            health="warning" if dead and health == "good" else health,
            note=f"{dead} records did not parse" if dead else "",
        )
    own = [each.operators[name] for each in reached if (name := node.operator) and name in each.operators]
    if own:  # a pattern of several queries has a state in each
        rows, size = (int(sum(each.get(figure, 0) for each in own)) for figure in ("rows", "bytes"))
        return NodeFigures(node.id, None, rows, size, slowest.watermark_at, slowest.lag, health=health)
    if node.state and all(len(stateful[id(each)]) == 1 for each in reached):
        kept = (first.state_rows, first.state_bytes)
        return NodeFigures(node.id, None, *kept, slowest.watermark_at, slowest.lag, health=health)
    note = f"{first.state_rows} rows of state in all steps" if node.state else ""
    return NodeFigures(node.id, None, None, None, slowest.watermark_at, slowest.lag, health=health, note=note)


def _rate_of(stream: str, figures: Figures) -> float | None:
    """Return how many rows of a stream a query reads per second, None if that cannot be told."""
    by_name = {name.lower(): rate for name, rate in figures.in_per_second_of.items()}
    if stream.lower() in by_name:
        return by_name[stream.lower()]
    return figures.in_per_second if len(figures.rows_of) <= 1 else None


def _reached(graph: Graph, ends: Mapping[str, Figures]) -> dict[str, list[Figures]]:
    """Return for each node the figures of the queries that its rows flow into, each once."""
    after: dict[str, list[str]] = defaultdict(list)
    for start, end in graph.edges:
        after[start].append(end)
    found: dict[str, list[Figures]] = {}
    for node in reversed(graph.nodes):  # each stands after those it reads from
        mine = [ends[node.id]] if node.id in ends else []
        found[node.id] = _each_once([*mine, *(each for end in after[node.id] for each in found.get(end, ()))])
    return found


def _each_once(several: Iterable[Figures]) -> list[Figures]:
    return list({id(each): each for each in several}.values())
