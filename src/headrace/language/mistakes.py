"""Words and near misses go in, the hints and messages of syntax errors come out."""

import difflib
import re
from collections.abc import Iterable

from sqlglot.errors import ParseError
from sqlglot.tokenizer_core import Token, TokenType

__all__ = ["CLAUSES", "TYPES", "SyntaxProblem", "close", "did_you_mean", "found", "plain_message"]

CLAUSES = (
    "SELECT", "FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "JOIN", "UNION", "DISTINCT",
    "WINDOW", "QUALIFY", "BETWEEN", "EMIT", "CHANGES", "MATCH_RECOGNIZE", "PARTITION", "MEASURES",
    "PATTERN", "DEFINE", "SUBSET", "WITHIN", "INTERVAL", "LATERAL", "CROSS", "INNER", "OUTER", "VALUES",
    "INTERSECT", "EXCEPT", "TUMBLE", "HOP", "SLIDE", "SESSION", "CUMULATE",
)  # fmt: skip

TYPES = (
    "BOOLEAN", "TINYINT", "SMALLINT", "INT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL", "STRING",
    "VARCHAR", "CHAR", "BINARY", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "INTERVAL", "ARRAY", "MAP", "STRUCT",
    "VARIANT",
)  # fmt: skip


class SyntaxProblem(ParseError):
    """What sqlglot's parser raises and catches while it tries; `token` is None at the end of the text."""

    def __init__(self, message: str, token: Token | None, previous: Token | None) -> None:
        super().__init__(message)
        self.message = message
        self.token = token
        self.previous = previous


def close(word: str, words: Iterable[str], *, cutoff: float = 0.7) -> str | None:
    """Return the one of the words that is nearest to a word, or None if none is near.

    >>> close("WATERMAKR", ["WATERMARK", "PRIMARY"])
    'WATERMARK'
    """
    by_fold = {candidate.casefold(): candidate for candidate in words}
    nearest = difflib.get_close_matches(word.casefold(), by_fold, n=1, cutoff=cutoff)
    return by_fold[nearest[0]] if nearest else None


def did_you_mean(word: str, words: Iterable[str], otherwise: str | None = None) -> str | None:
    """Return a hint that names the nearest word, else the other hint."""
    nearest = close(word, words)
    return f"Did you mean {nearest}?" if nearest and nearest.casefold() != word.casefold() else otherwise


def found(token: Token | None) -> str:
    """Return how an error message names a token.

    >>> found(None)
    'the end of the statement'
    """
    if token is None:
        return "the end of the statement"
    text = token.text if len(token.text) <= 40 else token.text[:37] + "..."
    if not text.isprintable():
        text = "".join(c if c.isprintable() else f"U+{ord(c):04X}" for c in text)
    return f"the string '{text}'" if token.token_type is TokenType.STRING else f'"{text}"'


def plain_message(description: str, token: Token | None) -> str:
    """Return sqlglot's description of a mistake in the words of Headrace.

    >>> plain_message("Expecting )", None)
    'expected ")" but found the end of the statement'
    """
    description = description.strip()
    thing = found(token)
    if match := re.match(r"Expecting (\S+)$", description):
        return f'expected "{match[1]}" but found {thing}'
    if description.startswith("Expected table name"):
        return f"expected a table name but found {thing}"
    if description in {"Expected type", "Expected TYPE after CAST"}:
        return f"expected a type but found {thing}"
    if match := re.match(r"Expected (AS|END|THEN|FROM|IN)\b", description):
        return f"expected {match[1]} but found {thing}"
    if description.startswith(("Required keyword", "Required argument", "Expected ")):
        return f"expected an expression but found {thing}"
    if description.endswith("does not support CTE"):
        return "expected a query after WITH"
    if match := re.match(r"The number of provided arguments \((\d+)\).*\((\d+)\)", description):
        return f"too many arguments: {match[1]} given, at most {match[2]} allowed"
    if match := re.match(r"Found multiple '(.+)' clauses", description):
        return f"{match[1]} stands twice"
    if description.startswith("Invalid expression"):
        return f"unexpected {thing}"
    sentence = re.sub(r"<[^>]*>", "", description.splitlines()[0] if description else "").strip(" .")
    if not sentence:
        return f"unexpected {thing}"
    return sentence[0].lower() + sentence[1:]
