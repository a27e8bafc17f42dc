"""A WITH clause in, its options with their true places out, without the parser."""

import re
from collections.abc import Callable

import pytest

from headrace.errors import Source, Span
from headrace.language.statements import Option, OptionValue

WithClause = Callable[[str], tuple[tuple[Option, ...], Span]]


def _value(text: str) -> OptionValue:
    if text.startswith("'"):
        return text[1:-1]
    if text in ("true", "false"):
        return text == "true"
    return float(text) if "." in text else int(text)


@pytest.fixture
def with_clause() -> WithClause:
    """Return a function from ``a = 'b', c = 5`` to options and the place of the stream's name."""

    def read(clause: str) -> tuple[tuple[Option, ...], Span]:
        start = "CREATE STREAM events WITH ("
        source = Source("app.sql", f"{start}{clause})")
        options = tuple(
            Option(
                match[1],
                _value(match[2]),
                Span(source, *match.span(1)),
                Span(source, *match.span(2)),
            )
            for match in re.compile(r"(\w+)\s*=\s*('[^']*'|[\w.+-]+)").finditer(source.text, len(start))
        )
        return options, Span(source, 14, 20)

    return read
