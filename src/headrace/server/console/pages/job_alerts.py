"""Alerts of a job, and the evidence behind each: the figure, its limit, and rows."""

from datetime import UTC, datetime

from nicegui.element import Element

from headrace.errors import HeadraceError
from headrace.server.access.decisions import Decision
from headrace.server.console.formatting import ago, instant
from headrace.server.console.layout import Console
from headrace.server.console.live import Chart, RowGrid
from headrace.server.console.parts import Tag, box, button, card, empty, guarded, say, show_problem
from headrace.server.console.values.jobs import Alert
from headrace.server.console.values.rows import RowPage

__all__ = ["build_alerts"]


async def build_alerts(console: Console, name: str, may_acknowledge: Decision) -> None:
    """Build the list of alerts; each opens its evidence."""
    place = box("stack")

    async def show() -> None:
        found = await console.backend.alerts(name)
        place.clear()
        with place:
            if not found:
                with card():
                    empty("No alert", "When a rule is broken, it stands here with its evidence.", "check")
            for number, alert in enumerate(found):
                await _alert(alert, open_at_once=number == 0)

    async def _alert(alert: Alert, *, open_at_once: bool) -> None:
        over = alert.over_at is not None
        tone = "tone-idle" if over else "tone-bad" if alert.severity == "critical" else "tone-warn"
        with card() as outer:
            with box("card-head"):
                Tag("span", "Over" if over else alert.severity.capitalize(), f"state pill {tone}")
                with box("grow"):
                    Tag("div", alert.message[:1].upper() + alert.message[1:])
                    until = f", until {instant(alert.over_at)}" if over else ""
                    taken = f" · acknowledged by {alert.acknowledged_by}" if alert.acknowledged_by else ""
                    raised = f"{instant(alert.raised_at)} UTC ({ago(alert.raised_at, datetime.now(UTC))}){until}"
                    Tag("div", f"Rule “{alert.rule}” · {raised}{taken}", "muted small").style("font-weight:400")
                if may_acknowledge and not alert.acknowledged_by and not over:
                    button("Acknowledge", lambda: take(alert), kind="small", mark="check")
                opened = button("Evidence", kind="small")
            body = box("card-body")
            body.set_visibility(False)
        opened.on("click", guarded(lambda: toggle(alert, body, opened)))
        outer.props["data-alert"] = alert.id
        if open_at_once:
            await toggle(alert, body, opened)

    async def toggle(alert: Alert, body: Element, opened: Element) -> None:
        if not body.default_slot.children:
            with body:
                try:
                    _evidence(alert, await console.backend.evidence(name, alert.id))
                except HeadraceError as error:  # records are for those who may read rows
                    _evidence(alert, RowPage((), (), 0))
                    show_problem(error, warning=True)
        body.set_visibility(not body.visible)
        opened.props["aria-pressed"] = "true" if body.visible else "false"

    async def take(alert: Alert) -> None:
        await console.backend.acknowledge(name, alert.id)
        say("Acknowledged")
        await show()

    await show()


def _evidence(alert: Alert, behind: RowPage) -> None:
    if alert.points:
        Tag("div", f"{alert.metric[:1].upper()}{alert.metric[1:]}", "muted small")
        chart = Chart(label=alert.metric, limit=alert.limit).style("height:200px")
        chart.put([at.isoformat() for at, _ in alert.points], [(alert.metric, [v for _, v in alert.points])], time=True)
    if behind.rows:
        Tag("div", "What is behind it, as of now", "muted small").style("margin:12px 0 6px")
        grid = RowGrid().style(f"height:{min(280, 48 + 30 * len(behind.rows))}px")
        grid.fill(behind.columns, behind.rows)
    if not alert.points and not behind.rows:
        Tag("p", "Nothing more is known of it.", "muted")
