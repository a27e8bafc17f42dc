"""Random questions, rows and deliveries: a strategy and a seed go in, so many of them come out, the same each time."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, TypeAlias, TypeVar

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

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
from patterns import terms
from patterns.questions import Order, Question
from patterns.terms import Term
from patterns.twin import Row, Shown, Skip

T = TypeVar("T")
After: TypeAlias = Literal["", "crash", "resume"]
Rows: TypeAlias = tuple[Row, ...]

BEGAN_AT = datetime(2024, 1, 1, tzinfo=UTC)
LATENESS = 10
"""By how many seconds the watermark stays behind."""
NAMES = ("A", "B", "C", "D")
NUMBERS = st.sampled_from([0, 1, 2, 3])


def drawn(strategy: st.SearchStrategy[T], count: int, start: int) -> list[T]:
    """Return so many random things, each drawn by itself: those that Hypothesis draws in a row are much alike."""
    return [_drawn(strategy, start * 1_000_000 + number) for number in range(count)]


def _drawn(strategy: st.SearchStrategy[T], start: int) -> T:
    found: list[T] = []

    @seed(start)
    @settings(
        max_examples=2,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def draw(thing: T) -> None:
        found.append(thing)

    draw()
    return found[-1]  # the first is the plainest there is


def _often(draw: st.DrawFn, percent: int) -> bool:
    return draw(st.integers(1, 100)) > 100 - percent


# --- patterns ---------------------------------------------------------------------------------------------------

QUANTIFIERS = st.sampled_from([
    (0, None), (0, None), (0, None), (1, None), (1, None), (1, None), (0, 1), (0, 1), (0, 1),
    (2, None), (2, 2), (1, 2), (0, 2), (1, 3), (2, 3),
])  # fmt: skip
KINDS = ["turn"] * 6 + ["any"] * 4 + ["count"] * 6 + ["rounds", "rounds", "permute", "permute", "exclude", "empty"]


@st.composite
def patterns(draw: st.DrawFn, names: Sequence[str] = NAMES, depth: int = 3, *, excluding: bool = True) -> Pattern:
    """Return a pattern of these variables, nested no deeper than that."""
    plain = depth == 0 or (depth < 3 and _often(draw, 40))
    kind = "variable" if plain else draw(st.sampled_from(KINDS))
    below = patterns(names, max(0, depth - 1), excluding=excluding)
    match kind:
        case "turn":
            items = draw(st.lists(below, min_size=2, max_size=3))
            return InTurn(tuple(draw(_anchored(items))))
        case "any":
            return Alternation(tuple(draw(st.lists(below, min_size=2, max_size=3))))
        case "count":
            minimum, maximum = draw(QUANTIFIERS)
            return Quantified(draw(below), minimum, maximum, greedy=draw(st.booleans()))
        case "rounds":  # without an end, and each may be without a row
            inner = Quantified(draw(below), 0, draw(st.sampled_from([None, None, 1, 2])), greedy=draw(st.booleans()))
            behind = draw(st.sampled_from([None, None, Quantified(draw(below), 0, 1, greedy=draw(st.booleans()))]))
            item = inner if behind is None else InTurn((inner, behind))
            return Quantified(item, draw(st.integers(0, 1)), None, greedy=draw(st.booleans()))
        case "permute":
            shallow = patterns(names, min(1, depth - 1), excluding=excluding)
            return Permute(tuple(draw(st.lists(shallow, min_size=2, max_size=3))))
        case "exclude" if excluding:
            return Exclusion(draw(below))
        case "empty":
            return Empty()
    return Variable(draw(st.sampled_from(names)))


@st.composite
def _anchored(draw: st.DrawFn, items: list[Pattern]) -> list[Pattern]:
    """Return a sequence, with an anchor in it now and then."""
    if not _often(draw, 10):
        return items
    place = draw(st.integers(0, len(items)))
    anchors = draw(st.lists(st.sampled_from([StartAnchor(), EndAnchor(), EndAnchor()]), min_size=1, max_size=2))
    return [*items[:place], *anchors, *items[place:]]


def least(pattern: Pattern) -> int:
    """Return the fewest rows that a pattern takes.

    >>> least(InTurn((Variable("A"), Quantified(Variable("B"), 0, 1))))
    1
    """
    match pattern:
        case Variable():
            return 1
        case InTurn(items) | Permute(items):
            return sum(least(item) for item in items)
        case Alternation(items):
            return min(least(item) for item in items)
        case Exclusion(item):
            return least(item)
        case Quantified(item, minimum):
            return minimum * least(item)
        case _:
            return 0


# --- expressions ------------------------------------------------------------------------------------------------


@st.composite
def values(draw: st.DrawFn, names: Sequence[str | None]) -> Term:
    """Return a number that a condition can ask for, of rows of these variables."""
    name = draw(st.sampled_from(names))
    offset = draw(st.integers(0, 2))
    shift = draw(st.integers(1, 2))
    column = draw(st.sampled_from(["{}v", "{}v", "{}v", "{0}v + {0}id"]))
    calls = [each for each in terms.AGGREGATES if not each.startswith("collect")]
    match draw(st.integers(0, 13)):
        case 0 | 1:
            return terms.column(name, column)
        case 2 | 3:
            return terms.logical(name, last=True, offset=offset, column=column)
        case 4:
            return terms.logical(name, last=False, offset=offset, column=column)
        case 5 | 6:
            return terms.physical(name, -shift)
        case 7:
            return terms.physical(name, shift)
        case 8:
            return terms.physical(name, draw(st.sampled_from([-1, -2, 1, 0])), last=draw(st.booleans()), offset=offset)
        case 9:
            return terms.count_rows(name)
        case 10 | 11:
            return terms.aggregate(draw(st.sampled_from(calls)), name, column=column)
        case 12:
            return terms.added(terms.column(name), terms.logical(draw(st.sampled_from(names)), last=True))
        case _:
            return terms.filtered_count(name, draw(st.integers(0, 2)))


@st.composite
def comparisons(draw: st.DrawFn, variable: str, names: Sequence[str | None], sets: Sequence[str]) -> Term:
    """Return one condition of a variable."""
    own = terms.column(variable)
    sign = draw(st.sampled_from(terms.COMPARISONS))
    match draw(st.integers(0, 19)):
        case 0 | 1 | 2 | 3 | 4:
            return terms.compared(own, sign, terms.literal(draw(NUMBERS)))
        case 5 | 6 | 7:
            return terms.compared(own, sign, draw(values(names)))
        case 8 | 9:
            return terms.compared(draw(values(names)), sign, terms.literal(draw(NUMBERS)))
        case 10:
            return terms.compared(draw(values(names)), sign, draw(values(names)))
        case 11:
            return terms.is_null(draw(values(names)))
        case 12:
            return terms.compared(terms.coalesced(draw(values(names)), draw(NUMBERS)), sign, own)
        case 13:
            counted = terms.count_rows(draw(st.sampled_from([variable, *sets])))
            return terms.compared(counted, "<=", terms.literal(draw(st.integers(1, 3))))
        case 14:
            return terms.compared(terms.column(variable), sign, terms.physical(variable, -1))
        case 15:
            return terms.either(
                terms.is_null(terms.physical(variable, -1)), terms.compared(own, sign, terms.physical(None, -1))
            )
        case 16:
            before = terms.classifier(draw(st.sampled_from([None, *sets])), last=True, offset=draw(st.integers(0, 1)))
            return terms.compared(before, draw(st.sampled_from(["=", "<>"])), terms.literal(draw(_letters(names))))
        case 17:
            other = draw(st.sampled_from(names))
            before = draw(
                st.sampled_from(
                    [
                        terms.classifier(other),
                        terms.classifier(other, last=False),
                        terms.classifier(None, shift=-1),
                        terms.classifier(other, last=True, offset=1),
                    ]
                )
            )
            return terms.compared(before, draw(st.sampled_from(["=", "<>"])), terms.literal(draw(_letters(names))))
        case 18:
            return terms.compared(terms.MATCH_NUMBER, sign, terms.literal(draw(st.integers(1, 3))))
        case _:
            return terms.compared(own, "<=", terms.literal(3))


def _letters(names: Sequence[str | None]) -> st.SearchStrategy[str]:
    return st.sampled_from([each for each in names if each in NAMES])


@st.composite
def conditions(draw: st.DrawFn, variable: str, names: Sequence[str | None], sets: Sequence[str]) -> Term:
    """Return what must hold for a variable: mostly one comparison, now and then several."""
    one = draw(comparisons(variable, names, sets))
    match draw(st.integers(0, 9)):
        case 0 | 1:
            return terms.both(one, draw(comparisons(variable, names, sets)))
        case 2:
            return terms.either(one, draw(comparisons(variable, names, sets)))
        case 3:
            return terms.negated(one)
        case _:
            return one


@st.composite
def measures(draw: st.DrawFn, names: Sequence[str | None]) -> Term:
    """Return a measure other than those that say which rows were taken."""
    name = draw(st.sampled_from(names))
    final = draw(st.sampled_from([None, None, True, False]))
    offset = draw(st.integers(0, 2))
    column = draw(st.sampled_from(["{}v", "{}v", "{}id", "{0}v + {0}id"]))
    match draw(st.integers(0, 12)):
        case 0 | 1:
            return terms.aggregate(draw(st.sampled_from(terms.AGGREGATES)), name, column=column, final=final)
        case 2 | 3:
            return terms.logical(name, last=draw(st.booleans()), offset=offset, column=column, final=final)
        case 4:
            return terms.physical(name, draw(st.sampled_from([-2, -1, 0, 1, 2])), column=column)
        case 5:
            return terms.physical(
                name, draw(st.sampled_from([-2, -1, 1, 2])), last=draw(st.booleans()), offset=offset, column=column
            )
        case 6:
            return terms.classifier(name, last=draw(st.booleans()), offset=offset, final=final)
        case 7:
            return terms.classifier(None, shift=-1)
        case 8:
            return terms.classifiers(name, final=final)
        case 9:
            return terms.count_rows(name, final=final)
        case 10:
            return terms.filtered_count(name, draw(st.integers(0, 2)), final=final)
        case 11:
            return terms.added(
                terms.aggregate("SUM({})", name, final=final), terms.coalesced(terms.column(None), offset)
            )
        case _:
            return terms.column(name, column)


# --- questions --------------------------------------------------------------------------------------------------


@st.composite
def questions(draw: st.DrawFn) -> Question:
    """Return a question; where the search goes on at a variable, the match mostly has a row of it."""
    shown = draw(st.sampled_from([Shown.ONE_ROW, Shown.ONE_ROW, Shown.ONE_ROW, *Shown]))
    skip = draw(st.sampled_from([Skip.PAST_LAST_ROW, Skip.PAST_LAST_ROW, Skip.TO_NEXT_ROW, *Skip]))
    excluding = shown is not Shown.UNMATCHED
    aimed = skip in {Skip.TO_FIRST, Skip.TO_LAST}
    aim = draw(st.sampled_from(NAMES)) if aimed else ""
    pattern = draw(_aimed(aim, excluding=excluding) if aimed else patterns(excluding=excluding))
    known = tuple(dict.fromkeys(variables(pattern)))
    subsets = tuple(
        (name, tuple(draw(st.permutations(known)))[: draw(st.integers(1, len(known)))])
        for name in ("U", "W")
        if known and _often(draw, 35)
    )
    sets = [name for name, _ in subsets]
    around = next((name for name, members in subsets if aim in members), aim)
    names = [None, *known, *sets]
    within = timedelta(seconds=draw(st.sampled_from([1, 2, 4, 6, 10, 20, 45]))) if _often(draw, 40) else None
    timeouts = within is not None and _often(draw, 50)
    facts = [terms.aggregate("collect_list({})", None, column="{}id"), terms.classifiers()]
    given = [fact for fact in facts if _often(draw, 85)]
    if _often(draw, 35):
        given.append(terms.MATCH_NUMBER)
    if timeouts:
        given += [terms.TIMED_OUT, terms.AWAITED]
    others = draw(st.lists(measures(names), max_size=4))
    return Question(
        pattern,
        tuple((name, draw(conditions(name, names, sets))) for name in known if _often(draw, 85)),
        (*given, *others),
        subsets,
        shown,
        skip,
        around if aimed and _often(draw, 30) else aim,
        within,
        timeouts,
        draw(st.sampled_from([*[Order.TIME] * 8, *[Order.TIES_DOWN] * 2, *[Order.ARRIVAL] * 2])),
    )


@st.composite
def _aimed(draw: st.DrawFn, aim: str, *, excluding: bool) -> Pattern:
    """Return a pattern that has a row of a variable behind some others."""
    others = [name for name in NAMES if name != aim]
    before = draw(patterns(others, 2, excluding=excluding))
    target = draw(st.sampled_from([Variable(aim), Quantified(Variable(aim), 1, None), Quantified(Variable(aim), 1, 2)]))
    tail = draw(patterns(NAMES, 2, excluding=excluding))
    needed = [] if least(before) else [Variable(draw(st.sampled_from(others)))]
    return InTurn((*needed, before, target, tail) if draw(st.booleans()) else (*needed, before, target))


# --- rows -------------------------------------------------------------------------------------------------------

GAPS = st.sampled_from([0, 0, 1, 1, 1, 2, 2, 3, 4, 6, 10, 20])
MICROS = st.sampled_from([0, 0, 0, 0, 0, 0, 1, 500, 999, 1000])


@st.composite
def sequences(draw: st.DrawFn) -> Rows:
    """Return the rows of one key, in the order of their time; their key is not known yet."""
    count = draw(st.sampled_from([0, 1, 2, 3, 4, 5, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 12, 12]))
    at = BEGAN_AT + timedelta(seconds=draw(st.integers(0, 20)))
    unique = draw(st.booleans())  # else who came first breaks some ties
    ties = draw(st.permutations(range(count))) if unique else [draw(st.integers(0, 1)) for _ in range(count)]
    found = []
    for number in range(count):
        at += timedelta(seconds=draw(GAPS), microseconds=draw(MICROS))
        v = draw(st.sampled_from([0, 1, 1, 2, 2, 3, 0, 1, 2, 3, None]))
        found.append({"id": number, "v": v, "at": at, "tie": ties[number]})
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Batch:
    """The rows of one micro-batch, and what happens to the application behind it."""

    rows: Rows
    after: After = ""


Delivery: TypeAlias = tuple[Batch, ...]


@st.composite
def deliveries(draw: st.DrawFn, rows: Sequence[Row]) -> Delivery:
    """Return rows of all keys in batches, out of order, but none so late that it is dropped."""
    random = draw(st.randoms(use_true_random=False))
    late = sorted(
        rows, key=lambda row: (row["at"] + timedelta(seconds=random.random() * (LATENESS - 1)), row["k"] or "")
    )
    cuts = sorted(random.randrange(len(rows) + 1) for _ in range(random.randrange(1, 6)))
    pieces = [tuple(late[start:end]) for start, end in zip([0, *cuts], [*cuts, len(late)], strict=True)]
    return tuple(Batch(piece, random.choice(["", "", "", "crash", "resume"])) for piece in pieces)


def keyed(sequences_: Iterable[Rows]) -> dict[str | None, Rows]:
    """Return sequences by keys of their own, one of which is NULL."""
    named = {f"k{i}" if i else None: rows for i, rows in enumerate(sequences_)}
    return {key: tuple({**row, "k": key} for row in rows) for key, rows in named.items()}


def plain_rows(values_: Sequence[Any], gap: int = 1) -> Rows:
    """Return the rows of one key that have these values, so many seconds apart."""
    return tuple(
        {"id": i, "v": v, "at": BEGAN_AT + timedelta(seconds=gap * i), "tie": i} for i, v in enumerate(values_)
    )
