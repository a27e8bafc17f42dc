"""The types of a view's columns go in, Arrow's types for them come out."""

from typing import Any

import pyarrow as pa
from sqlglot import exp

from headrace.plan.types import Type
from headrace.views.definition import Row, ViewDefinition
from headrace.views.value_types import parsed_type

__all__ = ["arrow_schema", "arrow_table"]

_SIMPLE: dict[Any, Any] = {
    Type.TINYINT: pa.int8(),
    Type.SMALLINT: pa.int16(),
    Type.INT: pa.int32(),
    Type.BIGINT: pa.int64(),
    Type.FLOAT: pa.float32(),
    Type.DOUBLE: pa.float64(),
    Type.BOOLEAN: pa.bool_(),
    Type.TEXT: pa.string(),
    Type.VARCHAR: pa.string(),
    Type.CHAR: pa.string(),
    Type.BINARY: pa.binary(),
    Type.DATE: pa.date32(),
    Type.TIMESTAMP: pa.timestamp("us", "UTC"),
    Type.TIMESTAMPTZ: pa.timestamp("us", "UTC"),
    Type.TIMESTAMPLTZ: pa.timestamp("us", "UTC"),
    Type.TIMESTAMPNTZ: pa.timestamp("us"),
    Type.TIME: pa.time64("us"),
    Type.NULL: pa.null(),
}


def arrow_table(view: ViewDefinition, rows: list[Row]) -> Any:
    """Return rows as an Arrow table with the types of their view."""
    schema = arrow_schema(view)
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [pa.array(values, type=field.type) for values, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=pa.schema([_known(f, a) for f, a in zip(schema, arrays, strict=True)]))


def _known(field: Any, array: Any) -> Any:
    return field if field.type is not None else pa.field(field.name, array.type)


def arrow_schema(view: ViewDefinition) -> Any:
    """Return the columns of a view as Arrow has them.

    >>> from headrace.views.definition import ViewColumn
    >>> arrow_schema(ViewDefinition("v", (ViewColumn("price", "decimal(10,2)"),))).field("price").type
    Decimal128Type(decimal128(10, 2))
    """
    return pa.schema([pa.field(each.name, _arrow_type(parsed_type(each.type))) for each in view.columns])


def _arrow_type(kind: exp.DataType | None) -> Any:
    if kind is None:
        return pa.string()
    match kind.this:
        case Type.DECIMAL:
            precision, scale = (int(each.name) for each in kind.expressions) if kind.expressions else (10, 0)
            return pa.decimal128(precision, scale)
        case Type.ARRAY:
            return pa.list_(_arrow_type(kind.expressions[0]))
        case Type.MAP:
            return pa.map_(*map(_arrow_type, kind.expressions))
        case Type.STRUCT:
            return pa.struct([(each.name, _arrow_type(each.args["kind"])) for each in kind.expressions])
        case _:
            return _SIMPLE.get(kind.this, pa.string())
