"""When nothing comes: the clock and what was seen go in, control rows that move watermarks come out."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlglot import exp

from headrace.catalog.objects import Stream
from headrace.spark.place import Place, micros

PROCESSING_IDLE = timedelta(seconds=1)
"""A stream by processing time follows the clock this closely when no row comes."""

KEPT = 100
"""How many control rows stay: a batch that is run again after a crash reads those of the last ones."""


def follows_clock(stream: Stream) -> bool:
    """Say whether a stream's time is the time at which rows are processed."""
    watermark = stream.watermark
    if watermark is None:
        return False
    column = next((c for c in stream.columns if c.name == watermark.column), None)
    return (
        column is not None and isinstance(column.computed, exp.Anonymous) and column.computed.name.lower() == "proctime"
    )


def idle_after(stream: Stream) -> timedelta | None:
    """Return after how long without a row a stream's watermark follows the clock, None for never."""
    if stream.watermark is None:
        return None
    if stream.watermark.idle_after is not None:
        return stream.watermark.idle_after
    return PROCESSING_IDLE if follows_clock(stream) else None


@dataclass(slots=True)
class Heartbeats:
    """Moves the watermarks of streams that have gone quiet."""

    place: Place
    streams: tuple[Stream, ...]
    counts: dict[str, int] = field(default_factory=dict)
    quiet_since: dict[str, datetime] = field(default_factory=dict)
    last_beat: dict[str, datetime] = field(default_factory=dict)

    def beat(self, counts: dict[str, int]) -> None:
        """Look at the rows of each stream so far and move the watermarks of those that are quiet."""
        now = self.place.clock()
        for stream in self.streams:
            idle = idle_after(stream)
            if idle is None:
                continue
            name = stream.name.lower()
            seen = counts.get(name, 0)
            if seen != self.counts.get(name) or name not in self.quiet_since:
                self.counts[name], self.quiet_since[name] = seen, now
                continue
            if now - self.quiet_since[name] < idle:
                continue
            step = max(timedelta(seconds=1), idle / 10)
            if name in self.last_beat and now - self.last_beat[name] < step:
                continue
            self.last_beat[name] = now
            send(self.place, stream, now - (timedelta(0) if follows_clock(stream) else idle))


def send(place: Place, stream: Stream, instant: datetime) -> None:
    """Let a stream's watermark pass an instant, less its delay."""
    folder = place.control(stream.name).make()
    names = [name for name in folder.names() if not name.startswith(".")]
    number = int(names[-1].rpartition("-")[2]) + 1 if names else 0
    folder.write(f"{micros(place.clock()):020d}-{number:09d}", instant.isoformat() + "\n")
    for old in names[:-KEPT]:
        folder.remove(old)
