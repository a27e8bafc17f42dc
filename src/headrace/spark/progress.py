"""What Spark reports of a query goes in, the figures that people watch come out."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from headrace.spark.counting import MARK, Counts

NEVER = datetime(1970, 1, 1, tzinfo=UTC)
_AT_ONCE = timedelta(milliseconds=100)
"""A batch that begins so soon after another followed it without a look in between."""


@dataclass(slots=True)
class Progress:
    """The figures of one output, summed or as of its last batch."""

    name: str
    batch: int = -1
    rows_in: int = 0
    rows_out: int = 0
    dead: int = 0
    late: int = 0
    late_in_patterns: int = 0
    rows_per_second: float = 0.0
    batch_time: timedelta = timedelta(0)
    latency: timedelta | None = None
    """The longest that a row of the last batch with input can have waited for its result; None in real-time mode."""
    every: timedelta = timedelta(0)
    """How often the query looks for rows while there are none."""
    watermark_at: datetime | None = None
    state_rows: int = 0
    state_bytes: int = 0
    """How much state there is, as it is stored."""
    state_memory: int = 0
    """How much memory the stores of state use, for rows and for what they keep at hand of their files."""
    operators: dict[str, dict[str, float]] = field(default_factory=dict)
    """What the last batch did to the state of each operator that keeps some: by the name of its pattern, the others by
    number and Spark's name."""
    state_names: list[str | None] = field(default_factory=list)
    """The names of these operators, in the order in which Spark reports them; None where they have no better one."""
    timed: tuple[str, ...] = ()
    """The streams that hold the watermark while they send nothing."""
    seen: dict[str, int] = field(default_factory=dict)
    """Rows of each stream so far."""
    dead_of: dict[str, int] = field(default_factory=dict)
    """Records of each stream so far that did not parse."""
    positions: dict[str, int] = field(default_factory=dict)
    """How far Kafka is read: the next offset by `topic:partition`."""
    observed: dict[str, dict[str, float | None]] = field(default_factory=dict)
    """What the last batch with input measured that the application observes."""
    observed_totals: dict[str, dict[str, float]] = field(default_factory=dict)
    """Those figures that can be added up, of all batches so far."""
    adds_up: frozenset[tuple[str, str]] = frozenset()
    """Which figures can be: pairs of an observation and a figure."""
    idle: bool = False
    """Whether the query found nothing more to read when it last looked."""
    under_way: timedelta = timedelta(0)
    """For how long a batch has been under way, beyond what it is meant to last; nought between two."""
    lasts: timedelta = timedelta(0)
    """How long a batch is meant to last: in real-time mode it reads on for so long."""
    lag: dict[str, int] = field(default_factory=dict)
    """How many messages each `topic:partition` holds that were not read by the last batch."""
    _before: tuple[datetime, datetime] | None = None
    """When the last batch began and ended."""
    _begun: tuple[int, timedelta] | None = None
    """The batch before the one that is under way, and when that was first seen, in time that only passes."""

    def look(self, busy: bool, passed: timedelta) -> None:
        """Take in whether a batch is under way now."""
        if not busy:
            self._begun = None
        elif self._begun is None or self._begun[0] != self.batch:
            self._begun = self.batch, passed
        begun = passed if self._begun is None else self._begun[1]
        self.under_way = max(timedelta(0), passed - begun - self.lasts)

    def take(self, report: dict[str, Any]) -> None:
        """Take in one report; a report seen before changes nothing."""
        number = int(report["batchId"])
        if number <= self.batch:
            return
        self.batch = number
        self.rows_per_second = float(report.get("processedRowsPerSecond") or 0.0)
        self.batch_time = timedelta(milliseconds=int(report.get("batchDuration") or 0))
        operators = report.get("stateOperators") or []
        self.late += sum(int(each.get("numRowsDroppedByWatermark") or 0) for each in operators)
        self.state_rows = sum(int(each.get("numRowsTotal") or 0) for each in operators)
        self.state_bytes = sum(_stored(each) for each in operators)
        self.state_memory = sum(int(each.get("memoryUsedBytes") or 0) for each in operators)
        self._take_operators(operators)
        watermark = (report.get("eventTime") or {}).get("watermark")
        if watermark is not None:
            at = datetime.fromisoformat(watermark.replace("Z", "+00:00"))
            self.watermark_at = at if at > NEVER else None

        if report.get("timestamp"):
            self._take_time(datetime.fromisoformat(str(report["timestamp"]).replace("Z", "+00:00")), report)
        self._take_offsets(report.get("sources") or [])
        if report.get("read", 1):  # a batch without input only lets a watermark pass
            for name, values in (report.get("measured") or {}).items():
                self._take_measured(name, values)

    def _take_operators(self, operators: list[dict[str, Any]]) -> None:
        """Take in what became of each state; a pattern that a query reads twice has two, which count as one."""
        names = self.state_names if len(self.state_names) == len(operators) else [None] * len(operators)
        self.operators = {}
        for number, (name, each) in enumerate(zip(names, operators, strict=True)):
            known = self.operators.setdefault(name or f"{number} {each.get('operatorName')}", {})
            for figure, value in _of(each).items():
                known[figure] = known.get(figure, 0.0) + value

    def _take_time(self, began: datetime, report: dict[str, Any]) -> None:
        """Take in when a batch began: its rows came since the look before, which was a batch or found nothing."""
        ended = began + self.batch_time
        looked = began - self.every
        if self._before is not None and began - self._before[1] <= self.every + _AT_ONCE:
            looked = self._before[0]
        if report.get("read", 1):
            self.latency = ended - looked
        self._before = began, ended

    def _take_measured(self, name: str, values: dict[str, Any]) -> None:
        plain = {figure: None if value is None else float(value) for figure, value in values.items()}
        self.observed[name] = plain
        totals = self.observed_totals.setdefault(name, {})
        for figure, value in plain.items():
            if (name, figure) in self.adds_up:
                totals[figure] = totals.get(figure, 0.0) + (value or 0.0)

    def late_counted(self, total: int) -> None:
        """Take in how many rows behind the watermark our own operators have seen so far."""
        self.late += total - self.late_in_patterns
        self.late_in_patterns = total

    def _take_offsets(self, sources: list[dict[str, Any]]) -> None:
        for source in sources:
            if not str(source.get("description", "")).startswith("Kafka"):
                continue
            latest = offsets_of(source.get("latestOffset"))
            for place, offset in offsets_of(source.get("endOffset")).items():
                self.positions[place] = offset
                self.lag[place] = max(0, latest.get(place, offset) - offset)

    def observe(self, report: dict[str, Any]) -> None:
        """Add up what a report of real-time mode says of rows, which are counted on their way."""
        if int(report["batchId"]) <= self.batch:
            return
        self.rows_out += max(0, int(report.get("rowsOut") or 0))
        records: dict[str, int] = {}
        dead: dict[str, int] = {}
        for name, (rows, broken) in (report.get("observed") or {}).items():
            stream = name.removeprefix(MARK).split("#")[0]
            records[stream], dead[stream] = max(records.get(stream, 0), rows), max(dead.get(stream, 0), broken)
        self.count(Counts(records, dead, 0))

    def count(self, counts: Counts) -> None:
        """Add up the rows that one batch read; a stream that a query reads twice counts once."""
        for stream, records in counts.records.items():
            dead = counts.dead[stream]
            self.rows_in += records
            self.dead += dead
            self.seen[stream] = self.seen.get(stream, 0) + records
            self.dead_of[stream] = self.dead_of.get(stream, 0) + dead


def _stored(operator: dict[str, Any]) -> int:
    """Return the bytes of one operator's state: those of its files, or of memory as long as there are none."""
    files = (operator.get("customMetrics") or {}).get("rocksdbSstFileSize")
    return int(files or operator.get("memoryUsedBytes") or 0)


def _of(operator: dict[str, Any]) -> dict[str, float]:
    """Return the figures of one operator's state: rows that it has and has just changed, bytes, and seconds spent."""
    spent = ("allUpdatesTimeMs", "allRemovalsTimeMs", "commitTimeMs")
    return {
        "rows": float(operator.get("numRowsTotal") or 0),
        "updated": float(operator.get("numRowsUpdated") or 0),
        "bytes": float(_stored(operator)),
        "memory": float(operator.get("memoryUsedBytes") or 0),
        "seconds": sum(float(operator.get(each) or 0) for each in spent) / 1000,
    }


def offsets_of(text: str | None) -> dict[str, int]:
    """Return the offsets that Spark reports of a Kafka source, by topic, colon, partition.

    >>> offsets_of('{"bids": {"0": 7, "1": 9}}')
    {'bids:0': 7, 'bids:1': 9}
    """
    if not text:
        return {}
    try:
        known = json.loads(text)
    except ValueError:
        return {}
    if not isinstance(known, dict):
        return {}
    return {
        f"{topic}:{partition}": int(offset)
        for topic, partitions in known.items()
        if isinstance(partitions, dict)
        for partition, offset in partitions.items()
    }
