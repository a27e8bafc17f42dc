"""Text goes in, sqlglot tokens come out; what cannot be split into tokens is an error at its place."""

import re
from typing import ClassVar

from sqlglot.dialects.spark import Spark
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from headrace.errors import HeadraceError, Source, Span

__all__ = ["HeadraceTokenizer", "is_plain_name", "token_span", "tokenize"]


class HeadraceTokenizer(Spark.Tokenizer):
    """Spark's tokens, with a doubled quote for a quote and without commands or templates."""

    STRING_ESCAPES: ClassVar[list[str]] = ["\\", "'", '"']
    # A command would swallow the text after it unparsed.
    COMMANDS: ClassVar[set[TokenType]] = set()
    KEYWORDS: ClassVar[dict[str, TokenType]] = {
        **{
            word: kind
            for word, kind in Spark.Tokenizer.KEYWORDS.items()
            if kind not in {TokenType.BLOCK_START, TokenType.BLOCK_END, TokenType.COMMAND}
        },
        "MATCH_RECOGNIZE": TokenType.MATCH_RECOGNIZE,
    }


# sqlglot gives every tokenizer the comments of Jinja; in a row pattern "{#" would be an honest mistake.
HeadraceTokenizer._COMMENTS.pop("{#", None)

# What opens at each place of a text: a string, a quoted name or a comment, closed or not.
_QUOTED = re.compile(
    r"""
      (?P<line>--[^\n]*)
    | (?P<block>/\*(?:(?!/\*).)*?\*/|/\*.*\Z)
    | (?P<raw>[rR]'[^']*(?:'|\Z)|[rR]"[^"]*(?:"|\Z))
    | (?P<string>'(?:[^'\\]|\\.|'')*(?:'|\\?\Z))
    | (?P<double>"(?:[^"\\]|\\.|"")*(?:"|\\?\Z))
    | (?P<name>`(?:[^`]|``)*(?:`|\Z))
    | (?P<word>\w+)
    """,
    re.DOTALL | re.VERBOSE,
)


_OPENED = {
    "string": ("string", "'"),
    "double": ("string", '"'),
    "raw": ("string", None),
    "name": ("quoted name", "`"),
    "block": ("comment", "*/"),
}


def tokenize(source: Source) -> list[Token]:
    """Return the tokens of a source.

    >>> [token.text for token in tokenize(Source("app.sql", "SHOW STREAMS; -- all of them"))]
    ['SHOW', 'STREAMS', ';']
    """
    from headrace.language.dialect import Headrace

    try:
        tokens = HeadraceTokenizer(dialect=Headrace).tokenize(source.text)
    except TokenError as error:
        raise _unreadable(source) from error
    for index, token in enumerate(tokens):
        # sqlglot takes "GROUP BY window(...)" for a WINDOW clause, which is always WINDOW name AS (...).
        if token.token_type == TokenType.WINDOW and not _is_alias(tokens, index + 2):
            token.token_type = TokenType.VAR
    return tokens


def _is_alias(tokens: list[Token], index: int) -> bool:
    return index < len(tokens) and tokens[index].token_type == TokenType.ALIAS


def is_plain_name(name: str) -> bool:
    """Say whether a name can stand in a text without quotes.

    >>> is_plain_name("price"), is_plain_name("select"), is_plain_name("a b")
    (True, False, False)
    """
    ordinary = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) is not None
    return ordinary and name.upper() not in HeadraceTokenizer.KEYWORDS


def token_span(source: Source, token: Token) -> Span:
    """Return where a token stands."""
    return Span(source, token.start, token.end + 1)


def _unreadable(source: Source) -> HeadraceError:
    for found in _QUOTED.finditer(source.text):
        kind = found.lastgroup or ""
        if kind in _OPENED and not _closed(found[0], kind):
            what, end = _OPENED[kind]
            return HeadraceError(
                f"the {what} has no end",
                hint=f"Close it with {end or found[0][1]}.",
                span=Span(source, found.start(), _line_end(source.text, found.start())),
            )
    return HeadraceError(
        "the text cannot be read",
        hint="Look for an odd quote or a wrong hexadecimal string.",
        span=_odd_place(source),
    )


def _closed(text: str, kind: str) -> bool:
    if kind == "block":
        return len(text) > 3 and text.endswith("*/") and text.count("/*") == text.count("*/")
    body = text[1:] if kind == "raw" else text
    quote = body[0]
    if len(body) < 2 or body[-1] != quote:
        return False
    inner = re.sub(r"\\.", "", body[1:], flags=re.DOTALL) if kind in {"string", "double"} else body[1:]
    return inner.replace(quote * 2, "").endswith(quote) if kind != "raw" else True


def _odd_place(source: Source) -> Span:
    found = re.search(r"[xX]'[^']*'?", source.text)
    return Span(source, *found.span()) if found else Span(source, 0, _line_end(source.text, 0))


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return end if end >= 0 else len(text)
