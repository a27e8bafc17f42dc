"""The outputs of an application go in; those that must move together come out, each group one query."""

from collections.abc import Sequence

from headrace.plan.outputs import Output
from headrace.plan.steps import Kind, ReadDead, ReadRelation, ReadTable, Scan, Step, is_maintained, walk

COLLECTED = frozenset({"console", "memory", "sqlite", "postgres", "redis"})
"""Connectors whose sinks take what a batch changed, row by row."""
TABLES = frozenset({"sqlite", "postgres", "redis"})


def takes_changes(output: Output) -> bool:
    """Say whether an output is given what a batch changes, rather than the batch itself."""
    if output.relation.kind is Kind.STATIC:
        return False
    if output.relation.kind is Kind.CHANGELOG and not is_maintained(output.relation.step):
        return False
    if output.role == "view" or (output.sink is not None and output.sink.connector in TABLES):
        return True
    return is_maintained(output.relation.step) and (output.sink is None or output.sink.connector in COLLECTED)


def groups(outputs: Sequence[Output]) -> list[tuple[Output, ...]]:
    """Return the outputs that take changes, those together that share a source: they never disagree."""
    found: list[tuple[set[str], list[Output]]] = []
    for output in outputs:
        if not takes_changes(output):
            continue
        sources = _sources(output.relation.step)
        joined = [output]
        apart = []
        for others, members in found:
            if others & sources:
                sources |= others
                joined = members + joined
            else:
                apart.append((others, members))
        found = [*apart, (sources, joined)]
    position = {id(output): i for i, output in enumerate(outputs)}
    ordered = [tuple(sorted(members, key=lambda each: position[id(each)])) for _, members in found]
    return sorted(ordered, key=lambda members: position[id(members[0])])


def query_folder(outputs: Sequence[Output]) -> str:
    """Return the folder of a query with several outputs: that of the first, and how many more there are."""
    first = outputs[0].name.lower()
    return first if len(outputs) == 1 else f"{first}+{len(outputs) - 1}"


def queries(outputs: Sequence[Output]) -> list[tuple[str, tuple[Output, ...]]]:
    """Return the queries of an application: the folder that each keeps its state in, and its outputs."""
    alone = [(output.name.lower(), (output,)) for output in outputs if not takes_changes(output)]
    return [*((query_folder(group), group) for group in groups(outputs)), *alone]


def _sources(step: Step) -> set[str]:
    names: set[str] = set()
    for each in walk(step):
        match each:
            case Scan() | ReadDead():
                names.add(each.stream.name.lower())
            case ReadTable(table=table) if table.live:
                names.add(table.name.lower())
            case ReadRelation(name=name):
                names.add(name)
    return names
