"""A text with ``${NAME}`` in it and the values of names go in, the filled text comes out.

A value cannot change what a statement means: inside a string its quotes are escaped, and outside it must be
one name, one number or one whole string. Comments and quoted names are left as they are.
"""

import re
from collections.abc import Mapping

from headrace.errors import HeadraceError, Source, Span
from headrace.language.mistakes import did_you_mean

__all__ = ["NoValue", "fill", "references"]

_PARTS = re.compile(
    r"""
      (?P<line>--[^\n\r]*)
    | (?P<block>/\*)
    | (?P<name>`(?:[^`]|``)*(?:`|\Z))
    | (?P<raw>(?<!\w)[rR](?:'[^']*(?:'|\Z)|"[^"]*(?:"|\Z)))
    | (?P<string>'(?:[^'\\]|\\.|'')*(?:'|\Z)|"(?:[^"\\]|\\.|"")*(?:"|\Z))
    | (?P<bare>\$\$\{|\$\{[^}\n]*\}?)
    """,
    re.DOTALL | re.VERBOSE,
)
_COMMENT_MARK = re.compile(r"/\*|\*/")
_REFERENCE = re.compile(r"\$\$\{|\$\{[^}\n]*\}?")
_NAMED = re.compile(r"\$\{\s*([A-Za-z_][A-Za-z0-9_.]*)\s*(?::-(.*))?\}\Z", re.DOTALL)
_SAFE = re.compile(
    r"""
      [A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*
    | [+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?
    | '(?:[^'\\]|\\.|'')*'
    """,
    re.DOTALL | re.VERBOSE,
)


class NoValue(HeadraceError):
    """A variable that nothing fills."""


def fill(text: str, name: str, variables: Mapping[str, str]) -> Source:
    r"""Return a source whose ``${NAME}`` and ``${NAME:-default}`` are filled; ``$${`` stands for ``${``.

    >>> fill("SELECT '${WHO}', ${N:-3}", "app.sql", {"WHO": "o'neil"}).text
    "SELECT 'o\\'neil', 3"
    """
    original = Source(name, text)
    filled: list[str] = []
    position = 0
    while found := _PARTS.search(text, position):
        filled.append(text[position : found.start()])
        position = found.end()
        match found.lastgroup:
            case "block":
                position = _comment_end(text, position)
                filled.append(text[found.start() : position])
            case "bare":
                filled.append(_bare(original, found, variables))
            case "string" | "raw":
                filled.append(_string(original, found, variables))
            case _:
                filled.append(found[0])
    return Source(name, "".join(filled) + text[position:])


def references(text: str) -> dict[str, str | None]:
    r"""Return the names of the variables in a text, in their order, each with its default.

    >>> references("SELECT '${WHO}', ${N:-3} -- ${NOT}\nFROM ${TABLE}, $${x}")
    {'WHO': None, 'N': '3', 'TABLE': None}
    """
    found: dict[str, str | None] = {}
    position = 0
    while part := _PARTS.search(text, position):
        position = _comment_end(text, part.end()) if part.lastgroup == "block" else part.end()
        if part.lastgroup in {"bare", "string", "raw"}:
            for reference in _REFERENCE.findall(part[0]):
                if named := _NAMED.match(reference):
                    found.setdefault(named[1], named[2])
    return found


def _comment_end(text: str, position: int) -> int:
    """Return where a comment ends whose start was passed; comments may stand in comments."""
    depth = 1
    while depth and (found := _COMMENT_MARK.search(text, position)):
        depth += 1 if found[0] == "/*" else -1
        position = found.end()
    return len(text) if depth else position


def _string(source: Source, found: re.Match[str], variables: Mapping[str, str]) -> str:
    quote = "" if found.lastgroup == "raw" else found[0][0]
    return _REFERENCE.sub(
        lambda inner: _quoted(source, inner, found.start(), variables, quote),
        found[0],
    )


def _bare(source: Source, found: re.Match[str], variables: Mapping[str, str]) -> str:
    if found[0] == "$${":
        return "${"
    span = Span(source, *found.span())
    value = _value(source, found[0], span, variables).strip()
    if not _SAFE.fullmatch(value):
        raise HeadraceError(
            f"the value of {found[0]} is not one name, number or string",
            detail="Outside quotes a value may not change the statement around it.",
            hint=f"Write '{found[0]}' in quotes to use the value as text.",
            span=span,
        )
    return value


def _quoted(source: Source, found: re.Match[str], offset: int, variables: Mapping[str, str], quote: str) -> str:
    if found[0] == "$${":
        return "${"
    span = Span(source, offset + found.start(), offset + found.end())
    value = _value(source, found[0], span, variables)
    if not quote:
        if "'" in value or '"' in value:
            raise HeadraceError(
                f"the value of {found[0]} holds a quote, which a raw string cannot",
                hint="Use an ordinary string, without r before it.",
                span=span,
            )
        return value
    return value.replace("\\", "\\\\").replace(quote, "\\" + quote)


def _value(source: Source, reference: str, span: Span, variables: Mapping[str, str]) -> str:
    named = _NAMED.match(reference)
    if named is None:
        raise HeadraceError(
            f"{reference} is not a variable",
            hint="Write ${NAME} or ${NAME:-default}; write $${ for the characters themselves.",
            span=span,
        )
    name, default = named[1], named[2]
    if name in variables:
        return variables[name]
    if default is not None:
        return default
    hint = did_you_mean(name, variables, f"Pass --var {name}=VALUE, or write ${{{name}:-default}}.")
    raise NoValue(f"the variable {name} has no value", hint=hint, span=span)
