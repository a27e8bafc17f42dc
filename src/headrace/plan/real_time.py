"""An output goes in; out comes whether it runs in real-time mode, or an error that says which step forbids it."""

from collections.abc import Mapping

from sqlglot import exp

from headrace.catalog.objects import Function, Sink, Stream
from headrace.connectors.durations import duration_text
from headrace.connectors.kafka.options import KafkaSink, KafkaSource
from headrace.errors import PlanError
from headrace.plan.outputs import Output
from headrace.plan.settings import Settings
from headrace.plan.steps import (
    Aggregate,
    AssignWindows,
    Deduplicate,
    Join,
    LateRows,
    Literals,
    Match,
    Rank,
    ReadRelation,
    ReadTable,
    Scan,
    SetOperation,
    Sort,
    Step,
    TopRows,
    scalars,
    walk,
)
from headrace.plan.windows import Session

__all__ = ["check_real_time", "delivery", "guarantee_of", "is_real_time"]


def is_real_time(output: Output, settings: Settings) -> bool:
    """Say whether an output is asked to answer within milliseconds."""
    options = output.sink.options if output.sink is not None else None
    own = options.latency if isinstance(options, KafkaSink) else None
    return (own or settings.latency) == "real-time"


def check_real_time(output: Output, settings: Settings, functions: Mapping[str, Function]) -> None:
    """Raise if an output is asked for in real-time mode and something in it forbids that."""
    if not is_real_time(output, settings):
        return
    reason = _of_output(output)
    if reason is None:
        step = output.relation.step
        reasons = (_of_step(each, functions) for each in walk(step.input if isinstance(step, Sort) else step))
        reason = next((each for each in reasons if each is not None), None)
    if reason is not None:
        title, why = reason
        raise PlanError(
            f'"{output.name}" cannot run in real-time mode: {title}',
            detail=why,
            hint="Leave latency out: micro-batches answer within about a second.",
            span=output.span,
        )


Reason = tuple[str, str] | None


def _of_output(output: Output) -> Reason:
    if output.sink is None or not isinstance(output.sink.options, KafkaSink):
        what = f"a sink of connector {output.sink.connector}" if output.sink is not None else f"a {output.role}"
        return f"{what} is written batch by batch", "Only a sink of connector kafka takes single rows."
    if output.sink.options.format == "avro":
        return "format avro is written by a Python function", "Rows pass through Python only batch by batch."
    if output.sink.common.guarantee in ("exactly-once", "at-most-once"):
        return (
            f"it cannot promise {output.sink.common.guarantee}",
            "Rows are published before progress is durable, so a crash repeats some: at-least-once.",
        )
    return None


def _of_step(step: Step, functions: Mapping[str, Function]) -> Reason:
    for scalar in scalars(step):
        if scalar.lookups:
            return "a subquery is looked up", "A subquery is computed once per batch."
        for call in scalar.tree.find_all(exp.Anonymous):
            if call.name.lower() in functions:
                return f"function {call.name} is in Python", "Rows pass through Python only batch by batch."
    match step:
        case Scan(stream=stream):
            return _of_stream(stream)
        case ReadRelation() | Literals():
            return "it reads rows that are no Kafka topic", "Only Kafka is read row by row."
        case Join(streaming=True):
            return "two streams are joined", "Spark joins streams batch by batch."
        case ReadTable(table=table) if table.live:
            return f"table {table.name} changes", "What a change withdraws is known batch by batch."
        case Join(maintained=True) | Rank() | SetOperation():
            return "rows are kept current", "What a change withdraws is known batch by batch."
        case AssignWindows(window=Session()):
            return "sessions are merged", "Spark merges sessions batch by batch."
        case Aggregate(updating=False):
            return (
                "it waits for windows to close",
                "A final row is known when the watermark has passed, which moves between batches. EMIT CHANGES "
                "publishes each window as it grows.",
            )
        case Deduplicate(within_watermark=True):
            return "duplicates are forgotten by the watermark", "Spark forgets them between batches."
        case Match(arrival=False):
            return (
                "a pattern takes rows in the order of their time",
                "That order is known when the watermark has passed, which moves between batches. ORDER BY ARRIVAL "
                "takes rows as they come.",
            )
        case LateRows():
            return "late rows are told apart", "The watermark, which judges them, moves between batches."
        case Match(timeouts=True):
            return "a pattern waits for time to run out", "The watermark moves between batches."
        case TopRows():
            return "rows are ranked", "A rank is known when its window has closed."
        case _:
            return None


def _of_stream(stream: Stream) -> Reason:
    if not isinstance(stream.options, KafkaSource):
        return f"stream {stream.name} comes from {stream.connector}", "Only Kafka is read row by row."
    if stream.options.format == "avro":
        return f"stream {stream.name} is Avro", "Avro is decoded by a Python function, batch by batch."
    if stream.watermark is not None and stream.watermark.idle_after is not None:
        return f"stream {stream.name} has IDLE AFTER", "The clock moves a watermark between batches."
    for column in stream.columns:
        if isinstance(column.computed, exp.Anonymous) and column.computed.name.lower() == "proctime":
            return f"stream {stream.name} has proctime()", "It is the time of a batch; use kafka_timestamp()."
    return None


def guarantee_of(sink: Sink, *, real_time: bool) -> str:
    """Return what a Kafka sink promises."""
    return "at-least-once" if real_time else sink.common.guarantee or "exactly-once"


def delivery(output: Output, settings: Settings) -> str | None:
    """Return in words where the rows of a sink go and what is promised of them."""
    if output.sink is None or not isinstance(output.sink.options, KafkaSink):
        return None
    options = output.sink.options
    real_time = is_real_time(output, settings)
    target = f"topic {options.topic}" if options.topic is not None else f"the topic that {options.topic_column} names"
    promise = guarantee_of(output.sink, real_time=real_time)
    if real_time:
        return (
            f"to kafka {target} ({options.format}), real-time, {promise}: a crash repeats what was published in up to "
            f"{duration_text(settings.checkpoint_interval)}"
        )
    return f"to kafka {target} ({options.format}), {promise}"
