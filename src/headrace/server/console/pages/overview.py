"""The overview: every job with its state, health and rate, changing in place."""

from collections.abc import Sequence
from typing import Any

from nicegui import ui

from headrace.server.console.formatting import address, duration, rate, size, sparkline
from headrace.server.console.layout import Console, page
from headrace.server.console.live import JobTable
from headrace.server.console.parts import box, button, empty, guarded, page_head
from headrace.server.console.theme import tone_of_health, tone_of_state, word_of_health
from headrace.server.console.values.jobs import JobSummary

__all__ = ["differences", "line_of", "overview"]


@page
async def overview(console: Console) -> None:
    """Show all jobs."""
    with page_head("Overview", "Every job of this server, as it is now"):
        if await console.may("submit", "application"):
            button("New application", lambda: ui.navigate.to("/editor"), kind="primary", mark="plus")
    place = box()
    shown: dict[str, dict[str, Any]] = {}
    table: JobTable | None = None

    async def refresh() -> None:
        nonlocal table, shown
        jobs = await console.backend.jobs()
        lines = {job.name: line_of(job) for job in jobs}
        total = rate(sum(job.in_per_second for job in jobs))
        if table is None or not lines or not shown:
            place.clear()
            with place:
                table = _first(lines, total)
        elif lines.keys() != shown.keys():
            table.put(list(lines.values()), total)
        else:
            table.patch(differences(shown, lines), total)
        shown = lines

    await refresh()
    ui.timer(1.0, guarded(refresh), immediate=False)


def _first(lines: dict[str, dict[str, Any]], total: str) -> JobTable | None:
    if not lines:
        with box("card"):
            empty(
                "No job yet",
                "Write an application in the editor, look at its topology, and submit it: it becomes a job here.",
                "editor",
            )
        return None
    table = JobTable()
    table.put(list(lines.values()), total)
    return table


def line_of(job: JobSummary) -> dict[str, Any]:
    """Return a line of the table: texts, and what to sort by when a heading is pressed."""
    reason = job.reason
    return {
        "name": job.name,
        "href": address("jobs", job.name),
        "state": job.state.capitalize(),
        "tone": tone_of_state(job.state),
        "health": word_of_health(job.health),
        "health_tone": tone_of_health(job.health),
        "reason": reason,
        "group": _group(job),
        "rate": rate(job.in_per_second),
        "latency": duration(job.latency),
        "lag": duration(job.lag),
        "size": size(job.state_bytes),
        "rejected": rate(job.late + job.dead),
        "spark": sparkline(job.recent, 110, 26),
        "text": " ".join((job.name, job.application, job.state, job.owner, reason)).lower(),
        "sort": {
            "name": job.name,
            "state": job.state,
            "health": ["bad", "warning", "unknown", "good"].index(job.health),
            "rate": job.in_per_second,
            "latency": -1 if job.latency is None else job.latency.total_seconds(),
            "lag": -1 if job.lag is None else job.lag.total_seconds(),
            "size": job.state_bytes,
            "rejected": job.late + job.dead,
        },
    }


def differences(before: dict[str, dict[str, Any]], after: dict[str, dict[str, Any]]) -> Sequence[dict[str, Any]]:
    """Return, for each line that has changed, its name and the fields that differ.

    >>> differences({"a": {"name": "a", "rate": "1", "lag": "2"}}, {"a": {"name": "a", "rate": "3", "lag": "2"}})
    [{'name': 'a', 'rate': '3'}]
    """
    found = []
    for name, line in after.items():
        changed = {key: value for key, value in line.items() if before[name][key] != value}
        if changed:
            found.append({"name": name, **changed})
    return found


def _group(job: JobSummary) -> str:
    if job.state == "failed":
        return "failed"
    if job.state in {"stopped", "finished"}:
        return "over"
    if job.state in {"degraded", "restarting"} or job.health in {"warning", "bad"}:
        return "attention"
    return "running"
