"""A plan goes in, streaming queries that keep its outputs current come out."""

import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headrace.catalog.objects import Stream
from headrace.connectors.files.options import FilesSink
from headrace.connectors.files.sink import forget_run
from headrace.connectors.files.source import as_stream_path, resolve_path
from headrace.connectors.kafka.client import client_properties
from headrace.connectors.kafka.options import KafkaSink, KafkaSource
from headrace.connectors.kafka.sink import Writer, producer_properties
from headrace.connectors.socket.options import SocketSource
from headrace.errors import HeadraceError, JobFailed
from headrace.plan.application import Output, Plan
from headrace.plan.real_time import guarantee_of, is_real_time
from headrace.plan.splitting import Split, split_of
from headrace.plan.steps import Kind, ReadTable, Relation, Scan, Sort, Step, Union, is_maintained, is_stateful, walk
from headrace.spark import fingerprint, functions
from headrace.spark.counting import MARK
from headrace.spark.heartbeats import Heartbeats, idle_after, send
from headrace.spark.kafka import MARKERS, prepare_sink
from headrace.spark.kafka_output import KafkaOutput
from headrace.spark.kafka_report import Reporter
from headrace.spark.lower import HIDDEN, KEY, Lowering
from headrace.spark.mistakes import blame, failure
from headrace.spark.place import FAR, Place
from headrace.spark.progress import Progress
from headrace.spark.publish import Guard, Publish, into_files
from headrace.spark.storage import Folder
from headrace.spark.together import Part, Taker, Together, united
from headrace.views.definition import ViewColumn

POLL = 0.2
FORGETTING = "1 second"
"""How often a query whose views have a time to live looks for what is to be forgotten."""


def unsorted(relation: Relation) -> Step:
    """Return the step that gives a relation's rows in any order."""
    return relation.step.input if isinstance(relation.step, Sort) else relation.step


def columns_in(frame: DataFrame) -> list[ViewColumn]:
    """Return the columns of a frame that a user sees, in the words of Spark."""
    return [
        ViewColumn(each.name, each.dataType.simpleString()) for each in frame.schema.fields if each.name not in HIDDEN
    ]


def query_folder(outputs: Sequence[Output]) -> str:
    """Return the folder of a query with several outputs: that of the first, and how many more there are."""
    first = outputs[0].name.lower()
    return first if len(outputs) == 1 else f"{first}+{len(outputs) - 1}"


def _whole(output: Output) -> Step:
    """Return what an output keeps: a screen puts its rows in order itself, a view keeps the first rows."""
    return unsorted(output.relation) if output.role in {"select", "test"} else output.relation.step


def _source_names(step: Step, place: Place) -> dict[str, str]:
    """Return the name of each stream and table by a text that stands in the description of its source."""
    names: dict[str, str] = {}
    for each in walk(step):
        source = each.stream if isinstance(each, Scan) else each.table if isinstance(each, ReadTable) else None
        if source is None:
            continue
        options = source.options
        if source.name.lower() in place.fed or (not hasattr(options, "path") and not hasattr(options, "topic")):
            names[place.feed(source.name).path] = source.name
        elif hasattr(options, "topic"):
            names["Subscribe[" + ", ".join(options.topic) + "]"] = source.name
        else:
            names[as_stream_path(resolve_path(options.path, place.base))] = source.name
    return names


def streams_of(step: Step) -> tuple[Stream, ...]:
    """Return the streams that a step reads, each once."""
    found = {each.stream.name.lower(): each.stream for each in walk(step) if isinstance(each, Scan)}
    return tuple(found.values())


@dataclass(slots=True)
class Running:
    """One output while it runs."""

    output: Output
    frame: DataFrame
    publish: Publish
    place: Place
    trigger: dict[str, Any]
    streaming: bool = True
    query: StreamingQuery | None = None
    guard: Guard | None = None
    real_time: bool = False
    progress: Progress = field(default_factory=lambda: Progress(""))
    observing: threading.Lock = field(default_factory=threading.Lock)
    folder: str | None = None
    forgets: bool = False
    """Whether some of its views have a time to live."""

    @property
    def checkpoint(self) -> Folder:
        """The folder of the query's checkpoint."""
        return self.place.folder(self.folder or self.output.name.lower(), "checkpoint")

    def columns(self) -> dict[str, list[ViewColumn]]:
        """Return the columns of each output of a query with several, in the words of Spark."""
        if not isinstance(self.publish, Together):
            raise TypeError("only outputs that take changes tell their columns")
        return {part.output.name: columns_in(part.frame) for part in self.publish.parts}

    def start(self) -> None:
        """Start the query, from its checkpoint if there is one."""
        self.progress.name = self.output.name
        if self.real_time:
            self._start_real_time()
            return
        guard = self.guard = Guard(self.publish, self.progress)
        mode = "update" if KEY in self.frame.columns else "append"
        writer = self.frame.writeStream.outputMode(mode).option("checkpointLocation", self.checkpoint.path)
        writer = writer.trigger(**self.trigger)
        try:
            self.query = writer.foreachBatch(guard).start()
        except PySparkException as error:
            mistake = blame(error, [], lambda _: True)
            mistake.span = self.output.span
            raise mistake from error
        guard.begin(self.query)

    def _start_real_time(self) -> None:
        """Start a query whose rows go straight into their topic, each as it comes."""
        if not isinstance(self.publish, KafkaOutput):
            raise TypeError("only a Kafka sink runs in real-time mode")
        writer = self.publish.stream(self.frame).outputMode("update")
        writer = writer.option("checkpointLocation", self.checkpoint.path).trigger(**self.trigger)
        try:
            self.query = writer.start()
        except PySparkException as error:
            mistake = blame(error, [], lambda _: True)
            mistake.span = self.output.span
            raise mistake from error

    @property
    def active(self) -> StreamingQuery:
        """The running query."""
        if self.query is None:
            raise RuntimeError(f"{self.output.name} is not started")
        return self.query

    def observe(self) -> Progress:
        """Return the figures of the query as of now."""
        if self.query is not None:
            with self.observing:
                last = self.query.lastProgress
                behind = last is not None and last.batchId > self.progress.batch + 1
                for report in self.query.recentProgress if behind else [last] if last is not None else []:
                    plain = _as_dict(report)
                    if self.real_time:
                        self.progress.observe(plain)
                    self.progress.take(plain)
        return self.progress

    def check(self) -> None:
        """Raise what the query died of, if it did."""
        if self.query is None:
            return
        error = self.query.exception()
        if error is None:
            return
        self.raise_failure(error)

    def raise_failure(self, error: BaseException) -> None:
        """Raise the failure of the query in a form for the user."""
        inner = self.guard.error if self.guard is not None else None
        if isinstance(inner, HeadraceError):
            raise inner
        raise failure(inner or error, self.output.name, self._causes()) from error

    def _causes(self) -> str:
        """Return the chain of errors inside Spark, which its Python side does not show."""
        if self.query is None or not self.query._jsq.exception().isDefined():
            return ""
        lines: list[str] = []
        error = self.query._jsq.exception().get()
        while error is not None and len(lines) < 20:
            lines.append(f"Caused by: {error.toString()}")
            error = error.getCause()
        return "\n".join(lines)

    def wait(self) -> None:
        """Wait until all that is there is processed."""
        try:
            if self.forgets:
                self._wait_for_empty_batch()
            else:
                self.active.processAllAvailable()
        except Exception as error:
            self.raise_failure(error)

    def _wait_for_empty_batch(self) -> None:
        """Wait until a batch that begins after now finds nothing: a query that forgets runs one after the other."""
        last = self.active.lastProgress
        begun = -1 if last is None else last.batchId
        while self.active.isActive:
            last = self.active.lastProgress
            if last is not None and last.batchId >= begun + 2 and last.numInputRows == 0:
                return
            time.sleep(0.05)
        self.check()

    def finish(self) -> None:
        """Wait until a bounded query has ended."""
        try:
            self.active.awaitTermination()
        except Exception as error:
            self.raise_failure(error)
        self.observe()

    def stop(self, patience: timedelta = timedelta(seconds=30)) -> None:
        """Stop between two batches; a batch that does not end in time is run again by the next start.

        In real-time mode a batch lasts as long as the checkpoint interval says.
        """
        if self.real_time:
            patience += timedelta(milliseconds=int(self.trigger["realTime"].split()[0]))
        if self.query is None or not self.query.isActive:
            return
        try:
            self._wait_for_gap(self.query, time.monotonic() + patience.total_seconds())
            self.query.stop()
        except (Py4JError, OSError) as error:
            raise JobFailed(
                f'Spark ended before "{self.output.name}" was stopped',
                hint="Run again: it resumes from its checkpoint.",
            ) from error
        self.observe()

    def _wait_for_gap(self, query: StreamingQuery, deadline: float) -> None:
        """Wait until no batch runs: none begins while the lock is held, and one that ends waits for it."""
        lock = query._jsq.streamingQuery().awaitProgressLock()
        lock.lock()
        try:
            while query.isActive and time.monotonic() < deadline:
                if lock.hasQueuedThreads() or not query.status["isTriggerActive"]:
                    break
                time.sleep(0.01)
        finally:
            lock.unlock()


def _as_dict(report: Any) -> dict[str, Any]:
    """Return a progress report as plain values, whatever class Spark wraps it in."""
    return {
        "batchId": report.batchId,
        "processedRowsPerSecond": report.processedRowsPerSecond,
        "batchDuration": report.batchDuration,
        "stateOperators": [
            {
                "numRowsDroppedByWatermark": each.numRowsDroppedByWatermark,
                "numRowsTotal": each.numRowsTotal,
                "memoryUsedBytes": each.memoryUsedBytes,
            }
            for each in report.stateOperators
        ],
        "eventTime": dict(report.eventTime),
        "sources": [
            {"description": each.description, "endOffset": each.endOffset, "latestOffset": each.latestOffset}
            for each in report.sources
        ],
        "rowsOut": report.sink.numOutputRows,
        "observed": {
            name: (int(row["rows"]), int(row["dead"]))
            for name, row in report.observedMetrics.items()
            if name.startswith(MARK)
        },
    }


@contextmanager
def held(runnings: list[Running]) -> Iterator[None]:
    """Hold back new batches of the queries, so that what is written meanwhile falls into one batch."""
    locks = [r.query._jsq.streamingQuery().awaitProgressLock() for r in runnings if r.query is not None]
    for lock in locks:
        lock.lock()
    try:
        yield
    finally:
        for lock in locks:
            lock.unlock()


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
        if remember:
            fingerprint.check(output, self.plan.settings, folder, folder.path, output.span)
        exactly_once = isinstance(publish, KafkaOutput) and publish.guarantee == "exactly-once"
        self.lowering.begin(
            timed=any(is_stateful(each) and not is_maintained(each) for each in walk(step)),
            parted=exactly_once and split_of(step) is Split.TOPIC,
        )
        real_time = "realTime" in trigger
        self.place.real_time = real_time
        maintained = is_maintained(step) and not real_time
        frame = self.lowering.changes(step) if maintained else self.lowering.frame(step)
        self.place.real_time = False
        if self.lowering.parted and isinstance(publish, KafkaOutput):
            publish.named = self.lowering.parts()
        running = Running(output, frame, publish, self.place, trigger, frame.isStreaming, real_time=real_time)
        self.outputs.append(running)
        return running

    def add_together(
        self, outputs: Sequence[Output], takers: Mapping[str, Taker], trigger: dict[str, Any], *, remember: bool
    ) -> Running:
        """Prepare several outputs as one query, so that they always reflect the same input."""
        steps = [_whole(output) for output in outputs]
        together = Relation(Union(tuple(steps)), (), Kind.CHANGELOG)
        name = outputs[0].name if len(outputs) == 1 else " + ".join(output.name for output in outputs)
        named = Output(name, together, None, "views", span=outputs[0].span)
        folder = self.place.folder(query_folder(outputs))
        if any(isinstance(stream.options, SocketSource) for stream in streams_of(together.step)):
            folder.delete()
        if remember:
            members = [output.name for output in outputs]
            fingerprint.check_members(members, self.place.folder(), query_folder(outputs), named.span)
            fingerprint.check(named, self.plan.settings, folder, folder.path, named.span)
        timed = any(is_stateful(each) and not is_maintained(each) for each in walk(together.step))
        self.lowering.begin(timed=timed, parted=False)
        parts = []
        with self.lowering.together():
            for output, step in zip(outputs, steps, strict=True):
                parts.append(Part(output, self._changes(output, step), takers[output.name]))
            frame = united(parts, self.lowering.session)
        publish = Together(parts, _source_names(together.step, self.place))
        forgets = not self.place.bounded and any(output.view and output.view.ttl for output in outputs)
        trigger = {"processingTime": FORGETTING} if forgets else trigger
        running = Running(named, frame, publish, self.place, trigger, folder=query_folder(outputs), forgets=forgets)
        self.outputs.append(running)
        return running

    def is_new(self, folder: str) -> bool:
        """Say whether a query of several outputs has no checkpoint yet."""
        return not self.place.folder(folder, "checkpoint").names()

    def kept_name(self, folder: str) -> str:
        """Return a name that stays the same as long as a query goes on from its checkpoint."""
        return _kept_name(self.place.folder(folder), "name")

    def _changes(self, output: Output, step: Step) -> DataFrame:
        remembered = output.view.ttl if output.view is not None and not self.place.bounded else None
        if not is_maintained(step):
            return self.lowering.frame(step)
        try:
            return self.lowering.changes(step, remembered)
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
            if stream.watermark is not None:
                send(self.place, stream, FAR)

    def needs_drain(self) -> bool:
        """Say whether some output holds rows back until a watermark passes."""
        return any(
            is_stateful(step) for running in self.streaming for step in walk(running.output.relation.step)
        ) and any(stream.watermark is not None for stream in self.streams)

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
    return Run(spark, plan, place, Lowering(spark, place, defined or {}))


def files_publisher(output: Output, place: Place, named: Folder) -> Publish:
    """Return what writes a files sink, under a name that is kept in a folder.

    A run that ends replaces what its like wrote before: its answer is of all that is there.
    """
    if output.sink is None or not isinstance(output.sink.options, FilesSink):
        raise TypeError("not a files sink")
    options = output.sink.options
    folder = Folder(resolve_path(options.path, place.base))
    name = _kept_name(named, "once" if place.bounded else "run")
    if place.bounded:
        forget_run(folder, name)
    return into_files(options, folder, name)


def kafka_publisher(output: Output, run: Run) -> KafkaOutput:
    """Return what writes a Kafka sink; its transactions have a name that its checkpoint keeps.

    A run that ends starts from nothing, so it has a name of its own.
    """
    if output.sink is None or not isinstance(output.sink.options, KafkaSink):
        raise TypeError("not a Kafka sink")
    options = output.sink.options
    prepare_sink(run.spark, options, run.place.base, output.sink.span)
    notes = run.place.folder(output.name.lower(), "kafka")
    local = str(run.spark.sparkContext.master).startswith("local")
    name = f"headrace-{output.name.lower()}-{_kept_name(notes, 'name')}"
    properties = producer_properties(options, client_properties(options, run.place.base))
    real_time = is_real_time(output, run.plan.settings) and not run.place.bounded
    guarantee = guarantee_of(output.sink, real_time=real_time)
    if guarantee == "exactly-once":
        properties["transaction.timeout.ms"] = str(int(options.transaction_timeout.total_seconds() * 1000))
    step = unsorted(output.relation)
    by_content = is_maintained(step) or split_of(step) is Split.CHANCE
    parts = run.plan.settings.shuffle_partitions if by_content else None
    writer = Writer(properties, name, options.topic or MARKERS, local=local)
    return KafkaOutput(options, guarantee, writer, notes, parts, key=output.key)


def _kept_name(folder: Folder, file: str) -> str:
    """Return a name that stays the same from run to run."""
    known = folder.read(file)
    if known is None:
        known = secrets.token_hex(4)
        folder.make().write(file, known)
    return known
