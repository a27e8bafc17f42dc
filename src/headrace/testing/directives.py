"""The directive line of a block goes in; what the block does comes out, or an error at the wrong word."""

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeAlias

from headrace.errors import HeadraceError, Span

__all__ = [
    "ApplicationFile",
    "At",
    "Changes",
    "Crash",
    "Directive",
    "Drain",
    "Explain",
    "Ingest",
    "Rows",
    "Sql",
    "WantedError",
    "did_you_mean",
    "parse_directive",
]


@dataclass(frozen=True, slots=True)
class ApplicationFile:
    """``application PATH``: the application under test is a file, named from the test file's folder."""

    path: Span


@dataclass(frozen=True, slots=True)
class Sql:
    """``sql``: the application under test is the body."""


@dataclass(frozen=True, slots=True)
class Ingest:
    """``ingest NAME``: the body is one micro-batch; ``ingest+ NAME``: a part of the batch before."""

    stream: str
    joined: bool = False


@dataclass(frozen=True, slots=True)
class At:
    """``at INSTANT``: the processing clock is set."""

    instant_at: datetime


@dataclass(frozen=True, slots=True)
class Drain:
    """``drain``: the input ends, so that every window and match closes."""


@dataclass(frozen=True, slots=True)
class Crash:
    """``crash``: the query is killed and resumes from its checkpoint."""


@dataclass(frozen=True, slots=True)
class Rows:
    """``rows NAME``: the body is all rows so far; ``rows exactly NAME``: with all their columns."""

    name: str
    exactly: bool = False


@dataclass(frozen=True, slots=True)
class Changes:
    """``changes NAME``: the body is the changes since the last look, batch by batch."""

    name: str


@dataclass(frozen=True, slots=True)
class Explain:
    """``explain NAME``: the body is the plan's text."""

    name: str


@dataclass(frozen=True, slots=True)
class WantedError:
    """``error``: the block before must fail, and the body is in the report of its error."""


Directive: TypeAlias = ApplicationFile | Sql | Ingest | At | Drain | Crash | Rows | Changes | Explain | WantedError

ARGUMENTS = {
    "application": "PATH",
    "sql": "",
    "ingest": "NAME",
    "ingest+": "NAME",
    "at": "INSTANT",
    "drain": "",
    "crash": "",
    "rows": "NAME",
    "rows exactly": "NAME",
    "changes": "NAME",
    "explain": "NAME",
    "error": "",
}
_WORD = re.compile(r"(?:`[^`]*`|\S)+")


def parse_directive(line: Span) -> Directive:
    """Return what a directive line means.

    >>> from headrace.errors import Source
    >>> parse_directive(Span(Source("a.test", "rows exactly totals"), 0, 19))
    Rows(name='totals', exactly=True)
    """
    first, *rest = _words(line)
    keyword = first
    if first.text == "rows" and rest and rest[0].text == "exactly":
        keyword = first.to(rest.pop(0))
    form = " ".join(keyword.text.split())
    if form not in ARGUMENTS:
        raise HeadraceError(
            f'unknown directive "{form}"',
            hint=did_you_mean(form, ARGUMENTS) or f"The directives are {', '.join(ARGUMENTS)}.",
            span=keyword,
        )
    argument = _argument(form, keyword, rest)
    match form:
        case "application":
            return ApplicationFile(argument)
        case "sql":
            return Sql()
        case "ingest" | "ingest+":
            return Ingest(argument.text, joined=form == "ingest+")
        case "at":
            return At(_instant(argument))
        case "drain":
            return Drain()
        case "crash":
            return Crash()
        case "rows" | "rows exactly":
            return Rows(argument.text, exactly=form == "rows exactly")
        case "changes":
            return Changes(argument.text)
        case "explain":
            return Explain(argument.text)
        case _:
            return WantedError()


def did_you_mean(word: str, known: Sequence[str] | dict[str, str]) -> str | None:
    """Return a hint that names the known word nearest to a wrong one, if one is near.

    >>> did_you_mean("rwos", ["rows", "sql"])
    'Did you mean "rows"?'
    """
    near = difflib.get_close_matches(word.lower(), list(known), n=1)
    return f'Did you mean "{near[0]}"?' if near else None


def _words(line: Span) -> list[Span]:
    found = _WORD.finditer(line.source.text, line.start, line.end)
    return [Span(line.source, word.start(), word.end()) for word in found]


def _argument(form: str, keyword: Span, rest: Sequence[Span]) -> Span:
    """Return the place of the directive's argument, which is the keyword itself where none is wanted."""
    wanted = ARGUMENTS[form]
    usage = f"Write it as: {form} {wanted}".rstrip() + "."
    if not wanted:
        if rest:
            raise HeadraceError(f"{form} takes no argument", hint=usage, span=rest[0].to(rest[-1]))
        return keyword
    if not rest:
        raise HeadraceError(f"{form} needs {wanted}", hint=usage, span=keyword)
    if wanted == "NAME" and len(rest) > 1:
        if form == "rows" and did_you_mean(rest[0].text, ["exactly"]):
            raise HeadraceError(f'unknown word "{rest[0].text}"', hint='Did you mean "exactly"?', span=rest[0])
        raise HeadraceError(f"{form} takes one name", hint=usage, span=rest[1].to(rest[-1]))
    return rest[0].to(rest[-1])


def _instant(word: Span) -> datetime:
    example = "Write it like 2024-01-01T10:00:00Z."
    try:
        instant_at = datetime.fromisoformat(word.text)
    except ValueError:
        raise HeadraceError(f'"{word.text}" is not an instant', hint=example, span=word) from None
    if instant_at.tzinfo is None:
        raise HeadraceError(f'instant "{word.text}" has no time zone', hint=example, span=word)
    return instant_at.astimezone(UTC)
