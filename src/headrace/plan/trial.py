"""The plan of an application goes in; what is left of it to be tried, its last query alone, comes out."""

from dataclasses import replace

from headrace.errors import PlanError
from headrace.plan.application import Plan

__all__ = ["tried"]


def tried(plan: Plan) -> Plan:
    """Return a plan that only shows the rows of its last bare SELECT; raise if it has none.

    What that reads of views is computed for it: no view, sink or state of the application itself is touched.
    """
    queries = [output for output in plan.outputs if output.role == "select"]
    if not queries:
        raise PlanError("there is no query to try", hint="End the text with a SELECT.")
    settings = replace(plan.settings, state=None)
    return replace(plan, outputs=queries[-1:], answers=[], observations={}, sinks={}, settings=settings)
