"""Patterns parse to their trees, and every tree's text parses to the same tree."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import HeadraceError, Source
from headrace.language.pattern_parser import parse_pattern
from headrace.language.patterns import (
    Alternation,
    Empty,
    EndAnchor,
    Exclusion,
    Permute,
    Quantified,
    Sequence,
    StartAnchor,
    Variable,
    format_pattern,
    variables,
)

A, B, C = Variable("a"), Variable("b"), Variable("c")

PATTERNS = {
    "a": A,
    "a b c": Sequence((A, B, C)),
    "a | b c": Alternation((A, Sequence((B, C)))),
    "(a | b) c": Sequence((Alternation((A, B)), C)),
    "a*": Quantified(A, 0, None),
    "a +": Quantified(A, 1, None),
    "a?": Quantified(A, 0, 1),
    "a*?": Quantified(A, 0, None, greedy=False),
    "a+?": Quantified(A, 1, None, greedy=False),
    "a??": Quantified(A, 0, 1, greedy=False),
    "a{3}": Quantified(A, 3, 3),
    "a{3,}": Quantified(A, 3, None),
    "a{3,5}": Quantified(A, 3, 5),
    "a{ , 5 }": Quantified(A, 0, 5),
    "a{2,3}?": Quantified(A, 2, 3, greedy=False),
    "(a b)+ c": Sequence((Quantified(Sequence((A, B)), 1, None), C)),
    "(a+)*": Quantified(Quantified(A, 1, None), 0, None),
    "PERMUTE(a, b | c)": Permute((A, Alternation((B, C)))),
    "permute": Variable("permute"),
    "{- a b -}": Exclusion(Sequence((A, B))),
    "a {-b-}+ c": Sequence((A, Quantified(Exclusion(B), 1, None), C)),
    "^ a $": Sequence((StartAnchor(), A, EndAnchor())),
    "": Empty(),
    "()": Empty(),
    "a | ()": Alternation((A, Empty())),
    "`x y` `b``c`": Sequence((Variable("x y"), Variable("b`c"))),
    "a -- first\n /* then */ b": Sequence((A, B)),
}


def parsed(text):
    return parse_pattern(Source("app.sql", text), 0, len(text))


@pytest.mark.parametrize(("text", "pattern"), PATTERNS.items())
def test_a_pattern_parses_to_its_tree(text, pattern):
    assert parsed(text) == pattern
    assert parsed(format_pattern(pattern)) == pattern


WRONG = [
    "| ",
    "a | ",
    "| a ",
    "a) ",
    "(a ",
    "a{ ",
    "a{} ",
    "a{,} ",
    "a{0} ",
    "a{,0} ",
    "a{2,1} ",
    "* ",
    "a** ",
    "^* ",
    "{-a ",
    "1 ",
    "a,b ",
    "PERMUTE(a,) ",
    "a-} ",
    "a{99999999999} ",
    "é{ ",
    "a.b ",
    "'a'",
]


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_pattern_is_an_error(text):
    with pytest.raises(HeadraceError) as raised:
        parsed(text)
    assert raised.value.span is not None


def test_variables_come_in_the_order_of_the_text():
    assert list(variables(parsed("a (b | c)* PERMUTE(d, a) {- e -} $"))) == ["a", "b", "c", "d", "a", "e"]


names = st.sampled_from(["a", "b", "Long_name", "x y", "`", "permute", "é", "select"])
leaves = st.builds(Variable, names) | st.sampled_from([Empty(), StartAnchor(), EndAnchor()])


def grow(inner):
    several = st.lists(inner, min_size=2, max_size=3)
    bounds = st.tuples(st.integers(0, 4), st.none() | st.integers(4, 9)).filter(lambda pair: pair != (0, 0))
    repeated = inner.filter(lambda item: not isinstance(item, StartAnchor | EndAnchor))
    return (
        several.map(lambda items: Sequence(tuple(items)))
        | several.map(lambda items: Alternation(tuple(items)))
        | st.lists(inner, min_size=1, max_size=3).map(lambda items: Permute(tuple(items)))
        | inner.map(Exclusion)
        | st.builds(
            lambda item, pair, greedy: Quantified(item, pair[0], pair[1], greedy), repeated, bounds, st.booleans()
        )
    )


@given(st.recursive(leaves, grow, max_leaves=12))
def test_the_text_of_any_pattern_parses_to_the_pattern(pattern):
    assert parsed(format_pattern(pattern)) == pattern
