"""What a checkpoint was made by: a plan goes in, an error comes out if the old checkpoint cannot go on with it."""

import json
from difflib import unified_diff

from headrace.errors import PlanError, Span
from headrace.plan.application import Output
from headrace.plan.explain import Described, Node, tree
from headrace.plan.settings import Settings
from headrace.spark.storage import Folder

FILE = "plan.json"


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


def _shown(plan: dict[str, object]) -> list[str]:
    steps = plan["steps"]
    lines = [str(line).strip() for line in steps] if isinstance(steps, list) else []
    return [f"SET shuffle_partitions = {plan['shuffle_partitions']}", *lines]
