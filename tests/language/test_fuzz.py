"""Whatever the text, parsing gives statements or an error of the user's, never anything else."""

import random
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.errors import HeadraceError, Source
from headrace.language import fill, format_application, parse

FILES = ("statements.txt", "queries.txt")
TEXTS = [text for file in FILES for text in Path(__file__).with_name(file).read_text("utf-8").splitlines()]
WORDS = sorted({word for text in TEXTS for word in text.replace("(", " ( ").replace(")", " ) ").split()})
PIECES = [
    "'",
    '"',
    "`",
    "(",
    ")",
    ";",
    ",",
    "--",
    "/*",
    "*/",
    "{-",
    "-}",
    "$",
    "^",
    "?",
    "\\",
    "\0",
    "é",
    "😀",
    "=>",
    ".",
]


def survives(text):
    try:
        statements = parse(Source("app.sql", text))
    except HeadraceError as error:
        assert error.report()
        assert error.span is not None
        assert 0 <= error.span.start <= error.span.end <= len(text)
        return
    assert format_application(statements) is not None


@given(st.text())
def test_any_text(text):
    survives(text)


@settings(max_examples=300)
@given(st.lists(st.sampled_from(WORDS + PIECES), max_size=25))
def test_any_words(words):
    survives(" ".join(words))


@settings(max_examples=300)
@given(st.sampled_from(TEXTS), st.randoms(use_true_random=False))
def test_any_damaged_statement(text, chance: random.Random):
    start = chance.randrange(len(text))
    end = min(len(text), start + chance.randrange(4))
    survives(text[:start] + chance.choice(["", chance.choice(PIECES), chance.choice(WORDS)]) + text[end:])


@given(st.text(alphabet="${}:-AB'\"`\\ -/*\n"))
def test_any_text_is_filled(text):
    try:
        fill(text, "app.sql", {"A": "'"})
    except HeadraceError as error:
        assert error.span is not None
