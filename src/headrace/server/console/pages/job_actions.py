"""What can be done with a job: stop, restart, savepoint, upgrade, rebuild and delete, each confirmed first."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime

from nicegui import ui
from nicegui.element import Element

from headrace.errors import HeadraceError
from headrace.server.access.decisions import Decision
from headrace.server.console.layout import Console
from headrace.server.console.pages.job_sharing import share_job
from headrace.server.console.pages.submit_form import whole_number
from headrace.server.console.parts import (
    Tag,
    box,
    button,
    confirm,
    dialog,
    field,
    not_allowed,
    say,
    show_problem,
)
from headrace.server.console.values.jobs import Job, RestartOptions, UpgradeReport

__all__ = ["JobActions", "possible"]

_RIGHTS = {"rebuild": "replay"}
_OVER = {"stopped", "finished", "failed"}
_ALIVE = {"starting", "running", "degraded", "restarting", "submitted"}
_VERDICTS = {"kept": "tone-good", "rebuilt": "tone-warn", "new": "tone-busy", "dropped": "tone-bad"}


def possible(state: str) -> tuple[str, ...]:
    """Return what can be done with a job in a state, whoever may.

    >>> possible("running"), possible("failed")
    (('stop', 'restart', 'savepoint', 'upgrade', 'rebuild'), ('restart', 'upgrade', 'rebuild', 'delete'))
    """
    if state in _OVER:
        return ("restart", "upgrade", "rebuild", "delete")
    if state in _ALIVE:
        return ("stop", "restart", "savepoint", "upgrade", "rebuild")
    return ()


class JobActions:
    """The buttons of a job."""

    def __init__(
        self, console: Console, job: Job, may: Mapping[str, Decision], changed: Callable[[], Awaitable[None]]
    ) -> None:
        self.console = console
        self.job = job
        self.may = may
        self.changed = changed
        self.name = job.summary.name

    def build(self, place: Element) -> None:
        """Put the buttons in their place."""
        self.place = place
        self._show()

    def update(self, job: Job) -> None:
        """Change the buttons if the state has changed."""
        before, self.job = self.job, job
        if possible(before.summary.state) != possible(job.summary.state):
            self._show()

    def _show(self) -> None:
        self.place.clear()
        acts = {
            "stop": ("Stop", "stop", "", self.stop),
            "restart": ("Restart", "restart", "", lambda: self.restart(None)),
            "savepoint": ("Savepoint", "save", "", self.savepoint),
            "upgrade": ("Upgrade", "up", "primary", self.upgrade),
            "rebuild": ("Rebuild", "restart", "", self.rebuild),
            "delete": ("Delete", "bin", "danger", self.delete),
        }
        with self.place:
            shown = [each for each in possible(self.job.summary.state) if self.may[_RIGHTS.get(each, each)]]
            for each in shown:
                text, mark, kind, act = acts[each]
                button(text, act, mark=mark, kind=kind)
            if self.may["share"]:
                button("Share", lambda: share_job(self.console, self.name), mark="people")
            if not any(self.may[_RIGHTS.get(each, each)] for each in acts):
                not_allowed(self.may["stop"])

    def stop(self) -> None:
        """Ask how to stop, and do it."""
        with dialog(f"Stop {self.name}?") as asked:
            Tag("p", "Rows that come while it is stopped are read when it starts again, if its sources keep them.")
            keep = ui.checkbox("Make a savepoint first, so that it can be started from exactly here", value=True)

            async def go() -> None:
                asked.close()
                await self.console.backend.stop(self.name, savepoint=bool(keep.value))
                say(f"{self.name} stops")
                await self.changed()

            with box("dialog-actions"):
                button("Cancel", asked.close)
                button("Stop the job", go, kind="primary")

    async def restart(self, savepoint: str | None) -> None:
        """Ask, and start again."""
        if savepoint is None:
            self._restart_from_here_or_a_time()
        elif await confirm(f"Restart {self.name}?", f"It goes back to {savepoint}; views follow.", "Restart"):
            await self.console.backend.restart(self.name, RestartOptions(savepoint=savepoint))
            say(f"{self.name} starts again")
            await self.changed()

    def _restart_from_here_or_a_time(self) -> None:
        with dialog(f"Restart {self.name}?") as asked:
            Tag("p", "It goes on where it was, unless it is to begin anew: then its state and its views are forgotten.")
            may_forget = bool(self.may["replay"])
            fresh = ui.checkbox("Forget its state, and begin anew")
            time = field("Sources begin at (UTC)", placeholder="for example: 2024-05-01T00:00:00Z")
            time.bind_visibility_from(fresh, "value")
            fresh.set_visibility(may_forget)
            with box("line"):
                cores = field("Cores", placeholder="as many as now").classes("grow")
                memory = field("Memory in MB", placeholder="as much as now").classes("grow")

            async def go() -> None:
                anew = bool(fresh.value)
                how = RestartOptions(
                    from_time=_instant(time.value or "") if anew else None,
                    fresh=anew,
                    cores=whole_number("cores", cores.value or ""),
                    memory=whole_number("memory", memory.value or ""),
                )
                await self.console.backend.restart(self.name, how)
                asked.close()
                say(f"{self.name} starts again")
                await self.changed()

            with box("dialog-actions"):
                button("Cancel", asked.close)
                button("Restart", go, kind="primary")

    async def savepoint(self) -> None:
        """Ask, and make a savepoint."""
        text = "Its state is copied. The job stops for as long as that takes, and goes on by itself."
        if await confirm("Make a savepoint?", text, "Make it"):
            made = await self.console.backend.make_savepoint(self.name)
            say(f"Savepoint {made} is being made")
            await self.changed()

    async def delete_savepoint(self, savepoint: str) -> None:
        """Ask, and delete a savepoint."""
        text = "The job can no longer be started from it. This cannot be undone."
        if await confirm(f"Delete savepoint {savepoint}?", text, "Delete it", danger=True):
            await self.console.backend.delete_savepoint(self.name, savepoint)
            say(f"Savepoint {savepoint} is deleted")
            await self.changed()

    def rebuild(self) -> None:
        """Ask where to begin, and build the job anew beside itself; one that is being built is given up."""
        if self.job.rebuild:
            self._give_up_rebuild()
            return
        with dialog(f"Rebuild {self.name}?") as asked:
            Tag(
                "p",
                "It is built anew on a state of its own while it runs on; its views change over when that is there.",
            )
            time = field("Sources begin at (UTC)", placeholder="with all that they hold, unless you name a time")

            async def go() -> None:
                await self.console.backend.rebuild(self.name, _instant(time.value or ""))
                asked.close()
                say(f"{self.name} is being rebuilt")
                await self.changed()

            with box("dialog-actions"):
                button("Cancel", asked.close)
                button("Rebuild", go, kind="primary")

    def _give_up_rebuild(self) -> None:
        with dialog(f"Give up the rebuild of {self.name}?") as asked:
            Tag("p", self.job.rebuild)

            async def go() -> None:
                asked.close()
                await self.console.backend.cancel_rebuild(self.name)
                say(f"The rebuild of {self.name} is given up")
                await self.changed()

            with box("dialog-actions"):
                button("Cancel", asked.close)
                button("Give it up", go, kind="danger")

    async def delete(self) -> None:
        """Ask, and delete."""
        text = "Its state, views, logs and savepoints are deleted. This cannot be undone."
        if await confirm(f"Delete {self.name}?", text, "Delete for good", danger=True):
            await self.console.backend.delete_job(self.name)
            say(f"{self.name} is deleted")
            ui.navigate.to("/")

    async def upgrade(self) -> None:
        """Show the new text, then what it would do, and only then upgrade."""
        application = self.job.summary.application
        try:
            text = await self.console.backend.application(application)
        except HeadraceError:
            text = self.job.versions[0].text if self.job.versions else ""

        async def look() -> None:
            place.clear()
            with place:
                try:
                    report = await self.console.backend.upgrade_report(self.name, code.value or "")
                except HeadraceError as error:
                    show_problem(error)
                    return
                _show_report(report)
            confirm_button.set_visibility(report.possible)

        async def go() -> None:
            await self.console.backend.upgrade(self.name, code.value or "", beside=bool(beside.value))
            asked.close()
            say(f"{self.name} is built anew beside itself" if beside.value else f"{self.name} is upgraded")
            await self.changed()

        with dialog(f"Upgrade {self.name}") as asked:
            Tag("p", "The new version runs on the old state. First see what happens to it.", "muted")
            with box("editor-box").style("height:34vh;flex:none"):
                code = ui.codemirror(text, language="SQL")
            ui.run_javascript(f"headrace.dress({code.id})")
            beside = ui.checkbox("Build all of it anew while the old version runs on, and swap in the end")
            beside.set_visibility(bool(self.may["replay"]))
            place = box()
            with box("dialog-actions"):
                button("Cancel", asked.close)
                button("See what changes", look)
                confirm_button = button("Upgrade now", go, kind="primary")
                confirm_button.set_visibility(False)
        code.on_value_change(lambda: confirm_button.set_visibility(False))


def _instant(text: str) -> datetime | None:
    """Return the instant that somebody wrote, None for an empty field."""
    if not text.strip():
        return None
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError:
        raise HeadraceError(f'"{text}" is not a time', hint="Write it as 2024-05-01T00:00:00Z.") from None


def _show_report(report: UpgradeReport) -> None:
    with box("scroll-x"), box("table", "table").props("data-report"):
        with box(tag="thead"), box(tag="tr"):
            for head in ("Output", "State", "Why"):
                Tag("th", head)
        with box(tag="tbody"):
            for item in report.items:
                with box(tag="tr"):
                    Tag("td", item.name, "name")
                    with box(tag="td"):
                        Tag("span", item.verdict.capitalize(), f"state pill {_VERDICTS[item.verdict]}")
                    Tag("td", item.reason, "muted")
    for warning in report.warnings:
        show_problem(HeadraceError(warning), warning=True).style("margin-top:10px")
    if not report.possible:
        show_problem(HeadraceError("this upgrade would be refused", hint="Submit it as a new job.")).style(
            "margin-top:10px"
        )
