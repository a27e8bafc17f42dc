"""Jobs and all about them, as the pages show them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from headrace.errors import HeadraceError
from headrace.plan.topology import Graph
from headrace.server.services.runtime import Health, NodeFigures

__all__ = [
    "Alert",
    "AlertRule",
    "Job",
    "JobSummary",
    "LogLine",
    "Output",
    "Point",
    "RestartOptions",
    "RunOptions",
    "Savepoint",
    "UpgradeItem",
    "UpgradeReport",
    "Version",
]


@dataclass(frozen=True, slots=True)
class Point:
    """The figures of a job at an instant."""

    at: datetime
    in_per_second: float
    out_per_second: float
    latency: timedelta | None
    lag: timedelta | None
    """How far the watermark is behind."""
    state_bytes: int
    behind: int | None = None
    """Messages still to be read."""


@dataclass(frozen=True, slots=True)
class JobSummary:
    """A line of the overview; ``recent`` has the rates of the last minutes, oldest first."""

    name: str
    application: str
    state: str
    health: Health
    reason: str
    """Why it is not in good health, or nothing."""
    owner: str
    version: int
    in_per_second: float
    latency: timedelta | None
    lag: timedelta | None
    state_bytes: int
    late: int
    dead: int
    restarts: int
    since_at: datetime
    """When it came into its state."""
    recent: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Output:
    """Where rows of a job go."""

    name: str
    kind: Literal["view", "sink", "screen"]
    rows_out: int
    out_per_second: float
    watermark_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Version:
    """A version of the application that the job ran."""

    number: int
    submitted_at: datetime
    submitted_by: str
    text: str


@dataclass(frozen=True, slots=True)
class Savepoint:
    """A copy of a job's state."""

    id: str
    made_at: datetime
    version: int
    size_bytes: int
    state: str = "ready"
    """How far it is, or why there is none."""


@dataclass(frozen=True, slots=True)
class Job:
    """All about one job but its figures over time."""

    summary: JobSummary
    graph: Graph
    steps: tuple[NodeFigures, ...]
    outputs: tuple[Output, ...]
    versions: tuple[Version, ...]
    """Newest first."""
    savepoints: tuple[Savepoint, ...]
    """Newest first."""
    error: HeadraceError | None = None
    """What it failed with."""
    resources: str = ""
    """Where it runs and with what, in words."""
    rebuild: str = ""
    """How far it is built anew beside itself, in words; empty if it is not."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """With what an application is to run; without memory and master, as the server has it."""

    variables: Mapping[str, str] = field(default_factory=dict)
    cores: int = 1
    memory: int | None = None
    """Megabytes."""
    master: str | None = None


@dataclass(frozen=True, slots=True)
class RestartOptions:
    """How a job is to start again: from where it was unless something else is said.

    Cores and megabytes of memory that are given are what it has from then on.
    """

    savepoint: str | None = None
    fresh: bool = False
    from_time: datetime | None = None
    """Where its sources begin; its state is forgotten then too."""
    cores: int | None = None
    memory: int | None = None


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line of a job's log."""

    at: datetime | None
    level: str
    text: str


@dataclass(frozen=True, slots=True)
class Alert:
    """A rule that was broken, the figure over time and its limit."""

    id: str
    raised_at: datetime
    rule: str
    severity: Literal["warning", "critical"]
    message: str
    over_at: datetime | None = None
    acknowledged_by: str | None = None
    metric: str = ""
    limit: float | None = None
    points: tuple[tuple[datetime, float], ...] = ()
    job: str = ""


@dataclass(frozen=True, slots=True)
class AlertRule:
    """A rule of alerts; ``options`` are those that are not as usual, by their names."""

    name: str
    kind: str
    job: str
    options: Mapping[str, object]
    origin: Literal["standard", "file", "server"] = "server"
    changed_by: str = ""


@dataclass(frozen=True, slots=True)
class UpgradeItem:
    """What an upgrade does to one view or output."""

    name: str
    verdict: Literal["kept", "rebuilt", "new", "dropped"]
    reason: str


@dataclass(frozen=True, slots=True)
class UpgradeReport:
    """What an upgrade would do; ``possible`` is false if it would be refused."""

    items: tuple[UpgradeItem, ...]
    possible: bool = True
    warnings: tuple[str, ...] = ()
