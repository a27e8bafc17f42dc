"""Alerts of all jobs, and the rules that they come from."""

from datetime import UTC, datetime
from functools import partial

from nicegui import ui

from headrace.connectors.durations import duration_text
from headrace.errors import HeadraceError
from headrace.jobs.rules import KINDS, rule_of
from headrace.server.console.formatting import address, ago, instant
from headrace.server.console.layout import Console, page
from headrace.server.console.pages.forms import form
from headrace.server.console.parts import (
    Tabs,
    Tag,
    box,
    button,
    card,
    choice,
    confirm,
    empty,
    field,
    guarded,
    page_head,
    say,
)
from headrace.server.console.values.jobs import Alert, AlertRule

__all__ = ["OPTIONS", "alerts_page", "rule_from"]

LABELS = {
    "messages": "Messages that are still to be read",
    "more_than": "Dead records that are borne",
    "restarts": "Restarts that are too many",
    "factor": "Growth by the factor",
    "least": "Least size of the state, in bytes",
    "within": "Within",
    "lasting": "Lasting",
}
OPTIONS = {word: [name for name in LABELS if name in kind.__dataclass_fields__] for word, kind in KINDS.items()}
"""The options of each kind of rule, in the order in which they are asked for."""
WHERE = {"standard": "Standard", "file": "The server's file", "server": ""}


@page
async def alerts_page(console: Console) -> None:
    """Show the alerts that hold, those that held, and the rules."""
    with page_head("Alerts", "What needs somebody, and the rules that say so"):
        pass
    tabs = Tabs({"Now": lambda: _now(console), "Rules": lambda: _Rules(console).build()})
    await tabs.open(tabs.current)


async def _now(console: Console) -> None:
    place = box("card")
    shown: list[Alert] | None = None

    async def show() -> None:
        nonlocal shown
        found = list(await console.backend.all_alerts())
        if found == shown:
            return
        shown = found
        place.clear()
        with place:
            if not found:
                empty("No alert", "When a rule holds for a job, it stands here.", "check")
                return
            with box("scroll-x"), box("table", "table"):
                with box(tag="thead"), box(tag="tr"):
                    for head in ("State", "Job", "What", "Rule", "Since (UTC)", "Acknowledged by"):
                        Tag("th", head)
                with box(tag="tbody"):
                    for alert in sorted(found, key=lambda each: each.over_at is not None):
                        _row(alert)

    await show()
    ui.timer(2.0, guarded(show), immediate=False)


def _row(alert: Alert) -> None:
    over = alert.over_at is not None
    tone = "tone-idle" if over else "tone-bad" if alert.severity == "critical" else "tone-warn"
    with box(tag="tr"):
        with box(tag="td"):
            Tag("span", "Over" if over else alert.severity.capitalize(), f"state pill {tone}")
        with box("name", "td"):
            Tag("a", alert.job).props["href"] = f"{address('jobs', alert.job)}?tab=Alerts"
        Tag("td", alert.message[:1].upper() + alert.message[1:])
        Tag("td", alert.rule, "muted")
        until = f", until {instant(alert.over_at)[11:]}" if over else f" ({ago(alert.raised_at, datetime.now(UTC))})"
        Tag("td", f"{instant(alert.raised_at)}{until}", "number")
        Tag("td", alert.acknowledged_by or "", "muted")


class _Rules:
    """The table of rules and its dialog."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.place = box("stack")

    async def build(self) -> None:
        """Show rules as they are now."""
        rules = await self.console.backend.alert_rules()
        may_edit = await self.console.may("edit_alerts", "job")
        self.place.clear()
        with self.place, card() as outer:
            outer.props["aria-label"] = "Rules of alerts"
            with box("card-head"):
                Tag("h2", f"{len(rules)} rules", "grow")
                if may_edit:
                    button("Add rule", lambda: self.edit(None), kind="small primary", mark="plus")
            with box("scroll-x"), box("table", "table"):
                with box(tag="thead"), box(tag="tr"):
                    for head in ("Rule", "Kind", "Jobs", "Options", "From", ""):
                        Tag("th", head)
                with box(tag="tbody"):
                    for rule in rules:
                        self._row(rule, can_change=bool(may_edit))

    def _row(self, rule: AlertRule, *, can_change: bool) -> None:
        with box(tag="tr") as row:
            row.props["data-rule"] = rule.name
            Tag("td", rule.name, "name")
            Tag("td", rule.kind)
            Tag("td", rule.job, "mono")
            Tag("td", ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in rule.options.items()), "muted")
            Tag("td", WHERE[rule.origin] or rule.changed_by, "muted")
            with box("right", "td"), box("line").style("justify-content:flex-end"):
                if can_change and rule.origin != "file":
                    button("Edit", partial(self.edit, rule), kind="small", title=f"Edit {rule.name}")
                if can_change and rule.origin == "server":
                    remove = partial(self.remove, rule.name)
                    button("Remove", remove, kind="small danger", title=f"Remove {rule.name}")

    def edit(self, rule: AlertRule | None) -> None:
        """Ask for a rule, a new one or another form of one."""
        kept = rule or AlertRule("", "lag", "*", {})
        fields: dict[str, ui.input] = {}

        async def go() -> None:
            texts = {name: each.value or "" for name, each in fields.items()}
            made = rule_from(named.value or "", str(kind.value), jobs.value or "", texts)
            await self.console.backend.save_alert_rule(made)
            say(f"{made.name} counts from now on")
            await self.build()

        def show_special() -> None:
            special.clear()
            fields.clear()
            with special:
                for name in OPTIONS[str(kind.value)]:
                    given = kept.options.get(name, "") if kind.value == kept.kind else ""
                    fields[name] = field(LABELS[name], str(given), placeholder=_usual(str(kind.value), name))

        with form(f"Edit {kept.name}" if rule else "Add rule", "Save", go):
            named = field("Name", kept.name, placeholder="for example far behind")
            if rule is not None:
                named.disable()
            with box("line"):
                kind = choice(list(KINDS), kept.kind, "Kind").classes("grow")
                jobs = field("Jobs, with * and ?", kept.job).classes("grow")
            special = box("columns-2").style("gap:10px")
            kind.on_value_change(show_special)
            show_special()

    async def remove(self, name: str) -> None:
        """Ask, and remove."""
        if await confirm(f"Remove {name}?", "Nobody is told any more when it holds.", "Remove", danger=True):
            await self.console.backend.delete_alert_rule(name)
            await self.build()


def _usual(kind: str, name: str) -> str:
    """Return what an option is if nobody gives it, for the field that is empty.

    >>> _usual("crash-loop", "within"), _usual("crash-loop", "lasting"), _usual("lag", "messages")
    ('10 minutes', 'at once; or 1 minute', 'for example 1,000')
    """
    if name == "messages":
        return "for example 1,000"
    needed = {"messages": 0} if kind == "lag" else {}
    value = getattr(rule_of({"name": "x", "kind": kind, **needed}), name)
    if name in {"within", "lasting"}:
        return duration_text(value) if value else "at once; or 1 minute"
    return f"{value:,}"


def rule_from(name: str, kind: str, job: str, texts: dict[str, str]) -> AlertRule:
    """Return the rule that a form describes; an empty field is as usual.

    >>> rule_from(" slow ", "lag", "", {"messages": "1,000", "lasting": "1 minute", "within": ""}).options
    {'messages': 1000, 'lasting': '1 minute'}
    """
    options: dict[str, object] = {}
    for option, text in texts.items():
        entered = text.strip().replace(",", "")
        if not entered:
            continue
        if option in {"within", "lasting"}:
            options[option] = entered
            continue
        try:
            options[option] = float(entered) if option == "factor" else int(entered)
        except ValueError:
            raise HeadraceError(f'"{text}" is not a number', hint=f"{LABELS[option]}: give a number.") from None
    return AlertRule(name.strip(), kind, job.strip() or "*", options)
