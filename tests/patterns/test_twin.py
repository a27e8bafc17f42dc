"""The twin against answers that were worked out by hand: the random tests are worth what it is worth."""

from datetime import UTC, datetime, timedelta

import pytest

from headrace.errors import Source
from headrace.language.pattern_parser import parse_pattern
from patterns.twin import (
    Attempt,
    BadSkipError,
    Given,
    Search,
    Shown,
    Skip,
    TooMuchError,
    answer,
    check_effort,
)

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)


def _is(letter):
    return lambda view: letter in view.rows[view.path[-1].row]["letters"]


BY_LETTER = {name: _is(name) for name in "ABCD"}
"""Conditions by which a row may be taken as the variables whose letters it has."""


def _rows(text, gap=1):
    """Return a row for each word: the letters of the variables it can be; one behind the other by so many seconds."""
    return [
        {"letters": word, "v": len(word), "id": i, "at": NOON + timedelta(seconds=gap * i)}
        for i, word in enumerate(text.split())
    ]


def _taken(view):
    """The measure that says it all: each row and the variable it was taken as."""
    return " ".join(f"{each.variable}{each.row}" for each in view.path)


def _whole(view):
    return " ".join(f"{each.variable}{each.row}" for each in view.whole)


def _search(pattern, measures=(_taken,), conditions=BY_LETTER, **given):
    return Search(parse_pattern(Source("test", pattern), 0, len(pattern)), conditions, measures, **given)


def _first(pattern, text, **given):
    """Return the match from the first row on, None if there is none."""
    path = next(Attempt(_search(pattern, **given), _rows(text), 0, 1).ways(), None)
    return None if path is None else " ".join(f"{each.variable}{each.row}" for each in path)


def _all(pattern, text, **given):
    return [each.measures[0] for each in answer(_search(pattern, **given), _rows(text))]


@pytest.mark.parametrize(
    ("pattern", "text", "match"),
    [
        ("A B", "A B", "A0 B1"),
        ("A B", "A A B", None),
        ("A*", "A A B", "A0 A1"),
        ("A*?", "A A B", ""),
        ("A*? B", "A A B", "A0 A1 B2"),
        ("A+", "B", None),
        ("A+?", "A A", "A0"),
        ("A?", "A", "A0"),
        ("A??", "A", ""),
        ("A{2}", "A A A", "A0 A1"),
        ("A{2,}", "A A A", "A0 A1 A2"),
        ("A{2,}?", "A A A", "A0 A1"),
        ("A{1,2}", "A A A", "A0 A1"),
        ("A{1,2}?", "A A A", "A0"),
        ("A{1,2}? $", "A A", "A0 A1"),
        ("A{,2}", "A A A", "A0 A1"),
        ("A{3}", "A A", None),
    ],
)
def test_quantifiers(pattern, text, match):
    assert _first(pattern, text) == match


@pytest.mark.parametrize(
    ("pattern", "text", "match"),
    [
        ("A | B", "AB", "A0"),
        ("B | A", "AB", "B0"),
        ("A | A B", "A B", "A0"),
        ("(A | A B) $", "A B", "A0 B1"),
        ("A B | A C", "A C", "A0 C1"),
        ("(A | B)*", "AB AB B", "A0 A1 B2"),
        ("(A | B)* A", "AB AB B", "A0 A1"),
        ("A* B*", "AB AB B", "A0 A1 B2"),
        ("A*? B*", "AB AB B", "B0 B1 B2"),
        ("(A B?)* C", "A AB AB C", "A0 B1 A2 C3"),
        ("(A B??)* C", "A AB AB C", "A0 A1 A2 C3"),
    ],
)
def test_the_preferred_way_is_the_match(pattern, text, match):
    assert _first(pattern, text) == match


@pytest.mark.parametrize(
    ("pattern", "text", "match"),
    [
        ("PERMUTE(A, B, C)", "ABC ABC ABC", "A0 B1 C2"),
        ("PERMUTE(A, B, C)", "BC ABC ABC", "B0 A1 C2"),
        ("PERMUTE(A, B, C)", "C BA BA", "C0 A1 B2"),
        ("PERMUTE(A, B) C", "B A C", "B0 A1 C2"),
        ("PERMUTE(A+, B)", "A A B", "A0 A1 B2"),
        ("PERMUTE(A?, B)", "B A", "B0"),  # A?, B comes first, and without an A it is matched by B alone
        ("PERMUTE(A | B, C)", "C B", "C0 B1"),
    ],
)
def test_permutations_are_tried_as_written(pattern, text, match):
    assert _first(pattern, text) == match


@pytest.mark.parametrize(
    ("pattern", "text", "match"),
    [
        ("()", "A", ""),
        ("A | ()", "B", ""),
        ("() | A", "A", ""),
        ("(A?)*", "A A", "A0 A1"),
        ("(A*)*", "A A", "A0 A1"),
        ("(A*?)*", "A A", "A0 A1"),  # a round that takes no row is given up, one that takes a row is preferred to none
        ("(A*?)*?", "A A", ""),
        ("(A??)+", "A A", "A0 A1"),  # the one round that must be may be empty, then come as many as possible
        ("(A??){2}", "A A", ""),
        ("(A?){2,3}", "A A", "A0 A1"),
        ("(() | A){2}", "A A", ""),
        ("(() | A){2} $", "A A", "A0 A1"),
        ("(() | A){0,2} $", "A", "A0"),
        ("(() | A)* B", "A A B", "A0 A1 B2"),
        ("(A? B?)*", "B A B", "B0 A1 B2"),
    ],
)
def test_rounds_without_rows(pattern, text, match):
    assert _first(pattern, text) == match


def test_a_necessary_round_may_be_empty_and_a_free_one_may_not():
    assert _first("(() | A)+ B", "A B") == "A0 B1"
    assert _first("(() | A)+", "A") == "A0"
    assert _first("(() | A)+?", "A") == ""


def test_anchors():
    assert _all("^ A", "A A") == ["A0"]
    assert _all("A $", "A A") == ["A1"]
    assert _all("A $ $", "A") == ["A0"]
    assert _all("^ A* $", "A A B") == []
    assert _all("A (^ | B)", "A A B") == ["A1 B2"]
    assert _all("A ($ | B)", "A B A") == ["A0 B1", "A2"]
    assert _all("$", "A") == []
    assert _all("^", "A A") == [""]


def test_a_search_begins_at_every_row_and_goes_on_behind_the_match():
    assert _all("A B", "A A B B A B") == ["A1 B2", "A4 B5"]
    assert _all("A+", "A A B A") == ["A0 A1", "A3"]


def test_skips():
    assert _all("A+", "A A B A", skip=Skip.TO_NEXT_ROW) == ["A0 A1", "A1", "A3"]
    assert _all("A B+ C", "A B B C", skip=Skip.TO_FIRST, skip_to="B") == ["A0 B1 B2 C3"]
    assert _all("A A+", "A A A A", skip=Skip.TO_LAST, skip_to="A") == ["A0 A1 A2 A3"]
    assert _all("A B A", "A B A B A", skip=Skip.TO_LAST, skip_to="A") == ["A0 B1 A2", "A2 B3 A4"]
    assert _all("A B A", "A B A B A", skip=Skip.PAST_LAST_ROW) == ["A0 B1 A2"]
    subset = {"U": ("B", "C")}
    assert _all("A C? B+", "A C AB B", skip=Skip.TO_FIRST, skip_to="U", subsets=subset) == ["A0 C1 B2 B3", "A2 B3"]


def test_a_skip_that_goes_nowhere_is_an_error():
    with pytest.raises(BadSkipError):
        _all("A B?", "A", skip=Skip.TO_FIRST, skip_to="B")
    with pytest.raises(BadSkipError):
        _all("A B", "A B", skip=Skip.TO_FIRST, skip_to="A")


def test_after_an_empty_match_the_next_row_comes_whatever_the_skip():
    assert _all("A*", "A B A") == ["A0", "", "A2"]
    assert _all("A*?", "A A") == ["", ""]
    assert _all("(B A)?", "B A B", skip=Skip.TO_LAST, skip_to="A") == ["B0 A1", "", ""]


def test_numbers_count_matches_and_empty_ones():
    def number(view):
        return view.number

    assert _all("A*", "A B A", measures=(number,)) == [1, 2, 3]
    assert _all("A*", "A B A", measures=(number,), shown=Shown.OMIT_EMPTY) == [1, 3]
    assert _all("A B", "A B A A B", measures=(number,)) == [1, 2]


def test_all_rows_are_shown_with_what_was_known_at_each():
    search = _search("A B+", measures=(_taken, _whole), shown=Shown.ALL_ROWS)
    assert answer(search, _rows("C A B B")) == [
        Given(1, ("A1", "A1 B2 B3")),
        Given(2, ("A1 B2", "A1 B2 B3")),
        Given(3, ("A1 B2 B3", "A1 B2 B3")),
    ]


def test_rows_between_braces_are_left_out_but_seen():
    search = _search("A {- B+ -} C", shown=Shown.ALL_ROWS)
    assert answer(search, _rows("A B B C")) == [Given(0, ("A0",)), Given(3, ("A0 B1 B2 C3",))]
    assert _all("A {- B+ -} C", "A B B C") == ["A0 B1 B2 C3"]
    search = _search("{- A (B | C) -} A", shown=Shown.ALL_ROWS)
    assert answer(search, _rows("A C A")) == [Given(2, ("A0 C1 A2",))]


def test_empty_matches_show_the_row_they_stand_before():
    search = _search("A*", shown=Shown.ALL_ROWS)
    assert answer(search, _rows("A B A")) == [Given(0, ("A0",)), Given(1, ("",)), Given(2, ("A2",))]
    search = _search("A*", shown=Shown.OMIT_EMPTY)
    assert answer(search, _rows("A B A")) == [Given(0, ("A0",)), Given(2, ("A2",))]


def test_unmatched_rows_are_those_of_no_match():
    search = _search("A B", shown=Shown.UNMATCHED)
    assert answer(search, _rows("B A B C")) == [
        Given(0, None),
        Given(1, ("A1",)),
        Given(2, ("A1 B2",)),
        Given(3, None),
    ]
    search = _search("A B C", shown=Shown.UNMATCHED, skip=Skip.TO_NEXT_ROW)
    assert [each.row for each in answer(search, _rows("A B C B"))] == [0, 1, 2, 3]
    search = _search("(A B)?", shown=Shown.UNMATCHED)
    assert answer(search, _rows("A B C")) == [Given(0, ("A0",)), Given(1, ("A0 B1",)), Given(2, ("",))]


def test_within_leaves_out_a_row_that_comes_just_too_late():
    assert _all("A B", "A B", within=timedelta(seconds=1)) == []
    assert _all("A B", "A B", within=timedelta(seconds=1, microseconds=1)) == ["A0 B1"]
    assert _all("A+", "A A A A A", within=timedelta(seconds=2)) == ["A0 A1", "A2 A3", "A4"]
    assert _all("A+ B | A", "A A B", within=timedelta(seconds=2)) == ["A0", "A1 B2"]


def test_the_end_of_the_partition_is_that_of_all_rows_not_of_those_in_time():
    assert _all("A $", "A A", within=timedelta(seconds=1)) == ["A1"]


def _timed(view):
    return (_taken(view), view.number, view.timed_out, view.awaited)


def test_timeouts():
    given = {"measures": (_timed,), "timeouts": True, "within": timedelta(seconds=2)}
    assert _all("A B", "A C", **given) == []
    assert _all("A B", "A", **given) == [("A0", None, True, ("B",))]
    assert _all("A B C", "A B C", **given) == [("A0 B1", None, True, ("C",))]
    assert _all("A B", "A B", **given) == [("A0 B1", 1, False, None)]
    assert _all("A B* C", "A B C", **given) == [("A0 B1", None, True, ("B", "C"))]


def test_a_timeout_shows_the_preferred_way_and_what_any_awaits_in_the_order_of_the_pattern():
    given = {"measures": (_timed,), "timeouts": True, "within": timedelta(seconds=9)}
    assert _all("(A | B) D C | B A", "AB", **given) == [("A0", None, True, ("A", "D"))]
    assert _all("A+? B", "A A", **given) == [
        ("A0 A1", None, True, ("A", "B")),
        ("A1", None, True, ("A", "B")),
    ]
    assert _all("A+", "A A", **given) == [("A0 A1", 1, False, None)]
    assert _all("A ($ | B) C", "A", **given) == [("A0", None, True, ("B",))]
    assert _all("A $ C", "A", **given) == []


def test_a_way_that_is_stuck_at_the_end_does_not_wait():
    given = {"measures": (_timed,), "timeouts": True, "within": timedelta(seconds=1)}
    assert _all("A $ | A B", "A C", **given) == [("A0", None, True, ("B",))]
    assert _all("A $ C?", "A C", **given) == []


def test_timeouts_show_all_rows_where_all_are_asked_for():
    given = {"timeouts": True, "within": timedelta(seconds=2)}
    search = _search("A {- B -} C", measures=(_taken,), shown=Shown.ALL_ROWS, **given)
    assert answer(search, _rows("A B C")) == [Given(0, ("A0",))]
    search = _search("A B C", measures=(_taken,), shown=Shown.UNMATCHED, **given)
    assert answer(search, _rows("A B C")) == [
        Given(0, ("A0",)),
        Given(1, ("A0 B1",)),
        Given(2, None),
    ]


def _view(text="A B B C B"):
    search = _search("A (B | C)*", subsets={"U": ("A", "C")})
    rows = _rows(text)
    attempt = Attempt(search, rows, 1, 7)
    path = next(Attempt(search, rows, 0, 7).ways())
    return attempt.view(path[:4], path)


def test_what_an_expression_sees():
    view = _view()

    def number(row):
        return row["id"]

    assert [each.row for each in view.taken()] == [0, 1, 2, 3]
    assert [each.row for each in view.taken("B", final=True)] == [1, 2, 4]
    assert [each.row for each in view.taken("U")] == [0, 3]
    assert view.value(number, view.picked("B")) == 2
    assert view.value(number, view.picked("B", offset=1)) == 1
    assert view.value(number, view.picked("B", offset=2)) is None
    assert view.value(number, view.picked("B", offset=2, final=True)) == 1
    assert view.value(number, view.picked("B", last=False)) == 1
    assert view.value(number, view.picked("B", last=False, offset=1)) == 2
    assert view.value(number, view.picked("D")) is None
    assert view.value(number, view.picked("A"), -1) is None
    assert view.value(number, view.picked(), 1) == 4
    assert view.value(number, view.picked(), 2) is None
    assert view.classified(view.picked()) == "C"
    assert view.classified(view.picked("U", last=False)) == "A"
    assert view.classified(view.picked(), -1) == "B"
    assert view.classified(view.picked("A"), -1) is None


def test_a_condition_sees_the_row_that_is_tried_as_one_of_its_variable():
    def rising(view):
        before = view.value(lambda row: row["v"], view.picked("A", offset=1))
        return before is None or view.value(lambda row: row["v"], view.picked("A")) > before

    assert _all("A+", "A AA AAA A", conditions={"A": rising}) == ["A0 A1 A2", "A3"]
    few = {"A": lambda view: len(view.taken("A")) <= 2}
    assert _all("A+", "A A A", conditions=few) == ["A0 A1", "A2"]


def test_what_is_not_known_to_hold_does_not_hold():
    assert _all("A", "A", conditions={"A": lambda _: None}) == []


def test_what_has_too_many_ways_is_left_to_others():
    with pytest.raises(TooMuchError):
        check_effort(_search("(A | B | C)* D"), _rows("ABC " * 12))
    check_effort(_search("A* B"), _rows("A " * 12))
