"""Jobs as the console shows them: summaries, run-time topology, figures over time, logs, alerts, commands."""

import re
from collections.abc import AsyncIterator, Sequence
from datetime import datetime, timedelta
from typing import Literal

from headrace.errors import HeadraceError
from headrace.jobs import figures as job_figures
from headrace.jobs import model
from headrace.jobs.alert_book import KeptAlert
from headrace.jobs.decisions import Limits
from headrace.jobs.last_rows import LastRow
from headrace.jobs.rebuilding import Phase
from headrace.jobs.rebuilds import Rebuild
from headrace.jobs.reports import Report
from headrace.jobs.rules import BatchStuck, CrashLoop, DeadRows, LagAbove, Rule, StateGrowth, WatermarkStuck
from headrace.jobs.states import FINAL
from headrace.jobs.upgrade import Fate
from headrace.plan.outputs import Output as PlannedOutput
from headrace.plan.topology import Graph, topology
from headrace.server.access.decisions import Who
from headrace.server.access.roles import Action
from headrace.server.backend.session import SessionPart
from headrace.server.console.values.jobs import (
    Alert,
    AlertRule,
    Job,
    JobSummary,
    LogLine,
    Output,
    Point,
    RestartOptions,
    RunOptions,
    Savepoint,
    UpgradeItem,
    UpgradeReport,
    Version,
)
from headrace.server.console.values.rows import Column, RowPage
from headrace.server.services.alert_rules import KeptRule
from headrace.server.services.following import follow_log
from headrace.server.services.job_service import Submission
from headrace.server.services.rejected import RejectedRows
from headrace.server.services.runtime import Health, NodeFigures, figures_by_output, health_of, node_figures

__all__ = ["JobPart"]

_LEVEL = re.compile(r"\b(TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL|CRITICAL)\b")
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{3}))?|(\d\d)/(\d\d)/(\d\d) (\d\d:\d\d:\d\d)")
_VERDICTS: dict[Fate, Literal["kept", "rebuilt", "new", "dropped"]] = {
    Fate.KEEPS: "kept",
    Fate.REBUILT: "rebuilt",
    Fate.NEW: "new",
    Fate.REMOVED: "dropped",
}
_METRICS: dict[type[Rule], str] = {
    LagAbove: "behind",
    WatermarkStuck: "lag",
    BatchStuck: "batch_time",
    DeadRows: "dead",
    StateGrowth: "state_bytes",
}
LINES = 500


class JobPart(SessionPart):
    """Jobs, and what is done to them."""

    async def jobs(self) -> Sequence[JobSummary]:
        """Return the jobs that the user may see."""
        return await self._ask(lambda who: [self._summary(job) for job in self._services.jobs.all(who)])

    async def job(self, name: str) -> Job:
        """Return one job."""
        return await self._ask(lambda who: self._job(who, name))

    async def history(self, name: str, after: datetime | None = None) -> Sequence[Point]:
        """Return the figures of a job over time, oldest first, or only those after an instant."""

        def found(who: Who) -> list[Point]:
            points = self._services.jobs.jobs.history(self._services.jobs.show(who, name)).points
            return [_point(each) for each in points if after is None or each.at > after]

        return await self._ask(found)

    async def logs(self, name: str) -> AsyncIterator[Sequence[LogLine]]:
        """Give the last lines of a job's log at once, then new ones as they are written."""
        show = self._services.jobs.show
        job = await self._ask(lambda who: show(who, name, Action.READ_LOGS))
        async for happening in follow_log(self._services.jobs.jobs.folder_of(job), LINES):
            await self._ask(lambda who: show(who, job.id, Action.READ_LOGS))
            yield [_line(each) for each in happening.value["lines"]]

    async def rejected(self, name: str, limit: int = 200) -> RejectedRows:
        """Return how many rows of a job came late, and its last dead records."""
        return await self._ask(lambda who: self._services.shown.rejected(who, name, limit))

    async def shown_rows(self, name: str) -> Sequence[LastRow]:
        """Return the last rows of a job's bare SELECTs and console sinks, newest first."""
        return await self._ask(lambda who: self._services.shown.shown(who, name))

    async def alerts(self, name: str) -> Sequence[Alert]:
        """Return the alerts of a job, newest first."""

        def found(who: Who) -> list[Alert]:
            job = self._services.jobs.show(who, name)
            history = self._services.jobs.jobs.history(job)
            return [self._alert(each, history) for each in self._services.alerts.of(who, name)]

        return await self._ask(found)

    async def evidence(self, name: str, alert: str) -> RowPage:
        """Return the facts behind an alert of a job."""
        found = await self._ask(lambda who: self._services.evidence.of(who, name, alert))
        return RowPage(tuple(Column(each, "") for each in found.columns), found.rows, len(found.rows))

    async def acknowledge(self, name: str, alert: str) -> None:
        """Take note of an alert."""
        await self._ask(lambda who: self._services.alerts.acknowledge(who, name, alert))

    async def all_alerts(self) -> Sequence[Alert]:
        """Return the alerts of all jobs that the user may see, newest first, those that are over too."""

        def found(who: Who) -> list[Alert]:
            return [self._alert(each, None) for each in self._services.alerts.all(who, over=True)]

        return await self._ask(found)

    async def alert_rules(self) -> Sequence[AlertRule]:
        """Return the rules of alerts by name."""
        return [_rule(each) for each in await self._ask(self._services.alert_rules.all)]

    async def save_alert_rule(self, rule: AlertRule) -> None:
        """Add a rule, or change the one of that name."""
        options = {"kind": rule.kind, "job": rule.job, **rule.options}
        await self._ask(lambda who: self._services.alert_rules.put(who, rule.name, options))

    async def delete_alert_rule(self, name: str) -> None:
        """Remove a rule that people have made."""
        await self._ask(lambda who: self._services.alert_rules.remove(who, name))

    # --- commands ---------------------------------------------------------------------------------------------

    async def submit(self, name: str, text: str, options: RunOptions) -> str:
        """Submit an application; return the name of its job."""

        def submitted(who: Who) -> model.Job:
            return self._services.jobs.submit(
                who,
                self._command(who),
                name,
                Submission(text, variables=options.variables),
                cores=options.cores,
                memory=options.memory,
                master=options.master,
            )

        return (await self._ask(submitted)).name

    async def stop(self, name: str, *, savepoint: bool) -> None:
        """Stop a job, with its state kept in a savepoint or without."""
        service = self._services.jobs
        await self._ask(lambda who: service.stop(who, self._command(who), name, with_savepoint=savepoint))

    async def restart(self, name: str, how: RestartOptions) -> None:
        """Start a job again: from where it was, from a savepoint, or from nothing, also with sources from a time on."""

        def restarted(who: Who) -> model.Job:
            return self._services.jobs.restart(
                who,
                self._command(who),
                name,
                savepoint=how.savepoint,
                from_time=how.from_time,
                fresh=how.fresh and how.from_time is None,
                cores=how.cores,
                memory=how.memory,
            )

        await self._ask(restarted)

    async def delete_savepoint(self, name: str, savepoint: str) -> None:
        """Delete a savepoint and its files."""
        service = self._services.jobs
        await self._ask(lambda who: service.delete_savepoint(who, self._command(who), name, savepoint))

    async def make_savepoint(self, name: str) -> str:
        """Copy a job's state; one that runs stops for it and goes on. Return the savepoint's id."""

        def made(who: Who) -> str:
            self._services.jobs.savepoint(who, self._command(who), name)
            return self._services.jobs.savepoints(who, name)[0].id

        return await self._ask(made)

    async def upgrade_report(self, name: str, text: str) -> UpgradeReport:
        """Return what a new version would do to the state; change nothing."""
        service = self._services.jobs
        changes = await self._ask(lambda who: service.upgrade_report(who, name, Submission(text)))
        return UpgradeReport(tuple(UpgradeItem(each.output, _VERDICTS[each.fate], each.why) for each in changes))

    async def upgrade(self, name: str, text: str, *, beside: bool = False) -> None:
        """Run a new version of a job on its old state, or build it anew beside the old one and swap in the end."""
        service, new = self._services.jobs, Submission(text)

        def upgraded(who: Who) -> model.Job:
            if beside:
                return service.rebuild(who, self._command(who), name, submission=new)
            return service.upgrade(who, self._command(who), name, new)

        await self._ask(upgraded)

    async def rebuild(self, name: str, from_time: datetime | None = None) -> None:
        """Build a job anew beside itself, from all that its sources hold or from a time, and swap in the end."""
        service = self._services.jobs
        await self._ask(lambda who: service.rebuild(who, self._command(who), name, from_time=from_time))

    async def cancel_rebuild(self, name: str) -> None:
        """Give up a rebuild, or forget one that has failed."""
        await self._ask(lambda who: self._services.jobs.cancel_rebuild(who, self._command(who), name))

    async def delete_job(self, name: str) -> None:
        """Delete a job that is over; refused with their names while others use its views."""
        await self._ask(lambda who: self._services.jobs.delete(who, self._command(who), name))

    # --- inside -----------------------------------------------------------------------------------------------

    def _figures(self, job: model.Job) -> list[job_figures.Figures]:
        return [] if job.state in FINAL else self._services.jobs.jobs.figures(job)

    def _summary(self, job: model.Job) -> JobSummary:
        figures = self._figures(job)
        health, reason = self._health(job)
        points = self._services.jobs.jobs.history(job).points
        return JobSummary(
            name=job.name,
            application=job.name,
            state=str(job.state),
            health=health,
            reason=reason,
            owner=job.owner or "",
            version=job.version,
            in_per_second=sum(each.in_per_second for each in figures),
            latency=max((each.latency for each in figures if each.latency is not None), default=None),
            lag=max((each.lag for each in figures if each.lag is not None), default=None),
            state_bytes=sum(each.state_bytes for each in figures),
            late=sum(each.late for each in figures),
            dead=sum(each.dead for each in figures),
            restarts=job.restart_count,
            since_at=job.since,
            recent=tuple(_sum(each, "in_per_second") for each in points),
        )

    def _health(self, job: model.Job) -> tuple[Health, str]:
        health = health_of(job)
        firing = self._services.alerts.firing(job.name)
        if health == "good" and firing:
            return "warning", firing[0].message
        return health, "" if health == "good" else job.reason

    def _job(self, who: Who, name: str) -> Job:
        service = self._services.jobs
        job = service.show(who, name)
        figures = self._figures(job)
        graph, steps, outputs = Graph((), ()), tuple[NodeFigures, ...](), tuple[Output, ...]()
        error = None if job.error is None else _error(job.error)
        try:
            plan = self._services.plans.of(job).plan
        except HeadraceError as mistake:  # a function's file has gone, say: what is left is shown all the same
            error = error or mistake
        else:
            graph = topology(plan)
            steps = tuple(node_figures(plan, graph, job, figures))
            by_output = figures_by_output(plan, figures)
            outputs = tuple(_output(each, by_output.get(each.name.lower())) for each in plan.outputs)
        where = f" on {job.master}" if job.master else ""
        cores = "1 core" if job.cores == 1 else f"{job.cores} cores"
        return Job(
            summary=self._summary(job),
            graph=graph,
            steps=steps,
            outputs=outputs,
            versions=tuple(
                Version(each.number, each.created_at, each.created_by or "", each.text)
                for each in service.versions(who, name)
            ),
            savepoints=tuple(_savepoint(each) for each in service.savepoints(who, name)),
            error=None if self._got_over(job) else error,
            resources=f"{cores}, {job.memory} MB{where}",
            rebuild=_rebuild(service.rebuild_of(who, name)),
        )

    def _got_over(self, job: model.Job) -> bool:
        """Say whether what went wrong before is over; a job that has only just begun to run may fail again."""
        ran = self._services.clock.now() - job.since
        return job.state == "finished" or (job.state == "running" and ran >= Limits().settled_after)

    def _alert(self, seen: KeptAlert, history: job_figures.History | None) -> Alert:
        rule = next((each for each in self._services.alerts.alarms.rules if each.name == seen.alert.rule), None)
        metric = "" if rule is None else _METRICS.get(type(rule), "")
        return Alert(
            id=seen.id,
            raised_at=seen.alert.at,
            rule=seen.alert.rule,
            severity="critical" if isinstance(rule, CrashLoop) else "warning",
            message=seen.alert.message,
            over_at=seen.over_at,
            acknowledged_by=seen.acknowledged_by,
            metric=metric,
            limit=float(rule.messages) if isinstance(rule, LagAbove) else None,
            points=tuple((each.at, _sum(each, metric)) for each in history.points) if metric and history else (),
            job=seen.alert.job,
        )


def _rule(kept: KeptRule) -> AlertRule:
    options = kept.options
    name, kind, job = options.pop("name"), options.pop("kind"), options.pop("job", "*")
    return AlertRule(name, kind, job, options, kept.origin, kept.changed_by or "")


def _point(point: job_figures.Point) -> Point:
    latency, lag = _most(point, "latency"), _most(point, "lag")
    behind = _most(point, "behind")
    return Point(
        at=point.at,
        in_per_second=_sum(point, "in_per_second"),
        out_per_second=_sum(point, "out_per_second"),
        latency=None if latency is None else timedelta(seconds=latency),
        lag=None if lag is None else timedelta(seconds=lag),
        state_bytes=int(_sum(point, "state_bytes")),
        behind=None if behind is None else int(_sum(point, "behind")),
    )


def _sum(point: job_figures.Point, name: str) -> float:
    return float(sum(each.get(name) or 0 for each in point.outputs.values()))


def _most(point: job_figures.Point, name: str) -> float | None:
    values = [value for each in point.outputs.values() if (value := each.get(name)) is not None]
    return max(values, default=None)


def _output(output: PlannedOutput, figures: job_figures.Figures | None) -> Output:
    name = output.name
    shown = output.role == "select" or (output.sink is not None and output.sink.connector == "console")
    kind: Literal["view", "sink", "screen"] = "view" if output.role == "view" else "screen" if shown else "sink"
    if figures is None:
        return Output(name, kind, 0, 0.0)
    return Output(name, kind, figures.rows_out, figures.out_per_second, figures.watermark_at)


def _savepoint(savepoint: model.Savepoint) -> Savepoint:
    manifest = savepoint.manifest or {}
    state = savepoint.status if savepoint.error is None else f"failed: {savepoint.error.message}"
    return Savepoint(savepoint.id, savepoint.created_at, savepoint.version, int(manifest.get("size") or 0), state)


def _rebuild(rebuild: Rebuild | None) -> str:
    if rebuild is None or rebuild.phase in {Phase.SWAPPED, Phase.CANCELLED}:
        return ""
    if rebuild.phase is Phase.FAILED:
        return f"rebuild failed: {rebuild.error.message if rebuild.error else rebuild.reason}"
    behind = "" if rebuild.behind is None else f", {rebuild.behind:,} messages behind"
    return f"rebuild: {rebuild.phase}, {rebuild.rows_in:,} rows read{behind}"


def _error(report: Report) -> HeadraceError:
    place = report.place
    where = f" ({place.get('file')}:{place.get('line')}:{place.get('column')})" if place else ""
    return HeadraceError(report.message + where, detail=report.detail, hint=report.hint)


def _line(text: str) -> LogLine:
    """Return a line with its time and level, as far as it has them.

    >>> _line("26/11/16 12:00:01 WARN Executor: slow").level
    'WARN'
    """
    found, level = _TIME.search(text[:40]), _LEVEL.search(text[:120])
    at = None
    if found is not None:
        day = found[1] or f"20{found[4]}-{found[5]}-{found[6]}"
        try:
            at = datetime.fromisoformat(f"{day}T{found[2] or found[7]}+00:00")
        except ValueError:
            at = None
    return LogLine(at, "" if level is None else level[1].replace("WARNING", "WARN"), text)
