"""The progress of queries goes in; the figures that people, charts and alerts watch come out."""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.spark.progress import Progress

__all__ = ["Figures", "History", "Meter", "Point", "as_dict", "from_dict"]


@dataclass(frozen=True, slots=True)
class Figures:
    """What one output did so far, what it does per second now, and how far its time has come."""

    name: str
    batch: int
    rows_in: int
    in_per_second: float
    rows_out: int
    out_per_second: float
    batch_time: timedelta
    watermark_at: datetime | None
    lag: timedelta | None
    state_rows: int
    state_bytes: int
    late: int
    dead: int
    latency: timedelta | None = None
    """The longest that a row of the last batch can have waited, from when it came until its result was published."""
    state_memory: int = 0
    """How much memory the stores of state use; ``state_bytes`` is what they hold."""
    operators: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Rows, updated rows, bytes, memory and seconds of the last batch of each operator that keeps state."""
    behind: int | None = None
    """How many messages of Kafka are still to be read, if it reads any."""
    rows_of: Mapping[str, int] = field(default_factory=dict)
    """Rows of each stream so far."""
    in_per_second_of: Mapping[str, float] = field(default_factory=dict)
    """Rows of each stream per second now."""
    dead_of: Mapping[str, int] = field(default_factory=dict)
    """Records of each stream so far that did not parse."""
    behind_of: Mapping[str, int] = field(default_factory=dict)
    """Messages still to be read, by topic, colon, partition."""
    positions: Mapping[str, int] = field(default_factory=dict)
    """How far Kafka is read: the next offset by topic, colon, partition."""
    observed: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    """What the last batch measured that the application observes, by observation and figure."""
    observed_totals: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Those of these figures that can be added up, of all batches so far."""
    timed: tuple[str, ...] | None = None
    """The streams that hold its watermark while they send nothing, None if that is not known."""
    under_way: timedelta = timedelta(0)
    """For how long a batch has been under way, nought between two; in real-time mode beyond what it should last."""
    idle: bool = False
    """Whether it found nothing more to read when it last looked."""


@dataclass(slots=True)
class Meter:
    """Measures rates over the last few seconds; it is told the time, so that it can be tested."""

    over: timedelta = timedelta(seconds=5)
    samples: dict[str, deque[tuple[datetime, int, int, dict[str, int]]]] = field(default_factory=dict)

    def measure(self, progress: "Progress", now: datetime) -> Figures:
        """Return the figures of an output as of now."""
        samples = self.samples.setdefault(progress.name, deque())
        samples.append((now, progress.rows_in, progress.rows_out, dict(progress.seen)))
        while len(samples) > 2 and samples[1][0] <= now - self.over:
            samples.popleft()
        began, first_in, first_out, first_of = samples[0]
        seconds = (now - began).total_seconds()
        return Figures(
            name=progress.name,
            batch=progress.batch,
            rows_in=progress.rows_in,
            in_per_second=(progress.rows_in - first_in) / seconds if seconds > 0 else 0.0,
            rows_out=progress.rows_out,
            out_per_second=(progress.rows_out - first_out) / seconds if seconds > 0 else 0.0,
            batch_time=progress.batch_time,
            latency=progress.latency,
            watermark_at=progress.watermark_at,
            lag=None if progress.watermark_at is None else now - progress.watermark_at,
            state_rows=progress.state_rows,
            state_bytes=progress.state_bytes,
            state_memory=progress.state_memory,
            late=progress.late,
            dead=progress.dead,
            operators={name: dict(values) for name, values in progress.operators.items()},
            behind=sum(progress.lag.values()) if progress.lag else None,
            rows_of=dict(progress.seen),
            in_per_second_of={
                stream: (rows - first_of.get(stream, 0)) / seconds if seconds > 0 else 0.0
                for stream, rows in progress.seen.items()
            },
            dead_of=dict(progress.dead_of),
            behind_of=dict(progress.lag),
            positions=dict(progress.positions),
            observed={name: dict(values) for name, values in progress.observed.items()},
            observed_totals={name: dict(values) for name, values in progress.observed_totals.items()},
            timed=progress.timed,
            under_way=progress.under_way,
            idle=progress.idle,
        )


def as_dict(figures: Figures) -> dict[str, Any]:
    """Return figures as JSON can hold them: seconds for durations, ISO 8601 for instants."""
    plain = {name: getattr(figures, name) for name in Figures.__dataclass_fields__}
    for name in ("batch_time", "under_way"):
        plain[name] = getattr(figures, name).total_seconds()
    for name, value in (("lag", figures.lag), ("latency", figures.latency)):
        plain[name] = None if value is None else value.total_seconds()
    plain["watermark_at"] = None if figures.watermark_at is None else figures.watermark_at.isoformat()
    plain["in_per_second"] = round(figures.in_per_second, 3)
    plain["out_per_second"] = round(figures.out_per_second, 3)
    plain["in_per_second_of"] = {name: round(rate, 3) for name, rate in figures.in_per_second_of.items()}
    return plain


def from_dict(plain: Mapping[str, Any]) -> Figures:
    """Return the figures that `as_dict` wrote; what another version did not write has its least value."""
    watermark = plain.get("watermark_at")
    behind = plain.get("behind")
    return Figures(
        name=str(plain.get("name", "")),
        batch=int(plain.get("batch", -1)),
        rows_in=int(plain.get("rows_in", 0)),
        in_per_second=float(plain.get("in_per_second", 0)),
        rows_out=int(plain.get("rows_out", 0)),
        out_per_second=float(plain.get("out_per_second", 0)),
        batch_time=timedelta(seconds=float(plain.get("batch_time", 0))),
        latency=_seconds(plain.get("latency")),
        watermark_at=None if watermark is None else datetime.fromisoformat(watermark),
        lag=_seconds(plain.get("lag")),
        state_rows=int(plain.get("state_rows", 0)),
        state_bytes=int(plain.get("state_bytes", 0)),
        state_memory=int(plain.get("state_memory", 0)),
        late=int(plain.get("late", 0)),
        dead=int(plain.get("dead", 0)),
        operators=_tables(plain.get("operators")),
        behind=None if behind is None else int(behind),
        rows_of=_counts(plain.get("rows_of")),
        in_per_second_of={str(name): float(n) for name, n in (plain.get("in_per_second_of") or {}).items()},
        dead_of=_counts(plain.get("dead_of")),
        behind_of=_counts(plain.get("behind_of")),
        positions=_counts(plain.get("positions")),
        observed=_tables(plain.get("observed")),
        observed_totals=_tables(plain.get("observed_totals")),
        timed=None if plain.get("timed") is None else tuple(map(str, plain["timed"])),
        under_way=timedelta(seconds=float(plain.get("under_way", 0))),
        idle=bool(plain.get("idle", False)),
    )


def _seconds(plain: Any) -> timedelta | None:
    return None if plain is None else timedelta(seconds=float(plain))


def _tables(plain: Any) -> dict[str, dict[str, Any]]:
    return {str(name): dict(each) for name, each in plain.items()} if isinstance(plain, dict) else {}


def _counts(plain: Any) -> dict[str, int]:
    return {str(name): int(n) for name, n in plain.items()} if isinstance(plain, dict) else {}


SHOWN = (
    "in_per_second", "out_per_second", "batch_time", "latency", "lag", "state_rows", "state_bytes", "behind", "late",
    "dead",
)  # fmt: skip
"""What a point of a small chart holds of each output."""


@dataclass(frozen=True, slots=True)
class Point:
    """The figures of every output at one instant, for small charts."""

    at: datetime
    outputs: Mapping[str, Mapping[str, float | None]]


@dataclass(slots=True)
class History:
    """The points of the last minutes, one every few seconds at most."""

    lasting: timedelta = timedelta(minutes=5)
    every: timedelta = timedelta(seconds=2)
    points: deque[Point] = field(default_factory=deque)

    def add(self, outputs: Iterable[Mapping[str, Any]], at: datetime) -> bool:
        """Take in figures as `as_dict` writes them; say whether a point was made of them."""
        while self.points and not (at - self.lasting <= self.points[0].at <= at):
            self.points.popleft()
        if self.points and self.points[-1].at > at:  # the clock was set back
            self.points.clear()
        if self.points and at - self.points[-1].at < self.every:
            return False
        chosen = {str(each.get("name")): {name: each.get(name) for name in SHOWN} for each in outputs}
        self.points.append(Point(at, chosen))
        return True

    def as_list(self) -> list[dict[str, Any]]:
        """Return the points as JSON can hold them."""
        return [{"at": each.at.isoformat(), "outputs": each.outputs} for each in self.points]

    @classmethod
    def from_list(cls, plain: Any) -> "History":
        """Return the points that `as_list` wrote, none if that is not what they are."""
        history = cls()
        try:
            points = [Point(datetime.fromisoformat(each["at"]), each["outputs"]) for each in plain]
        except (TypeError, ValueError, KeyError):
            return history
        history.points.extend(points)
        return history
