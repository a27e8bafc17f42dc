"""An application file goes in, a verdict or its topology comes out, without a JVM."""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from headrace.application import Application
from headrace.cli.failures import USER_ERROR, complain
from headrace.errors import HeadraceError, PlanError
from headrace.plan.application import Plan
from headrace.plan.explain import explain_relation, warnings
from headrace.plan.feeding import key_warning
from headrace.plan.mermaid import mermaid
from headrace.plan.svg import svg
from headrace.plan.topology import as_dict, topology

__all__ = ["check_file", "explain_file", "plan_warnings", "warn"]


def check_file(path: Path, variables: Mapping[str, str], output: Literal["text", "json"]) -> int:
    """Print whether an application is right, and return the exit code."""
    try:
        application = Application.load(path, variables)
    except HeadraceError as error:
        if output == "text":
            raise
        print_json({"ok": False, "error": error.as_dict()})
        return USER_ERROR
    plan = application.plan
    if output == "json":
        found = [{"name": name, "warning": text} for name, text in plan_warnings(plan)]
        print_json({"ok": True, "statements": plan.statements, "outputs": len(plan.outputs), "warnings": found})
    else:
        warn(plan)
        sys.stdout.write(f"ok: {_count(plan.statements, 'statement')}, {_count(len(plan.outputs), 'output')}\n")
    return 0


def explain_file(
    path: Path,
    name: str | None,
    variables: Mapping[str, str],
    output: Literal["text", "mermaid", "svg", "json"],
) -> None:
    """Print the topology of an application, or of one of its relations."""
    application = Application.load(path, variables)
    if output == "text":
        sys.stdout.write((application.explain(name) if name else _explain_all(application)) + "\n")
        return
    graph = topology(application.plan, name)
    match output:
        case "mermaid":
            sys.stdout.write(mermaid(graph))
        case "svg":
            sys.stdout.write(svg(graph, title=application.name))
        case "json":
            print_json(as_dict(graph))


def _explain_all(application: Application) -> str:
    plan = application.plan
    if plan.outputs:
        return application.explain()
    if plan.views:
        return "\n\n".join(f"view {n}\n{explain_relation(relation)}" for n, relation in plan.views.items())
    raise PlanError(
        "nothing to explain",
        detail="The application has no query.",
        hint="Add a SELECT, or name a stream or table: headrace explain FILE.sql NAME.",
    )


def plan_warnings(plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield what to beware of: the name of an output, or of a view if there is none, and the warning."""
    named = [(output.name, output.relation) for output in plan.outputs] or list(plan.views.items())
    for name, relation in named:
        for text in warnings(relation):
            yield name, text
    for output in plan.outputs:
        if (beware := key_warning(output)) is not None:
            yield output.name, beware


def warn(plan: Plan) -> None:
    """Print the warnings of a plan on stderr."""
    for name, text in plan_warnings(plan):
        complain(f"warning: {name}: {text}")


def print_json(value: object) -> None:
    """Write a value as indented JSON."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
