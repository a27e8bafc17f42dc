"""A plan goes in; the name under which the state of each of its patterns is shown comes out."""

from collections.abc import Iterator

from headrace.plan.application import Plan
from headrace.plan.steps import Match, Step, walk

__all__ = ["PATTERN", "pattern_names"]

PATTERN = "pattern "
"""What the name of a pattern's state begins with."""


def pattern_names(plan: Plan) -> dict[int, str]:
    """Return the name of each search by the identity of its step: the view or output in whose text it stands.

    A further one in the same text has a number behind the name.
    """
    found: dict[int, str] = {}
    for name, step in _texts(plan):
        fresh = {id(each): None for each in walk(step) if isinstance(each, Match) and id(each) not in found}
        for number, identity in enumerate(fresh, 1):
            found[identity] = f"{PATTERN}{name}" + (f" {number}" if number > 1 else "")
    return found


def _texts(plan: Plan) -> Iterator[tuple[str, Step]]:
    """Yield the queries of a plan, each after those that it reads."""
    for name, relation in plan.views.items():
        yield name, relation.step
    for output in plan.outputs:
        yield output.name, output.relation.step
