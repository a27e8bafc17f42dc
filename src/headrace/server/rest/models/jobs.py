"""Requests and answers about jobs."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from headrace.jobs.states import State
from headrace.server.rest.models.fields import (
    APPLICATION,
    Cores,
    Directory,
    Megabytes,
    Name,
    Sql,
    Variables,
    Wish,
    example,
)

__all__ = [
    "Alert",
    "Change",
    "Evidence",
    "Job",
    "JobWish",
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
]

_JOB = {
    "id": "192ef064f88b",
    "name": "fraud",
    "owner": "ann",
    "state": "running",
    "wanted": "run",
    "reason": "running",
    "error": None,
    "version": 1,
    "attempt": 1,
    "restarts": 0,
    "since": "2024-05-01T10:00:09Z",
    "submitted_at": "2024-05-01T10:00:00Z",
    "cores": 1,
    "memory": 1024,
    "master": None,
}
_BEGINS = {
    "source": "payments",
    "at_time": True,
    "where": "the first message of each partition that is not earlier than 2024-05-01T00:00:00Z; its end without one",
}
_CHANGE = {"output": "alerts", "fate": "keeps", "why": "its query is the same"}


class Report(BaseModel):
    """What went wrong, and where."""

    model_config = example(
        message='unknown column "crd"',
        detail=None,
        hint='Did you mean "card"?',
        place={"file": "fraud.sql", "line": 2, "column": 43},
    )

    message: str
    detail: str | None = None
    hint: str | None = None
    place: dict[str, Any] | None = None


class Job(BaseModel):
    """An application that the server runs."""

    model_config = example(**_JOB)

    id: str
    name: str
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

    model_config = example(name="fraud", text=APPLICATION, cores=2)

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

    model_config = example(savepoint=True)

    savepoint: bool = False


class RebuildWish(Wish):
    """Where the sources of a job that is built anew begin: with all that they hold, or at a time."""

    model_config = example(from_time="2024-05-01T00:00:00Z", sources=["payments"])

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

    model_config = example(savepoint="8bedf9f8200e", cores=2, memory=2048)

    savepoint: Annotated[str, Field(max_length=32, pattern=r"^[0-9a-f]+$")] | None = None
    fresh: bool = False
    cores: Cores | None = None
    memory: Megabytes | None = None


class SourceBegins(BaseModel):
    """Where a source begins; `at_time` says whether that is the time that was asked for."""

    model_config = example(**_BEGINS)

    source: str
    at_time: bool
    where: str


class Restarted(Job):
    """A job that starts again, and where each source begins if a time was asked for."""

    model_config = example(**_JOB, sources=[_BEGINS])

    sources: list[SourceBegins] = Field(default_factory=list)


class UpgradeWish(Wish):
    """A new version of a job's application; without variables it has those of the version before."""

    model_config = example(text=APPLICATION, beside=True)

    text: Sql
    directory: Directory = None
    variables: Variables | None = None
    beside: Annotated[
        bool, Field(description="Build it on a state of its own while the old version runs on, and swap in the end.")
    ] = False


class Rebuild(BaseModel):
    """A job that is built anew beside itself; `state` and `reason` are those of the driver that builds."""

    model_config = example(
        phase="building",
        state="running",
        reason="running",
        error=None,
        asked_at="2024-05-01T10:00:00Z",
        behind=1200,
        rows_in=48000,
    )

    phase: Literal["building", "handing over", "swapping", "swapped", "cancelled", "failed"]
    state: State
    reason: str
    error: Report | None
    asked_at: datetime
    behind: int | None = Field(description="Messages of Kafka that are still to be read.")
    rows_in: int


class Change(BaseModel):
    """What an upgrade does to one output."""

    model_config = example(**_CHANGE)

    output: str
    fate: Literal["keeps", "rebuilt", "new", "removed"]
    why: str


class UpgradeReport(BaseModel):
    """What an upgrade does; ``job`` is null after a dry run."""

    model_config = example(changes=[_CHANGE], job=_JOB)

    changes: list[Change]
    job: Job | None = None


class Savepoint(BaseModel):
    """A copy of a job's state."""

    model_config = example(
        id="8bedf9f8200e",
        version=1,
        status="ready",
        created_at="2024-05-01T10:00:00Z",
        created_by="ann",
        manifest={"format": 1, "size": 40960},
        error=None,
    )

    id: str
    version: int
    status: str
    created_at: datetime
    created_by: str | None
    manifest: dict[str, Any] | None
    error: Report | None


class Alert(BaseModel):
    """A rule that held, since when and until when."""

    model_config = example(
        id="0123456789abcdef",
        job="fraud",
        rule="far behind",
        output="alerts",
        raised_at="2024-05-01T10:05:00Z",
        over_at=None,
        message="1200 messages are still to be read",
        acknowledged_by=None,
    )

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

    model_config = example(
        columns=["output", "topic", "partition", "next_offset", "messages_behind"],
        rows=[
            {"output": "alerts", "topic": "payments", "partition": "0", "next_offset": 48000, "messages_behind": 1200}
        ],
    )

    columns: list[str]
    rows: list[dict[str, Any]]
