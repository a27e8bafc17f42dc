"""What Spark reports of a query goes in, the figures that people watch come out."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

NEVER = datetime(1970, 1, 1, tzinfo=UTC)
PUBLISHED = "headrace#published"
"""The name under which rows are counted that Spark writes by itself."""


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
        self._count(report.get("observedMetrics") or {})
        written = int((report.get("sink") or {}).get("numOutputRows") or 0)
        self.rows_out += max(0, written)  # -1 where Spark does not know
        operators = report.get("stateOperators") or []
        self.late += sum(int(each.get("numRowsDroppedByWatermark") or 0) for each in operators)
        self.state_rows = sum(int(each.get("numRowsTotal") or 0) for each in operators)
        self.state_bytes = sum(int(each.get("memoryUsedBytes") or 0) for each in operators)
        watermark = (report.get("eventTime") or {}).get("watermark")
        if watermark is not None:
            at = datetime.fromisoformat(watermark.replace("Z", "+00:00"))
            self.watermark_at = at if at > NEVER else None

    def _count(self, observed: dict[str, dict[str, Any]]) -> None:
        """Add up the rows of one batch; a stream that the query reads twice counts once."""
        batch: dict[str, tuple[int, int]] = {}
        for name, row in observed.items():
            if name == PUBLISHED:
                self.rows_out += int(row["rows"] or 0)
                continue
            stream = name.partition("#")[0]
            before = batch.get(stream, (0, 0))
            batch[stream] = max(before[0], int(row["rows"] or 0)), max(before[1], int(row["dead"] or 0))
        for stream, (rows, dead) in batch.items():
            self.rows_in += rows
            self.dead += dead
            self.seen[stream] = self.seen.get(stream, 0) + rows
            self.dead_of[stream] = self.dead_of.get(stream, 0) + dead
