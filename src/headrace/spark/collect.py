"""A small DataFrame goes in, its rows as plain Python values come out."""

import json
from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    CharType,
    DataType,
    DayTimeIntervalType,
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
    variants = [field.name for field in frame.schema.fields if isinstance(field.dataType, VariantType)]
    plain = frame.select(*[_plain(field.name, field.dataType) for field in frame.schema.fields])
    rows: list[dict[str, Any]] = []
    for batch in plain.toArrow().to_batches():
        columns = [batch.column(i).to_pylist() for i in range(batch.num_columns)]
        rows.extend(dict(zip(plain.columns, values, strict=True)) for values in zip(*columns, strict=True))
    for row in rows:
        for name in variants:
            row[name] = json.loads(row[name]) if row[name] is not None else None
    return rows


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
