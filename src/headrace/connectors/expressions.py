"""Spark expressions that several connectors need."""

from pyspark.sql import Column
from pyspark.sql import functions as F

MICROSECONDS = "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"
"""An instant in full, as Spark's datetime patterns have it; by itself Spark would cut the microseconds off."""
WHOLE_JSON = {"ignoreNullFields": "false", "timestampFormat": MICROSECONDS}
"""How JSON leaves nothing out: neither a NULL nor microseconds."""


def once(value: Column) -> Column:
    """Return an expression that Spark computes once per row.

    It would copy it into every filter and projection above that uses a part of it, and a record would be parsed four
    times; it leaves an expression that is not deterministic where it is.
    """
    return F.when(F.spark_partition_id() >= 0, value)
