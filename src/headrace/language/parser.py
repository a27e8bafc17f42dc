"""An application's text goes in, its statements come out.

Statements are read by the functions of this module, one per kind; expressions, types and queries inside
them by sqlglot. A mistake is a `HeadraceError` at the token where it shows.
"""

from collections.abc import Callable
from typing import cast

from sqlglot.tokenizer_core import Token, TokenType

from headrace.errors import Source, Span
from headrace.language import definitions
from headrace.language.cursor import Cursor
from headrace.language.mistakes import did_you_mean, found
from headrace.language.queries import query
from headrace.language.statements import (
    CreateFunction,
    CreateSink,
    CreateStream,
    CreateTable,
    CreateView,
    Describe,
    Drop,
    Explain,
    InsertInto,
    Observe,
    Option,
    Query,
    SelectRows,
    SetOption,
    Show,
    Statement,
)
from headrace.language.tokens import token_span, tokenize

__all__ = ["parse"]

KINDS = ("STREAM", "TABLE", "VIEW", "MATERIALIZED VIEW", "SINK", "FUNCTION")
SHOWN = (*(f"{kind}S" for kind in KINDS), "OPTIONS")
STARTS = (
    "CREATE",
    "INSERT",
    "OBSERVE",
    "SET",
    "EXPLAIN",
    "SHOW",
    "DESCRIBE",
    "DROP",
    "SELECT",
    "WITH",
    "FROM",
    "VALUES",
)


def parse(source: Source) -> tuple[Statement, ...]:
    """Return the statements of a text; none if it holds only blanks and comments.

    >>> [statement.kind for statement in parse(Source("app.sql", "SHOW STREAMS; SHOW SINKS"))]
    ['STREAMS', 'SINKS']
    """
    tokens = tokenize(source)
    statements: list[Statement] = []
    first = 0
    for index, token in enumerate(tokens):
        if token.token_type == TokenType.SEMICOLON:
            if index > first:
                end = token_span(source, token)
                statements.append(_whole(Cursor(source, tokens[first:index], end)))
            first = index + 1
    if first < len(tokens):
        last = tokens[-1].end + 1
        statements.append(_whole(Cursor(source, tokens[first:], Span(source, last, last))))
    return tuple(statements)


def _whole(cursor: Cursor) -> Statement:
    statement = _statement(cursor)
    cursor.expect_end()
    return statement


def _statement(cursor: Cursor) -> Statement:
    first = cast("Token", cursor.peek())
    for word, read in _READERS.items():
        if cursor.at(word):
            return read(cursor)
    if first.token_type == TokenType.L_PAREN:
        return _select(cursor)
    known = ", ".join(STARTS)
    raise cursor.error(
        f"unexpected {found(first)} at the start of a statement",
        hint=_start_hint(cursor) or f"Statements start with {known}.",
    )


def _start_hint(cursor: Cursor) -> str | None:
    word = cursor.word()
    if word in KINDS:
        return f"Did you mean CREATE {word}?"
    return did_you_mean(word, STARTS) if word else None


# --- CREATE ------------------------------------------------------------------------------------------


def _create(cursor: Cursor) -> Statement:
    first = cursor.take()
    for kind, read in _CREATED.items():
        if cursor.accept(*kind.split()):
            return read(cursor, first)
    word = cursor.word()
    if word == "OR":
        raise cursor.error(
            "CREATE OR REPLACE is not a statement",
            hint="Write CREATE, and upgrade the job to change it while it keeps its state.",
        )
    if cursor.at("MATERIALIZED"):
        cursor.take()
        cursor.expect("VIEW")
    nearest = did_you_mean(word, KINDS)
    hint = nearest and nearest.replace("mean ", "mean CREATE ")
    raise cursor.error(
        f"cannot create {found(cursor.peek())}", hint=hint or f"CREATE can be followed by {', '.join(KINDS)}."
    )


def _if_not_exists(cursor: Cursor) -> bool:
    return cursor.accept("IF", "NOT", "EXISTS")


def _create_stream(cursor: Cursor, first: Token) -> Statement:
    return _stream_or_table(cursor, first, CreateStream, "the stream's name")


def _create_table(cursor: Cursor, first: Token) -> Statement:
    return _stream_or_table(cursor, first, CreateTable, "the table's name")


def _stream_or_table(
    cursor: Cursor, first: Token, kind: type[CreateStream] | type[CreateTable], what: str
) -> Statement:
    if_not_exists = _if_not_exists(cursor)
    name = cursor.name(what)
    body = definitions.table_body(cursor) if cursor.at_type(TokenType.L_PAREN) else definitions.Body()
    if cursor.at("AS"):
        raise cursor.error(
            "a stream or table has no query",
            hint="Write CREATE VIEW or CREATE MATERIALIZED VIEW for a query.",
        )
    options = definitions.options(cursor)
    cursor.expect_end("WITH")
    return kind(
        name=name,
        columns=tuple(body.columns),
        watermark=body.watermark,
        primary_key=body.primary_key,
        options=options,
        if_not_exists=if_not_exists,
        span=cursor.since(first),
    )


def _create_view(cursor: Cursor, first: Token) -> Statement:
    return _view(cursor, first, materialized=False)


def _create_materialized_view(cursor: Cursor, first: Token) -> Statement:
    return _view(cursor, first, materialized=True)


def _view(cursor: Cursor, first: Token, *, materialized: bool) -> Statement:
    if_not_exists = _if_not_exists(cursor)
    name = cursor.name("the view's name")
    columns = definitions.names(cursor, "a column's name") if cursor.at_type(TokenType.L_PAREN) else ()
    options = definitions.options(cursor)
    cursor.expect("AS", hint="Write CREATE VIEW name AS SELECT ...")
    view_query, later = _query_and_options(cursor)
    return CreateView(
        name=name,
        columns=columns,
        query=view_query,
        materialized=materialized,
        options=_one_of(cursor, options, later),
        if_not_exists=if_not_exists,
        span=cursor.since(first),
    )


def _create_sink(cursor: Cursor, first: Token) -> Statement:
    if_not_exists = _if_not_exists(cursor)
    name = cursor.name("the sink's name")
    body = definitions.table_body(cursor) if cursor.at_type(TokenType.L_PAREN) else definitions.Body()
    if body.watermark is not None:
        raise cursor.error("a sink has no watermark", span=body.watermark.span)
    options = definitions.options(cursor)
    sink_query, later = _query_and_options(cursor) if cursor.accept("AS") else (None, ())
    cursor.expect_end("AS", "WITH")
    return CreateSink(
        name=name,
        columns=tuple(body.columns),
        options=_one_of(cursor, options, later),
        query=sink_query,
        if_not_exists=if_not_exists,
        span=cursor.since(first),
        primary_key=body.primary_key,
    )


def _query_and_options(cursor: Cursor) -> tuple[Query, tuple[Option, ...]]:
    """Read a query and the WITH (...) that may stand after it."""
    depth = 0
    stop = cursor.stop
    for index in range(cursor.index, stop - 1):
        kind, following = cursor.tokens[index].token_type, cursor.tokens[index + 1].token_type
        depth += (kind == TokenType.L_PAREN) - (kind == TokenType.R_PAREN)
        if depth == 0 and kind == TokenType.WITH and following == TokenType.L_PAREN:
            cursor.stop = index
            break
    read = query(cursor)
    cursor.stop = stop
    return read, definitions.options(cursor)


def _one_of(cursor: Cursor, before: tuple[Option, ...], after: tuple[Option, ...]) -> tuple[Option, ...]:
    if before and after:
        raise cursor.error("a second WITH", span=after[0].span, hint="Write all options in one WITH (...).")
    return before or after


def _create_function(cursor: Cursor, first: Token) -> Statement:
    if_not_exists = _if_not_exists(cursor)
    name = cursor.name("the function's name")
    parameters = definitions.parameters(cursor)
    cursor.expect("RETURNS", hint="Write CREATE FUNCTION name(a DOUBLE) RETURNS DOUBLE ...")
    returns = definitions.data_type(cursor)
    cursor.expect("LANGUAGE", hint="Write LANGUAGE PYTHON AS 'module:function'.")
    language = cursor.name("the function's language")
    if language.text.upper() != "PYTHON":
        raise cursor.error(
            f"functions cannot be written in {language.text}",
            span=language.span,
            hint="Write LANGUAGE PYTHON.",
        )
    cursor.expect("AS", hint="Write AS 'module:function'.")
    body, body_span = cursor.string("the function's place")
    return CreateFunction(
        name=name,
        parameters=parameters,
        returns=returns,
        language="PYTHON",
        body=body,
        options=definitions.options(cursor),
        if_not_exists=if_not_exists,
        span=cursor.since(first),
        body_span=body_span,
    )


_CREATED: dict[str, Callable[[Cursor, Token], Statement]] = {
    "STREAM": _create_stream,
    "TABLE": _create_table,
    "MATERIALIZED VIEW": _create_materialized_view,
    "VIEW": _create_view,
    "SINK": _create_sink,
    "FUNCTION": _create_function,
}


# --- the others --------------------------------------------------------------------------------------


def _select(cursor: Cursor) -> Statement:
    first = cast("Token", cursor.peek())
    rows = query(cursor)
    return SelectRows(rows, cursor.since(first))


def _insert(cursor: Cursor) -> Statement:
    first = cursor.take()
    cursor.expect("INTO", hint="Write INSERT INTO sink SELECT ...")
    target = cursor.name("the sink's name", dotted=True)
    columns: tuple[str, ...] = ()
    if cursor.at_type(TokenType.L_PAREN) and cursor.word(1) not in {"SELECT", "WITH", "FROM", "VALUES", "("}:
        columns = definitions.names(cursor, "a column's name")
    rows = query(cursor)
    return InsertInto(target, columns, rows, cursor.since(first))


def _observe(cursor: Cursor) -> Statement:
    first = cursor.take()
    name = cursor.name("the observation's name")
    cursor.expect("AS", hint="Write OBSERVE name AS SELECT count(*) AS n FROM stream.")
    rows = query(cursor)
    return Observe(name, rows, cursor.since(first))


def _set(cursor: Cursor) -> Statement:
    first = cursor.take()
    name = definitions.option_name(cursor)
    cursor.expect_type(TokenType.EQ, "=", hint=f"Write SET {name} = value.")
    value, value_span = definitions.option_value(cursor, name, words=True)
    return SetOption(name, value, cursor.since(first), value_span)


def _explain(cursor: Cursor) -> Statement:
    first = cursor.take()
    if cursor.peek() is None:
        raise cursor.error("EXPLAIN what?", hint="Write EXPLAIN SELECT ..., or EXPLAIN and another statement.")
    if cursor.at("EXPLAIN"):
        raise cursor.error("EXPLAIN stands twice")
    statement = _statement(cursor)
    return Explain(statement, cursor.since(first))


def _show(cursor: Cursor) -> Statement:
    first = cursor.take()
    for kind in SHOWN:
        if cursor.accept(*kind.split()):
            return Show(kind, cursor.since(first))
    raise cursor.error(
        f"cannot show {found(cursor.peek())}",
        hint=did_you_mean(cursor.word() or "?", SHOWN, f"SHOW can be followed by {', '.join(SHOWN)}."),
    )


def _describe(cursor: Cursor) -> Statement:
    first = cursor.take()
    if any(cursor.at(*kind.split()) for kind in KINDS) and cursor.peek(1) is not None:
        _accept_kind(cursor)
    return Describe(cursor.name("a name to describe", dotted=True), cursor.since(first))


def _accept_kind(cursor: Cursor) -> str | None:
    return next((kind for kind in KINDS if cursor.accept(*kind.split())), None)


def _drop(cursor: Cursor) -> Statement:
    first = cursor.take()
    kind = _accept_kind(cursor)
    if kind is None:
        raise cursor.error(
            f"cannot drop {found(cursor.peek())}",
            hint=did_you_mean(cursor.word() or "?", KINDS, f"DROP can be followed by {', '.join(KINDS)}."),
        )
    if_exists = cursor.accept("IF", "EXISTS")
    name = cursor.name("the name of what to drop", dotted=True)
    return Drop(kind, name, if_exists, cursor.since(first))


_READERS: dict[str, Callable[[Cursor], Statement]] = {
    "CREATE": _create,
    "INSERT": _insert,
    "OBSERVE": _observe,
    "SET": _set,
    "EXPLAIN": _explain,
    "SHOW": _show,
    "DESCRIBE": _describe,
    "DESC": _describe,
    "DROP": _drop,
    "SELECT": _select,
    "WITH": _select,
    "FROM": _select,
    "VALUES": _select,
}
