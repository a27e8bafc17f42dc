"""Tokens of an expression, a type or a query go in, a sqlglot tree comes out.

This is sqlglot's Spark parser with window tables, row patterns, a place on every node, and errors that
carry the token at fault. What it knows not, it refuses: nothing falls through unparsed.
"""

from collections.abc import Callable, Collection
from typing import Any, ClassVar, TypeVar

from sqlglot import exp
from sqlglot.errors import ParseError
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from headrace.errors import HeadraceError, Source, Span
from headrace.language.expressions import MatchRecognize, MatchSemantics, WindowTable
from headrace.language.functions import GRAMMARS, builders
from headrace.language.mistakes import SyntaxProblem, found
from headrace.language.row_patterns import parse_match_recognize
from headrace.language.spans import forget_places, place
from headrace.language.tokens import token_span
from headrace.language.window_tables import parse_window_table, starts_window_table

__all__ = ["HeadraceParser"]

T = TypeVar("T")
NO_TOKEN = Token(TokenType.SENTINEL, "")
_WRAPPERS = (exp.Window, exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls)


def _literal(parser: Any, token: Token) -> exp.Expr:
    return place(exp.Literal.string(token.text), token, token)


class HeadraceParser(SparkParser):
    """A parser of expressions, types and queries over the tokens of one statement."""

    # With CAST as a node of its own, CAST and a typed literal such as DATE'2024-01-01' are the same tree.
    STRICT_CAST = True

    FUNCTIONS: ClassVar[dict[str, Any]] = builders(SparkParser.FUNCTIONS)
    FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
        name: parse for name, parse in SparkParser.FUNCTION_PARSERS.items() if name in GRAMMARS
    }
    QUERY_MODIFIER_PARSERS: ClassVar[dict[TokenType, Any]] = {
        kind: parse for kind, parse in SparkParser.QUERY_MODIFIER_PARSERS.items() if kind != TokenType.MATCH_RECOGNIZE
    }
    # ARRAY[1] is another database's array; in Spark it is an element of what stands before.
    ARRAY_CONSTRUCTORS: ClassVar[dict[str, Any]] = {}
    # Spark has lambdas where other databases have JSON operators.
    COLUMN_OPERATORS: ClassVar[dict[TokenType, Any]] = {
        kind: parse for kind, parse in SparkParser.COLUMN_OPERATORS.items() if kind in {TokenType.DOT, TokenType.DCOLON}
    }
    STRING_PARSERS: ClassVar[dict[TokenType, Any]] = {
        **SparkParser.STRING_PARSERS,
        TokenType.RAW_STRING: _literal,
    }
    PRIMARY_PARSERS: ClassVar[dict[TokenType, Any]] = {
        **SparkParser.PRIMARY_PARSERS,
        TokenType.RAW_STRING: _literal,
        TokenType.NULL: lambda _, token: place(exp.Null(), token, token),
        TokenType.TRUE: lambda _, token: place(exp.Boolean(this=True), token, token),
        TokenType.FALSE: lambda _, token: place(exp.Boolean(this=False), token, token),
    }

    source: Source | None = None
    furthest: SyntaxProblem | None = None

    def load(self, source: Source, tokens: list[Token]) -> "HeadraceParser":
        """Return the parser, ready before the first of the tokens of a source."""
        self.reset()
        self.furthest = None
        self.source = source
        self.sql = source.text
        self._tokens = tokens
        self._tokens_size = len(tokens)
        self._index = -1
        self._advance()
        return self

    # --- what the grammars of window tables and row patterns use -------------------------------------

    def peek(self, offset: int = 0) -> Token:
        """Return the token here or further on; one that is false stands for the end."""
        index = self._index + offset
        return self._tokens[index] if 0 <= index < self._tokens_size else NO_TOKEN

    def previous(self) -> Token:
        """Return the token that was passed last."""
        return self._prev

    def position(self) -> int:
        """Return how many tokens were passed."""
        return self._index

    def take(self) -> Token:
        """Pass the token here and return it."""
        token = self._curr
        self._advance()
        return token

    def accept_type(self, kind: TokenType) -> bool:
        """Pass a token of a kind if it stands here."""
        return self._match(kind)

    def accept_words(self, *words: str) -> bool:
        """Pass words if they stand here, whether sqlglot joined them in one token or not."""
        index = self._index
        left = list(words)
        while left:
            parts = self._curr.text.upper().split()
            if not self._curr or self._curr.token_type == TokenType.STRING or parts != left[: len(parts)]:
                self._retreat(index)
                return False
            self._advance()
            left = left[len(parts) :]
        return True

    def expect_type(self, kind: TokenType, text: str, *, hint: str | None = None) -> Token:
        """Pass a token of a kind or raise an error."""
        token = self._curr
        if not self._match(kind):
            raise self.error(f'expected "{text}" but found {found(token or None)}', hint=hint)
        return token

    def at_name(self) -> bool:
        """Say whether a name stands here."""
        return self._curr.token_type == TokenType.IDENTIFIER or self._curr.token_type in self.ID_VAR_TOKENS

    def required_expression(self) -> exp.Expr:
        """Read an expression or raise an error."""
        expression = self._parse_disjunction()
        if expression is None:
            raise self.error(f"expected an expression but found {found(self._curr or None)}")
        return expression

    def error(
        self, message: str, *, token: Token | None = None, hint: str | None = None, detail: str | None = None
    ) -> HeadraceError:
        """Return an error at a token, by default at the one here."""
        source = self.source or Source("sql", self.sql)
        token = token or self._curr or None
        if token is None:
            last = self._tokens[-1].end + 1 if self._tokens else 0
            span = Span(source, last, last)
        else:
            span = token_span(source, token)
        return HeadraceError(message, hint=hint, detail=detail, span=span)

    # --- what sqlglot calls --------------------------------------------------------------------------

    def raise_error(self, message: str, token: Token = NO_TOKEN) -> None:
        """Raise what sqlglot found wrong, with its token."""
        at = self._curr if message.startswith("Expected ") else token or self._curr
        raise SyntaxProblem(message, at or None, self._prev or None)

    def _warn_unsupported(self) -> None:
        self.raise_error("Invalid expression / Unexpected token")

    def _parse_placeholder(self) -> exp.Expr | None:
        first = self._curr
        placeholder = super()._parse_placeholder()
        return None if placeholder is None else place(placeholder, first, self._prev)

    def _try_parse(self, parse_method: Callable[[], T], retreat: bool = False) -> T | None:
        index = self._index
        result: T | None = None
        try:
            result = parse_method()
        except SyntaxProblem as problem:
            self._note(problem)
        except ParseError:
            result = None
        finally:
            if not result or retreat:
                self._retreat(index)
        return result

    def _note(self, problem: SyntaxProblem) -> None:
        """Keep the problem that lies furthest in the text: it is most likely the real one."""
        reached = problem.token.start if problem.token else len(self.sql)
        before = self.furthest
        if before is None or (before.token is not None and before.token.start < reached):
            self.furthest = problem

    def _parse_csv(self, parse_method: Callable[[], T | None], sep: TokenType = TokenType.COMMA) -> list[T]:
        def required() -> T | None:
            after_separator = self._prev.token_type == sep and bool(items)
            item = parse_method()
            if item is None and after_separator:
                self.raise_error("Invalid expression / Unexpected token")
            items.append(item)
            return item

        items: list[T | None] = []
        return super()._parse_csv(required, sep)

    def _parse_projections(self) -> tuple[list[exp.Expr], list[exp.Expr] | None]:
        projections, exclude = super()._parse_projections()
        if not projections:
            self.raise_error("Expected an expression")
        return projections, exclude

    def _parse_version(self) -> exp.Version | None:
        first = self._curr
        if first.text.upper() == "FOR" and self._next.text.upper() in {"SYSTEM_TIME", "SYSTEM"}:
            ahead = [self.peek(offset).text.upper() for offset in range(2, 5)]
            if "AS" not in ahead or "OF" not in ahead:
                raise self.error(
                    "a versioned table needs a moment",
                    token=first,
                    hint="Write FOR SYSTEM_TIME AS OF expression.",
                )
        version = super()._parse_version()
        return None if version is None else place(version, first, self._prev)

    def _parse_hint(self) -> exp.Hint | None:
        hint = super()._parse_hint()
        if hint is not None:
            forget_places(hint)
        return hint

    def _parse_table(
        self,
        schema: bool = False,
        joins: bool = False,
        alias_tokens: Collection[TokenType] | None = None,
        parse_bracket: bool = False,
        is_db_reference: bool = False,
        parse_partition: bool = False,
        consume_pipe: bool = False,
    ) -> exp.Expr | None:
        table: exp.Expr | None
        if starts_window_table(self):
            table = parse_window_table(self)
            self._relation_tail(table, joins=joins, alias_tokens=alias_tokens)
        else:
            table = super()._parse_table(
                schema, joins, alias_tokens, parse_bracket, is_db_reference, parse_partition, consume_pipe
            )
        while table is not None and self._curr.token_type == TokenType.MATCH_RECOGNIZE:
            table = parse_match_recognize(self, table)
            self._relation_tail(table, joins=joins, alias_tokens=alias_tokens)
        return table

    def _relation_tail(
        self,
        relation: WindowTable | MatchRecognize,
        *,
        joins: bool,
        alias_tokens: Collection[TokenType] | None,
    ) -> None:
        """Read what may follow a relation of ours: an alias, pivots and joins."""
        alias = self._parse_table_alias(alias_tokens=alias_tokens or self.TABLE_ALIAS_TOKENS)
        if alias:
            relation.set("alias", alias)
        pivots = self._parse_pivots()
        if pivots:
            relation.set("pivots", pivots)
        if joins:
            for join in self._parse_joins():
                relation.append("joins", join)

    def _parse_interval(
        self, require_interval: bool = True, parse_function_unit: bool = True
    ) -> Any:  # sqlglot says Add or Interval; a sum must stand in parentheses to keep its meaning
        first = self._curr
        interval = super()._parse_interval(require_interval, parse_function_unit)
        if interval is None:
            return None
        place(interval, first, self._prev)
        if require_interval and isinstance(interval, exp.Add):
            return place(exp.Paren(this=interval), first, self._prev)
        return interval

    def _parse_function_call(
        self,
        functions: dict[str, Callable[..., Any]] | None = None,
        anonymous: bool = False,
        optional_parens: bool = True,
        any_token: bool = False,
    ) -> exp.Expr | None:
        first, start = self._curr, self._index
        call = super()._parse_function_call(functions, anonymous, optional_parens, any_token)
        if call is None:
            return None
        inner = call
        while isinstance(inner, _WRAPPERS) and isinstance(inner.this, exp.Expr):
            place(inner, first, self._prev)
            inner = inner.this
        place(inner, first, self._prev if inner is call else self._closing(start))
        return call

    def _parse_unary(self) -> exp.Expr | None:
        if self._at_semantics():
            return self._parse_semantics()
        if self._lacks_call():
            word = self.peek().text.upper()
            raise self.error(f"{word} stands before a call", hint=f"Write {word} LAST(…) or {word} FIRST(…).")
        return super()._parse_unary()

    def _at_semantics(self) -> bool:
        """Say whether FINAL or RUNNING stands before a call."""
        word, name, opening = self.peek(), self.peek(1), self.peek(2)
        return bool(
            word.text.upper() in {"FINAL", "RUNNING"}
            and name.token_type not in {TokenType.L_PAREN, TokenType.DOT, TokenType.ALIAS}
            and opening.token_type == TokenType.L_PAREN
        )

    def _lacks_call(self) -> bool:
        """Say whether FINAL or RUNNING stands before a column of a variable."""
        word, name, dot = self.peek(), self.peek(1), self.peek(2)
        return bool(
            word.token_type == TokenType.VAR
            and word.text.upper() in {"FINAL", "RUNNING"}
            and name.token_type in {TokenType.VAR, TokenType.IDENTIFIER}
            and dot.token_type == TokenType.DOT
        )

    def _parse_semantics(self) -> exp.Expr | None:
        first = self.take()
        call = self._parse_function_call()
        if call is None:
            raise self.error(f"expected a call after {first.text.upper()}")
        return place(MatchSemantics(this=call, kind=first.text.upper()), first, self._prev)

    def _closing(self, start: int) -> Token:
        """Return the parenthesis that closes the call whose name stands at an index."""
        depth = 0
        for index in range(start + 1, self._index):
            kind = self._tokens[index].token_type
            depth += (kind == TokenType.L_PAREN) - (kind == TokenType.R_PAREN)
            if depth == 0:
                return self._tokens[index] if index > start + 1 else self._tokens[start]
        return self._tokens[start]

    def _parse_primary(self) -> exp.Expr | None:
        first = self._curr
        primary = super()._parse_primary()
        if isinstance(primary, exp.Concat) and all(part.is_string for part in primary.expressions):
            # Strings side by side are one string.
            text = "".join(part.name for part in primary.expressions)
            return place(exp.Literal.string(text), first, self._prev)
        return primary

    def _parse_paren(self) -> exp.Expr | None:
        first = self._curr
        paren = super()._parse_paren()
        if isinstance(paren, exp.Paren | exp.Tuple | exp.Subquery):
            place(paren, first, self._prev)
        return paren

    def _parse_types(
        self,
        check_func: bool = False,
        schema: bool = False,
        allow_identifiers: bool = True,
        with_collation: bool = False,
    ) -> exp.Expr | None:
        first = self._curr
        kind = super()._parse_types(check_func, schema, allow_identifiers, with_collation)
        if kind is not None and "start" not in kind.meta:
            place(kind, first, self._prev)
        return kind
