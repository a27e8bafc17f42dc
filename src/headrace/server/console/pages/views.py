"""Materialised views: a list, a box for queries, and each view with all its rows, searched, sorted and followed."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from nicegui import ui
from nicegui.element import Element

from headrace.errors import HeadraceError
from headrace.server.console.formatting import address, count
from headrace.server.console.layout import Console, page
from headrace.server.console.live import RowGrid
from headrace.server.console.pages.quick_chart import QuickChart
from headrace.server.console.pages.row_details import show_row
from headrace.server.console.parts import (
    Follower,
    Tabs,
    Tag,
    box,
    button,
    card,
    empty,
    find_field,
    guarded,
    page_head,
    show_problem,
)
from headrace.server.console.values.rows import CatalogObject, RowBatch, RowPage

__all__ = ["view_page", "views_page"]

CHARTED = 200
"""How many rows a quick chart of a view takes."""


@page
async def views_page(console: Console) -> None:
    """Show the list of views and the query box."""
    views = [each for each in await console.backend.catalog() if each.kind == "materialized view"]
    with page_head("Views", "Materialised answers, always current"):
        pass
    tabs = Tabs({"All views": lambda: _list(console, views), "Query": lambda: _query(console, views)})
    await tabs.open(tabs.current)


def _list(console: Console, views: list[CatalogObject]) -> None:
    counts: dict[str, Tag] = {}

    async def fill() -> None:
        """Count rows once the list is there: it may take a while, and not all may be for this user to count."""
        for name, place in counts.items():
            try:
                page = await console.backend.view_rows(name, limit=1)
            except HeadraceError:
                continue
            if place.is_deleted:
                return
            place.text = count(page.total)

    with card():
        if not views:
            empty(
                "No view yet",
                "Write CREATE MATERIALIZED VIEW in an application and submit it: its rows can be read here.",
                "views",
            )
            return
        with box("scroll-x"), box("table", "table"):
            with box(tag="thead"), box(tag="tr"):
                for head, classes in (("View", ""), ("Rows", "right"), ("Columns", ""), ("Job", ""), ("Kept in", "")):
                    Tag("th", head, classes)
            with box(tag="tbody"):
                for view in views:
                    with box(tag="tr"):
                        with box("name", "td"):
                            Tag("a", view.name).props["href"] = address("views", view.full_name)
                        counts[view.full_name] = Tag("td", count(None), "right")
                        Tag("td", ", ".join(column.name for column in view.columns), "muted")
                        with box(tag="td"):
                            if view.job:
                                Tag("a", view.job).props["href"] = address("jobs", view.job)
                        Tag("td", view.connector, "muted")
    ui.timer(0, guarded(fill), once=True)


async def _query(console: Console, views: list[CatalogObject]) -> None:
    alike = [each for each in views if each.name == views[0].name]
    named = f"`{views[0].job}`.`{views[0].name}`" if len(alike) > 1 else views[0].name if views else ""
    first = f"SELECT * FROM {named} LIMIT 100" if views else "SELECT 1 AS one"
    text = console.drafts.get("a query", first)

    async def run() -> None:
        console.drafts["a query"] = code.value or ""
        problem.clear()
        try:
            found = await console.backend.query(code.value or "")
        except HeadraceError as error:
            shown.set_visibility(False)
            told.text = "The query was not answered."
            with problem:
                show_problem(error)
            return
        told.text = f"{count(found.total)} rows"
        shown.set_visibility(True)
        answer.show(found)

    with box("stack"):
        with box("editor-box").style("height:120px;flex:none"):
            code = ui.codemirror(text, language="SQL", indent="  ", keymap={"Mod-Enter": guarded(run)})
        ui.run_javascript(f"headrace.dress({code.id})")
        with box("line"):
            button("Run", run, kind="primary", mark="play", title="Run (Ctrl+Enter)")
            told = Tag("span", "A SELECT over views; Ctrl+Enter runs it.", "muted grow")
        problem = box()
        shown = box()
        shown.set_visibility(False)
        with shown:
            answer = _Answer()


class _Answer:
    """Rows of a query, as a table or as a chart."""

    def __init__(self) -> None:
        self.page = RowPage((), (), 0)
        places: dict[str, Element] = {}

        def switch(name: str) -> None:
            for each, place in places.items():
                place.set_visibility(each == name)
            for each, pressed in buttons.items():
                pressed.props["aria-pressed"] = str(each == name).lower()

        with box("chips").style("margin-bottom:10px"):
            buttons = {name: button(name, partial(switch, name), kind="small") for name in ("Table", "Chart")}
        with box() as places["Table"]:
            self.grid = RowGrid().style("height:calc(100vh - 430px);min-height:260px")
        with box() as places["Chart"]:
            self.chart = QuickChart()
        switch("Table")

    def show(self, page: RowPage) -> None:
        """Show other rows."""
        self.grid.fill(page.columns, page.rows)
        self.chart.show(page)


@page
async def view_page(console: Console, name: str) -> None:
    """Show one view."""
    await _View(console, name).build()


class _View:
    """The rows of a view on the screen: only those in sight are fetched."""

    def __init__(self, console: Console, name: str) -> None:
        self.console = console
        self.name = name
        self.search = ""
        self.order: str | None = None
        self.down = False
        self.changed: set[str] = set()
        self.turn = 0
        """Grows with every search and order, so that an answer to an older one is not shown."""

    async def build(self) -> None:
        first = await self.console.backend.view_rows(self.name, limit=100)
        known = await self.console.backend.catalog()
        about = next((each for each in known if self.name in {each.name, each.full_name}), None)
        self.job = None if about is None else about.job
        self.title = self.name if about is None else about.name
        self.columns = first.columns
        with page_head(self.title, "Materialised view"):
            find_field("Search in all columns", self.find)
            self.follow_button = button("Follow changes", self.toggle_follow, mark="play")
            self.chart_button = button("Chart", self.toggle_chart, mark="overview")
        with box("line wrap").style("margin-bottom:10px;min-height:24px"):
            self.told = Tag("span", f"{count(first.total)} rows", "muted number")
            self.news = Tag("span", "", "muted number grow")
            Tag("span", "Double-click a row, or press Enter on it, to open it.", "muted small")
            if self.job:
                Tag("span", "kept current by", "muted")
                Tag("a", self.job).props["href"] = address("jobs", self.job)
        self.chart_place = box("card").style("padding:12px;margin-bottom:12px")
        with self.chart_place:
            self.chart = QuickChart()
        self.chart_place.set_visibility(False)
        self.grid = RowGrid(none="No row fits.").style("height:calc(100vh - 172px);min-height:300px")
        self.grid.on("window", guarded(self.window))
        self.grid.on("sort", guarded(self.sort))
        self.grid.on("pick", guarded(self.open_row))
        self.grid.begin(self.columns, first.total, None, down=False)
        self.grid.put(0, first)
        self.follower = Follower()
        self.seen = 0

    async def _fetch(self, start: int, limit: int) -> RowPage:
        return await self.console.backend.view_rows(
            self.name, search=self.search, order_by=self.order, descending=self.down, offset=start, limit=limit
        )

    async def window(self, event: Any) -> None:
        """Give the rows that came into sight."""
        start, limit = max(0, int(event.args["start"])), max(1, min(int(event.args["count"]), 200))
        mine = self.turn
        page = await self._fetch(start, limit)
        if mine != self.turn:
            return
        self.grid.put(start, page, self.changed)
        self._tell(page.total)

    async def open_row(self, event: Any) -> None:
        """Show all of a row, with the rows behind it if it is a match."""
        page = await self._fetch(int(event.args["at"]), 1)
        for row in page.rows:
            await show_row(self.title, page.columns, row, self._records)

    async def _records(self, places: Sequence[str]) -> Sequence[str | None]:
        return await self.console.backend.records(self.job, places) if self.job else []

    async def find(self, text: str) -> None:
        """Show only rows in which a text occurs."""
        self.search = text.strip()
        await self._begin()

    async def sort(self, event: Any) -> None:
        """Sort by a column; once more, the other way round; a third time, not at all."""
        column = str(event.args["column"])
        if column not in {each.name for each in self.columns}:
            return
        if self.order != column:
            self.order, self.down = column, False
        elif not self.down:
            self.down = True
        else:
            self.order, self.down = None, False
        await self._begin()

    async def _begin(self) -> None:
        self.turn += 1
        mine = self.turn
        page = await self._fetch(0, 100)
        if mine != self.turn:
            return
        self.grid.begin(self.columns, page.total, self.order, down=self.down)
        self.grid.put(0, page)
        self._tell(page.total)
        await self._chart()

    def _tell(self, total: int) -> None:
        self.told.text = f"{count(total)} rows" + (f" with “{self.search}”" if self.search else "")

    def toggle_follow(self) -> None:
        """Begin or end to follow changes."""
        if self.follower.running:
            self.follower.stop()
            self.changed.clear()
            self.news.text = ""
        else:
            with self.grid:
                self.follower.start(self.console.backend.changes(self.name), self._take, self._ended)
        self.follow_button.props["aria-pressed"] = str(self.follower.running).lower()

    def _ended(self) -> None:
        self.follow_button.props["aria-pressed"] = "false"

    async def _take(self, batch: RowBatch) -> None:
        """Show what has changed; the first batch is empty: rows are read once more, for what changed before."""
        self.seen += len(batch.rows)
        self.changed = set(batch.keys)
        self.news.text = f"· {count(self.seen)} changes since you follow"
        self.grid.again()
        await self._chart()

    async def toggle_chart(self) -> None:
        """Show or hide the chart."""
        self.chart_place.set_visibility(not self.chart_place.visible)
        self.chart_button.props["aria-pressed"] = str(self.chart_place.visible).lower()
        await self._chart()

    async def _chart(self) -> None:
        if self.chart_place.visible:
            self.chart.show(await self._fetch(0, CHARTED))
