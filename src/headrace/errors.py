"""A user's mistake: message, detail, hint and place in the text go in, one readable report comes out."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

__all__ = [
    "HeadraceError",
    "JobFailed",
    "PlanError",
    "Source",
    "Span",
    "is_secret_name",
    "shallow",
    "value_without_secrets",
    "without_secrets",
]


@dataclass(frozen=True, slots=True)
class Source:
    """The text that a user wrote, with the name under which they know it."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Span:
    """A place in a source: offsets of the first character and of the one after the last.

    >>> Span(Source("app.sql", "SELECT x"), 7, 8).text
    'x'
    """

    source: Source
    start: int
    end: int

    @property
    def text(self) -> str:
        """The characters that the span covers."""
        return self.source.text[self.start : self.end]

    @property
    def line(self) -> int:
        """The number of the line on which the span starts, from 1."""
        return self.source.text.count("\n", 0, self.start) + 1

    @property
    def column(self) -> int:
        """The column in which the span starts, from 1."""
        return self.start - (self.source.text.rfind("\n", 0, self.start) + 1) + 1

    def to(self, other: "Span") -> "Span":
        """Return the smallest span that covers this one and the other."""
        return Span(self.source, min(self.start, other.start), max(self.end, other.end))


class HeadraceError(Exception):
    """A mistake that the user can mend; anything else that is raised is a bug.

    The message is lower-case and has no full stop; detail and hint are sentences. ``passing`` says that something
    outside does not answer, so that the same may work later with nothing mended.
    """

    def __init__(
        self,
        message: str,
        *,
        detail: str | None = None,
        hint: str | None = None,
        span: Span | None = None,
        passing: bool = False,
    ) -> None:
        super().__init__(message)
        self.passing = passing
        self.message = message
        self.detail = detail
        self.hint = hint
        self.span = span

    def __str__(self) -> str:
        return self.report()

    def report(self) -> str:
        """Return the error as it is shown to the user, with a caret under its place.

        >>> span = Span(Source("app.sql", "SELECT nme FROM people"), 7, 10)
        >>> print(HeadraceError("unknown column nme", hint='Did you mean "name"?', span=span).report())
        error: unknown column nme
          app.sql:1:8
          1 | SELECT nme FROM people
                     ^^^
        hint: Did you mean "name"?
        """
        lines = [f"error: {self.message}"]
        if self.span is not None:
            lines += _excerpt(self.span)
        if self.detail:
            lines.append(f"detail: {self.detail}")
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """Return the error as plain values, for machines."""
        place = None
        if self.span is not None:
            place = {"file": self.span.source.name, "line": self.span.line, "column": self.span.column}
        return {"message": self.message, "detail": self.detail, "hint": self.hint, "place": place}


class PlanError(HeadraceError):
    """The statements are well formed, but what they ask for cannot be planned."""


class JobFailed(HeadraceError):
    """The application was right, but running it failed: exit code 3."""


@contextmanager
def shallow(what: str = "the text", span: Span | None = None) -> Iterator[None]:
    """Tell the user, in place of a bug, that what they wrote goes deeper than Python can follow."""
    try:
        yield
    except RecursionError:
        raise PlanError(
            f"{what} is nested too deeply",
            detail="Terms and queries that are put together by hundreds are nested too: 1 + 1 + …, UNION after UNION.",
            hint="Split it into several, or put parts into views.",
            span=span,
        ) from None


LONGEST_EXCERPT = 160
_LITERAL = r"""(?:[rR]?'(?:[^'\\]|\\.|'')*'?|[rR]?"(?:[^"\\]|\\.|"")*"?)"""
_GAP = r"(?:\s|--[^\n]*\n|/\*.*?\*/)*"
_SECRET_NAME = (
    r"(?:pass?w(?:or)?d|passphrase|secret|token|jaas|credential"
    r"|(?:sasl|ssl|api|access|account|private|shared|encryption)[\w.-]{0,80}key)[\w.-]{0,80}"
)
_SECRET = re.compile(
    rf"""({_SECRET_NAME}["'`]?{_GAP}={_GAP})({_LITERAL}(?:{_GAP}{_LITERAL})*)""", re.IGNORECASE | re.DOTALL
)
_URL_PASSWORD = re.compile(r"(://[^\s:/@'\"]*:)([^\s'\"]+)(?=@)")
_ASSIGNED = re.compile(rf"""({_SECRET_NAME}\s*=\s*)((''|\\'|"|').*?\3|\S+)""", re.IGNORECASE | re.DOTALL)
_QUOTED = re.compile(rf"--[^\n]*|/\*.*?\*/|`[^`]*`|({_LITERAL})", re.DOTALL)
"""Comments, names and literals, each as a whole: what looks like one inside another is none."""


def _excerpt(span: Span) -> list[str]:
    text = span.source.text
    first = text.rfind("\n", 0, span.start) + 1
    last = text.find("\n", span.start)
    line = without_secrets(text)[first : last if last >= 0 else len(text)]
    offset = span.start - first
    width = max(1, min(span.end, first + len(line)) - span.start)
    if len(line) > LONGEST_EXCERPT:
        cut = max(0, offset - LONGEST_EXCERPT // 2)
        line = line[cut : cut + LONGEST_EXCERPT]
        offset -= cut
        width = max(1, min(width, len(line) - offset))
    number = str(span.line)
    prefix = " " * (len(number) + 5) + "".join(c if c == "\t" else " " for c in line[:offset])
    return [f"  {span.source.name}:{number}:{span.column}", f"  {number} | {line}", prefix + "^" * width]


def without_secrets(text: str) -> str:
    """Return SQL in which the values of options that sound secret are starred out; all else stays in its place.

    >>> without_secrets("WITH (sasl_password = 'hush', topic = 't')")
    "WITH (sasl_password = ******, topic = 't')"
    >>> without_secrets("url = 'postgresql://ann:hush@host/db'")
    "url = 'postgresql://ann:****@host/db'"
    >>> without_secrets("url = 'host=h password=hush' -- password=hint")
    "url = 'host=h password=****' -- password=hint"
    """
    text = _QUOTED.sub(lambda found: found[0] if found[1] is None else _literal_without_secrets(found[1]), text)
    return _starred(_URL_PASSWORD, _starred(_SECRET, text))


def is_secret_name(name: str) -> bool:
    """Say whether something sounds secret by its name.

    >>> is_secret_name("DB_PASSWORD"), is_secret_name("REGION")
    (True, False)
    """
    return re.search(_SECRET_NAME, name, re.IGNORECASE) is not None


def value_without_secrets(value: str) -> str:
    """Return the value of an option in which passwords are starred out: those of URLs and of ``password=…``.

    >>> value_without_secrets("http://ann:hush@host"), value_without_secrets("db?user=ann&password=hush")
    ('http://ann:****@host', 'db?user=ann&password=****')
    """
    return _starred(_URL_PASSWORD, _starred(_ASSIGNED, value))


def _literal_without_secrets(literal: str) -> str:
    end = len(literal) - (1 if len(literal) > 1 and literal[-1] in "'\"" else 0)
    return _starred(_ASSIGNED, literal[:end]) + literal[end:]


def _starred(pattern: re.Pattern[str], text: str) -> str:
    """Return a text in which the second group of a pattern is starred out wherever it fits."""
    return pattern.sub(lambda found: found[1] + re.sub(r"[^\n]", "*", found[2]), text)
