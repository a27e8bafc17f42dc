"""What Spark reports of a query goes in, the figures that people watch come out."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from headrace.spark.counting import MARK, Counts

NEVER = datetime(1970, 1, 1, tzinfo=UTC)


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
    watermark_at: datetime | None = None
    state_rows: int = 0
    state_bytes: int = 0
    seen: dict[str, int] = field(default_factory=dict)
    """Rows of each stream so far."""
    dead_of: dict[str, int] = field(default_factory=dict)
    """Records of each stream so far that did not parse."""
    positions: dict[str, int] = field(default_factory=dict)
    """How far Kafka is read: the next offset by `topic:partition`."""
    lag: dict[str, int] = field(default_factory=dict)
    """How many messages each `topic:partition` holds that were not read by the last batch."""

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
        self.state_bytes = sum(int(each.get("memoryUsedBytes") or 0) for each in operators)
        watermark = (report.get("eventTime") or {}).get("watermark")
        if watermark is not None:
            at = datetime.fromisoformat(watermark.replace("Z", "+00:00"))
            self.watermark_at = at if at > NEVER else None

        self._take_offsets(report.get("sources") or [])

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
