"""Answers about how a job is doing: its versions, events, log, figures, and the rows that no view has."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel

from headrace.jobs.states import State
from headrace.server.rest.models.fields import APPLICATION, example
from headrace.server.rest.models.jobs import Report

__all__ = [
    "Event",
    "Figures",
    "HistoryPoint",
    "LateCount",
    "LogLines",
    "Rejected",
    "RejectedRow",
    "ShownRow",
    "Version",
]

_POINT = {"at": "2024-05-01T10:05:00Z", "outputs": {"alerts": {"in_per_second": 160.0, "lag": 0.4, "late": 2.0}}}
_LATE = {"output": "alerts", "rows": 2, "watermark_at": "2024-05-01T10:04:00Z"}
_DEAD = {
    "stream": "payments",
    "reason": 'column "amount" is not INT: much',
    "record": '{"card": "c1", "amount": "much"}',
    "position": "payments/0/17",
    "at": "2024-05-01T10:04:00Z",
}


class Version(BaseModel):
    """One text of a job's application; the values of variables are not told."""

    model_config = example(
        number=1,
        text=APPLICATION,
        directory="/srv/fraud",
        variables=["REGION"],
        provides=[],
        uses=[],
        created_at="2024-05-01T10:00:00Z",
        created_by="ann",
    )

    number: int
    text: str
    directory: str
    variables: list[str]
    provides: list[str]
    uses: list[str]
    created_at: datetime
    created_by: str | None


class Event(BaseModel):
    """A move of a job from state to state."""

    model_config = example(id=3, at="2024-05-01T10:00:09Z", state="running", reason="running", error=None)

    id: int
    at: datetime
    state: State
    reason: str
    error: Report | None


class LogLines(BaseModel):
    """The last lines of a log."""

    model_config = example(lines=["batch 7 of alerts: 120 rows"])

    lines: list[str]


class HistoryPoint(BaseModel):
    """The figures of every output at an instant."""

    model_config = example(**_POINT)

    at: datetime
    outputs: dict[str, dict[str, float | None]]


class Figures(BaseModel):
    """The latest figures of each output, durations in seconds, and those of the last minutes."""

    model_config = example(outputs=[{"name": "alerts", "batch": 7, "rows_in": 48000, "behind": 0}], history=[_POINT])

    outputs: list[dict[str, Any]]
    history: list[HistoryPoint]


class LateCount(BaseModel):
    """How many rows that came behind the watermark an output could not take, since its driver started."""

    model_config = example(**_LATE)

    output: str
    rows: int
    watermark_at: datetime | None


class RejectedRow(BaseModel):
    """A record that could not be read, or a row that came late, as a view over STREAM.dead or STREAM.late keeps it."""

    model_config = example(**_DEAD)

    stream: str
    reason: str
    record: str
    position: str
    at: datetime | None


class Rejected(BaseModel):
    """What a job did not use; ``unkept`` counts dead records of streams of which no view keeps them.

    ``forgotten`` names the streams whose late rows no view keeps.
    """

    model_config = example(late=[_LATE], late_rows=[], dead=[_DEAD], unkept={}, forgotten=["payments"])

    late: list[LateCount]
    late_rows: list[RejectedRow]
    dead: list[RejectedRow]
    unkept: dict[str, int]
    forgotten: list[str]


class ShownRow(BaseModel):
    """A row of a bare SELECT or a console sink that came or went; ``row`` is JSON."""

    model_config = example(
        output="query_1", batch=7, at="2024-05-01T10:05:00+00:00", change="insert", row='{"card": "c1", "total": 900}'
    )

    output: str
    batch: int
    at: str
    change: str
    row: str
