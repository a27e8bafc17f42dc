"""A small DataFrame goes in, its rows as plain Python values come out."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    CharType,
    DataType,
    DayTimeIntervalType,
    StructField,
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
        if isinstance(field.dataType, VariantType):
            found = [None if each is None else json.loads(each) for each in found]
        columns.append(found)
    return list(zip(*columns, strict=True)) if columns else [()] * count


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
