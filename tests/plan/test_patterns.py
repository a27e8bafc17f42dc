"""Patterns as programs: how long they are, in which order they prefer ways, and which rows come first."""

from collections.abc import Iterator
from itertools import permutations

import pytest

from headrace.errors import PlanError, Source
from headrace.language.pattern_parser import parse_pattern
from headrace.language.patterns import Pattern
from headrace.plan.patterns import Jump, Program, Split, TakeRow, compiled, length


def _parsed(text: str) -> Pattern:
    return parse_pattern(Source("pattern", text), 0, len(text))


def _ways(program: Program, at: int = 0) -> Iterator[str]:
    """Yield the variables along each way, the preferred first; the program must have no loop."""
    match program.instructions[at]:
        case TakeRow(variable):
            yield from (program.variables[variable] + rest for rest in _ways(program, at + 1))
        case Split(first, second):
            yield from _ways(program, first)
            yield from _ways(program, second)
        case Jump(to):
            yield from _ways(program, to)
        case _:
            yield ""


@pytest.mark.parametrize(
    "text",
    [
        "a b | c",
        "^ a{2,5}? $",
        "(a? b)* c+",
        "{- a -} () b{,3}",
        "PERMUTE(a)",
        "PERMUTE(a, b c, d?)",
        "(PERMUTE(a, b, c, d)){2}",
        "PERMUTE(a?, b | c, d+)",
        "PERMUTE(a, b{2}, c?, d)",
        "PERMUTE(a{1,2}, PERMUTE(b, c, d?), {- e -}, f)",
        "(){99999999}",
        "((){0,9} | a){3,}",
    ],
)
def test_the_length_is_known_before(text: str) -> None:
    pattern = _parsed(text)
    assert len(compiled(pattern).instructions) == length(pattern) + 1


@pytest.mark.parametrize("names", ["a", "ab", "abc", "abcde"])
def test_permutations_are_preferred_as_written(names: str) -> None:
    program = compiled(_parsed(f"PERMUTE({', '.join(names)})"))
    assert list(_ways(program)) == ["".join(each) for each in permutations(names)]


@pytest.mark.parametrize(
    ("permuted", "orders"),
    [
        ("PERMUTE(a{1,2}, b, c)", "a{1,2} b c | a{1,2} c b | b a{1,2} c | b c a{1,2} | c a{1,2} b | c b a{1,2}"),
        ("PERMUTE(a b, c | d)", "a b (c | d) | (c | d) a b"),
        ("PERMUTE(a, PERMUTE(b, c))", "a b c | a c b | b c a | c b a"),
    ],
)
def test_an_order_counts_for_more_than_what_its_items_choose(permuted: str, orders: str) -> None:
    assert list(_ways(compiled(_parsed(permuted)))) == list(_ways(compiled(_parsed(orders))))


def test_ten_variables_can_be_permuted_and_eleven_cannot() -> None:
    assert compiled(_parsed(f"PERMUTE({', '.join('abcdefghij')})")).variables == tuple("abcdefghij")
    with pytest.raises(PlanError, match="the pattern is too long"):
        compiled(_parsed(f"PERMUTE({', '.join('abcdefghijk')})"))


@pytest.mark.parametrize(
    ("text", "first", "later"),
    [("a b", "a", "b"), ("a+ b", "a", "ab"), ("a? b", "ab", "b"), ("(a | ^ b) c*", "ab", "c"), ("()", "", "")],
)
def test_which_rows_come_first(text: str, first: str, later: str) -> None:
    program = compiled(_parsed(text))
    assert {program.variables[each] for each in program.first()} == set(first)
    assert {program.variables[each] for each in program.later()} == set(later)
