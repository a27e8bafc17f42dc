"""One job: its topology as it runs, figures, logs, rows that were not used, alerts, versions and savepoints."""

from nicegui import PageArguments, ui

from headrace.server.access.decisions import Decision
from headrace.server.console.formatting import address, count, instant, rate
from headrace.server.console.layout import Console, page
from headrace.server.console.live import LogView, Topology
from headrace.server.console.pages.job_actions import JobActions
from headrace.server.console.pages.job_alerts import build_alerts
from headrace.server.console.pages.job_figures import build_figures
from headrace.server.console.pages.job_rejected import build_rejected
from headrace.server.console.pages.job_rows import build_rows
from headrace.server.console.pages.job_versions import build_versions
from headrace.server.console.parts import (
    Follower,
    Tabs,
    Tag,
    box,
    card,
    guarded,
    set_state,
    show_problem,
    state_pill,
)
from headrace.server.console.theme import tone_of_health, word_of_health
from headrace.server.console.values.jobs import Job

__all__ = ["job_page"]


@page
async def job_page(console: Console, name: str, arguments: PageArguments) -> None:
    """Show one job."""
    await _JobPage(console, name).build(arguments.query_parameters.get("tab", ""))


class _JobPage:
    """One job on the screen."""

    def __init__(self, console: Console, name: str) -> None:
        self.console = console
        self.name = name
        self.topology: Topology | None = None

    async def build(self, tab: str) -> None:
        self.job = await self.console.backend.job(self.name)
        actions = ("stop", "restart", "savepoint", "upgrade", "replay", "delete", "acknowledge", "share")
        self.may: dict[str, Decision] = {each: await self.console.may(each, "job", self.name) for each in actions}
        self._head()
        self.trouble = box()
        self._show_trouble()
        self.tabs = Tabs(
            {
                "Topology": self._topology,
                "Figures": lambda: build_figures(self.console, self.name),
                "Logs": self._logs,
                "Rows": lambda: build_rows(self.console, self.job),
                "Rejected rows": lambda: build_rejected(self.console, self.name),
                "Alerts": lambda: build_alerts(self.console, self.name, self.may["acknowledge"]),
                "Versions and savepoints": lambda: build_versions(self.job, self.actions),
            },
            tab,
        )
        await self.tabs.open(self.tabs.current)
        ui.timer(1.0, guarded(self.refresh), immediate=False)

    def _head(self) -> None:
        summary = self.job.summary
        ui.page_title(f"{summary.name} · Headrace")
        with box("head job"):
            with box("line"):
                Tag("h1", summary.name)
                self.state = state_pill(summary.state)
                self.health = Tag("span")
                self.reason = Tag("span", "", "why grow")
            self.actions = JobActions(self.console, self.job, self.may, self.refresh)
            with box("actions") as place:
                self.actions.build(place)
            with box("under"):
                application = Tag("a", summary.application).props("title='Open in the editor'")
                application.props["href"] = f"/editor?application={summary.application}"
                self.under = Tag("span")
        self._show_head()

    def _show_head(self) -> None:
        summary = self.job.summary
        set_state(self.state, summary.state)
        word = word_of_health(summary.health)
        if self.health.text != word:
            self.health.text = word
            self.health.classes(replace=f"state quiet {tone_of_health(summary.health)}" if word else "")
        self.reason.text = self.reason.props["title"] = summary.reason
        restarts = f" · {count(summary.restarts)} restarts" if summary.restarts else ""
        since = f"since {instant(summary.since_at)} UTC"
        text = f"version {self.job.versions[0].number if self.job.versions else summary.version}"
        rebuild = f" · {self.job.rebuild}" if self.job.rebuild else ""
        self.under.text = f"· {text} · {summary.owner} · {since}{restarts} · {self.job.resources}{rebuild}"

    def _show_trouble(self) -> None:
        self.trouble.clear()
        if self.job.error is not None:
            with self.trouble:
                show_problem(self.job.error, "The last error").style("margin-bottom:16px")

    async def refresh(self) -> None:
        """Take over what has changed."""
        before, self.job = self.job, await self.console.backend.job(self.name)
        self._show_head()
        if str(before.error) != str(self.job.error):
            self._show_trouble()
        self.actions.update(self.job)
        if self.tabs.current in {"Topology", "Rows"} and _outputs(before) != _outputs(self.job):
            await self.tabs.open(self.tabs.current)
        if self.tabs.current == "Topology" and self.topology is not None:
            if before.graph != self.job.graph:
                self.topology.draw(self.job.graph, live=True)
            self.topology.put(self.job.steps)
            for output in self.job.outputs:
                if output.name in self.outputs:
                    out, total = self.outputs[output.name]
                    out.text, total.text = rate(output.out_per_second), count(output.rows_out)
        if self.tabs.current.startswith("Versions") and _kept(before) != _kept(self.job):
            await self.tabs.open(self.tabs.current)

    def _topology(self) -> None:
        self.topology = Topology(f"Topology of {self.name} as it runs")
        self.topology.draw(self.job.graph, live=True)
        self.topology.put(self.job.steps)
        self.outputs: dict[str, tuple[Tag, Tag]] = {}
        with card("Outputs") as outer, box("scroll-x"), box("table", "table"):
            outer.style("margin-top:16px")
            with box(tag="thead"), box(tag="tr"):
                for head, classes in (("Name", ""), ("Kind", ""), ("Rows/s", "right"), ("Rows so far", "right")):
                    Tag("th", head, classes)
            with box(tag="tbody"):
                for output in self.job.outputs:
                    with box(tag="tr"):
                        with box("name", "td"):
                            if output.kind == "view":
                                Tag("a", output.name).props["href"] = address("views", f"{self.name}.{output.name}")
                            else:
                                Tag("span", output.name)
                        Tag("td", output.kind)
                        self.outputs[output.name] = (
                            Tag("td", rate(output.out_per_second), "right"),
                            Tag("td", count(output.rows_out), "right"),
                        )

    def _logs(self) -> None:
        view = LogView()
        follower = Follower()
        follower.start(
            self.console.backend.logs(self.name),
            lambda lines: view.add(
                [
                    {"at": instant(line.at)[11:] if line.at else "", "level": line.level, "text": line.text}
                    for line in lines
                ]
            ),
        )


def _outputs(job: Job) -> object:
    return [(output.name, output.kind) for output in job.outputs]


def _kept(job: Job) -> object:
    return [version.number for version in job.versions], [(each.id, each.state) for each in job.savepoints]
