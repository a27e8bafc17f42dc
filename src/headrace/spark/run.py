"""A plan goes in, streaming queries that keep its outputs current come out."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from py4j.protocol import Py4JNetworkError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from headrace.catalog.objects import Stream
from headrace.connectors.files.source import as_stream_path, resolve_path
from headrace.connectors.kafka.options import KafkaSource
from headrace.connectors.socket.options import SocketSource
from headrace.errors import HeadraceError, JobFailed
from headrace.plan.application import Output, Plan
from headrace.plan.match_names import pattern_names
from headrace.plan.splitting import Split, split_of
from headrace.plan.steps import (
    Kind,
    ReadTable,
    Relation,
    Scan,
    Sort,
    Step,
    Union,
    is_maintained,
    is_stateful,
    unsorted,
    walk,
)
from headrace.plan.together import query_folder
from headrace.spark import fingerprint, functions
from headrace.spark.heartbeats import Heartbeats, idle_after, send
from headrace.spark.kafka_output import KafkaOutput
from headrace.spark.kafka_report import Reporter
from headrace.spark.lower import Lowering
from headrace.spark.matching import ends, waits
from headrace.spark.mistakes import failure
from headrace.spark.place import FAR, Place
from headrace.spark.progress import Progress
from headrace.spark.publish import Publish
from headrace.spark.publishers import kept_name
from headrace.spark.running import Running, columns_in
from headrace.spark.together import Part, Taker, Together, united
from headrace.views.definition import ViewColumn

POLL = 0.2
FORGETTING = "1 second"
"""How often a query whose views have a time to live looks for what is to be forgotten."""


def whole(output: Output) -> Step:
    """Return what an output keeps: the first rows of an order, or all of them, which a screen puts in order itself."""
    step = output.relation.step
    return step.input if isinstance(step, Sort) and step.limit is None and step.offset is None else step


def _source_names(step: Step, place: Place) -> dict[str, str]:
    """Return the name of each stream and table by a text that stands in the description of its source."""
    names: dict[str, str] = {}
    for each in walk(step):
        source = each.stream if isinstance(each, Scan) else each.table if isinstance(each, ReadTable) else None
        if source is None:
            continue
        options = source.options
        if source.name.lower() in place.fed or (not hasattr(options, "path") and not hasattr(options, "topic")):
            names[f"{place.feed(source.name).path}]"] = source.name
        elif hasattr(options, "topic"):
            names["Subscribe[" + ", ".join(options.topic) + "]"] = source.name
        else:
            names[as_stream_path(resolve_path(options.path, place.base)) + "]"] = source.name
    return names


def streams_of(step: Step) -> tuple[Stream, ...]:
    """Return the streams that a step reads, each once."""
    found = {each.stream.name.lower(): each.stream for each in walk(step) if isinstance(each, Scan)}
    return tuple(found.values())


def timed_streams(step: Step) -> tuple[str, ...]:
    """Return the streams that hold the watermark while they send nothing: those with one that follows no clock."""
    streams = streams_of(step)
    return tuple(each.name.lower() for each in streams if each.watermark is not None and idle_after(each) is None)


@dataclass(slots=True)
class Run:
    """An application while it runs: its outputs, and what moves their watermarks."""

    spark: SparkSession
    plan: Plan
    place: Place
    lowering: Lowering
    outputs: list[Running] = field(default_factory=list)
    reporter: Reporter | None = None
    gone: bool = False

    def report(self, group: str) -> None:
        """Tell Kafka from now on how far its topics are read, under a group's name unless a stream has its own."""
        watched = {
            stream.name.lower(): (
                stream.options,
                [r for r in self.streaming if stream in streams_of(r.output.relation.step)],
            )
            for stream in self.streams
            if isinstance(stream.options, KafkaSource)
        }
        if watched:
            self.reporter = Reporter(self.spark, self.place.base, group, watched)
            self.reporter.start()

    def add(self, output: Output, publish: Publish, trigger: dict[str, Any], *, remember: bool) -> Running:
        """Prepare an output: lower it, and see that an old checkpoint fits."""
        step = unsorted(output.relation)
        folder = self.place.folder(output.name.lower())
        if any(isinstance(stream.options, SocketSource) for stream in streams_of(step)):
            folder.delete()  # a socket cannot give again what it gave, so nothing can go on from a checkpoint
        exactly_once = isinstance(publish, KafkaOutput) and publish.guarantee == "exactly-once"
        self.lowering.begin(step, parted=exactly_once and split_of(step) is Split.TOPIC)
        real_time = "realTime" in trigger
        self.place.real_time = real_time
        maintained = is_maintained(step) and not real_time
        frame = self._changes(output, step) if maintained else self.lowering.frame(step)
        self.place.real_time = False
        if remember:
            fingerprint.check(output, self.plan, folder)
        if self.lowering.parted and isinstance(publish, KafkaOutput):
            publish.named = self.lowering.parts()
        running = Running(output, frame, publish, self.place, trigger, frame.isStreaming, real_time=real_time)
        running.progress.timed = timed_streams(step)
        running.late, running.state_names = self.lowering.late, self.lowering.state_names
        self.outputs.append(running)
        return running

    def add_together(
        self, outputs: Sequence[Output], takers: Mapping[str, Taker], trigger: dict[str, Any], *, remember: bool
    ) -> Running:
        """Prepare several outputs as one query, so that they always reflect the same input."""
        steps = [whole(output) for output in outputs]
        together = Relation(Union(tuple(steps)), (), Kind.CHANGELOG)
        name = outputs[0].name if len(outputs) == 1 else " + ".join(output.name for output in outputs)
        named = Output(name, together, None, "views", span=outputs[0].span)
        folder = self.place.folder(query_folder(outputs))
        if any(isinstance(stream.options, SocketSource) for stream in streams_of(together.step)):
            folder.delete()
        self.lowering.begin(together.step, parted=False)
        parts = []
        with self.lowering.together():
            for output, step in zip(outputs, steps, strict=True):
                parts.append(Part(output, self._changes(output, step), takers[output.name]))
            frame = united(parts, self.lowering.session)
        if remember:
            members = [output.name for output in outputs]
            fingerprint.check_members(members, self.place.folder(), query_folder(outputs), named.span)
            fingerprint.check(named, self.plan, folder, outputs)
        publish = Together(parts, _source_names(together.step, self.place))
        forgets = not self.place.bounded and any(output.view and output.view.ttl for output in outputs)
        trigger = {"processingTime": FORGETTING} if forgets else trigger
        running = Running(named, frame, publish, self.place, trigger, folder=query_folder(outputs), forgets=forgets)
        running.progress.timed = timed_streams(together.step)
        running.late, running.state_names = self.lowering.late, self.lowering.state_names
        self.outputs.append(running)
        return running

    def columns(self) -> dict[str, list[ViewColumn]]:
        """Return the columns of each output, in the words of Spark."""
        found: dict[str, list[ViewColumn]] = {}
        for running in self.outputs:
            together = isinstance(running.publish, Together)
            found |= running.columns() if together else {running.output.name: columns_in(running.frame)}
        return found

    def is_new(self, folder: str) -> bool:
        """Say whether a query of several outputs has no checkpoint yet."""
        return not self.place.folder(folder, "checkpoint").names()

    def kept_name(self, folder: str) -> str:
        """Return a name that stays the same as long as a query goes on from its checkpoint."""
        return kept_name(self.place.folder(folder), "name")

    def _changes(self, output: Output, step: Step) -> DataFrame:
        remembered = output.view.ttl if output.view is not None and not self.place.bounded else None
        try:
            return self.lowering.changes(step, remembered) if is_maintained(step) else self.lowering.frame(step)
        except HeadraceError as error:
            if error.span is None:
                error.span = output.span
            raise

    @property
    def streams(self) -> tuple[Stream, ...]:
        """The streams that the outputs read, each once."""
        found = {
            stream.name.lower(): stream
            for running in self.outputs
            for stream in streams_of(running.output.relation.step)
        }
        return tuple(found.values())

    def start(self) -> None:
        """Start every output that reads a stream; publish the others once."""
        self._check_slots()
        for running in self.outputs:
            if running.streaming:
                running.start()
            else:
                self._publish_static(running)

    def _check_slots(self) -> None:
        """Raise if Spark has fewer slots than queries in real-time mode hold at once."""
        needed = 0
        for running in self.outputs:
            if running.real_time:
                step = running.output.relation.step
                read = [each.stream.name.lower() for each in walk(step) if isinstance(each, Scan)]
                needed += sum(sum(self.place.partitions.get(name, {}).values()) for name in read)
                needed += self.plan.settings.shuffle_partitions * sum(is_stateful(each) for each in walk(step))
        there = int(self.spark.sparkContext.defaultParallelism)
        if needed > there:
            raise HeadraceError(
                f"real-time mode needs {needed} slots, and Spark has {there}",
                detail="A query holds one for each partition that it reads and each part of its state.",
                hint=f"Run with --master 'local[{needed + 2}]', or on a cluster with more cores.",
            )

    def _publish_static(self, running: Running) -> None:
        try:
            running.publish(running.frame, 0)
        except PySparkException as error:
            raise failure(error, running.output.name) from error

    @property
    def streaming(self) -> list[Running]:
        """The outputs that read a stream."""
        return [running for running in self.outputs if running.streaming]

    def drain(self) -> None:
        """Let every watermark pass, so that every window closes at the next batch."""
        for stream in self.streams:
            send(self.place, stream, FAR)

    def needs_drain(self) -> bool:
        """Say whether some output holds rows back until a watermark passes."""
        steps = [step for running in self.streaming for step in walk(running.output.relation.step)]
        timed = any(stream.watermark is not None for stream in self.streams)
        return any(ends(step, self.place) or (timed and waits(step, self.place)) for step in steps)

    def run_to_end(self) -> None:
        """Process what is there, close every window, and end."""
        self.start()
        for running in self.streaming:
            running.finish()
        if not self.needs_drain():
            return
        self.drain()
        for running in self.streaming:
            running.start()
        for running in self.streaming:
            running.finish()

    def watch(self, stopping: threading.Event, tick: Callable[[list[Progress]], None]) -> None:
        """Keep going until told to stop or until an output fails; report figures at each tick."""
        try:
            self._watch(stopping, tick)
        except (Py4JNetworkError, ConnectionError) as error:
            self.gone = True
            raise JobFailed(
                "Spark's process has ended",
                detail="It was killed, or had no memory left.",
                hint="Run again: it resumes from its checkpoint.",
            ) from error

    def _watch(self, stopping: threading.Event, tick: Callable[[list[Progress]], None]) -> None:
        beats = Heartbeats(self.place, tuple(s for s in self.streams if idle_after(s) is not None))
        while not stopping.wait(POLL):
            figures = [running.observe() for running in self.streaming]
            for running in self.streaming:
                running.check()
            counts: dict[str, int] = {}
            for each in figures:
                for name, rows in each.seen.items():
                    counts[name] = max(counts.get(name, 0), rows)
            beats.beat(counts)
            self.lowering.refreshing.refresh(self.place.clock())
            tick(figures)
            if not any(running.active.isActive for running in self.streaming):
                return

    def stop(self) -> None:
        """Stop every output between two batches."""
        if self.gone:
            return
        for running in self.streaming:
            running.stop()
        for running in self.outputs:
            if isinstance(running.publish, KafkaOutput):
                running.publish.close(running.frame)
        if self.reporter is not None:
            self.reporter.stop()
            self.reporter = None


def open_run(spark: SparkSession, plan: Plan, place: Place, defined: dict[str, DataFrame] | None = None) -> Run:
    """Return a run of a plan, its functions known to Spark, with no output yet."""
    for function in plan.functions.values():
        functions.register(spark, function, place.base)
    lowering = Lowering(spark, place, defined or {}, plan.settings.partial_matches, named=pattern_names(plan))
    return Run(spark, plan, place, lowering)
