"""Statements go in, their canonical text comes out; parsing it gives the same statements."""

import re
from collections.abc import Iterable

from sqlglot import exp
from sqlglot.errors import ErrorLevel

from headrace.language.dialect import Headrace
from headrace.language.intervals import format_interval
from headrace.language.statements import (
    ColumnDefinition,
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
    OptionValue,
    Query,
    SelectRows,
    SetOption,
    Show,
    Statement,
    Watermark,
)

__all__ = ["format_application", "format_expression", "format_statement"]

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def format_application(statements: Iterable[Statement]) -> str:
    """Return the text of statements, each ended by a semicolon, with an empty line between."""
    return "\n".join(f"{format_statement(statement)};\n" for statement in statements)


def format_statement(statement: Statement) -> str:
    """Return the text of one statement, without a semicolon."""
    match statement:
        case CreateStream() | CreateTable():
            return _stream_or_table(statement)
        case CreateView():
            return _view(statement)
        case CreateSink():
            return _sink(statement)
        case CreateFunction():
            return _function(statement)
        case InsertInto(target, columns, query):
            return f"INSERT INTO {_name(target.text)}{_names(columns)}\n{_query(query)}"
        case SelectRows(query):
            return _query(query)
        case Observe(name, query):
            return f"OBSERVE {_name(name.text)} AS\n{_query(query)}"
        case SetOption(name, value):
            return f"SET {_option_name(name)} = {_value(value)}"
        case Explain(inner):
            return f"EXPLAIN {format_statement(inner)}"
        case Show(kind):
            return f"SHOW {kind}"
        case Describe(name):
            return f"DESCRIBE {_name(name.text)}"
        case Drop(kind, name, if_exists):
            return f"DROP {kind} {'IF EXISTS ' if if_exists else ''}{_name(name.text)}"


def format_expression(tree: exp.Expr, *, pretty: bool = False) -> str:
    """Return the text of an expression, a type or a query."""
    return tree.sql(dialect=Headrace, pretty=pretty, unsupported_level=ErrorLevel.IGNORE, comments=False)


def _stream_or_table(statement: CreateStream | CreateTable) -> str:
    kind = "STREAM" if isinstance(statement, CreateStream) else "TABLE"
    head = f"CREATE {kind} {_guard(statement.if_not_exists)}{_name(statement.name.text)}"
    body = _body(statement.columns, statement.watermark, statement.primary_key)
    return head + body + _options(statement.options)


def _view(statement: CreateView) -> str:
    kind = "MATERIALIZED VIEW" if statement.materialized else "VIEW"
    head = f"CREATE {kind} {_guard(statement.if_not_exists)}{_name(statement.name.text)}"
    return f"{head}{_names(statement.columns)}{_options(statement.options)} AS\n{_query(statement.query)}"


def _sink(statement: CreateSink) -> str:
    head = f"CREATE SINK {_guard(statement.if_not_exists)}{_name(statement.name.text)}"
    head += _body(statement.columns, None, statement.primary_key) + _options(statement.options)
    return head if statement.query is None else f"{head} AS\n{_query(statement.query)}"


def _function(statement: CreateFunction) -> str:
    parameters = ", ".join(_column(parameter) for parameter in statement.parameters)
    return (
        f"CREATE FUNCTION {_guard(statement.if_not_exists)}{_name(statement.name.text)}({parameters})\n"
        f"  RETURNS {format_expression(statement.returns)} LANGUAGE {statement.language}"
        f" AS {_string(statement.body)}{_options(statement.options)}"
    )


def _guard(if_not_exists: bool) -> str:
    return "IF NOT EXISTS " if if_not_exists else ""


def _body(columns: tuple[ColumnDefinition, ...], watermark: Watermark | None, primary_key: tuple[str, ...]) -> str:
    items = [_column(column) for column in columns]
    if watermark is not None:
        items.append(_watermark(watermark))
    if primary_key:
        items.append(f"PRIMARY KEY{_names(primary_key)}")
    return " (\n  " + ",\n  ".join(items) + "\n)" if items else ""


def _column(column: ColumnDefinition) -> str:
    parts = [_identifier(column.name)]
    if column.type is not None:
        parts.append(format_expression(column.type))
    if column.computed is not None:
        parts.append(f"AS {format_expression(column.computed)}")
    if not column.nullable:
        parts.append("NOT NULL")
    if column.comment is not None:
        parts.append(f"COMMENT {_string(column.comment)}")
    return " ".join(parts)


def _watermark(watermark: Watermark) -> str:
    column = _identifier(watermark.column)
    text = f"WATERMARK FOR {column} AS {column}"
    if watermark.delay:
        text += f" - {format_interval(watermark.delay)}"
    if watermark.idle_after is not None:
        text += f" IDLE AFTER {format_interval(watermark.idle_after)}"
    return text


def _query(query: Query) -> str:
    text = format_expression(query.tree, pretty=True)
    return text if query.emit is None else f"{text}\nEMIT {query.emit.value}"


def _options(options: tuple[Option, ...]) -> str:
    if not options:
        return ""
    items = [f"{_option_name(option.name)} = {_value(option.value)}" for option in options]
    line = f" WITH ({', '.join(items)})"
    return line if len(line) <= 100 else " WITH (\n  " + ",\n  ".join(items) + "\n)"


def _option_name(name: str) -> str:
    parts = name.split(".")
    return name if all(_PLAIN.match(part) for part in parts) else _string(name)


def _value(value: OptionValue) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return _string(value) if isinstance(value, str) else repr(value)


def _string(text: str) -> str:
    return format_expression(exp.Literal.string(text))


def _names(names: tuple[str, ...]) -> str:
    return f" ({', '.join(_identifier(name) for name in names)})" if names else ""


def _name(name: str) -> str:
    return ".".join(_identifier(part) for part in name.split("."))


def _identifier(name: str) -> str:
    from headrace.language.tokens import is_plain_name

    return name if is_plain_name(name) else "`" + name.replace("`", "``") + "`"
