"""A row pattern goes in, the program that finds its matches comes out: printable, and the same for every engine.

A program is followed along every way at once. Where it splits, the first way is preferred; a loop is a split that
jumps back. So greedy and reluctant differ only in the order of a split.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import permutations
from math import comb, factorial

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

    def first(self) -> set[int]:
        """Return the variables that the first row of a match can be taken as."""
        return self._next([0])

    def later(self) -> set[int]:
        """Return the variables that a row behind the first can be taken as."""
        return self._next(i + 1 for i, each in enumerate(self.instructions) if isinstance(each, TakeRow))

    def _next(self, starts: Iterable[int]) -> set[int]:
        """Return the variables of the rows that come next from some instructions."""
        found, seen, left = set(), set(), list(starts)
        while left:
            at = left.pop()
            if at in seen:
                continue
            seen.add(at)
            match self.instructions[at]:
                case TakeRow(variable):
                    found.add(variable)
                case Split(one, other):
                    left += [one, other]
                case Jump(to):
                    left.append(to)
                case AtStart() | AtEnd():
                    left.append(at + 1)
                case Accept():
                    pass
        return found


@dataclass(slots=True)
class _Compiler:
    numbers: dict[str, int]
    made: list[Instruction] = field(default_factory=list)

    def add(self, instruction: Instruction) -> int:
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
                self.permuted(items, left_out=left_out)
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

    def permuted(self, items: tuple[Pattern, ...], *, left_out: bool) -> None:
        """Add a choice of the next item for each set of items that were taken: what follows depends on the set.

        Orders come before what their items choose among: an item that can be matched in several ways is therefore
        written out with each order of what follows it.
        """
        everything = (1 << len(items)) - 1
        begins: dict[int, int] = {}
        jumps: list[tuple[int, int]] = []
        for taken in _sets(items):
            begins[taken] = len(self.made)
            choices = list(_choices(items, taken))
            for choice in choices:
                split = None if choice is choices[-1] else self.add(Split(0, 0))
                for i in choice:
                    self.emit(items[i], left_out=left_out)
                jumps.append((self.add(Jump(0)), taken | sum(1 << i for i in choice)))
                if split is not None:
                    self.made[split] = Split(split + 1, len(self.made))
        begins[everything] = len(self.made)
        for at, taken in jumps:
            self.made[at] = Jump(begins[taken])

    def quantified(self, pattern: Quantified, *, left_out: bool) -> None:
        if length(pattern.item) == 0:
            return
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


def _sets(items: tuple[Pattern, ...]) -> Iterator[int]:
    """Yield the sets of items after which one chooses again: only items with one way, and not all of them."""
    everything = (1 << len(items)) - 1
    several = sum(1 << i for i, item in enumerate(items) if not _has_one_way(item))
    return (taken for taken in range(everything) if not taken & several)


def _choices(items: tuple[Pattern, ...], taken: int) -> Iterator[tuple[int, ...]]:
    """Yield what can come next after a set of items, the preferred first: one with one way, or all that are left."""
    rest = [i for i in range(len(items)) if not taken & 1 << i]
    for i in rest:
        if _has_one_way(items[i]):
            yield (i,)
        else:
            yield from ((i, *order) for order in permutations(each for each in rest if each != i))


def _has_one_way(pattern: Pattern) -> bool:
    """Say whether the same rows can be taken by a pattern in one way at the most."""
    match pattern:
        case Variable() | Empty() | StartAnchor() | EndAnchor():
            return True
        case Sequence(items):
            return all(map(_has_one_way, items))
        case Exclusion(item):
            return _has_one_way(item)
        case Quantified(item, minimum, maximum):
            return minimum == maximum and _has_one_way(item)
        case Alternation() | Permute():
            return False


def _either(again: int, on: int, *, greedy: bool) -> Split:
    return Split(again, on) if greedy else Split(on, again)


def length(pattern: Pattern) -> int:
    """Return how many instructions a pattern becomes.

    >>> length(Permute(tuple(map(Variable, "abcdefghij"))))
    14337
    """
    match pattern:
        case Variable() | StartAnchor() | EndAnchor():
            return 1
        case Empty():
            return 0
        case Sequence(items):
            return sum(map(length, items))
        case Alternation(items):
            return sum(map(length, items)) + 2 * (len(items) - 1)
        case Permute(items):
            return _permuted_length(items)
        case Exclusion(item):
            return length(item)
        case Quantified(item, minimum, maximum):
            once = length(item)
            if once == 0:
                return 0
            return minimum * once + (once + 2 if maximum is None else (maximum - minimum) * (once + 1))


def _permuted_length(items: tuple[Pattern, ...]) -> int:
    single = [length(item) for item in items if _has_one_way(item)]
    several = [length(item) for item in items if not _has_one_way(item)]
    found = 0
    for taken in range(min(len(single), len(items) - 1) + 1):
        sets = comb(len(single), taken)
        without = comb(len(single) - 1, taken) if single else 0  # how many of the sets leave out a certain item
        orders = len(several) * factorial(len(items) - taken - 1)  # those that begin with an item of several ways
        found += without * (sum(single) + len(single))
        found += orders * (sets * (sum(several) + 1) + without * sum(single))
        found += sets * (len(single) - taken + orders - 1)
    return found


def compiled(pattern: Pattern, span: Span | None = None) -> Program:
    """Return the program of a pattern; variables are numbered as they first stand in it, whatever their case."""
    if length(pattern) >= LONGEST:
        raise PlanError(
            "the pattern is too long",
            detail=f"Written out, with its counts and permutations, it has more than {LONGEST:,} steps.",
            hint="Use smaller counts, permute at most 10 variables, or count the rows in a window.",
            span=span,
        )
    names: dict[str, str] = {}
    for name in variables(pattern):
        names.setdefault(name.lower(), name)
    compiler = _Compiler({name: i for i, name in enumerate(names)})
    compiler.emit(pattern, left_out=False)
    compiler.add(Accept())
    return Program(tuple(names.values()), tuple(compiler.made))
