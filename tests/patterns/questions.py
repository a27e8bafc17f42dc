"""One MATCH_RECOGNIZE as data: its SQL comes out, what the twin is asked, and smaller ones to show a failure with."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

from headrace.language.patterns import (
    Alternation,
    Exclusion,
    Pattern,
    Permute,
    Quantified,
    format_pattern,
    variables,
)
from headrace.language.patterns import Sequence as InTurn
from patterns.terms import Term, simpler
from patterns.twin import Coming, Row, Search, Shown, Skip, answer

STREAM = "events"
AHEAD = 2
"""How many rows a condition looks ahead at most."""


class Order(Enum):
    """What stands behind ORDER BY."""

    TIME = "at, tie"
    TIES_DOWN = "at, tie DESC"
    ARRIVAL = "ARRIVAL"


@dataclass(frozen=True, slots=True)
class Question:
    """What is searched for; measures are called m0, m1 and so on."""

    pattern: Pattern
    conditions: tuple[tuple[str, Term], ...] = ()
    measures: tuple[Term, ...] = ()
    subsets: tuple[tuple[str, tuple[str, ...]], ...] = ()
    shown: Shown = Shown.ONE_ROW
    skip: Skip = Skip.PAST_LAST_ROW
    skip_to: str = ""
    within: timedelta | None = None
    timeouts: bool = False
    order: Order = Order.TIME

    @property
    def sql(self) -> str:
        """The query."""
        lines = [
            f"SELECT * FROM {STREAM} MATCH_RECOGNIZE (",
            f"  PARTITION BY k ORDER BY {self.order.value}",
            _clause("MEASURES", (f"{each.sql} AS m{i}" for i, each in enumerate(self.measures))),
            f"  {self.shown.value}",
            f"  AFTER MATCH SKIP {self.skip.value} {self.skip_to}".rstrip(),
            f"  PATTERN ({format_pattern(self.pattern)}){self._limit}",
            _clause("SUBSET", (f"{name} = ({', '.join(members)})" for name, members in self.subsets)),
            _clause("DEFINE", (f"{name} AS {each.sql}" for name, each in self.conditions)),
        ]
        return "\n".join(line for line in lines if line) + ")"

    @property
    def _limit(self) -> str:
        if self.within is None:
            return ""
        seconds = int(self.within.total_seconds())
        return f" WITHIN INTERVAL {seconds} SECONDS" + (" ON TIMEOUT EMIT" if self.timeouts else "")

    @property
    def search(self) -> Search:
        """What the twin is asked."""
        return Search(
            self.pattern,
            {name: each.value for name, each in self.conditions},
            tuple(each.value for each in self.measures),
            dict(self.subsets),
            self.shown,
            self.skip,
            self.skip_to,
            self.within,
            self.timeouts,
        )

    def ordered(self, rows: Sequence[Row]) -> list[Row]:
        """Return the rows of a key, which are given as they come, in the order that is asked for."""
        if self.order is Order.ARRIVAL:
            return list(rows)
        sign = 1 if self.order is Order.TIME else -1
        return sorted(rows, key=lambda row: (row["at"], sign * row["tie"]))

    def coming(self, watermark: datetime) -> Coming:
        """Return what is known while further rows come: by arrival, only rows tell that time is over."""
        ahead = AHEAD if any("NEXT(" in each.sql for _, each in self.conditions) else 0
        return Coming(None if self.order is Order.ARRIVAL else watermark, ahead)

    def expected(self, rows: Sequence[Row], watermark: datetime | None = None) -> list[tuple[Any, ...]]:
        """Return what the twin says of the rows of one key: the columns in the order of the standard.

        With a watermark, it is what must have been given when the watermark is there.
        """
        coming = None if watermark is None else self.coming(watermark)
        if coming is not None and coming.watermark is not None:
            rows = [row for row in rows if to_millis(row["at"]) < coming.watermark]
        rows = self.ordered(rows)
        found = []
        for given in answer(self.search, rows, coming):
            row = rows[given.row]
            measures = (None,) * len(self.measures) if given.measures is None else given.measures
            if self.shown is Shown.ONE_ROW:
                found.append((row["k"], *measures))
            elif self.order is Order.ARRIVAL:
                found.append((row["k"], *measures, row["id"], row["v"], row["at"], row["tie"]))
            else:
                found.append((row["k"], row["at"], row["tie"], *measures, row["id"], row["v"]))
        return found


def to_millis(instant: datetime) -> datetime:
    """Return an instant as watermarks tell it."""
    return instant.replace(microsecond=instant.microsecond // 1000 * 1000)


def _clause(word: str, items: Iterator[str]) -> str:
    text = ", ".join(items)
    return f"  {word} {text}" if text else ""


def smaller(question: Question) -> Iterator[Question]:
    """Yield questions that are a little simpler; some may speak of variables that they have no more."""
    for pattern in _smaller(question.pattern):
        yield _pruned(replace(question, pattern=pattern))
    for i in range(len(question.measures)):
        yield replace(question, measures=(*question.measures[:i], *question.measures[i + 1 :]))
        for part in simpler(question.measures[i]):
            yield replace(question, measures=(*question.measures[:i], part, *question.measures[i + 1 :]))
    for i, (name, condition) in enumerate(question.conditions):
        before, after = question.conditions[:i], question.conditions[i + 1 :]
        yield replace(question, conditions=(*before, *after))
        for part in simpler(condition):
            yield replace(question, conditions=(*before, (name, part), *after))
    for i in range(len(question.subsets)):
        yield replace(question, subsets=(*question.subsets[:i], *question.subsets[i + 1 :]))
    plain = Question(question.pattern)
    for names in (("shown",), ("skip", "skip_to"), ("timeouts",), ("within", "timeouts"), ("order",)):
        other = replace(question, **{name: getattr(plain, name) for name in names})
        if other != question:
            yield other


def _pruned(question: Question) -> Question:
    """Return a question without the conditions of variables that are gone."""
    known = set(variables(question.pattern))
    subsets = ((name, tuple(each for each in members if each in known)) for name, members in question.subsets)
    return replace(
        question,
        conditions=tuple(each for each in question.conditions if each[0] in known),
        subsets=tuple((name, members) for name, members in subsets if members),
    )


def _smaller(pattern: Pattern) -> Iterator[Pattern]:
    match pattern:
        case InTurn(items) | Alternation(items) | Permute(items):
            yield from items
            for i, item in enumerate(items):
                if len(items) > 2:
                    yield replace(pattern, items=(*items[:i], *items[i + 1 :]))
                for other in _smaller(item):
                    yield replace(pattern, items=(*items[:i], other, *items[i + 1 :]))
        case Exclusion(item):
            yield item
            for other in _smaller(item):
                yield Exclusion(other)
        case Quantified(item, minimum, maximum, greedy):
            yield item
            if not greedy:
                yield Quantified(item, minimum, maximum)
            if minimum and (maximum is None or maximum > 1):
                yield Quantified(item, minimum - 1, None if maximum is None else maximum - 1, greedy)
            for other in _smaller(item):
                yield Quantified(other, minimum, maximum, greedy)
        case _:
            pass
