"""What a checkpoint was made by: a plan goes in, an error comes out if the old checkpoint cannot go on with it."""

import json
from collections.abc import Mapping, Sequence
from difflib import unified_diff
from typing import Any

from headrace.connectors.durations import duration_text
from headrace.errors import PlanError, Span
from headrace.plan.application import Output, Plan
from headrace.plan.explain import Described, Node, tree
from headrace.plan.facts import UNKNOWN, facts, settings_facts
from headrace.plan.steps import Union
from headrace.spark.storage import Folder

FILE = "plan.json"
MEMBERS = "outputs"


def fingerprint(output: Output, plan: Plan, members: Sequence[Output] = ()) -> dict[str, object]:
    """Return what of a plan a checkpoint depends on: its steps, and what these are about.

    ``members`` are the outputs that are one query, if the output stands for such; its step is the union of theirs.
    """
    lines: list[str] = []
    step = output.relation.step
    _lines(tree(step), lines)
    steps = step.inputs if members and isinstance(step, Union) else (step,)
    remembered = {
        f"ttl of {each.name.lower()}": duration_text(each.view.ttl)
        for each in members or (output,)
        if each.view is not None and each.view.ttl is not None
    }
    return {
        "version": 2,
        "shuffle_partitions": plan.settings.shuffle_partitions,
        "steps": lines,
        "facts": {**settings_facts(plan.settings), **facts(steps, plan.functions), **remembered},
    }


def _lines(node: Node, lines: list[str]) -> None:
    described: Described = node.described
    lines.append(described.title)
    lines.extend(f"  {detail}" for detail in described.details)
    for each in node.inputs:
        _lines(each, lines)


def changes(old: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return what changed between two fingerprints, as people read it; nothing if a checkpoint can go on.

    What version 1 did not note is not known to have changed.
    """
    lines = unified_diff(_shown(old), _shown(now), lineterm="", n=0)
    found = [line for line in lines if not line.startswith(("---", "+++", "@@"))]
    return found if "facts" not in old else found + _changed(old["facts"], now["facts"])


def _changed(old: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    found = []
    for name in {**old, **now}:
        if name not in now:
            found.append(f"{name} was {old[name] or 'there'}")
        elif name not in old:
            found.append(f"{name} is {now[name] or 'there'}, which is new")
        elif old[name] != now[name] and UNKNOWN not in (old[name], now[name]):
            found.append(f"{name} is now {now[name]}")
    return found


def check(output: Output, plan: Plan, folder: Folder, members: Sequence[Output] = ()) -> None:
    """Raise if the folder holds the checkpoint of another query; else note whose checkpoint it is."""
    now = fingerprint(output, plan, members)
    old_text = folder.read(FILE)
    old = now if old_text is None else json.loads(old_text)
    found = changes(old, now)
    if not found:
        if old_text is None or old != now:
            folder.make().write(FILE, json.dumps(now, indent=1))
        return
    raise PlanError(
        f'the query of "{output.name}" is not the one that its checkpoint was made by',
        detail="What changed: " + " | ".join(found[:8]) + (" | …" if len(found) > 8 else "") + ".",
        hint="Undo the change to go on where the last run stopped, or start anew with --fresh, "
        f"which deletes what was remembered in {folder.path}.",
        span=output.span,
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


def _shown(plan: Mapping[str, Any]) -> list[str]:
    return [f"SET shuffle_partitions = {plan['shuffle_partitions']}", *(line.strip() for line in plan["steps"])]
