"""A grouped step goes in, the DataFrame that aggregates comes out: by key, window, pane or session."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headrace.language.dialect import Headrace
from headrace.plan.distinct import without_distinct
from headrace.plan.panes import Split, split
from headrace.plan.steps import Aggregate, Method, Scalar
from headrace.plan.steps import Column as Named
from headrace.plan.windows import Cumulate, Hop, Session
from headrace.spark.event_time import tagged
from headrace.spark.records import quoted
from headrace.spark.windows import pane_end, window_edges

_EDGES = ("window_start", "window_end")


def aggregate(frame: DataFrame, step: Aggregate) -> DataFrame:
    """Return the keys and aggregates of a step, one row per group."""
    match step.method:
        case Method.KEYS | Method.WINDOWS:
            return _direct(frame, step)
        case Method.PANES:
            return _by_panes(frame, step)
        case Method.SESSIONS:
            return _by_session(frame, step)


def _sql(value: Scalar) -> str:
    return str(value.tree.sql(dialect=Headrace))


def _keys(columns: tuple[Named, ...]) -> list[Column]:
    return [F.expr(_sql(column.value)).alias(column.name) for column in columns]


def _values(step: Aggregate, streaming: bool) -> list[Column]:
    values = []
    for column in step.aggregates:
        tree = without_distinct(column.value.tree) if streaming else column.value.tree
        values.append(F.expr(str(tree.sql(dialect=Headrace))).alias(column.name))
    return values or [F.count(F.lit(1)).alias("__rows")]


def _named(frame: DataFrame, step: Aggregate) -> DataFrame:
    names = [column.name for column in (*step.keys, *step.aggregates)]
    return frame.select(*[F.col(quoted(name)) for name in names])


def _direct(frame: DataFrame, step: Aggregate) -> DataFrame:
    """Group as Spark does; a window is already a column, its end marked as event time."""
    source = next((key.value.tree.name for key in step.keys if key.name == step.time_key), step.time_key)
    grouped = tagged(frame, source).groupBy(*_keys(step.keys))
    return _named(grouped.agg(*_values(step, frame.isStreaming)), step)


def _by_session(frame: DataFrame, step: Aggregate) -> DataFrame:
    """Group rows of a key that follow each other within a gap."""
    if not isinstance(step.window, Session) or step.time is None:
        raise TypeError("a session needs a gap and a time")
    keys = [key for key in step.keys if key.name not in _EDGES]
    gap = f"{int(step.window.gap.total_seconds() * 1_000_000)} microseconds"
    session = F.session_window(F.col(quoted(step.time)), gap).alias("__session")
    # Spark wants a key beside the session; one that is the same for all rows will do, if Spark cannot tell.
    groups = _keys(tuple(keys)) or [(F.unix_micros(quoted(step.time)) == F.lit(-(2**63))).alias("__all")]
    made = tagged(frame, step.time).groupBy(*groups, session).agg(*_values(step, frame.isStreaming))
    made = made.withColumns({"window_start": F.col("__session.start"), "window_end": F.col("__session.end")})
    return tagged(_named(made, step), "window_end")


def _by_panes(frame: DataFrame, step: Aggregate) -> DataFrame:
    """Aggregate rows into panes that no window cuts, then the panes of each window into one.

    A row is touched once however many windows overlap it; only panes are multiplied.
    """
    if not isinstance(step.window, (Hop, Cumulate)) or step.time is None:
        raise TypeError("panes need a hopping or cumulating window and a time")
    keys = tuple(key for key in step.keys if key.name not in _EDGES)
    splits = [_split(column.value) for column in step.aggregates]
    rows = tagged(frame.withColumn("__pane_end", pane_end(step.time, step.window)), "__pane_end")
    partials = [
        F.expr(sql).alias(f"__part_{i}_{j}") for i, each in enumerate(splits) for j, sql in enumerate(each.partials)
    ] or [F.count(F.lit(1)).alias("__rows")]
    panes = rows.groupBy(*_keys(keys), F.col("__pane_end")).agg(*partials)
    last = F.unix_micros("__pane_end") - 1
    spread = panes.select("*", F.inline(window_edges(last, step.window)))
    names = [F.col(quoted(key.name)) for key in keys]
    finals = [
        F.expr(each.final.format(*[f"__part_{i}_{j}" for j in range(len(each.partials))])).alias(column.name)
        for i, (each, column) in enumerate(zip(splits, step.aggregates, strict=True))
    ] or [F.count(F.lit(1)).alias("__rows")]
    grouped = tagged(spread, "window_end").groupBy(*names, *[F.col(edge) for edge in _EDGES])
    return _named(grouped.agg(*finals), step)


def _split(value: Scalar) -> Split:
    found = split(value)
    if found is None:
        raise TypeError(f"{_sql(value)} was planned by panes but has no parts")
    return found
