"""A search for a pattern goes in; what it must keep of each key, and for how long, comes out."""

from collections import Counter

from sqlglot import exp

from headrace.plan.patterns import Jump, Program, Split, TakeRow
from headrace.plan.slots import SLOT, Asked, Slot
from headrace.plan.steps import Match

_ROWS, _MANY = 50, 1000
"""A pattern has many ways if so many rows can be matched in more ways than that: they grow faster than the rows do."""


def looks_back(step: Match) -> int:
    """Return how many rows before a match PREV may ask for: so many are kept of each key."""
    return max((0, *(-each.shift for each in step.slots)))


def looks_ahead(step: Match) -> int:
    """Return how many rows behind a row NEXT may ask for: so many are waited for."""
    return max((0, *(each.shift for each in step.slots)))


def takes_several(program: Program) -> bool:
    """Say whether a match may have more than one row, so that one is kept while the next is awaited."""
    return any(_rows_from(program, at + 1) for at in _rows_from(program, 0))


def untold(step: Match) -> list[str]:
    """Return the variables whose conditions keep ways of matching apart that could else be followed as one.

    What a row number tells is compared; what an aggregate or CLASSIFIER tells of the rows so far is not.
    """
    names = step.program.variables
    return [
        names[variable]
        for variable, condition in step.conditions
        if any(_is_of_the_way(slot, variable) for slot in _slots(step, condition.tree))
    ]


def has_many_ways(program: Program) -> bool:
    """Say whether the same rows can be matched in very many ways, where conditions let any row be any variable.

    >>> from headrace.language.patterns import Alternation, Quantified, Sequence, Variable
    >>> from headrace.plan.patterns import compiled
    >>> a, b = Variable("a"), Variable("b")
    >>> has_many_ways(compiled(Quantified(Alternation((a, b)), 1, 20)))
    True
    >>> has_many_ways(compiled(Sequence((Quantified(a, 0, None), Quantified(b, 0, None)))))
    False
    """
    ways = Counter(_rows_from(program, 0))
    after: dict[int, tuple[int, ...]] = {}
    for _ in range(_ROWS):
        if ways.total() > _MANY:
            return True
        following: Counter[int] = Counter()
        for at, number in ways.items():
            if at not in after:
                after[at] = _rows_from(program, at + 1)
            for to in after[at]:
                following[to] += number
        ways = following
    return False


def _slots(step: Match, tree: exp.Expr) -> list[Slot]:
    columns = (each.name for each in tree.find_all(exp.Column) if each.name.startswith(SLOT))
    return [step.slots[int(name.removeprefix(SLOT))] for name in columns]


def _is_of_the_way(slot: Slot, variable: int) -> bool:
    """Say whether a slot depends on how the rows so far were taken, beyond the numbers of single rows."""
    own = slot.last and slot.offset == 0 and slot.shift == 0 and variable in slot.variables
    return slot.asked is Asked.AGGREGATE or (slot.asked is Asked.CLASSIFIER and not own)


def _rows_from(program: Program, start: int) -> tuple[int, ...]:
    """Return the instructions that can take the next row from a place in the program."""
    found: dict[int, None] = {}
    seen: set[int] = set()
    open_ = [start]
    while open_:
        at = open_.pop()
        if at in seen or at >= len(program.instructions):
            continue
        seen.add(at)
        match program.instructions[at]:
            case TakeRow():
                found[at] = None
            case Split(first, second):
                open_ += [second, first]
            case Jump(to):
                open_.append(to)
            case _:
                open_.append(at + 1)  # an anchor; nothing stands behind the end
    return tuple(found)
