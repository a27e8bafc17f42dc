"""Spark's types go in; PostgreSQL's types, and whether one fits another, come out."""

import re
from collections.abc import Sequence
from typing import Any

from headrace.connectors.spark_types import SparkType
from headrace.connectors.tables import TableColumn
from headrace.connectors.typed_values import json_of
from headrace.errors import HeadraceError

__all__ = ["TYPES", "fits", "for_copy", "postgres_type", "unwritable"]

Row = tuple[Any, ...]

TYPES = {
    "tinyint": "smallint",
    "smallint": "smallint",
    "int": "integer",
    "bigint": "bigint",
    "float": "real",
    "double": "double precision",
    "decimal": "numeric",
    "string": "text",
    "boolean": "boolean",
    "timestamp": "timestamp with time zone",
    "timestamp_ntz": "timestamp without time zone",
    "date": "date",
    "time": "time without time zone",
    "binary": "bytea",
    "interval": "text",
    "void": "text",
}
_WIDER = {
    "tinyint": ("integer", "bigint", "numeric"),
    "smallint": ("integer", "bigint", "numeric"),
    "int": ("bigint", "numeric", "double precision"),
    "bigint": ("numeric",),
    "float": ("double precision",),
    "string": ("character varying", "character", "citext"),
    "interval": ("character varying", "character"),
    "void": ("character varying", "character"),
}
_NUMERIC = re.compile(r"numeric\((\d+),(-?\d+)\)")


def postgres_type(kind: SparkType) -> str:
    """Return the type that holds all values of a Spark type.

    >>> postgres_type(SparkType("decimal", 10, 2)), postgres_type(SparkType("struct"))
    ('numeric(10,2)', 'jsonb')
    """
    if kind.nested:
        return "jsonb"
    if kind.name == "decimal":
        return f"numeric({kind.precision},{kind.scale})"
    return TYPES[kind.name]


def fits(kind: SparkType, found: str) -> bool:
    """Say whether a column of a PostgreSQL type, as ``format_type`` writes it, can hold all values of a Spark type.

    >>> fits(SparkType("decimal", 10, 2), "numeric(12,2)"), fits(SparkType("decimal", 10, 2), "numeric(12,1)")
    (True, False)
    """
    if kind.nested:
        return found in {"jsonb", "json"}
    if kind.name == "decimal":
        digits = _NUMERIC.fullmatch(found)
        if digits is None:
            return found == "numeric"
        precision, scale = int(digits[1]), int(digits[2])
        return scale >= kind.scale and precision - scale >= kind.precision - kind.scale
    return re.sub(r"\(.*?\)", "", found) in (TYPES.get(kind.name), *_WIDER.get(kind.name, ()))


def for_copy(columns: Sequence[TableColumn]) -> "list[int]":
    """Return the places of the columns whose values are written as JSON."""
    return [place for place, column in enumerate(columns) if column.kind.nested]


def with_json(row: Row, nested: Sequence[int]) -> Row:
    """Return a row with JSON text at the places of nested values."""
    if not nested:
        return row
    values = list(row)
    for place in nested:
        if values[place] is not None:
            values[place] = json_of(values[place])
    return tuple(values)


def unwritable(columns: Sequence[TableColumn], rows: Sequence[Row]) -> HeadraceError | None:
    """Return what is wrong with the first value that PostgreSQL's text cannot hold."""
    for row in rows:
        for column, value in zip(columns, row, strict=True):
            nested = isinstance(value, (list, dict))
            text = json_of(value).replace("\\\\", "") if nested else value
            if not isinstance(text, str):
                continue
            if ("\\u0000" if nested else "\0") in text:
                what = "the character U+0000"
            elif re.search(r"\\ud[89a-f]" if nested else "[\ud800-\udfff]", text):
                what = "half a character (a lone surrogate)"
            else:
                continue
            return HeadraceError(
                f'column "{column.name}" holds {what}, which PostgreSQL cannot store in text',
                detail="Nothing of the batch was written.",
                hint=f"Take it out in the query: replace({column.name}, '\\u0000', '').",
            )
    return None
