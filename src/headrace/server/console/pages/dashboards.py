"""Dashboards: a list of them, and each one live, to be looked at and to be changed."""

from dataclasses import replace

from nicegui import ui
from nicegui.element import Element

from headrace.errors import HeadraceError
from headrace.server.console.formatting import address
from headrace.server.console.layout import Console, page
from headrace.server.console.pages.panel_form import edit_panel
from headrace.server.console.pages.panels import LivePanel
from headrace.server.console.parts import (
    Tag,
    box,
    button,
    card,
    confirm,
    dialog,
    empty,
    field,
    guarded,
    page_head,
    say,
    show_problem,
)
from headrace.server.services.dashboards import Dashboard, Panel, add, move, parse, remove, render, with_panel

__all__ = ["dashboard_page", "dashboards_page"]


@page
async def dashboards_page(console: Console) -> None:
    """Show all dashboards."""
    found = await console.backend.dashboards()
    may_edit = await console.may("edit_dashboard", "application")
    with page_head(
        "Dashboards",
        "Live panels over views; headrace job submit brings the dashboard.yaml beside an application along",
    ):
        if may_edit:
            button("New dashboard", lambda: _new(console), kind="primary", mark="plus")
    with card():
        if not found:
            empty("No dashboard yet", "Make one, and add panels over the views of your jobs.", "dashboards")
            return
        with box("scroll-x"), box("table", "table"):
            with box(tag="thead"), box(tag="tr"):
                for head in ("Dashboard", "Application", "Panels"):
                    Tag("th", head)
            with box(tag="tbody"):
                for each in found:
                    with box(tag="tr"):
                        with box("name", "td"):
                            Tag("a", each.title).props["href"] = address("dashboards", each.name)
                        Tag("td", each.application, "muted")
                        Tag("td", str(each.panels), "number")


def _new(console: Console) -> None:
    with dialog("New dashboard") as asked:
        Tag("p", "The server keeps it by the name of an application.", "muted")
        named = field("Application", placeholder="for example fraud")
        titled = field("Title", placeholder="for example Card fraud")
        problem = box()

        async def go() -> None:
            name, title = (named.value or "").strip(), (titled.value or "").strip()
            problem.clear()
            try:
                text = render(Dashboard(title))
                parse(text)
                await console.backend.save_dashboard(name, text, expected="")
            except HeadraceError as error:
                with problem:
                    show_problem(error)
                return
            asked.close()
            ui.navigate.to(address("dashboards", name))

        with box("dialog-actions"):
            button("Cancel", asked.close)
            button("Make it", go, kind="primary")


@page
async def dashboard_page(console: Console, name: str) -> None:
    """Show one dashboard."""
    await _DashboardPage(console, name).build()


class _DashboardPage:
    """One dashboard on the screen; changes are kept once they are saved."""

    def __init__(self, console: Console, name: str) -> None:
        self.console = console
        self.name = name
        self.editing = False
        self.panels: list[LivePanel] = []

    async def build(self) -> None:
        self.text = await self.console.backend.dashboard(self.name)
        self.may_edit = await self.console.may("edit_dashboard", "application", self.name)
        try:
            self.dashboard = parse(self.text, f"{self.name}.dashboard.yaml")
        except HeadraceError as error:
            self._broken(error)
            return
        with page_head(self.dashboard.title):
            self.tools = box("line wrap")
        self.place = box("dashboard")
        self.below = box()
        self._show()
        await self.refresh()
        self.timer = ui.timer(self.dashboard.refresh.total_seconds(), guarded(self.refresh), immediate=False)

    def _broken(self, error: HeadraceError) -> None:
        with page_head(self.name):
            if self.may_edit:
                button("Edit the YAML", self.edit_text, mark="edit", kind="primary")
        place = f"{error.span.source.name}, line {error.span.line}" if error.span else ""
        show_problem(error, place)
        Tag("pre", error.report(), "card explained").style("margin-top:12px")

    async def refresh(self) -> None:
        """Ask for the rows of every panel."""
        for panel in list(self.panels):
            if not panel.place.is_deleted:
                await panel.refresh(self.console.backend)

    def _show(self) -> None:
        self._tools()
        self.place.clear()
        self.below.clear()
        self.panels = []
        with self.place:
            for number, panel in enumerate(self.dashboard.panels):
                self._panel(number, panel)
        if not self.dashboard.panels:
            with self.below, box("card"):
                empty("No panel yet", "Press Edit, then Add panel, and write a query over a view.", "dashboards")

    def _tools(self) -> None:
        self.tools.clear()
        with self.tools:
            if not self.may_edit:
                return
            if not self.editing:
                button("Edit", self.begin, mark="edit")
                return
            button("Add panel", self.add_panel, mark="plus")
            button("YAML", self.edit_text)
            button("Discard", self.discard)
            button("Save", self.save, kind="primary", mark="save")

    def _panel(self, number: int, panel: Panel) -> None:
        outer = box("panel editing" if self.editing else "panel", "section")
        outer.style(f"grid-column:span {panel.width};grid-row:span {panel.height}")
        outer.props["aria-label"] = panel.title
        with outer:
            with box("panel-head"):
                Tag("h2", panel.title, "grow").props["title"] = panel.title
                if self.editing:
                    self._panel_tools(number, panel)
            self.panels.append(LivePanel(panel))

    def _panel_tools(self, number: int, panel: Panel) -> Element:
        with box("line").style("gap:2px") as outer:
            for mark, title, act in (
                ("left", "Move before", lambda: self.change(move(self.dashboard, number, -1))),
                ("right", "Move behind", lambda: self.change(move(self.dashboard, number, 1))),
                ("edit", "Edit", lambda: self.edit(number, panel)),
                ("bin", "Remove", lambda: self.change(remove(self.dashboard, number))),
            ):
                button("", act, kind="quiet small square", mark=mark, title=f"{title}: {panel.title}")
        return outer

    async def change(self, dashboard: Dashboard) -> None:
        """Show a changed dashboard."""
        self.dashboard = dashboard
        self._show()
        await self.refresh()

    async def begin(self) -> None:
        """Begin to edit."""
        self.editing = True
        await self.change(self.dashboard)

    async def discard(self) -> None:
        """Go back to what was saved."""
        changed = render(self.dashboard) != render(parse(self.text))
        if changed and not await confirm("Discard your changes?", "The dashboard is as it was saved last.", "Discard"):
            return
        self.editing = False
        await self.change(parse(self.text))

    async def save(self) -> None:
        """Keep the dashboard as YAML."""
        text = render(self.dashboard)
        await self.console.backend.save_dashboard(self.name, text, expected=self.text)
        self.text = text
        self.editing = False
        self.timer.interval = self.dashboard.refresh.total_seconds()
        say("Saved")
        await self.change(self.dashboard)

    def add_panel(self) -> None:
        """Ask for a new panel."""
        fresh = Panel("table", "", "")
        edit_panel("Add panel", fresh, lambda panel: self.change(add(self.dashboard, panel)))

    def edit(self, number: int, panel: Panel) -> None:
        """Ask for changes of a panel."""
        edit_panel("Edit panel", panel, lambda new: self.change(with_panel(self.dashboard, number, new)))

    def edit_text(self) -> None:
        """Edit the whole dashboard as text."""
        shown = render(self.dashboard) if hasattr(self, "dashboard") else self.text
        with dialog("Dashboard as YAML") as asked:
            with box("editor-box").style("height:52vh;flex:none"):
                code = ui.codemirror(shown, language="YAML", indent="  ")
            ui.run_javascript(f"headrace.dress({code.id})")
            problem = box()

            async def take() -> None:
                problem.clear()
                try:
                    dashboard = parse(code.value or "", f"{self.name}.dashboard.yaml")
                except HeadraceError as error:
                    with problem:
                        show_problem(error, f"line {error.span.line}" if error.span else "")
                    return
                asked.close()
                if hasattr(self, "dashboard"):
                    await self.change(replace(dashboard))
                else:
                    await self.console.backend.save_dashboard(self.name, code.value or "", expected=self.text)
                    ui.navigate.to("/dashboards")
                    ui.navigate.to(address("dashboards", self.name))

            with box("dialog-actions"):
                button("Cancel", asked.close)
                button("Take over", take, kind="primary")
