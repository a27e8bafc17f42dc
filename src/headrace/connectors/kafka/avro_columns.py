"""Columns with their Spark SQL types go in, an Avro schema of records with these fields comes out."""

import re
from typing import Any

from sqlglot import exp
from sqlglot.errors import ParseError

from headrace.errors import HeadraceError

__all__ = ["schema_of"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_PLAIN: dict[exp.DType, str | dict[str, str]] = {
    exp.DType.BIGINT: "long",
    exp.DType.INT: "int",
    exp.DType.SMALLINT: "int",
    exp.DType.TINYINT: "int",
    exp.DType.DOUBLE: "double",
    exp.DType.FLOAT: "float",
    exp.DType.TEXT: "string",
    exp.DType.VARCHAR: "string",
    exp.DType.CHAR: "string",
    exp.DType.BOOLEAN: "boolean",
    exp.DType.BINARY: "bytes",
    exp.DType.DATE: {"type": "int", "logicalType": "date"},
    exp.DType.TIMESTAMPTZ: {"type": "long", "logicalType": "timestamp-micros"},
    exp.DType.TIMESTAMPLTZ: {"type": "long", "logicalType": "timestamp-micros"},
    exp.DType.TIMESTAMPNTZ: {"type": "long", "logicalType": "local-timestamp-micros"},
}
_TEXTS = (exp.DType.TEXT, exp.DType.VARCHAR, exp.DType.CHAR)


def schema_of(name: str, columns: list[tuple[str, str]]) -> dict[str, Any]:
    """Return the schema of a record with these columns, each of which may be null.

    A struct becomes a record named after its column, in the namespace of the record around it.

    >>> schema_of("clicks", [("page", "STRING")])["fields"]
    [{'name': 'page', 'type': ['null', 'string'], 'default': None}]
    """
    for part in name.split("."):
        _check_name(part, f'record name "{name}"', "Take letters of English, digits and _ for it.")
    return {"type": "record", "name": name, "fields": [_field(column, text, name) for column, text in columns]}


def _field(column: str, text: str, record: str) -> dict[str, Any]:
    try:
        kind = exp.DataType.build(text, dialect="spark")
    except ParseError:
        raise _misfit(column, text) from None
    return _nullable_field(column, kind, record, column, text)


def _nullable_field(name: str, kind: exp.DataType, record: str, column: str, text: str) -> dict[str, Any]:
    what = f'column "{name}"' if name == column else f'field "{name}" of column "{column}"'
    _check_name(name, what, "Give it another name with AS.")
    return {"name": name, "type": ["null", _type(kind, f"{record}.{name}", column, text)], "default": None}


def _type(kind: exp.DataType, path: str, column: str, text: str) -> str | dict[str, Any]:
    """Return the Avro type of a Spark type; ``path`` is the full name of a record, should it be one."""
    parts = kind.expressions
    if kind.this == exp.DType.DECIMAL:
        precision, scale = [*(int(part.name) for part in parts), *(10, 0)[len(parts) :]]
        return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}
    if kind.this == exp.DType.ARRAY and len(parts) == 1:
        return {"type": "array", "items": ["null", _type(parts[0], path, column, text)]}
    if kind.this == exp.DType.MAP and len(parts) == 2 and parts[0].this in _TEXTS:
        return {"type": "map", "values": ["null", _type(parts[1], path, column, text)]}
    if kind.this == exp.DType.STRUCT and parts:
        namespace, _, name = path.rpartition(".")
        fields = [_nullable_field(part.name, part.args["kind"], path, column, text) for part in parts]
        return {"type": "record", "name": name, "namespace": namespace, "fields": fields}
    plain = _PLAIN.get(kind.this)
    if plain is None:
        raise _misfit(column, text)
    return plain


def _check_name(name: str, what: str, hint: str) -> None:
    if not _NAME.fullmatch(name):
        raise HeadraceError(
            f"{what} is not a name that Avro allows",
            detail="Names in Avro have only A to Z, a to z, 0 to 9 and _, and do not begin with a digit.",
            hint=hint,
        )


def _misfit(column: str, text: str) -> HeadraceError:
    return HeadraceError(
        f'column "{column}" of type {text} does not fit format avro',
        detail="Avro has numbers, text, bytes, dates, timestamps, arrays, structs, and maps whose keys are text.",
        hint="Write the column as text, with to_json or CAST.",
    )
