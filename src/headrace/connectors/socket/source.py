"""The options of a socket go in, a DataFrame of its lines comes out."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headrace.connectors.socket.options import SocketSource


def read_lines(spark: SparkSession, options: SocketSource) -> DataFrame:
    """Return the lines that a server sends."""
    frame = (
        spark.readStream.format("socket")
        .option("host", options.host)
        .option("port", options.port)
        .option("includeTimestamp", "true")
        .load()
    )
    return frame.select(
        F.col("value").alias("__raw"),
        F.lit(f"{options.host}:{options.port}").alias("__position"),
        F.col("timestamp").alias("__ingested_at"),
    )
