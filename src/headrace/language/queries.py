"""Tokens of a query and its EMIT clause go in, a `Query` comes out."""

from typing import cast

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from headrace.errors import HeadraceError
from headrace.language.cursor import Cursor
from headrace.language.mistakes import did_you_mean, found
from headrace.language.query_parser import HeadraceParser
from headrace.language.spans import span_of
from headrace.language.statements import Emit, Query

__all__ = ["query"]

_EMIT_HINT = "Write EMIT CHANGES or EMIT ON WINDOW CLOSE at the end of the outermost query."
_REFUSED = (exp.Command, exp.DDL, exp.DML, exp.Describe, exp.Summarize, exp.MultitableInserts, exp.Into)


def query(cursor: Cursor) -> Query:
    """Read a query up to the end of what the cursor may read."""
    first = cursor.peek()
    if first is None:
        raise cursor.error("expected a query but found the end of the statement")
    if cursor.word() not in {"SELECT", "WITH", "FROM", "VALUES", "("}:
        hint = did_you_mean(cursor.word() or "?", ("SELECT", "WITH", "FROM", "VALUES"))
        raise cursor.error(f"expected a query but found {found(first)}", hint=hint)
    stop = cursor.stop
    emit, cursor.stop = _emit(cursor)
    if cursor.index >= cursor.stop:
        raise cursor.error("expected a query but found EMIT")
    tree = cursor.tree(HeadraceParser._parse_ddl_select, "a query")
    if cursor.index < cursor.stop:
        raise cursor.unread()
    _check(cursor, tree, first)
    _hoist_joins(tree)
    cursor.index = cursor.stop = stop
    return Query(cast("exp.Expression", tree), emit, cursor.since(first))


def _hoist_joins(tree: exp.Expr) -> None:
    """Give the joins of FROM-first queries to their SELECT, where all other queries have them."""
    for select in tree.find_all(exp.Select):
        source = select.args.get("from_")
        if source is not None and (joins := source.this.args.get("joins")):
            source.this.set("joins", None)
            select.set("joins", [*joins, *(select.args.get("joins") or ())])


def _emit(cursor: Cursor) -> tuple[Emit | None, int]:
    """Return how the query emits its rows, and where the query itself ends."""
    tokens = cursor.tokens
    for index in range(cursor.index, cursor.stop):
        if tokens[index].token_type != TokenType.VAR or tokens[index].text.upper() != "EMIT":
            continue
        following = " ".join(token.text.upper() for token in tokens[index + 1 : cursor.stop][:4])
        for emit in Emit:
            if following == emit.value:
                return emit, index
        if following.startswith(("CHANGES ", "ON WINDOW", "WINDOW", "ON CLOSE")) or following in {"", "ON"}:
            if index > cursor.index and tokens[index - 1].token_type in _BEFORE_A_NAME:
                continue
            raise cursor.error("EMIT is not complete here", span=cursor.span(tokens[index]), hint=_EMIT_HINT)
    return None, cursor.stop


_BEFORE_A_NAME = {TokenType.SELECT, TokenType.COMMA, TokenType.DOT, TokenType.ALIAS, TokenType.L_PAREN}


def _check(cursor: Cursor, tree: exp.Expr, first: Token) -> None:
    """Raise an error if the tree is not a query, or holds what is not."""
    if not isinstance(tree, exp.Query | exp.Values):
        raise HeadraceError("expected a query", span=cursor.span(first))
    marker = tree.find(exp.Placeholder, exp.Parameter)
    if marker is not None:
        raise HeadraceError(
            "a query has no parameters",
            span=span_of(marker, cursor.source),
            hint="Write ${NAME} in an application file, and pass --var NAME=VALUE.",
        )
    refused = tree.find(*_REFUSED)
    if refused is not None:
        raise HeadraceError(f"{refused.key.upper()} cannot stand in a query", span=span_of(refused, cursor.source))
