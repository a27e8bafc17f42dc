"""The text between the parentheses of PATTERN goes in, a tree of `headrace.language.patterns` comes out.

The grammar, loosest first: alternation, sequence, quantified, primary. It works on characters because
``{-``, ``??`` and ``$`` mean other things to the tokenizer of the rest of the language.
"""

import re

from headrace.errors import HeadraceError, Source, Span
from headrace.language.patterns import (
    Alternation,
    Empty,
    EndAnchor,
    Exclusion,
    Pattern,
    Permute,
    Quantified,
    Sequence,
    StartAnchor,
    Variable,
)

__all__ = ["DEEPEST", "parse_pattern"]

DEEPEST = 60
_LONGEST_COUNT = 9

_BLANK = re.compile(r"(?:\s+|--[^\n]*|/\*.*?\*/)+", re.DOTALL)
_NAME = re.compile(r"[^\W\d]\w*|`(?:[^`]|``)+`")
_BOUNDS = re.compile(r"\{\s*(\d*)\s*(?:(,)\s*(\d*)\s*)?\}")
_SIMPLE: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}


def parse_pattern(source: Source, start: int, end: int) -> Pattern:
    """Return the pattern that stands in ``source.text[start:end]``.

    >>> parse_pattern(Source("p", "b{2,}?"), 0, 6)
    Quantified(item=Variable(name='b'), minimum=2, maximum=None, greedy=False)
    """
    parser = _PatternParser(source, start, end)
    pattern = parser.alternation()
    if parser.position < end:
        raise parser.error(f'unexpected "{parser.word()}" in the pattern')
    return pattern


class _PatternParser:
    """A cursor over the characters of one pattern."""

    def __init__(self, source: Source, start: int, end: int) -> None:
        self.source = source
        self.text = source.text
        self.position = start
        self.end = end
        self.depth = 0
        self.blank()

    def alternation(self) -> Pattern:
        """Read patterns separated by bars, down to a closing bracket or the end."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.error("the pattern is nested too deeply", hint=f"Nest at most {DEEPEST} groups.")
        items = [self.sequence()]
        while self.accept("|"):
            items.append(self.sequence())
        self.depth -= 1
        return items[0] if len(items) == 1 else Alternation(tuple(items))

    def sequence(self) -> Pattern:
        """Read patterns one after the other."""
        items: list[Pattern] = []
        while self.position < self.end and not self.at("|", ")", ",", "-}"):
            items.append(self.quantified())
        if not items:
            return self.nothing()
        return items[0] if len(items) == 1 else Sequence(tuple(items))

    def nothing(self) -> Pattern:
        """Return the empty pattern where the text may say nothing: between the outermost parentheses."""
        if self.depth == 1 and self.position >= self.end and not self.text[: self.end].rstrip().endswith("|"):
            return Empty()
        raise self.error("expected a pattern variable", hint="Write () for a pattern without rows.")

    def quantified(self) -> Pattern:
        """Read one pattern and the quantifier after it."""
        start = self.position
        item = self.primary()
        bounds = self.bounds()
        if bounds is None:
            return item
        if isinstance(item, StartAnchor | EndAnchor):
            raise self.error("an anchor cannot be repeated", start=start)
        greedy = not self.accept("?")
        if self.position < self.end and (self.text[self.position] in "*+?" or self.at_bounds()):
            raise self.error(
                "a quantifier cannot follow a quantifier",
                hint="Group the repeated pattern in parentheses first, as in (a+)*.",
            )
        return Quantified(item, *bounds, greedy)

    def bounds(self) -> tuple[int, int | None] | None:
        """Read ``* + ? {n} {n,} {n,m} {,m}`` if it stands here."""
        if self.position >= self.end:
            return None
        for mark, bounds in _SIMPLE.items():
            if self.accept(mark):
                return bounds
        if not self.at_bounds():
            return None
        start = self.position
        found = _BOUNDS.match(self.text, start, self.end)
        if found is None or not (found[1] or found[3]):
            raise self.error(
                "expected a number of repetitions", hint="Write {2}, {2,}, {2,5} or {,5} after the variable."
            )
        if max(len(found[1]), len(found[3] or "")) > _LONGEST_COUNT:
            raise self.error("the number of repetitions is too large", start=start, end=found.end())
        minimum = int(found[1] or 0)
        maximum = minimum if found[2] is None else int(found[3]) if found[3] else None
        if maximum == 0 or (maximum is not None and maximum < minimum):
            raise self.error(f"a pattern cannot be repeated {minimum} to {maximum} times", start=start, end=found.end())
        self.advance(found.end())
        return minimum, maximum

    def at_bounds(self) -> bool:
        """Say whether a ``{`` stands here that does not open an exclusion."""
        return self.at("{") and not self.at("{-")

    def primary(self) -> Pattern:
        """Read a variable, an anchor, a group, an exclusion or a permutation."""
        start = self.position
        if self.accept("^"):
            return StartAnchor()
        if self.accept("$"):
            return EndAnchor()
        if self.accept("{-"):
            inner = self.alternation()
            self.expect("-}", start)
            return Exclusion(inner)
        if self.accept("("):
            if self.accept(")"):
                return Empty()
            inner = self.alternation()
            self.expect(")", start)
            return inner
        found = _NAME.match(self.text, start, self.end)
        if found is None:
            raise self.error(f'unexpected "{self.word()}" in the pattern')
        self.advance(found.end())
        if found[0].upper() == "PERMUTE" and self.at("("):
            return self.permute()
        name = found[0]
        return Variable(name[1:-1].replace("``", "`") if name.startswith("`") else name)

    def permute(self) -> Pattern:
        """Read the patterns of ``PERMUTE(a, b, ...)``."""
        start = self.position
        self.accept("(")
        items = [self.alternation()]
        while self.accept(","):
            items.append(self.alternation())
        self.expect(")", start)
        return Permute(tuple(items))

    def blank(self) -> None:
        """Pass over spaces and comments."""
        found = _BLANK.match(self.text, self.position, self.end)
        if found:
            self.position = found.end()

    def advance(self, position: int) -> None:
        """Go on from a position, past the blank after it."""
        self.position = position
        self.blank()

    def at(self, *marks: str) -> bool:
        """Say whether one of the marks stands here."""
        return any(self.text.startswith(mark, self.position, self.end) for mark in marks)

    def accept(self, mark: str) -> bool:
        """Pass a mark if it stands here."""
        if not self.at(mark):
            return False
        self.advance(self.position + len(mark))
        return True

    def expect(self, mark: str, opened: int) -> None:
        """Pass a mark or raise an error."""
        if self.accept(mark):
            return
        if self.position < self.end:
            raise self.error(f'expected "{mark}" but found "{self.word()}" in the pattern')
        raise self.error(f'"{mark}" is missing in the pattern', start=opened, end=opened + 1)

    def word(self) -> str:
        """Return what stands here, for an error message."""
        found = _NAME.match(self.text, self.position, self.end)
        return found[0] if found else self.text[self.position : self.position + 1]

    def error(
        self, message: str, *, start: int | None = None, end: int | None = None, hint: str | None = None
    ) -> HeadraceError:
        """Return an error at a place in the pattern, by default at the word that stands here."""
        if start is None:
            start = min(self.position, self.end)
            end = start + max(1, len(self.word()))
        return HeadraceError(message, hint=hint, span=Span(self.source, start, end or self.position))
