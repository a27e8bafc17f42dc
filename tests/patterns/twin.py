"""A pattern as a tree, conditions as functions and the rows of one partition go in; what the search gives comes out.

It is the second, deliberately simple matcher: it tries one way through the pattern after the other, in the order in
which they are preferred, and knows neither programs nor batches.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import Enum
from itertools import permutations
from typing import Any, TypeAlias

from headrace.language.patterns import (
    Alternation,
    Empty,
    EndAnchor,
    Exclusion,
    Pattern,
    Permute,
    Quantified,
    StartAnchor,
    Variable,
    variables,
)
from headrace.language.patterns import Sequence as InTurn

Row: TypeAlias = Mapping[str, Any]
TIME = "at"
"""The column by which rows are ordered, and that WITHIN speaks of."""
MOST = 8_000
"""How many steps through a pattern are tried from one start; what takes more is left to others to search."""


class Shown(Enum):
    """What a match gives."""

    ONE_ROW = "ONE ROW PER MATCH"
    ALL_ROWS = "ALL ROWS PER MATCH"
    SHOW_EMPTY = "ALL ROWS PER MATCH SHOW EMPTY MATCHES"
    OMIT_EMPTY = "ALL ROWS PER MATCH OMIT EMPTY MATCHES"
    UNMATCHED = "ALL ROWS PER MATCH WITH UNMATCHED ROWS"


class Skip(Enum):
    """Where the search goes on after a match."""

    PAST_LAST_ROW = "PAST LAST ROW"
    TO_NEXT_ROW = "TO NEXT ROW"
    TO_FIRST = "TO FIRST"
    TO_LAST = "TO LAST"


class BadSkipError(Exception):
    """The match has no row to go on from, or the search would begin at the same row again."""


class TooMuchError(Exception):
    """There are more ways than anybody would try."""


class NotYetError(Exception):
    """The answer depends on rows that are still to come."""


@dataclass(frozen=True, slots=True)
class Coming:
    """That further rows are to come: none before the watermark, if there is one; conditions look so many rows ahead."""

    watermark: datetime | None
    ahead: int = 0


@dataclass(frozen=True, slots=True)
class Taken:
    """A row, by its number in the partition, and the variable it was taken as."""

    row: int
    variable: str
    left_out: bool = False


Path: TypeAlias = tuple[Taken, ...]


@dataclass(frozen=True, slots=True)
class View:
    """What an expression sees: the rows of the partition, and which were taken up to a row and in the whole match."""

    rows: Sequence[Row]
    path: Path
    whole: Path
    subsets: Mapping[str, Sequence[str]]
    number: int | None
    timed_out: bool = False
    awaited: tuple[str, ...] | None = None
    goes_on: bool = False

    def taken(self, name: str | None = None, *, final: bool = False) -> list[Taken]:
        """Return the rows of a variable or subset, or all that were taken."""
        wanted = None if name is None else self.subsets.get(name, (name,))
        return [each for each in (self.whole if final else self.path) if wanted is None or each.variable in wanted]

    def picked(
        self, name: str | None = None, *, last: bool = True, offset: int = 0, final: bool = False
    ) -> Taken | None:
        """Return the row that LAST or FIRST speaks of."""
        rows = self.taken(name, final=final)
        if offset >= len(rows):
            return None
        return rows[-1 - offset] if last else rows[offset]

    def value(self, column: Callable[[Row], Any], picked: Taken | None, shift: int = 0) -> Any:
        """Return a value of the row that stands so many rows behind another, None beyond the partition."""
        if picked is None or not 0 <= picked.row + shift < len(self.rows):
            if self.goes_on and picked is not None and picked.row + shift >= len(self.rows):
                raise NotYetError
            return None
        return column(self.rows[picked.row + shift])

    def classified(self, picked: Taken | None, shift: int = 0, *, final: bool = False) -> str | None:
        """Return the variable of the row that stands so many rows behind another, None where the match has none."""
        if picked is None:
            return None
        path = self.whole if final else self.path
        return next((each.variable for each in path if each.row == picked.row + shift), None)


Condition: TypeAlias = Callable[[View], Any]


@dataclass(frozen=True, slots=True)
class Search:
    """What is searched for and what is given; a variable without a condition takes any row."""

    pattern: Pattern
    conditions: Mapping[str, Condition] = field(default_factory=dict)
    measures: tuple[Callable[[View], Any], ...] = ()
    subsets: Mapping[str, Sequence[str]] = field(default_factory=dict)
    shown: Shown = Shown.ONE_ROW
    skip: Skip = Skip.PAST_LAST_ROW
    skip_to: str = ""
    within: timedelta | None = None
    timeouts: bool = False


@dataclass(frozen=True, slots=True)
class Given:
    """A row of the answer: the number of the row that is shown, and the measures; no measures if it is unmatched."""

    row: int
    measures: tuple[Any, ...] | None


@dataclass(slots=True)
class Attempt:
    """The search for a match that begins at one row."""

    search: Search
    rows: Sequence[Row]
    start: int
    number: int
    waiting: list[tuple[Path, str]] = field(default_factory=list)
    tried: int = 0
    past_end: int = 0
    coming: Coming | None = None
    behind: int = field(init=False)
    closed: bool = field(init=False)

    def __post_init__(self) -> None:
        """Find the first row that comes too late, and whether it is known that none comes in time."""
        self.behind = len(self.rows)
        self.closed = self.coming is None
        if self.search.within is not None:
            late_at = self.rows[self.start][TIME] + self.search.within
            later = range(self.start + 1, len(self.rows))
            self.behind = next((i for i in later if self.rows[i][TIME] >= late_at), self.behind)
            passed = self.coming is not None and self.coming.watermark is not None and self.coming.watermark >= late_at
            self.closed = self.closed or passed or self.behind < len(self.rows)

    def ways(self) -> Iterator[Path]:
        """Yield all matches from here on, the preferred first."""
        return self._ways(self.search.pattern, (), left_out=False)

    def _ways(self, pattern: Pattern, path: Path, *, left_out: bool) -> Iterator[Path]:
        self.tried += 1
        if self.tried > MOST:
            raise TooMuchError
        match pattern:
            case Variable(name):
                yield from self._take(name, path, left_out=left_out)
            case Empty():
                yield path
            case StartAnchor():
                if self.start + len(path) == 0:
                    yield path
            case EndAnchor():
                if self.start + len(path) == len(self.rows):
                    if self.coming is not None:
                        raise NotYetError
                    self.past_end += 1
                    yield path
                    self.past_end -= 1
            case InTurn(items):
                yield from self._in_turn(items, path, left_out=left_out)
            case Alternation(items):
                for item in items:
                    yield from self._ways(item, path, left_out=left_out)
            case Permute(items):
                for order in permutations(items):
                    yield from self._in_turn(order, path, left_out=left_out)
            case Exclusion(item):
                yield from self._ways(item, path, left_out=True)
            case Quantified(item, minimum, None, greedy):
                yield from self._without_end(item, minimum, path, greedy=greedy, left_out=left_out)
            case Quantified(item, minimum, int(maximum), greedy):
                yield from self._counted(item, minimum, maximum, path, greedy=greedy, left_out=left_out)

    def _take(self, variable: str, path: Path, *, left_out: bool) -> Iterator[Path]:
        row = self.start + len(path)
        if row == self.behind and self.closed:
            if not self.past_end:  # behind the end nobody waits for a row
                self.waiting.append((path, variable))
            return
        if self.coming is not None and row + self.coming.ahead >= len(self.rows):
            raise NotYetError
        after = (*path, Taken(row, variable, left_out))
        condition = self.search.conditions.get(variable)
        if condition is None or condition(self.view(after)) is True:
            yield after

    def _in_turn(self, items: Sequence[Pattern], path: Path, *, left_out: bool) -> Iterator[Path]:
        if not items:
            yield path
            return
        for after in self._ways(items[0], path, left_out=left_out):
            yield from self._in_turn(items[1:], after, left_out=left_out)

    def _counted(
        self, item: Pattern, minimum: int, maximum: int, path: Path, *, greedy: bool, left_out: bool
    ) -> Iterator[Path]:
        if minimum == 0 and not greedy:
            yield path
        if maximum > 0:
            for after in self._ways(item, path, left_out=left_out):
                least = max(0, minimum - 1)
                yield from self._counted(item, least, maximum - 1, after, greedy=greedy, left_out=left_out)
        if minimum == 0 and greedy:
            yield path

    def _without_end(self, item: Pattern, minimum: int, path: Path, *, greedy: bool, left_out: bool) -> Iterator[Path]:
        if minimum == 0 and not greedy:
            yield path
        for after in self._ways(item, path, left_out=left_out):
            if minimum > 0 or after != path:  # else it would go round for ever
                yield from self._without_end(item, max(0, minimum - 1), after, greedy=greedy, left_out=left_out)
        if minimum == 0 and greedy:
            yield path

    def view(self, path: Path, whole: Path | None = None) -> View:
        """Return what is seen from the last row of a path."""
        seen = View(self.rows, path, path if whole is None else whole, self.search.subsets, self.number)
        return replace(seen, goes_on=self.coming is not None)

    def timeout(self) -> tuple[Path, tuple[str, ...]] | None:
        """Return the most preferred way that waits for a row, and what is awaited; all ways must have been tried."""
        if not self.waiting or not self.search.timeouts:
            return None
        wanted = {variable for _, variable in self.waiting}
        named = dict.fromkeys(variables(self.search.pattern))
        return self.waiting[0][0], tuple(name for name in named if name in wanted)


def answer(search: Search, rows: Sequence[Row], coming: Coming | None = None) -> list[Given]:
    """Return what a search gives over the rows of one partition, which are in order.

    If rows are still to come, it is what does not depend on them.
    """
    given: list[Given] = []
    try:
        for found in _answers(search, rows, coming):
            given += found
    except NotYetError:
        pass
    return given


def _answers(search: Search, rows: Sequence[Row], coming: Coming | None) -> Iterator[list[Given]]:
    start = matches = matched_to = 0
    while start < len(rows):
        attempt = Attempt(search, rows, start, matches + 1, coming=coming)
        path = next(attempt.ways(), None)
        if path is None:
            timeout = attempt.timeout()
            if timeout is not None:
                partial, awaited = timeout
                seen = replace(attempt.view(partial), number=None, timed_out=True, awaited=awaited)
                yield list(_shown(search, seen, start))
                matched_to = max(matched_to, start + len(partial))
            elif start >= matched_to and search.shown is Shown.UNMATCHED:
                yield [Given(start, None)]
            start += 1
            continue
        matches += 1
        yield list(_shown(search, attempt.view(path), start))
        matched_to = max(matched_to, start + max(1, len(path)))
        start = _next(search, attempt.view(path), start)


def _shown(search: Search, seen: View, start: int) -> Iterator[Given]:
    """Yield what is shown of a match, or of rows whose time ran out."""
    if not seen.whole and search.shown is Shown.OMIT_EMPTY:
        return
    if not seen.whole or search.shown is Shown.ONE_ROW:
        yield Given(start, tuple(measure(seen) for measure in search.measures))
        return
    for i, taken in enumerate(seen.whole):
        if not taken.left_out:
            here = replace(seen, path=seen.whole[: i + 1])
            yield Given(taken.row, tuple(measure(here) for measure in search.measures))


def _next(search: Search, seen: View, start: int) -> int:
    """Return where the search goes on after a match."""
    if not seen.whole or search.skip is Skip.TO_NEXT_ROW:
        return start + 1
    if search.skip is Skip.PAST_LAST_ROW:
        return start + len(seen.whole)
    target = seen.picked(search.skip_to, last=search.skip is Skip.TO_LAST)
    if target is None or target.row == start:
        raise BadSkipError
    return target.row


def check_effort(search: Search, rows: Sequence[Row]) -> None:
    """Raise TooMuchError if there are more ways from all rows together than a test should follow, matched or not."""
    tried = 0
    for start in range(len(rows)):
        attempt = Attempt(search, rows, start, 1, tried=tried)
        for _ in attempt.ways():
            pass
        tried = attempt.tried
