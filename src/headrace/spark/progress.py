"""What Spark reports of a query goes in, the figures that people watch come out."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from headrace.spark.counting import Counts

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
    rows_per_second: float = 0.0
    batch_time: timedelta = timedelta(0)
    watermark_at: datetime | None = None
    state_rows: int = 0
    state_bytes: int = 0
    seen: dict[str, int] = field(default_factory=dict)
    """Rows of each stream so far."""
    dead_of: dict[str, int] = field(default_factory=dict)
    """Records of each stream so far that did not parse."""

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

    def count(self, counts: Counts) -> None:
        """Add up the rows that one batch read; a stream that a query reads twice counts once."""
        for stream, records in counts.records.items():
            dead = counts.dead[stream]
            self.rows_in += records
            self.dead += dead
            self.seen[stream] = self.seen.get(stream, 0) + records
            self.dead_of[stream] = self.dead_of.get(stream, 0) + dead
