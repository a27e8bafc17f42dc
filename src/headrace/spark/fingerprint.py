"""What a checkpoint was made by: a plan goes in, an error comes out if the old checkpoint cannot go on with it."""

import json
from collections.abc import Sequence
from difflib import unified_diff

from headrace.errors import PlanError, Span
from headrace.plan.application import Output
from headrace.plan.explain import Described, Node, tree
from headrace.plan.settings import Settings
from headrace.spark.storage import Folder

FILE = "plan.json"
MEMBERS = "outputs"


def fingerprint(output: Output, settings: Settings) -> dict[str, object]:
    """Return what of a plan a checkpoint depends on."""
    lines: list[str] = []
    _lines(tree(output.relation.step), lines)
    return {"version": 1, "shuffle_partitions": settings.shuffle_partitions, "steps": lines}


def _lines(node: Node, lines: list[str]) -> None:
    described: Described = node.described
    lines.append(described.title)
    lines.extend(f"  {detail}" for detail in described.details)
    for each in node.inputs:
        _lines(each, lines)


def check(output: Output, settings: Settings, folder: Folder, state: str, span: Span | None) -> None:
    """Raise if the folder holds the checkpoint of another query; else note whose checkpoint it is."""
    now = fingerprint(output, settings)
    old_text = folder.read(FILE)
    if old_text is None:
        folder.make().write(FILE, json.dumps(now, indent=1))
        return
    old = json.loads(old_text)
    if old == now:
        return
    changes = [
        line
        for line in unified_diff(_shown(old), _shown(now), lineterm="", n=0)
        if not line.startswith(("---", "+++", "@@"))
    ]
    raise PlanError(
        f'the query of "{output.name}" is not the one that its checkpoint was made by',
        detail="What changed: " + " | ".join(changes[:8]) + (" | …" if len(changes) > 8 else "") + ".",
        hint="Undo the change to go on where the last run stopped, or start anew with --fresh, "
        f"which deletes what was remembered in {state}.",
        span=span,
    )


def check_members(outputs: Sequence[str], state: Folder, query: str, span: Span | None) -> None:
    """Raise if an output of a query was computed by another one before; else note which outputs the query has.

    The other's checkpoint says which rows a table has taken. A new one would have it take them all again.
    """
    names = [name.lower() for name in outputs]
    for folder in state.names():
        noted = None if folder == query else (state / folder).read(MEMBERS)
        before = [] if noted is None else noted.splitlines()
        if set(before) & set(names):
            raise _other_outputs(before, names, state, span)
    mine = state / query
    noted = mine.read(MEMBERS)
    if noted is None:
        mine.make().write(MEMBERS, "\n".join(names))
    elif noted.splitlines() != names:
        raise _other_outputs(noted.splitlines(), names, state, span)


def _other_outputs(before: list[str], now: list[str], state: Folder, span: Span | None) -> PlanError:
    return PlanError(
        "outputs that share a source are one query, and it has other outputs than before",
        detail=f"It had {', '.join(before)}; now it has {', '.join(now)}.",
        hint="Undo the change to go on where the last run stopped, or start anew with --fresh, "
        f"which deletes what was remembered in {state.path}.",
        span=span,
    )


def _shown(plan: dict[str, object]) -> list[str]:
    steps = plan["steps"]
    lines = [str(line).strip() for line in steps] if isinstance(steps, list) else []
    return [f"SET shuffle_partitions = {plan['shuffle_partitions']}", *lines]
