"""The rows of closed windows go in, the first of each come out."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headrace.language.dialect import Headrace
from headrace.plan.steps import TopRows
from headrace.spark.event_time import tagged
from headrace.spark.records import quoted


def top_rows(frame: DataFrame, step: TopRows) -> DataFrame:
    """Return the first rows of each partition by the order, numbered from 1.

    Rows that the order does not tell apart are ordered by all their columns, so that the answer does not
    depend on how rows arrived.
    """
    names = frame.columns
    terms = [F.expr(str(term.value.tree.sql(dialect=Headrace))).alias(f"o{i}") for i, term in enumerate(step.order)]
    row = F.struct(*[F.col(quoted(name)) for name in names])
    ordered = F.struct(*terms, F.to_json(row).alias("tie"), row.alias("row"))
    partition = [F.col(quoted(name)) for name in step.partition]
    grouped = (
        tagged(frame.withColumn("__entry", ordered), step.time_key)
        .groupBy(*partition)
        .agg(F.collect_list("__entry").alias("__entries"))
    )
    best = F.expr(f"slice(array_sort(__entries, (l, r) -> {_comparator(step)}), 1, {step.limit})")
    spread = grouped.select(F.posexplode(best).alias("__position", "__entry"))
    kept = [F.col(f"__entry.row.{quoted(name)}").alias(name) for name in names]
    result = spread.select(*kept, (F.col("__position") + 1).cast("bigint").alias(step.rank_name))
    return tagged(result, step.time_key)


def _comparator(step: TopRows) -> str:
    """Return SQL that orders two entries, NULLs where the query wants them, ties by the whole row."""
    tests = []
    for number, term in enumerate(step.order):
        left, right = f"l.o{number}", f"r.o{number}"
        first, last = ("-1", "1") if term.nulls_first else ("1", "-1")
        tests.append(f"WHEN {left} IS NULL AND {right} IS NOT NULL THEN {first}")
        tests.append(f"WHEN {left} IS NOT NULL AND {right} IS NULL THEN {last}")
        before, after = ("1", "-1") if term.descending else ("-1", "1")
        tests.append(f"WHEN {left} < {right} THEN {before} WHEN {left} > {right} THEN {after}")
    tests.append("WHEN l.tie < r.tie THEN -1 WHEN l.tie > r.tie THEN 1")
    return f"CASE {' '.join(tests)} ELSE 0 END"
