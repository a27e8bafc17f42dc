"""A mismatch goes in; what Spark itself answers from scratch comes out, for where DuckDB may be the one that is wrong."""

from collections.abc import Sequence
from typing import Any

from pyspark.sql import SparkSession

from headrace.spark.collect import collect
from maintained.oracle import Oracle, unmatched
from maintained.running import Mismatch
from maintained.sequences import COLUMNS, Batch
from maintained.templates import Template

_TYPES = {
    "a": "k INT, g STRING, n INT, x DOUBLE, m DECIMAL(10, 2), due TIMESTAMP, tags ARRAY<STRING>",
    "b": "k INT, g STRING, n INT, y DOUBLE",
    "c": "g STRING, h INT, label STRING, w INT",
    "e": "k INT, g STRING, n INT, x DOUBLE",
}


def answer(template: Template, oracle: Oracle) -> list[tuple[Any, ...]]:
    """Return what Spark gives for a query over the tables as they stand."""
    session = SparkSession.getActiveSession()
    if session is None:
        raise RuntimeError("there is no Spark session yet")
    for name, columns in COLUMNS.items():
        rows = [tuple(row[column] for column in columns) for row in oracle.rows(name)]
        session.createDataFrame(rows, _TYPES[name]).createOrReplaceTempView(name)
    try:
        return [tuple(row.values()) for row in collect(session.sql(template.sql))]
    finally:
        for name in COLUMNS:
            session.catalog.dropTempView(name)


def verdict(mismatch: Mismatch, sequence: Sequence[Batch]) -> str:
    """Return a line that says whether Spark agrees with DuckDB after the batch that went wrong."""
    oracle = Oracle()
    for batch in sequence[: mismatch.batch]:
        oracle.take(batch)
    own = answer(mismatch.template, oracle)
    extra, missing = unmatched(own, oracle.answer(mismatch.template))
    return f"Spark gives {own}, DuckDB other rows" if extra or missing else "Spark and DuckDB agree on what it should be"
