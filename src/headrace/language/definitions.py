"""Tokens of the clauses of CREATE go in; columns, watermarks, keys and options come out."""

import math
from dataclasses import dataclass, field
from datetime import timedelta
from typing import cast

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from headrace.errors import HeadraceError, Span
from headrace.language.cursor import Cursor, is_name
from headrace.language.intervals import interval
from headrace.language.mistakes import TYPES, did_you_mean, found
from headrace.language.spans import span_of
from headrace.language.statements import ColumnDefinition, Option, OptionValue, Watermark

__all__ = ["Body", "data_type", "names", "option_name", "option_value", "options", "parameters", "table_body"]

_SHORT_TYPES = frozenset({"BYTE", "SHORT", "LONG"})
_DATA_TYPES = frozenset(
    {
        exp.DType.BOOLEAN,
        exp.DType.TINYINT,
        exp.DType.SMALLINT,
        exp.DType.INT,
        exp.DType.BIGINT,
        exp.DType.FLOAT,
        exp.DType.DOUBLE,
        exp.DType.DECIMAL,
        exp.DType.TEXT,
        exp.DType.VARCHAR,
        exp.DType.CHAR,
        exp.DType.BINARY,
        exp.DType.DATE,
        exp.DType.TIME,
        exp.DType.TIMESTAMP,
        exp.DType.TIMESTAMPTZ,
        exp.DType.TIMESTAMPLTZ,
        exp.DType.TIMESTAMPNTZ,
        exp.DType.INTERVAL,
        exp.DType.ARRAY,
        exp.DType.MAP,
        exp.DType.STRUCT,
        exp.DType.VARIANT,
    }
)
_WATERMARK_HINT = "Write WATERMARK FOR column AS column - INTERVAL 5 SECONDS."


@dataclass(slots=True)
class Body:
    """What stands between the parentheses of CREATE STREAM, TABLE or SINK."""

    columns: list[ColumnDefinition] = field(default_factory=list)
    watermark: Watermark | None = None
    primary_key: tuple[str, ...] = ()
    key_span: Span | None = None


def table_body(cursor: Cursor) -> Body:
    """Read ``(column, ..., WATERMARK ..., PRIMARY KEY (...))``."""
    body = Body()
    cursor.expect_type(TokenType.L_PAREN, "(")
    while True:
        _item(cursor, body)
        if cursor.accept_type(TokenType.R_PAREN):
            break
        _comma(cursor, body)
    _check_names(cursor, body)
    return body


def _item(cursor: Cursor, body: Body) -> None:
    first = cursor.peek()
    if cursor.word() == "WATERMARK" and cursor.word(1) == "FOR":
        if body.watermark is not None:
            raise cursor.error("a second WATERMARK")
        body.watermark = _watermark(cursor)
    elif cursor.at("PRIMARY", "KEY"):
        if body.primary_key:
            raise cursor.error("a second PRIMARY KEY")
        cursor.accept("PRIMARY", "KEY")
        opening = cursor.peek()
        body.primary_key = names(cursor, "a column of the key")
        body.key_span = cursor.since(opening) if opening is not None else None
    elif cursor.word(1) == "FOR" and first is not None:
        raise cursor.error(f"unexpected {found(first)}", hint=did_you_mean(first.text, ["WATERMARK"]))
    else:
        column = _column(cursor, body)
        body.columns.append(column)


def _comma(cursor: Cursor, body: Body) -> None:
    token = cursor.peek()
    if not cursor.accept_type(TokenType.COMMA):
        words = ("NOT", "NULL", "COMMENT", "AS", "GENERATED", "PRIMARY", "WATERMARK", "IDLE")
        hint = did_you_mean(token.text, words) if token and cursor.word() else None
        raise cursor.error(f'expected "," or ")" but found {found(token)}', hint=hint)


def _column(cursor: Cursor, body: Body) -> ColumnDefinition:
    first = cursor.peek()
    name = cursor.name("a column's name")
    kind = None
    if not cursor.at("AS") and not cursor.at("GENERATED"):
        kind = data_type(cursor)
    nullable, computed, comment = True, None, None
    while True:
        if cursor.accept("NOT"):
            cursor.expect("NULL")
            nullable = False
        elif cursor.accept("COMMENT"):
            comment, _ = cursor.string("the comment")
        elif cursor.at("PRIMARY", "KEY") and not body.primary_key:
            cursor.accept("PRIMARY", "KEY")
            body.primary_key = (name.text,)
        elif computed is None and cursor.at("GENERATED"):
            cursor.expect("GENERATED", "ALWAYS", "AS")
            cursor.expect_type(TokenType.L_PAREN, "(")
            computed = cursor.tree(lambda parser: parser._parse_disjunction(), "an expression")
            cursor.expect_type(TokenType.R_PAREN, ")")
        elif computed is None and cursor.accept("AS"):
            computed = cursor.tree(lambda parser: parser._parse_disjunction(), "an expression")
        else:
            break
    if kind is None and computed is None:
        raise cursor.error(f"column {name.text} has no type", span=name.span)
    span = cursor.since(cast("Token", first))
    return ColumnDefinition(name.text, kind, nullable, cast("exp.Expression", computed), span, comment)


def data_type(cursor: Cursor) -> exp.DataType:
    """Read a type."""
    token = cursor.peek()
    kinds = f"Types are {', '.join(TYPES)}."
    if token is None or token.token_type in {TokenType.COMMA, TokenType.R_PAREN, TokenType.STRING}:
        raise cursor.error(f"expected a type but found {found(token)}", hint=kinds)
    unknown = cursor.error(f"unknown type {token.text}", hint=did_you_mean(token.text, TYPES, kinds))
    if token.token_type in {TokenType.VAR, TokenType.IDENTIFIER} and token.text.upper() not in _SHORT_TYPES:
        raise unknown
    kind = cursor.tree(
        lambda parser: parser._parse_types(schema=True, allow_identifiers=False, with_collation=True),
        "a type",
    )
    if not isinstance(kind, exp.DataType):
        raise unknown
    for inner in kind.find_all(exp.DataType):
        if not isinstance(inner, exp.IntervalSpan) and _is_foreign(inner):
            unknown.span = span_of(inner, cursor.source)
            raise unknown
    return kind


def _is_foreign(kind: exp.DataType) -> bool:
    return kind.this not in _DATA_TYPES and not isinstance(kind.this, exp.Interval)


def _watermark(cursor: Cursor) -> Watermark:
    first = cast("Token", cursor.peek())
    cursor.expect("WATERMARK", "FOR")
    name = cursor.name("the watermark's column")
    cursor.expect("AS", hint=_WATERMARK_HINT)
    start = cast("Token", cursor.peek())
    tree = cursor.tree(lambda parser: parser._parse_disjunction(), "an expression")
    span = cursor.since(start)
    column, delay = _delayed(tree, span)
    if not isinstance(column, exp.Column) or column.table:
        raise HeadraceError("a watermark is a column minus an interval", span=span, hint=_WATERMARK_HINT)
    if column.name.lower() != name.text.lower():
        raise HeadraceError(
            f"the watermark for {name.text} is computed from {column.name}",
            span=span,
            hint=f"Write WATERMARK FOR {name.text} AS {name.text} - INTERVAL ...",
        )
    if delay < timedelta(0):
        raise HeadraceError("a watermark cannot run ahead of its column", span=span, hint=_WATERMARK_HINT)
    idle = _idle(cursor)
    return Watermark(name.text, delay, idle, cursor.since(first))


def _delayed(tree: exp.Expr, span: Span) -> tuple[exp.Expr, timedelta]:
    delay = timedelta(0)
    while isinstance(tree, exp.Sub | exp.Add | exp.Paren):
        if isinstance(tree, exp.Paren):
            tree = tree.this
            continue
        amount = interval(tree.right, span)
        delay += amount if isinstance(tree, exp.Sub) else -amount
        tree = tree.left
    return tree, delay


def _idle(cursor: Cursor) -> timedelta | None:
    if not cursor.accept("IDLE"):
        return None
    cursor.expect("AFTER", hint="Write IDLE AFTER INTERVAL 30 SECONDS.")
    start = cursor.peek()
    tree = cursor.tree(lambda parser: parser._parse_interval(), "an interval")
    span = cursor.since(cast("Token", start))
    duration = interval(tree, span)
    if duration <= timedelta(0):
        raise HeadraceError("a source is idle only after a while", span=span, hint="Write a longer interval.")
    return duration


def _check_names(cursor: Cursor, body: Body) -> None:
    seen: set[str] = set()
    for column in body.columns:
        if column.name.lower() in seen:
            raise HeadraceError(f"column {column.name} is defined twice", span=column.span)
        seen.add(column.name.lower())
    for name in body.primary_key:
        if name.lower() not in seen:
            known = [column.name for column in body.columns]
            hint = did_you_mean(name, known, f"There are: {', '.join(known)}.")
            raise HeadraceError(f'the primary key names an unknown column "{name}"', span=body.key_span, hint=hint)


def names(cursor: Cursor, what: str) -> tuple[str, ...]:
    """Read ``(name, ...)``; a name that stands twice is an error."""
    cursor.expect_type(TokenType.L_PAREN, "(")
    found_names: list[str] = []
    while True:
        name = cursor.name(what)
        if name.text.lower() in (other.lower() for other in found_names):
            raise cursor.error(f"{name.text} stands twice", span=name.span)
        found_names.append(name.text)
        if cursor.accept_type(TokenType.R_PAREN):
            return tuple(found_names)
        if not cursor.accept_type(TokenType.COMMA):
            raise cursor.error(f'expected "," or ")" but found {found(cursor.peek())}')


def parameters(cursor: Cursor) -> tuple[ColumnDefinition, ...]:
    """Read the parameters of CREATE FUNCTION, which may be none."""
    cursor.expect_type(TokenType.L_PAREN, "(")
    body = Body()
    if cursor.accept_type(TokenType.R_PAREN):
        return ()
    while True:
        first = cast("Token", cursor.peek())
        name = cursor.name("a parameter's name")
        kind = data_type(cursor)
        body.columns.append(ColumnDefinition(name.text, kind, True, None, cursor.since(first)))
        if cursor.accept_type(TokenType.R_PAREN):
            break
        _comma(cursor, body)
    _check_names(cursor, body)
    return tuple(body.columns)


def options(cursor: Cursor) -> tuple[Option, ...]:
    """Read ``WITH (name = value, ...)`` if it stands here."""
    if not cursor.accept("WITH"):
        return ()
    cursor.expect_type(TokenType.L_PAREN, "(", hint="Options stand in parentheses: WITH (name = 'value').")
    read: list[Option] = []
    if cursor.accept_type(TokenType.R_PAREN):
        return ()
    while True:
        first = cast("Token", cursor.peek())
        name = option_name(cursor)
        name_span = cursor.since(first)
        if any(option.name == name for option in read):
            raise cursor.error(f"option {name} is given twice", span=name_span)
        cursor.expect_type(TokenType.EQ, "=", hint=f"Write {name} = 'value'.")
        value, value_span = option_value(cursor, name)
        read.append(Option(name, value, name_span, value_span))
        if cursor.accept_type(TokenType.R_PAREN):
            return tuple(read)
        if not cursor.accept_type(TokenType.COMMA):
            raise cursor.error(f'expected "," or ")" but found {found(cursor.peek())}')


def option_name(cursor: Cursor) -> str:
    """Read an option's name: a word, a quoted name, a string, or several joined by dots."""
    parts = [_option_part(cursor)]
    while cursor.accept_type(TokenType.DOT):
        parts.append(_option_part(cursor))
    return ".".join(parts)


def _option_part(cursor: Cursor) -> str:
    token = cursor.peek()
    word = token is not None and (is_name(token) or token.text[:1].isalpha())
    if token is None or not (word or token.token_type == TokenType.STRING) or not token.text.strip():
        raise cursor.error(f"expected an option's name but found {found(token)}")
    return cursor.take().text


def option_value(cursor: Cursor, name: str, *, words: bool = False) -> tuple[OptionValue, Span]:
    """Read a string, a number, true or false; also a bare word if words are allowed."""
    token = cursor.peek()
    sign = 1
    if token is not None and token.token_type in {TokenType.DASH, TokenType.PLUS}:
        sign = -1 if token.token_type == TokenType.DASH else 1
        cursor.take()
        if not cursor.at_type(TokenType.NUMBER) and not cursor.at_type(TokenType.DOT):
            raise cursor.error(f"expected a number but found {found(cursor.peek())}")
    fraction = cursor.accept_type(TokenType.DOT) and cursor.at_type(TokenType.NUMBER)
    value_token = cursor.peek()
    if token is None or value_token is None:
        raise cursor.error(f"expected a value for {name}")
    value: OptionValue
    match value_token.token_type:
        case TokenType.STRING | TokenType.RAW_STRING:
            value = value_token.text
        case TokenType.NUMBER:
            value = _number(cursor, value_token, sign, "0." if fraction else "")
        case TokenType.TRUE | TokenType.FALSE:
            value = value_token.token_type == TokenType.TRUE
        case _ if words and is_name(value_token):
            value = value_token.text
        case _:
            quoted = value_token.text.replace("'", "")
            raise cursor.error(
                f"expected a string, a number, true or false but found {found(value_token)}",
                hint=f"Put text in quotes: {name} = '{quoted}'." if cursor.word() and quoted else None,
            )
    cursor.take()
    return value, cursor.since(token)


def _number(cursor: Cursor, token: Token, sign: int, before: str) -> int | float:
    text = before + token.text
    try:
        if text.isdecimal() and len(text) < 1000:
            return sign * int(text)
        value = sign * float(text)
    except ValueError:
        raise cursor.error(f"{token.text} is no number", span=cursor.span(token)) from None
    if not math.isfinite(value):
        raise cursor.error(f"the number {token.text[:20]} is too large", span=cursor.span(token))
    return value
