"""Which column the watermark speaks of: Spark reads it from a mark in the column's metadata."""

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headrace.spark.records import quoted

MARK = "spark.watermarkDelayMs"


def tagged(frame: DataFrame, time: str | None) -> DataFrame:
    """Return a frame in which one column, and no other, carries event time.

    A stateful operator of Spark forgets what the watermark has passed, and finds the time by its mark. A
    computed column such as the end of a window has none until it is given one here.
    """
    if time is None or not frame.isStreaming:
        return frame
    columns = []
    for field in frame.schema.fields:
        metadata: dict[str, Any] = dict(field.metadata)
        if field.name == time:
            metadata.setdefault(MARK, 0)
        else:
            metadata.pop(MARK, None)
        columns.append(F.col(quoted(field.name)).alias(field.name, metadata=metadata))
    return frame.select(*columns)
