"""Requests and answers about jobs."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from headrace.jobs.states import State
from headrace.server.rest.models.fields import Cores, Directory, Megabytes, Name, Sql, Variables, Wish

__all__ = [
    "Alert",
    "Change",
    "Event",
    "Figures",
    "HistoryPoint",
    "Job",
    "JobWish",
    "LogLines",
    "Rebuild",
    "RebuildWish",
    "Report",
    "RestartWish",
    "Restarted",
    "Savepoint",
    "SourceBegins",
    "StopWish",
    "UpgradeReport",
    "UpgradeWish",
    "Version",
]


class Report(BaseModel):
    """What went wrong, and where."""

    message: str
    detail: str | None = None
    hint: str | None = None
    place: dict[str, Any] | None = None


class Job(BaseModel):
    """An application that the server runs."""

    id: str
    name: str = Field(examples=["shop"])
    owner: str | None
    state: State
    wanted: str
    reason: str
    error: Report | None = Field(description="The last error, also after it was got over.")
    version: int
    attempt: int
    restarts: int
    since: datetime
    submitted_at: datetime
    cores: int
    memory: int
    master: str | None


class JobWish(Wish):
    """An application to be run."""

    name: Name
    text: Sql
    directory: Directory = None
    variables: Variables = Field(default_factory=dict)
    cores: Cores = 1
    memory: Megabytes | None = None
    master: (
        Annotated[
            str, Field(max_length=500, pattern=r"^[!-~]+$", description="The Spark cluster; this machine without it.")
        ]
        | None
    ) = None


class StopWish(Wish):
    """How a job is to stop."""

    savepoint: bool = False


class RebuildWish(Wish):
    """Where the sources of a job that is built anew begin: with all that they hold, or at a time."""

    from_time: (
        Annotated[
            datetime,
            Field(description="Sources begin at this time, on a new state; in UTC unless it says more."),
        ]
        | None
    ) = None
    sources: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=200)]],
        Field(max_length=100, description="Only these begin at that time; all that can without it."),
    ] = Field(default_factory=list)


class RestartWish(RebuildWish):
    """How a job is to start again: on its state, on a savepoint's, or on none."""

    savepoint: Annotated[str, Field(max_length=32, pattern=r"^[0-9a-f]+$")] | None = None
    fresh: bool = False
    cores: Cores | None = None
    memory: Megabytes | None = None


class SourceBegins(BaseModel):
    """Where a source begins; `at_time` says whether that is the time that was asked for."""

    source: str
    at_time: bool
    where: str


class Restarted(Job):
    """A job that starts again, and where each source begins if a time was asked for."""

    sources: list[SourceBegins] = Field(default_factory=list)


class UpgradeWish(Wish):
    """A new version of a job's application; without variables it has those of the version before."""

    text: Sql
    directory: Directory = None
    variables: Variables | None = None
    beside: Annotated[
        bool, Field(description="Build it on a state of its own while the old version runs on, and swap in the end.")
    ] = False


class Rebuild(BaseModel):
    """A job that is built anew beside itself; `state` and `reason` are those of the driver that builds."""

    phase: Literal["building", "handing over", "swapping", "swapped", "cancelled", "failed"]
    state: State
    reason: str
    error: Report | None
    asked_at: datetime
    behind: int | None = Field(description="Messages of Kafka that are still to be read.")
    rows_in: int


class Change(BaseModel):
    """What an upgrade does to one output."""

    output: str
    fate: Literal["keeps", "rebuilt", "new", "removed"]
    why: str


class UpgradeReport(BaseModel):
    """What an upgrade does; ``job`` is null after a dry run."""

    changes: list[Change]
    job: Job | None = None


class Version(BaseModel):
    """One text of a job's application; the values of variables are not told."""

    number: int
    text: str
    directory: str
    variables: list[str]
    provides: list[str]
    uses: list[str]
    created_at: datetime
    created_by: str | None


class Savepoint(BaseModel):
    """A copy of a job's state."""

    id: str
    version: int
    status: str = Field(examples=["ready"])
    created_at: datetime
    created_by: str | None
    manifest: dict[str, Any] | None
    error: Report | None


class Event(BaseModel):
    """A move of a job from state to state."""

    id: int
    at: datetime
    state: State
    reason: str
    error: Report | None


class LogLines(BaseModel):
    """The last lines of a log."""

    lines: list[str]


class HistoryPoint(BaseModel):
    """The figures of every output at an instant."""

    at: datetime
    outputs: dict[str, dict[str, float | None]]


class Figures(BaseModel):
    """The latest figures of each output, durations in seconds, and those of the last minutes."""

    outputs: list[dict[str, Any]]
    history: list[HistoryPoint]


class Alert(BaseModel):
    """A rule that held, since when and until when."""

    id: str
    job: str
    rule: str
    output: str | None
    raised_at: datetime
    over_at: datetime | None
    message: str
    acknowledged_by: str | None


class Evidence(BaseModel):
    """What is behind an alert: rows whose columns depend on the kind of its rule."""

    columns: list[str]
    rows: list[dict[str, Any]]


class LateCount(BaseModel):
    """How many rows that came behind the watermark an output could not take, since its driver started."""

    output: str
    rows: int
    watermark_at: datetime | None


class RejectedRow(BaseModel):
    """A record that could not be read, or a row that came late, as a view over STREAM.dead or STREAM.late keeps it."""

    stream: str
    reason: str
    record: str
    position: str
    at: datetime | None


class Rejected(BaseModel):
    """What a job did not use; ``unkept`` counts dead records of streams of which no view keeps them.

    ``forgotten`` names the streams whose late rows no view keeps.
    """

    late: list[LateCount]
    late_rows: list[RejectedRow]
    dead: list[RejectedRow]
    unkept: dict[str, int]
    forgotten: list[str]


class ShownRow(BaseModel):
    """A row of a bare SELECT or a console sink that came or went; ``row`` is JSON."""

    output: str = Field(examples=["query_1"])
    batch: int
    at: str
    change: str = Field(examples=["insert"])
    row: str = Field(examples=['{"customer": "ann", "amount": 10}'])
