"""An alert goes in; the facts behind it come out as rows: of dead records, sources, errors, batches and the like."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headrace.jobs.figures import Figures
from headrace.jobs.model import Event
from headrace.jobs.rules import BatchStuck, CrashLoop, DeadRows, LagAbove, Rule, StateGrowth, WatermarkStuck
from headrace.server.access.decisions import Who
from headrace.server.services.alerts import Alerts
from headrace.server.services.job_reading import JobReading
from headrace.server.services.mistakes import NotThere
from headrace.server.services.rejected import ShownRows

__all__ = ["AlertEvidence", "Evidence"]

MOST = 50
Rows = Sequence[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Evidence:
    """Rows that say what caused an alert, as of now; none if its rule is no more."""

    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()


class AlertEvidence:
    """Finds what is behind an alert."""

    def __init__(self, alerts: Alerts, jobs: JobReading, shown: ShownRows) -> None:
        self._alerts, self._jobs, self._shown = alerts, jobs, shown

    def of(self, who: Who, job: str, alert: str) -> Evidence:
        """Return the evidence of an alert to one who may see its job; records only to one who may read its rows."""
        seen = next((each.alert for each in self._alerts.of(who, job) if each.id == alert), None)
        if seen is None:
            raise NotThere(f'job "{job}" has no alert "{alert}"')
        rule = next((each for each in self._alerts.alarms.rules if each.name == seen.rule), None)
        if rule is None:
            return Evidence()
        figures = [each for each in self._jobs.figures(who, job) if seen.output in {None, each.name}]
        match rule:
            case DeadRows():
                return _cut(("stream", "reason", "position", "record"), self._dead(who, job))
            case CrashLoop():
                return _cut(("at", "state", "error", "detail", "hint"), self._errors(who, job))
        return _measured(rule, figures)

    def _dead(self, who: Who, job: str) -> Rows:
        found = self._shown.rejected(who, job, MOST)
        told = "so many did not parse; keep them with a materialised view over STREAM.dead to see them"
        kept = [(each.stream, each.reason, each.position, each.record) for each in found.dead]
        return [*kept, *((stream, told, None, str(n)) for stream, n in found.unkept)]

    def _errors(self, who: Who, job: str) -> Rows:
        found: list[Event] = []
        after = 0
        while page := self._jobs.events(who, job, after=after, limit=500):
            found = [*found, *(each for each in page if each.error is not None)][-MOST:]
            after = page[-1].id
        return [
            (each.at, str(each.state), each.error.message, each.error.detail, each.error.hint)
            for each in reversed(found)
            if each.error is not None
        ]


def _measured(rule: Rule, figures: Sequence[Figures]) -> Evidence:
    """Return the figures that a rule looks at, part by part."""
    match rule:
        case WatermarkStuck():
            rows = [
                (each.name, stream, rows, each.in_per_second_of.get(stream), each.watermark_at)
                for each in figures
                for stream, rows in each.rows_of.items()
            ]
            return _cut(("output", "source", "rows_so_far", "rows_per_second", "watermark"), rows)
        case BatchStuck():
            last = [
                (each.name, each.batch, each.batch_time.total_seconds(), each.under_way.total_seconds())
                for each in figures
            ]
            return _cut(("output", "last_batch", "seconds_it_took", "seconds_under_way"), last)
        case LagAbove():
            behind = [
                (each.name, *place.rpartition(":")[::2], each.positions.get(place), n)
                for each in figures
                for place, n in sorted(each.behind_of.items(), key=lambda pair: -pair[1])
            ]
            return _cut(("output", "topic", "partition", "next_offset", "messages_behind"), behind)
        case StateGrowth():
            kept = [
                (each.name, operator, values.get("rows"), values.get("bytes"))
                for each in figures
                for operator, values in each.operators.items()
            ]
            whole = [(each.name, "all steps", each.state_rows, each.state_bytes) for each in figures]
            return _cut(("output", "operator", "rows", "bytes"), [*whole, *kept])
    return Evidence()


def _cut(columns: tuple[str, ...], rows: Rows) -> Evidence:
    return Evidence(columns, tuple(rows[:MOST]))
