"""Tables as they stand go in; what Spark itself answers from scratch comes out."""

from typing import Any

from pyspark.sql import SparkSession

from headrace.spark.collect import collect
from maintained.oracle import Oracle
from maintained.sequences import COLUMNS
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
