"""One query while it runs: started, watched, waited for, stopped between two batches."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from headrace.connectors.durations import parse_duration
from headrace.errors import HeadraceError, JobFailed
from headrace.plan.application import Output
from headrace.spark.counting import MARK
from headrace.spark.kafka_output import KafkaOutput
from headrace.spark.lower import HIDDEN, KEY
from headrace.spark.mistakes import blame, failure
from headrace.spark.place import Place
from headrace.spark.progress import Progress
from headrace.spark.publish import Guard, Publish
from headrace.spark.scans import OBSERVED
from headrace.spark.state_names import StateNames
from headrace.spark.storage import Folder
from headrace.spark.together import Together
from headrace.views.definition import ViewColumn


def columns_in(frame: DataFrame) -> list[ViewColumn]:
    """Return the columns of a frame that a user sees, in the words of Spark."""
    return [
        ViewColumn(each.name, each.dataType.simpleString()) for each in frame.schema.fields if each.name not in HIDDEN
    ]


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
    late: list[Any] = field(default_factory=list)
    """Counters of rows behind the watermark that Spark does not count."""
    state_names: StateNames | None = None
    """How its patterns are called, to tell their state apart."""

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
        self.progress.name, self.progress.adds_up = self.output.name, self.place.adds_up
        if self.real_time:
            self._start_real_time()
            return
        self.progress.every = _interval(self.trigger)
        guard = self.guard = Guard(self.publish, self.progress, self.state_names)
        mode = "update" if KEY in self.frame.columns else "append"
        writer = self.frame.writeStream.outputMode(mode).option("checkpointLocation", self.checkpoint.path)
        writer = writer.trigger(**self.trigger)
        try:
            self.query = writer.foreachBatch(guard.batches()).start()
        except PySparkException as error:
            mistake = blame(error, [], lambda _: True)
            mistake.span = self.output.span
            raise mistake from error
        guard.begin(self.query)

    def _start_real_time(self) -> None:
        """Start a query whose rows go straight into their topic, each as it comes."""
        if not isinstance(self.publish, KafkaOutput):
            raise TypeError("only a Kafka sink runs in real-time mode")
        for log in ("offsets", "commits"):  # Spark takes what a kill left there for a first batch that was finished
            (self.checkpoint / log).sweep()
        self.progress.lasts = timedelta(milliseconds=int(self.trigger["realTime"].split()[0]))
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
                status = self.query.status
                self.progress.idle = status["message"].startswith("Waiting") and not status["isDataAvailable"]
                last = self.query.lastProgress
                behind = last is not None and last.batchId > self.progress.batch + 1
                for report in self.query.recentProgress if behind else [last] if last is not None else []:
                    plain = _as_dict(report)
                    if self.real_time:
                        self.progress.observe(plain)
                        plain["timestamp"] = None  # a batch of minutes says nothing of its rows
                    self.progress.take(plain)
                busy = status["isTriggerActive"] and status["message"].startswith(_BUSY)
                self.progress.look(busy, timedelta(seconds=time.monotonic()))
                self.progress.late_counted(sum(int(each.value()) for each in self.late))
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

        In real-time mode a batch lasts as long as the checkpoint interval says. Where that is longer than anybody
        waits, it is not waited for: the next start publishes its rows again, as after a crash.
        """
        if self.real_time:
            lasts = self.progress.lasts
            patience = patience + lasts if lasts <= patience else timedelta(0)
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


def _interval(trigger: dict[str, Any]) -> timedelta:
    """Return how often a query looks for rows."""
    return parse_duration(str(trigger.get("processingTime", ""))) or timedelta(0)


_BUSY = ("Processing new data", "No new data but cleaning up state")
"""What Spark says of a query while a batch is under way."""
_OF_AN_OPERATOR = (
    "operatorName", "numRowsTotal", "numRowsUpdated", "numRowsDroppedByWatermark", "memoryUsedBytes",
    "allUpdatesTimeMs", "allRemovalsTimeMs", "commitTimeMs", "customMetrics",
)  # fmt: skip


def _as_dict(report: Any) -> dict[str, Any]:
    """Return a progress report as plain values, whatever class Spark wraps it in."""
    return {
        "batchId": report.batchId,
        "processedRowsPerSecond": report.processedRowsPerSecond,
        "timestamp": report.timestamp,
        "batchDuration": report.batchDuration,
        "stateOperators": [{name: getattr(each, name) for name in _OF_AN_OPERATOR} for each in report.stateOperators],
        "eventTime": dict(report.eventTime),
        "sources": [
            {"description": each.description, "endOffset": each.endOffset, "latestOffset": each.latestOffset}
            for each in report.sources
        ],
        "read": report.numInputRows,
        "rowsOut": report.sink.numOutputRows,
        "observed": {
            name: (int(row["rows"]), int(row["dead"]))
            for name, row in report.observedMetrics.items()
            if name.startswith(MARK)
        },
        "measured": {
            name.removeprefix(OBSERVED): row.asDict()
            for name, row in report.observedMetrics.items()
            if name.startswith(OBSERVED)
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
