"""The text of an application goes in; its mistakes, or what it would do, come out, without a JVM."""

import os
from collections import ChainMap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from headrace.application import Application
from headrace.errors import HeadraceError, Span, shallow
from headrace.jobs.offers import Resolve, resolved
from headrace.language import fill
from headrace.language.variables import NoValue
from headrace.plan.application import Plan
from headrace.plan.explain import explain_relation, warnings
from headrace.plan.topology import Graph, topology

__all__ = ["Diagnostic", "Explained", "check", "diagnostic_of", "explain"]

_ASKED = "Submit asks for it; write ${NAME:-default} to see here what the text would do."


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A mistake or a warning at a place in a text; line and column count from 1."""

    line: int
    column: int
    length: int
    message: str
    detail: str | None = None
    hint: str | None = None
    severity: Literal["error", "warning"] = "error"


@dataclass(frozen=True, slots=True)
class Explained:
    """What an application would do, in words and as a graph; ``outputs`` are the names of what it publishes."""

    text: str
    graph: Graph
    outputs: tuple[str, ...]


def check(
    text: str,
    name: str,
    directory: Path,
    variables: Mapping[str, str] | None = None,
    resolve: Resolve | None = None,
    *,
    asks: bool = False,
) -> list[Diagnostic]:
    """Return what is wrong with a text: its first mistake, or else its warnings; ``resolve`` finds other jobs.

    ``asks`` says that a form asks for the values of variables when the text is submitted.

    >>> check("SELECT 1 AS one", "application", Path())
    []
    >>> check("CREATE VIEW v AS SELECT x FROM nowhere", "application", Path())[0].column
    32
    """
    try:
        application = _application(text, name, directory, variables, resolve)
    except NoValue as error:
        found = diagnostic_of(error)
        return [replace(found, hint=_ASKED) if asks else found]
    except HeadraceError as error:
        return [diagnostic_of(error)]
    try:
        with shallow():
            return list(_warnings(application.plan))
    except HeadraceError as error:
        return [diagnostic_of(error)]


def explain(
    text: str,
    name: str,
    directory: Path,
    variables: Mapping[str, str] | None = None,
    resolve: Resolve | None = None,
) -> Explained:
    """Return what a text would do; raise HeadraceError, with the place, for a mistake in it."""
    application = _application(text, name, directory, variables, resolve)
    plan = application.plan
    with shallow():
        if plan.outputs:
            told = application.explain()
        else:
            told = "\n\n".join(f"view {each}\n{explain_relation(relation)}" for each, relation in plan.views.items())
        return Explained(told, topology(plan), tuple(output.name for output in plan.outputs))


def diagnostic_of(error: HeadraceError) -> Diagnostic:
    """Return a mistake with its place; one without a place is at the beginning."""
    line, column, length = _place(error.span)
    return Diagnostic(line, column, length, error.message, error.detail, error.hint)


def _application(
    text: str, name: str, directory: Path, variables: Mapping[str, str] | None, resolve: Resolve | None
) -> Application:
    imports = resolved(text, name, variables or {}, resolve)
    application = Application(directory=directory, name=name, durable=True).reading(imports)
    return application.add(fill(text, f"{name}.sql", ChainMap(dict(variables or {}), dict(os.environ))))


def _warnings(plan: Plan) -> Iterator[Diagnostic]:
    for output in plan.outputs:
        line, column, length = _place(output.span)
        for text in warnings(output.relation):
            yield Diagnostic(line, column, length, f"{output.name}: {text}", severity="warning")


def _place(span: Span | None) -> tuple[int, int, int]:
    return (1, 1, 1) if span is None else (span.line, span.column, max(1, span.end - span.start))
