"""The figures of a running query go in, the words that people watch come out."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from headrace.connectors.kafka.options import KafkaSource
from headrace.jobs.figures import Figures, Meter
from headrace.plan.application import Plan
from headrace.plan.match_names import PATTERN

if TYPE_CHECKING:
    from headrace.spark.progress import Progress

__all__ = [
    "Figures",
    "Meter",
    "bytes_text",
    "dead_notices",
    "duration_text",
    "lag_notices",
    "pattern_rows",
    "status_line",
]


def status_line(figures: Figures, now: datetime) -> str:
    """Return one line that says how an output is doing.

    >>> from datetime import UTC
    >>> now = datetime(2024, 1, 1, 12, 0, 5, tzinfo=UTC)
    >>> took = timedelta(seconds=0.21)
    >>> figures = Figures("query_1", 12, 1200, 240.4, 34, 7, took, None, None, 12, 1200, 0, 3)
    >>> print(status_line(figures, now))
    12:00:05 query_1 batch 12 in 1200 (240/s) out 34 (7/s) batch 0.21 s state 12 rows 1.2 kB late 0 dead 3
    """
    parts = [
        f"{now:%H:%M:%S} {figures.name}",
        f"batch {figures.batch}" if figures.batch >= 0 else "waiting",
        f"in {figures.rows_in} ({figures.in_per_second:.0f}/s)",
        f"out {figures.rows_out} ({figures.out_per_second:.0f}/s)",
        f"batch {figures.batch_time.total_seconds():.2f} s",
    ]
    if figures.watermark_at is not None and figures.lag is not None:
        parts.append(f"watermark {watermark_text(figures.watermark_at, now)} (lag {duration_text(figures.lag)})")
    if figures.behind is not None:
        parts.append(f"behind {figures.behind}")
    parts.append(f"state {figures.state_rows} rows {bytes_text(figures.state_bytes)}")
    if patterns := pattern_rows(figures):
        parts[-1] += f" ({', '.join(f'{name} {rows}' for name, rows in patterns.items())})"
    parts.append(f"late {figures.late} dead {figures.dead}")
    return " ".join(parts)


def pattern_rows(figures: Figures) -> dict[str, int]:
    """Return how many rows of state each pattern has, if there is other state beside it.

    >>> operators = {"pattern scans": {"rows": 7.0}, "pattern bursts": {"rows": 2.0}, "2 stateStoreSave": {"rows": 9.0}}
    >>> pattern_rows(Figures("q", 0, 0, 0, 0, 0, timedelta(0), None, None, 18, 0, 0, 0, operators=operators))
    {'scans': 7, 'bursts': 2}
    """
    found = {
        name.removeprefix(PATTERN): int(values.get("rows", 0))
        for name, values in figures.operators.items()
        if name.startswith(PATTERN)
    }
    return found if len(figures.operators) > 1 else {}


def watermark_text(watermark_at: datetime, now: datetime) -> str:
    """Return a watermark as a time of day, with its date unless that is today's."""
    return f"{watermark_at:%H:%M:%S}" if watermark_at.date() == now.date() else f"{watermark_at:%Y-%m-%d %H:%M:%S}"


def duration_text(duration: timedelta) -> str:
    """Return a duration roughly, as a person would say it.

    >>> [duration_text(timedelta(seconds=s)) for s in (0.4, 3, 75, 4000, 200000)]
    ['0.4 s', '3 s', '1 min 15 s', '1 h 6 min', '2 d 7 h']
    """
    seconds = duration.total_seconds()
    if seconds < 0:
        return f"-{duration_text(-duration)}"
    if seconds < 60:
        return f"{seconds:.1f}".removesuffix(".0") + " s"
    whole = int(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 86400} d {whole % 86400 // 3600} h"


def bytes_text(size: int) -> str:
    """Return a size with a unit.

    >>> [bytes_text(size) for size in (12, 1200, 5_300_000, 2_000_000_000)]
    ['12 B', '1.2 kB', '5.3 MB', '2.0 GB']
    """
    if size < 1000:
        return f"{size} B"
    value = float(size)
    for unit in ("kB", "MB", "GB"):
        value /= 1000
        if value < 1000:
            return f"{value:.1f} {unit}"
    return f"{value / 1000:.1f} TB"


def dead_notices(figures: Iterable["Progress"], plan: Plan, known: set[str] | None = None) -> Iterator[str]:
    """Yield, once for each stream and table, how many of its records did not parse and where to look at them."""
    worst: dict[str, int] = {}
    for each in figures:
        for stream, dead in each.dead_of.items():
            worst[stream] = max(worst.get(stream, 0), dead)
    for stream, dead in worst.items():
        if dead == 0 or (known is not None and stream in known):
            continue
        if known is not None:
            known.add(stream)
        source = plan.streams.get(stream) or plan.tables.get(stream)
        name = source.name if source is not None else stream
        records = "1 record" if dead == 1 else f"{dead} records"
        yield f"{records} of {name} did not parse; see: SELECT * FROM {name}.dead"


def lag_notices(figures: Iterable["Progress"], plan: Plan, known: set[str] | None = None) -> Iterator[str]:
    """Yield, for each Kafka stream that is further behind than its lag_warning allows, how far and where most.

    With ``known`` a stream is told of once, and again only after it has caught up.
    """
    worst: dict[str, int] = {}
    for each in figures:
        for place, behind in each.lag.items():
            worst[place] = max(worst.get(place, 0), behind)
    for name, stream in plan.streams.items():
        if not isinstance(stream.options, KafkaSource) or stream.options.lag_warning is None:
            continue
        mine = {place: n for place, n in worst.items() if stream.options.reads(place.rpartition(":")[0])}
        total = sum(mine.values())
        if total <= stream.options.lag_warning:
            if known is not None:
                known.discard(name)
            continue
        if known is not None and name in known:
            continue
        if known is not None:
            known.add(name)
        most = max(mine, key=lambda place: mine[place])
        yield f"{stream.name} is {total} messages behind its topics; the most in {most}: {mine[most]}"
