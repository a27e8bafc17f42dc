"""Rows with weights go in; what a sink that takes whole batches can write comes out."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructField

from headrace.connectors.expressions import WHOLE_JSON
from headrace.spark.lower import KEEP, KEY
from headrace.spark.maintained import WEIGHT
from headrace.spark.records import quoted

CHANGE = "_change"


def net(frame: DataFrame) -> DataFrame:
    """Return each row of a batch once, with what its weights come to; what cancels is left out."""
    fields = [each for each in frame.schema.fields if each.name != WEIGHT]
    keys = [_grouped(field).alias(f"__key_{place}") for place, field in enumerate(fields)]
    values = [F.first(quoted(field.name)).alias(f"__value_{place}") for place, field in enumerate(fields)]
    summed = frame.groupBy(*keys).agg(*values, F.sum(WEIGHT).alias(WEIGHT)).filter(f"{WEIGHT} != 0")
    return summed.select(*[F.col(f"__value_{i}").alias(each.name) for i, each in enumerate(fields)], WEIGHT)


def _grouped(field: StructField) -> Column:
    """Return what is the same for equal values of a column; Spark does not group by VARIANT."""
    if "variant" in field.dataType.simpleString():
        return F.to_json(F.struct(quoted(field.name)))
    return F.col(quoted(field.name))


def by_key(frame: DataFrame, key: tuple[str, ...]) -> DataFrame:
    """Return the last row of each key in a batch, with whether it is still there."""
    columns = [name for name in frame.columns if name != WEIGHT]
    row = F.struct(*[quoted(name) for name in columns])
    last = net(frame).groupBy(*[F.col(quoted(name)).alias(f"__key_{i}") for i, name in enumerate(key)])
    chosen = last.agg(F.max_by(row, F.col(WEIGHT)).alias("__row"), (F.max(WEIGHT) > 0).alias(KEEP))
    identity = F.to_json(F.struct(*[F.col(f"__row.{quoted(name)}").alias(name) for name in key]), WHOLE_JSON)
    return chosen.select(
        *[F.col(f"__row.{quoted(name)}").alias(name) for name in columns], identity.alias(KEY), F.col(KEEP)
    )


def as_changes(frame: DataFrame) -> DataFrame:
    """Return the changes of a batch as rows, with ``_change`` (insert or delete) as their last column."""
    columns = [quoted(name) for name in frame.columns if name != WEIGHT]
    change = F.when(F.col(WEIGHT) > 0, F.lit("insert")).otherwise(F.lit("delete"))
    copies = F.explode(F.array_repeat(F.lit(1), F.abs(WEIGHT).cast("int"))).alias("__copy")
    return net(frame).select(*columns, change.alias(CHANGE), copies).drop("__copy")
