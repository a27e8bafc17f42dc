"""The tokens of one statement go in; words, names, values and sqlglot trees come out, one after the other."""

from collections.abc import Callable
from typing import Any

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from headrace.errors import HeadraceError, Source, Span
from headrace.language.dialect import Headrace
from headrace.language.mistakes import CLAUSES, TYPES, SyntaxProblem, did_you_mean, found, plain_message
from headrace.language.query_parser import HeadraceParser
from headrace.language.statements import Name
from headrace.language.tokens import token_span

__all__ = ["Cursor"]

_NOT_WORDS = {TokenType.STRING, TokenType.NUMBER, TokenType.IDENTIFIER, TokenType.RAW_STRING}
_BEYOND_SQLGLOT = (AttributeError, TypeError, ValueError, LookupError, AssertionError)

DEEPEST = 30
_OPENING = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE}
_SIGNS = {TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE}
_CLOSING = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END}


class Cursor:
    """A place among the tokens of one statement; `stop` is the place after the last."""

    def __init__(self, source: Source, tokens: list[Token], end: Span) -> None:
        self.source = source
        self.tokens = tokens
        self.index = 0
        self.stop = len(tokens)
        self.end = end

    # --- looking -------------------------------------------------------------------------------------

    def peek(self, offset: int = 0) -> Token | None:
        """Return the token here or further on, or None at the end."""
        index = self.index + offset
        return self.tokens[index] if index < self.stop else None

    def word(self, offset: int = 0) -> str:
        """Return the upper-case word here or further on; empty if something else stands there."""
        token = self.peek(offset)
        return "" if token is None or token.token_type in _NOT_WORDS else token.text.upper()

    def at(self, *words: str) -> bool:
        """Say whether these words stand here, whether sqlglot joined them in one token or not."""
        return self._after(words) is not None

    def at_type(self, kind: TokenType) -> bool:
        """Say whether a token of a kind stands here."""
        token = self.peek()
        return token is not None and token.token_type == kind

    def _after(self, words: tuple[str, ...]) -> int | None:
        offset, left = 0, list(words)
        while left:
            parts = self.word(offset).split()
            if not parts or parts != left[: len(parts)]:
                return None
            left = left[len(parts) :]
            offset += 1
        return offset

    # --- passing -------------------------------------------------------------------------------------

    def take(self) -> Token:
        """Pass the token here and return it; at the end raise an error."""
        token = self.peek()
        if token is None:
            raise self.error("unexpected end of the statement")
        self.index += 1
        return token

    def accept(self, *words: str) -> bool:
        """Pass these words if they stand here."""
        count = self._after(words)
        self.index += count or 0
        return count is not None

    def accept_type(self, kind: TokenType) -> bool:
        """Pass a token of a kind if it stands here."""
        if not self.at_type(kind):
            return False
        self.index += 1
        return True

    def expect(self, *words: str, hint: str | None = None) -> None:
        """Pass these words or raise an error."""
        if not self.accept(*words):
            text = " ".join(words)
            near = did_you_mean(self.word(), words[:1]) if self.word() else None
            raise self.error(f"expected {text} but found {found(self.peek())}", hint=near or hint)

    def expect_type(self, kind: TokenType, text: str, *, hint: str | None = None) -> Token:
        """Pass a token of a kind or raise an error."""
        if not self.at_type(kind):
            raise self.error(f'expected "{text}" but found {found(self.peek())}', hint=hint)
        return self.take()

    def expect_end(self, *expected: str) -> None:
        """Raise an error unless the statement ends here."""
        token = self.peek()
        if token is not None:
            hint = did_you_mean(token.text, expected) if self.word() else None
            raise self.error(f"unexpected {found(token)}", hint=hint or "End the statement with a semicolon.")

    def name(self, what: str, *, dotted: bool = False) -> Name:
        """Read a name, of several parts if it may be dotted."""
        parts = [self._part(what)]
        while self.at_type(TokenType.DOT):
            if not dotted:
                raise self.error(f"{what} has no dots", hint="Choose a name of one part.")
            self.take()
            parts.append(self._part(what))
        span = self.span(parts[0]).to(self.span(parts[-1]))
        return Name(".".join(part.text for part in parts), span)

    def _part(self, what: str) -> Token:
        token = self.peek()
        if token is None or not is_name(token):
            raise self.error(f"expected {what} but found {found(token)}", hint=_name_hint(token))
        if "." in token.text or not token.text.strip():
            raise self.error(f"{what} cannot be {token.text!r}", hint="Choose a name without dots or blanks.")
        return self.take()

    def string(self, what: str) -> tuple[str, Span]:
        """Read a string."""
        token = self.peek()
        if token is None or token.token_type not in {TokenType.STRING, TokenType.RAW_STRING}:
            raise self.error(f"expected {what} but found {found(token)}", hint="Write it in single quotes.")
        self.take()
        return token.text, self.span(token)

    # --- places and errors ---------------------------------------------------------------------------

    def span(self, token: Token | None) -> Span:
        """Return where a token stands; None stands for the end."""
        return self.end_span() if token is None else token_span(self.source, token)

    def end_span(self) -> Span:
        """Return the place after the last token that may be read."""
        return self.end if self.stop == len(self.tokens) else token_span(self.source, self.tokens[self.stop])

    def since(self, first: Token) -> Span:
        """Return the span from a token to the one passed last."""
        return self.span(first).to(self.span(self.tokens[max(self.index - 1, 0)]))

    def error(
        self, message: str, *, span: Span | None = None, hint: str | None = None, detail: str | None = None
    ) -> HeadraceError:
        """Return an error at a place, by default at the token here."""
        return HeadraceError(message, hint=hint, detail=detail, span=span or self.span(self.peek()))

    # --- trees ---------------------------------------------------------------------------------------

    def tree(self, read: Callable[[HeadraceParser], Any], what: str) -> exp.Expr:
        """Read a tree by a method of sqlglot's parser, and go on after it."""
        check_depth(self)
        parser = HeadraceParser(dialect=Headrace).load(self.source, self.tokens[self.index : self.stop])
        try:
            tree = read(parser)
        except SyntaxProblem as problem:
            raise self._explained(problem) from problem
        except RecursionError as error:
            raise self._too_deep(self.peek()) from error
        except (SqlglotError, *_BEYOND_SQLGLOT) as error:
            # sqlglot takes some things for granted that a user's text need not hold.
            at = parser.peek() or None
            raise self.error(f"cannot understand {found(at)}", span=self.span(at)) from error
        if not isinstance(tree, exp.Expr):
            at = parser.peek() or None
            raise self.error(f"expected {what} but found {found(at)}", span=self.span(at))
        self.index += parser.position()
        self.furthest = parser.furthest
        return tree

    furthest: SyntaxProblem | None = None

    def unread(self) -> HeadraceError:
        """Return the error for a token that no tree took, or the one that lies behind it."""
        at = self.peek()
        problem = self.furthest
        if problem is not None and (problem.token is None or at is None or problem.token.start > at.start):
            return self._explained(problem)
        return self._explained(SyntaxProblem("Invalid expression", at, self.tokens[self.index - 1]))

    def _explained(self, problem: SyntaxProblem) -> HeadraceError:
        message = plain_message(problem.message, problem.token)
        return self.error(message, span=self.span(problem.token), hint=_hint(message, problem))

    def _too_deep(self, token: Token | None) -> HeadraceError:
        return self.error(
            "the statement is nested too deeply",
            span=self.span(token),
            hint="Split it into several views.",
        )


def _hint(message: str, problem: SyntaxProblem) -> str | None:
    if message.startswith("expected a type") and problem.token is not None:
        return did_you_mean(problem.token.text, TYPES)
    for token in (problem.token, problem.previous):
        if token is not None and token.token_type == TokenType.VAR:
            if token.text.upper() in {"GROUP", "ORDER", "PARTITION", "SORT", "CLUSTER", "DISTRIBUTE"}:
                return f"Did you mean {token.text.upper()} BY?"
            if hint := did_you_mean(token.text, CLAUSES):
                return hint
    return None


def check_depth(cursor: Cursor) -> None:
    """Raise an error if brackets or CASEs are nested so deeply that reading them could fail."""
    depth = signs = 0
    for token in cursor.tokens[cursor.index : cursor.stop]:
        kind = token.token_type
        depth += (kind in _OPENING) - (kind in _CLOSING)
        signs = signs + 1 if kind in _SIGNS else 0
        if depth + signs > DEEPEST:
            raise cursor._too_deep(token)


def is_name(token: Token) -> bool:
    """Say whether a token can stand where a name is wanted."""
    return token.token_type == TokenType.IDENTIFIER or token.token_type in HeadraceParser.ID_VAR_TOKENS


def _name_hint(token: Token | None) -> str | None:
    if token is None or not token.text:
        return None
    if token.token_type == TokenType.STRING:
        return "Write a name without quotes, or in backquotes."
    if token.text[0].isalpha():
        return f"{token.text.upper()} is a word of the language; write it in backquotes to use it as a name."
    return None
