"""A stream under a watermark goes in; its rows that came too late come out, each with the reason."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headrace.plan.late import POSITION, REASON, WATERMARK
from headrace.plan.slots import EVIDENCE
from headrace.plan.steps import LateRows
from headrace.spark.event_time import tagged
from headrace.spark.records import quoted
from headrace.spark.session import check_operators

_SPREAD, _MILLIS, _PASSED = "__spread", "__millis", "watermark"
_KEYS = 64
"""Over how many keys the rows are spread; by what they are, so that a batch that is run again spreads them alike."""


def late_rows(below: DataFrame, step: LateRows) -> DataFrame:
    """Return the rows that came when the watermark had passed their time."""
    spark = below.sparkSession
    check_operators(spark)
    rows = tagged(below, step.time)
    time = F.col(quoted(step.time))
    asked = rows.select(
        F.pmod(F.xxhash64(EVIDENCE, time), F.lit(_KEYS)).alias(_SPREAD),
        F.unix_millis(time.cast("timestamp")).alias(_MILLIS),
        *[F.col(quoted(name)) for name in rows.columns],
    )
    made = DataFrame(
        spark._jvm.org.headrace.late.LateRows.of(spark._jsparkSession, asked._jdf),  # type: ignore[union-attr]
        spark,
    )
    passed = F.timestamp_millis(F.col(_PASSED))
    reason = F.concat(
        F.lit("event time "), time.cast("string"), F.lit(" is behind the watermark "), passed.cast("string")
    )
    position = F.concat_ws(":", *[f"{EVIDENCE}.{part}" for part in ("source", "partition", "position")])
    added = {
        REASON: reason,
        WATERMARK: passed,
        POSITION: position,
    }
    return made.select(
        *[F.col(quoted(name)) for name in below.columns if name != EVIDENCE],
        *[added[name].alias(name) for name in step.added],
    )
