"""Spark expressions that several connectors need."""

from pyspark.sql import Column
from pyspark.sql import functions as F


def once(value: Column) -> Column:
    """Return an expression that Spark computes once per row.

    It would copy it into every filter and projection above that uses a part of it, and a record would be parsed four
    times; it leaves an expression that is not deterministic where it is.
    """
    return F.when(F.spark_partition_id() >= 0, value)
