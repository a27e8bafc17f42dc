"""The options of a generator go in, a DataFrame of numbered, timed rows comes out."""

from datetime import UTC, datetime

import sqlglot
from pyspark.sql import DataFrame, SparkSession
from sqlglot import exp

from headrace.connectors.datagen.options import INSTANT_COLUMN, NUMBER_COLUMN, DatagenSource


def read_rows(spark: SparkSession, options: DatagenSource, *, bounded: bool, started_at: datetime) -> DataFrame:
    """Return the rows of a generator: their number, their event time, and when they came.

    A bounded reader gives all rows at once; otherwise they come at the rate of the clock.
    """
    first = _micros(options.start or started_at)
    spacing = 1_000_000 / options.rows_per_second
    if bounded and options.rows is not None:
        frame = (
            spark.readStream.format("rate-micro-batch")
            .option("rowsPerBatch", options.rows)
            .option("numPartitions", 1 if options.rows < 100_000 else 2)
            .load()
        )
    else:
        frame = (
            spark.readStream.format("rate")
            .option("rowsPerSecond", options.rows_per_second)
            .option("numPartitions", 1 if options.rows_per_second < 10_000 else 2)
            .load()
        )
    if options.start is None and not bounded:
        instant = "timestamp"
    else:
        instant = f"timestamp_micros({first} + CAST(floor(value * {spacing!r}D) AS BIGINT))"
    if options.rows is not None:
        frame = frame.filter(f"value < {options.rows}")
    return frame.selectExpr(f"value AS {NUMBER_COLUMN}", f"{instant} AS {INSTANT_COLUMN}")


def repeatable(sql: str, salt: str) -> str:
    """Return an expression in which rand() depends on the row's number alone.

    A batch that is run again after a crash then gives the same rows as before.

    >>> repeatable("10 * rand()", "price")
    "10 * (PMOD(XXHASH64(value, 'price', 0), 1000000007) / 1000000007)"
    """
    tree = sqlglot.parse_one(sql, read="spark")
    calls = [node for node in tree.find_all(exp.Rand, exp.Anonymous) if _is_random(node)]
    for number, call in enumerate(calls):
        replacement = sqlglot.parse_one(
            f"(PMOD(XXHASH64({NUMBER_COLUMN}, '{salt}', {number}), 1000000007) / 1000000007)", read="spark"
        )
        if call is tree:
            tree = replacement
        else:
            call.replace(replacement)
    return str(tree.sql(dialect="spark"))


def _is_random(node: exp.Expr) -> bool:
    return isinstance(node, exp.Rand) or (isinstance(node, exp.Anonymous) and node.name.lower() in {"rand", "random"})


def _micros(instant: datetime) -> int:
    return int((instant - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1_000_000)
