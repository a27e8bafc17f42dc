"""A search for a pattern goes in; what its answer and its state depend on comes out, each thing by a name."""

from collections.abc import Iterator

from sqlglot import exp

from headrace.language.dialect import Headrace
from headrace.plan.slots import SLOT, Asked, Slot
from headrace.plan.steps import Match, Scalar

__all__ = ["match_facts"]

_KEPT_AS = "rows that wait beside their timer"
"""How the operator keeps what it remembers; another way of keeping it needs another name."""


def match_facts(step: Match) -> Iterator[tuple[str, str]]:
    """Yield what `explain` does not tell of a search."""
    yield "way of keeping what a pattern remembers", _KEPT_AS
    names = step.program.variables
    for variable, condition in step.conditions:
        yield f"condition of {names[variable]}", _text(step, condition)
    for measure in step.measures:
        yield f"measure {measure.name}", _text(step, measure.value)
    order = [
        f"{name}{' DESC' if down else ''} NULLS {'FIRST' if first else 'LAST'}" for name, down, first in step.order
    ]
    yield "order of rows of the same time", ", ".join(order) or "none"
    kept = (_named(column.name, _text(step, column.value)) for column in step.values)
    yield "row that a pattern keeps", ", ".join(kept)
    yield "list of columns beside the measures", ", ".join((*step.before, *step.after)) or "none"


def _text(step: Match, value: Scalar) -> str:
    """Return an expression as SQL in which each slot is what it asks for."""

    def spelled(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and node.name.startswith(SLOT):
            return exp.var(_asked(step, step.slots[int(node.name.removeprefix(SLOT))]))
        return node

    return str(value.tree.copy().transform(spelled).sql(dialect=Headrace, comments=False)).replace("`", "")


def _asked(step: Match, slot: Slot) -> str:
    rows = "|".join(step.program.variables[each] for each in slot.variables)
    match slot.asked:
        case Asked.VALUE:
            text = f"{rows}.{slot.source}"
        case Asked.CLASSIFIER:
            text = f"CLASSIFIER({rows})"
        case Asked.AGGREGATE:
            text = f"{_text(step, step.aggregates[int(slot.source)])} over {rows}"
        case _:
            text = slot.asked.name
    if not slot.last or slot.offset:
        text = f"{'LAST' if slot.last else 'FIRST'}({text}, {slot.offset})"
    if slot.shift:
        text = f"{'NEXT' if slot.shift > 0 else 'PREV'}({text}, {abs(slot.shift)})"
    return f"FINAL {text}" if slot.whole else text


def _named(name: str, text: str) -> str:
    return name if text == name else f"{text} AS {name}"
