"""A row pattern goes in, the program that finds its matches comes out: printable, and the same for every engine.

A program is followed along every way at once. Where it splits, the first way is preferred; a loop is a split that
jumps back. So greedy and reluctant differ only in the order of a split.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import permutations

from headrace.errors import PlanError, Span
from headrace.language.patterns import (
    Alternation,
    Empty,
    EndAnchor,
    Exclusion,
    Pattern,
    Permute,
    Quantified,
    Sequence,
    StartAnchor,
    Variable,
    variables,
)

LONGEST = 20_000
"""How many instructions a program may have: counts are written out."""


@dataclass(frozen=True, slots=True)
class TakeRow:
    """Take the next row as a variable, if its condition holds."""

    variable: int
    left_out: bool = False


@dataclass(frozen=True, slots=True)
class Split:
    """Go on in two ways, the first preferred."""

    first: int
    second: int


@dataclass(frozen=True, slots=True)
class Jump:
    """Go on elsewhere."""

    to: int


@dataclass(frozen=True, slots=True)
class AtStart:
    """Go on only before the first row of the partition."""


@dataclass(frozen=True, slots=True)
class AtEnd:
    """Go on only behind the last row of the partition."""


@dataclass(frozen=True, slots=True)
class Accept:
    """The pattern is matched."""


Instruction = TakeRow | Split | Jump | AtStart | AtEnd | Accept


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled pattern: the names of its variables, and its instructions.

    >>> print(compiled(Sequence((Variable("a"), Quantified(Variable("b"), 0, None)))))
    0  row a
    1  split 2 4
    2  row b
    3  jump 1
    4  accept
    """

    variables: tuple[str, ...]
    instructions: tuple[Instruction, ...]

    def __str__(self) -> str:
        width = len(str(len(self.instructions) - 1))
        lines = (f"{i:>{width}}  {self._text(each)}" for i, each in enumerate(self.instructions))
        return "\n".join(lines)

    def _text(self, instruction: Instruction) -> str:
        match instruction:
            case TakeRow(variable, left_out):
                return f"row {self.variables[variable]}" + (", left out" if left_out else "")
            case Split(first, second):
                return f"split {first} {second}"
            case Jump(to):
                return f"jump {to}"
            case AtStart():
                return "at start"
            case AtEnd():
                return "at end"
            case Accept():
                return "accept"

    def has(self, kind: type) -> bool:
        """Say whether some instruction is of a kind."""
        return any(isinstance(each, kind) for each in self.instructions)

    def loops(self) -> Iterator[int]:
        """Yield the variables that may be repeated without end."""
        for i, each in enumerate(self.instructions):
            if isinstance(each, Jump) and each.to < i:
                yield from (inner.variable for inner in self.instructions[each.to : i] if isinstance(inner, TakeRow))


@dataclass(slots=True)
class _Compiler:
    numbers: dict[str, int]
    span: Span | None
    made: list[Instruction] = field(default_factory=list)

    def add(self, instruction: Instruction) -> int:
        if len(self.made) >= LONGEST:
            raise PlanError(
                "the pattern is too long",
                detail=f"Written out, with its counts and permutations, it has more than {LONGEST:,} steps.",
                hint="Use smaller counts, or count the rows in a window.",
                span=self.span,
            )
        self.made.append(instruction)
        return len(self.made) - 1

    def emit(self, pattern: Pattern, *, left_out: bool) -> None:
        match pattern:
            case Variable(name):
                self.add(TakeRow(self.numbers[name.lower()], left_out))
            case Empty():
                pass
            case StartAnchor():
                self.add(AtStart())
            case EndAnchor():
                self.add(AtEnd())
            case Sequence(items):
                for item in items:
                    self.emit(item, left_out=left_out)
            case Alternation(items):
                self.alternation(items, left_out=left_out)
            case Permute(items):
                orders = tuple(Sequence(order) if len(order) > 1 else order[0] for order in permutations(items))
                self.alternation(orders, left_out=left_out)
            case Exclusion(item):
                self.emit(item, left_out=True)
            case Quantified():
                self.quantified(pattern, left_out=left_out)

    def alternation(self, items: tuple[Pattern, ...], *, left_out: bool) -> None:
        ends = []
        for item in items[:-1]:
            split = self.add(Split(0, 0))
            self.emit(item, left_out=left_out)
            ends.append(self.add(Jump(0)))
            self.made[split] = Split(split + 1, len(self.made))
        self.emit(items[-1], left_out=left_out)
        for end in ends:
            self.made[end] = Jump(len(self.made))

    def quantified(self, pattern: Quantified, *, left_out: bool) -> None:
        for _ in range(pattern.minimum):
            self.emit(pattern.item, left_out=left_out)
        if pattern.maximum is None:
            split = self.add(Split(0, 0))
            self.emit(pattern.item, left_out=left_out)
            self.add(Jump(split))
            self.made[split] = _either(split + 1, len(self.made), greedy=pattern.greedy)
            return
        splits = []
        for _ in range(pattern.maximum - pattern.minimum):
            splits.append(self.add(Split(0, 0)))
            self.emit(pattern.item, left_out=left_out)
        for split in splits:
            self.made[split] = _either(split + 1, len(self.made), greedy=pattern.greedy)


def _either(again: int, on: int, *, greedy: bool) -> Split:
    return Split(again, on) if greedy else Split(on, again)


def compiled(pattern: Pattern, span: Span | None = None) -> Program:
    """Return the program of a pattern; variables are numbered as they first stand in it, whatever their case."""
    names: dict[str, str] = {}
    for name in variables(pattern):
        names.setdefault(name.lower(), name)
    compiler = _Compiler({name: i for i, name in enumerate(names)}, span)
    compiler.emit(pattern, left_out=False)
    compiler.add(Accept())
    return Program(tuple(names.values()), tuple(compiler.made))
