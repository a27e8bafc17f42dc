"""Row patterns as frozen trees: the part of MATCH_RECOGNIZE between the parentheses of PATTERN."""

from collections.abc import Iterator
from dataclasses import dataclass

__all__ = [
    "Alternation",
    "Empty",
    "EndAnchor",
    "Exclusion",
    "Pattern",
    "Permute",
    "Quantified",
    "Sequence",
    "StartAnchor",
    "Variable",
    "format_pattern",
    "variables",
]


@dataclass(frozen=True, slots=True)
class Variable:
    """One row that meets the variable's condition."""

    name: str


@dataclass(frozen=True, slots=True)
class Empty:
    """``()``: no row at all."""


@dataclass(frozen=True, slots=True)
class StartAnchor:
    """``^``: the first row of the partition follows."""


@dataclass(frozen=True, slots=True)
class EndAnchor:
    """``$``: the last row of the partition has passed."""


@dataclass(frozen=True, slots=True)
class Sequence:
    """Two or more patterns, one after the other."""

    items: tuple["Pattern", ...]


@dataclass(frozen=True, slots=True)
class Alternation:
    """Two or more patterns of which one matches; earlier ones are preferred."""

    items: tuple["Pattern", ...]


@dataclass(frozen=True, slots=True)
class Permute:
    """``PERMUTE(a, b)``: the patterns in any order; orders are preferred as written."""

    items: tuple["Pattern", ...]


@dataclass(frozen=True, slots=True)
class Exclusion:
    """``{- a -}``: matched, but left out of ALL ROWS PER MATCH."""

    item: "Pattern"


@dataclass(frozen=True, slots=True)
class Quantified:
    """A pattern repeated ``minimum`` to ``maximum`` times; without end if ``maximum`` is None.

    >>> format_pattern(Quantified(Variable("a"), 2, None, greedy=False))
    'a{2,}?'
    """

    item: "Pattern"
    minimum: int
    maximum: int | None
    greedy: bool = True


Pattern = Variable | Empty | StartAnchor | EndAnchor | Sequence | Alternation | Permute | Exclusion | Quantified


def variables(pattern: Pattern) -> Iterator[str]:
    """Yield the variables of a pattern in the order of the text, repeated where they repeat.

    >>> list(variables(Sequence((Variable("a"), Quantified(Variable("b"), 0, 1)))))
    ['a', 'b']
    """
    stack = [pattern]
    while stack:
        match stack.pop():
            case Variable(name):
                yield name
            case Sequence(items) | Alternation(items) | Permute(items):
                stack.extend(reversed(items))
            case Exclusion(item) | Quantified(item):
                stack.append(item)
            case Empty() | StartAnchor() | EndAnchor():
                pass


def format_pattern(pattern: Pattern) -> str:
    """Return the text of a pattern, without the parentheses of PATTERN.

    >>> format_pattern(Sequence((Variable("a"), Alternation((Variable("b"), Variable("c d"))))))
    'a (b | `c d`)'
    """
    match pattern:
        case Alternation(items):
            return " | ".join(_inside(item, Alternation) for item in items)
        case Sequence(items):
            return " ".join(_inside(item, Alternation, Sequence) for item in items)
        case Quantified(item, minimum, maximum, greedy):
            inner = _inside(item, Alternation, Sequence, Quantified, StartAnchor, EndAnchor)
            return inner + _quantifier(minimum, maximum) + ("" if greedy else "?")
        case Variable(name):
            return _name(name)
        case Permute(items):
            return f"PERMUTE({', '.join(format_pattern(item) for item in items)})"
        case Exclusion(item):
            return f"{{- {format_pattern(item)} -}}"
        case StartAnchor():
            return "^"
        case EndAnchor():
            return "$"
        case Empty():
            return "()"


def _inside(pattern: Pattern, *wrapped: type) -> str:
    text = format_pattern(pattern)
    return f"({text})" if isinstance(pattern, wrapped) else text


def _quantifier(minimum: int, maximum: int | None) -> str:
    match (minimum, maximum):
        case (0, None):
            return "*"
        case (1, None):
            return "+"
        case (0, 1):
            return "?"
        case (_, None):
            return f"{{{minimum},}}"
        case _ if minimum == maximum:
            return f"{{{minimum}}}"
        case _:
            return f"{{{minimum},{maximum}}}"


def _name(name: str) -> str:
    plain = name.isascii() and name.isidentifier() and name.upper() != "PERMUTE"
    return name if plain else "`" + name.replace("`", "``") + "`"
