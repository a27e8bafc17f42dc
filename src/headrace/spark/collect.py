"""A small DataFrame goes in, its rows as plain Python values come out."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    CharType,
    DataType,
    DayTimeIntervalType,
    MapType,
    StructField,
    StructType,
    VariantType,
    YearMonthIntervalType,
)

from headrace.spark.lower import HIDDEN, KEEP, KEY
from headrace.spark.maintained import WEIGHT
from headrace.spark.records import quoted
from headrace.views.store import Published

_AS_TEXT = (DayTimeIntervalType, YearMonthIntervalType, CharType)


def columns_of(frame: DataFrame) -> list[str]:
    """Return the columns of a frame that a user sees."""
    return [name for name in frame.columns if name not in HIDDEN]


def collect(frame: DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a frame as dictionaries, timestamps aware and in UTC."""
    names = frame.columns
    fields = frame.schema.fields
    rows: list[dict[str, Any]] = []
    for batch in plain_frame(frame).toArrow().to_batches():
        rows.extend(dict(zip(names, row, strict=True)) for row in plain_rows(batch.columns, fields, batch.num_rows))
    return rows


def plain_frame(frame: DataFrame) -> DataFrame:
    """Return a frame with what Python has no type for as text."""
    return frame.select(*[_plain(field.name, field.dataType) for field in frame.schema.fields])


def plain_rows(arrays: Sequence[Any], fields: Sequence[StructField], count: int) -> list[tuple[Any, ...]]:
    """Return the rows of some columns that were made plain."""
    columns = []
    for values, field in zip(arrays, fields, strict=True):
        found = values.to_pylist()
        read = _reader(field.dataType)
        columns.append(found if read is None else [None if each is None else read(each) for each in found])
    return list(zip(*columns, strict=True)) if columns else [()] * count


def _reader(kind: DataType) -> Callable[[Any], Any] | None:
    """Return what makes a value that is not NULL plain, None where it is: Arrow gives a map as a list of pairs."""
    match kind:
        case VariantType():
            return json.loads
        case MapType():
            key, item = _all_through(kind.keyType), _all_through(kind.valueType)
            return lambda pairs: _as_map([(key(name), item(value)) for name, value in pairs])
        case ArrayType() if _reader(kind.elementType) is not None:
            element = _all_through(kind.elementType)
            return lambda values: [element(each) for each in values]
        case StructType() if any(_reader(field.dataType) is not None for field in kind.fields):
            readers = {field.name: _all_through(field.dataType) for field in kind.fields}
            return lambda value: {name: read(value[name]) for name, read in readers.items()}
        case _:
            return None


def _all_through(kind: DataType) -> Callable[[Any], Any]:
    read = None if isinstance(kind, VariantType) else _reader(kind)  # only a whole column of VARIANT is text
    return lambda value: value if value is None or read is None else read(value)


def _as_map(pairs: list[tuple[Any, Any]]) -> Any:
    """Return a map; one whose keys no dictionary takes, such as structs, stays pairs."""
    return pairs if pairs and isinstance(pairs[0][0], (dict, list)) else dict(pairs)


def _plain(name: str, kind: DataType) -> Any:
    column = F.col(quoted(name))
    if isinstance(kind, VariantType):
        return F.to_json(column).alias(name)
    if isinstance(kind, _AS_TEXT):
        return column.cast("string").alias(name)
    return column.alias(name)


def published(frame: DataFrame) -> Iterator[Published]:
    """Yield the rows of a batch as a store takes them."""
    for row in collect(frame):
        key, keep, weight = row.pop(KEY, None), row.pop(KEEP, True), row.pop(WEIGHT, 1)
        yield Published(row, key, bool(keep), weight)
