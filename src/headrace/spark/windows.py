"""Rows go in; the same rows with the windows they belong to come out."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headrace.plan.windows import Cumulate, Hop, Session, Tumble, Window, micros
from headrace.spark.event_time import tagged
from headrace.spark.records import quoted


def _floor(value: Column, width: int, offset: int) -> Column:
    """Return the greatest multiple of a width, shifted by an offset, that is not above a value."""
    return value - F.pmod(value - F.lit(offset), F.lit(width))


def _instant(value: Column) -> Column:
    return F.timestamp_micros(value)


def pane_end(time: str, window: Hop | Cumulate) -> Column:
    """Return the end of the pane that a time falls in."""
    width = micros(window.pane)
    value = F.unix_micros(F.col(quoted(time)))
    return _instant(_floor(value, width, micros(window.offset)) + width)


def window_edges(last: Column, window: Tumble | Hop | Cumulate) -> Column:
    """Return, for a time in microseconds, the array of (start, end) of all windows that contain it."""
    offset = micros(window.offset)
    match window:
        case Tumble(size=size):
            width = micros(size)
            starts = F.array(_floor(last, width, offset))
            return F.transform(starts, lambda start: _edges(start, start + width))
        case Hop(size=size, slide=slide):
            width, step = micros(size), micros(slide)
            newest = _floor(last, step, offset)
            steps = F.sequence(F.lit(0), F.lit(window.overlap - 1))
            made = F.transform(steps, lambda i: _edges(newest - i * step, newest - i * step + width))
            return F.filter(made, lambda edges: F.unix_micros(edges["window_end"]) > last)
        case Cumulate(size=size, step=step_size):
            width, step = micros(size), micros(step_size)
            start = _floor(last, width, offset)
            first = _floor(last, step, offset) + step
            ends = F.sequence(first, start + width, F.lit(step))
            return F.transform(ends, lambda end: _edges(start, end))


def _edges(start: Column, end: Column) -> Column:
    return F.struct(_instant(start).alias("window_start"), _instant(end).alias("window_end"))


def assign(frame: DataFrame, window: Window, time: str) -> DataFrame:
    """Return each row once for every window it belongs to, with the window's start, end and time."""
    if isinstance(window, Session):
        raise TypeError("sessions are made by grouping")
    names = [name for name in frame.columns if name not in ("window_start", "window_end", "window_time")]
    kept = [F.col(quoted(name)) for name in names]
    last = F.unix_micros(F.col(quoted(time)))
    if isinstance(window, Tumble):
        start = _floor(last, micros(window.size), micros(window.offset))
        edges = [
            _instant(start).alias("window_start"),
            _instant(start + micros(window.size)).alias("window_end"),
        ]
        result = frame.select(*kept, *edges)
    else:
        result = frame.select(*kept, F.inline(window_edges(last, window)))
    result = result.withColumn("window_time", F.timestamp_micros(F.unix_micros("window_end") - 1))
    return tagged(result, "window_end")
