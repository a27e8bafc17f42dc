"""The editor: SQL on the left, what it would do on the right, mistakes at their place while typing."""

import asyncio
from collections.abc import Sequence
from typing import Any

from nicegui import ui
from nicegui.element import Element

from headrace.language.variables import references
from headrace.server.console.formatting import address, count
from headrace.server.console.layout import Console, page
from headrace.server.console.live import RowGrid, Topology
from headrace.server.console.pages.submit_form import ask_submit
from headrace.server.console.parts import (
    Follower,
    Tag,
    box,
    button,
    choice,
    complain,
    dialog,
    empty,
    field,
    guarded,
    not_allowed,
    page_head,
    say,
    show_problem,
)
from headrace.server.console.theme import icon
from headrace.server.console.values.jobs import RunOptions
from headrace.server.console.values.rows import RowBatch
from headrace.server.services.language import Diagnostic

__all__ = ["STARTER", "editor", "marks", "offset_of"]

PAUSE = 0.3
"""How long somebody must not have typed, in seconds, before the text is checked."""

STARTER = """\
-- Ten made-up rows a second; every minute, how many there were of each kind.
CREATE STREAM clicks (
  at TIMESTAMP,
  page STRING,
  WATERMARK FOR at AS at - INTERVAL 5 SECONDS
) WITH (connector = 'datagen', rows_per_second = 10);

SELECT page, window_end, count(*) AS clicks
FROM TUMBLE(clicks, at, INTERVAL 1 MINUTE)
GROUP BY page, window_start, window_end;
"""


@page
async def editor(console: Console, application: str = "") -> None:
    """Edit an application, or begin a new one."""
    text = console.drafts.get(application) or (
        await console.backend.application(application) if application else STARTER
    )
    await _Editor(console, application, text).build()


class _Editor:
    """One text that is being edited."""

    def __init__(self, console: Console, name: str, text: str) -> None:
        self.console = console
        self.name = name
        self.text = text
        self.typed = 0
        self.rows = 0

    async def build(self) -> None:
        may_save = await self.console.may("edit", "application", self.name)
        may_run = await self.console.may("try", "application", self.name)
        may_submit = await self.console.may("submit", "application", self.name)
        self.may_check = await self.console.may("check", "application", self.name)
        known = await self.console.backend.applications()
        with page_head(self.name or "New application", "SQL of an application; checked as you type"):
            options = {"": "New application", **{each.name: each.name for each in known}}
            opened = choice(options, self.name if self.name in options else "").style("width:210px")
            opened.props('aria-label="Open an application"')
            opened.on_value_change(lambda e: ui.navigate.to(f"/editor?application={e.value}" if e.value else "/editor"))
            if may_save:
                button("Save", self.save, mark="save", title="Save (Ctrl+S)")
            if may_run:
                button("Run", self.run, mark="play", title="Run the last query (Ctrl+Enter)")
            if may_submit:
                button("Submit", self.submit, kind="primary", mark="up")
            else:
                not_allowed(may_submit)
        with box("editor-page"):
            with box("editor-left"):
                self._left(run_with_keys=bool(may_run), save_with_keys=bool(may_save))
            with box("editor-right"):
                self._right()
        self.follower = Follower()
        if self.may_check:
            await self.check()
        else:
            self.code.disable()

    def _left(self, *, run_with_keys: bool, save_with_keys: bool) -> None:
        keys: dict[str, Any] = {}
        if run_with_keys:
            keys["Mod-Enter"] = guarded(self.run)
        if save_with_keys:
            keys["Mod-s"] = guarded(self.save)
        with box("editor-box"):
            self.code = ui.codemirror(self.text, language="SQL", indent="  ", on_change=self.changed, keymap=keys)
        ui.run_javascript(f"headrace.dress({self.code.id})")
        self.verdict = box("verdict").props("aria-live=polite")

    def _right(self) -> None:
        panels: dict[str, Element] = {}

        def switch(name: str) -> None:
            for each, panel in panels.items():
                panel.set_visibility(each == name)

        with ui.tabs(on_change=lambda event: switch(event.value)) as self.tabs:
            self.tabs.props("dense no-caps indicator-color=primary")
            for name in ("Topology", "Explanation", "Rows"):
                ui.tab(name)
        with box("panel-fill") as panels["Topology"]:
            self.topology = Topology("Topology of the application").classes("fill")
            with self.topology:
                if self.may_check:
                    empty("No topology yet", "It appears here as soon as the text has no mistake.", "catalog")
                else:
                    empty("Look only", "The topology of a running job is on the job's page.", "catalog")
        with box("panel-fill card") as panels["Explanation"]:
            self.explained = Tag("pre", "", "explained fill")
        with box("panel-fill") as panels["Rows"]:
            self._rows_panel()
        self.tabs.value = "Topology"
        switch("Topology")

    def _rows_panel(self) -> None:
        with box("line") as line:
            line.style("margin-bottom:10px;min-height:28px")
            self.progress = Tag("span", "Press Run, or Ctrl+Enter in the editor, to see the rows of the last query.")
            self.progress.classes("muted grow")
            self.stop_button = button("Stop", self.stop, kind="small", mark="stop")
            self.stop_button.set_visibility(False)
        self.grid = RowGrid(none="No row yet.", marks=True).classes("fill")

    async def changed(self) -> None:
        """Check the text once somebody pauses."""
        self.typed += 1
        mine = self.typed
        self.console.drafts[self.name] = self.code.value or ""
        await asyncio.sleep(PAUSE)
        if mine == self.typed and not self.code.is_deleted:
            await guarded(self.check)()

    async def check(self) -> None:
        """Show mistakes at their place; without any, show what the application would do."""
        text = self.code.value or ""
        found = await self.console.backend.check(text, self.name)
        if text != self.code.value or self.code.is_deleted:
            return
        self.code.decorations = marks(text, found)
        self.verdict.clear()
        with self.verdict:
            self._show_verdict(found)
        if any(each.severity == "error" for each in found) or not text.strip():
            return
        explained = await self.console.backend.explain(text, self.name)
        if text == self.code.value and not self.code.is_deleted:
            self.explained.text = explained.text
            self.topology.draw(explained.graph, live=False)

    def _show_verdict(self, found: Sequence[Diagnostic]) -> None:
        for each in found:
            problem = show_problem(each, f"line {each.line}, column {each.column}", warning=each.severity == "warning")
            problem.style("cursor:pointer;margin-bottom:8px").on("click", lambda e=each: self.code.reveal_line(e.line))
        if not found:
            with box("fine"):
                ui.html(icon("check"), sanitize=False).classes("tone-good").style("width:18px;height:18px;display:flex")
                Tag("span", "No mistake found")

    async def run(self) -> None:
        """Run the last query and show its rows as they come."""
        self.tabs.value = "Rows"
        self.rows = 0
        self.progress.text = "Starting…"
        self.stop_button.set_visibility(True)
        with self.grid:
            rows = self.console.backend.preview(self.code.value or "", self.name)
            self.follower.start(rows, self._take, self._ended)

    def _take(self, batch: RowBatch) -> None:
        self.rows += len(batch.rows)
        self.grid.prepend(batch.columns, batch.rows, batch.changes)
        self.progress.text = f"{count(self.rows)} rows so far; the newest are on top"

    def _ended(self) -> None:
        self.stop_button.set_visibility(False)
        self.progress.text = f"Ended after {count(self.rows)} rows"

    def stop(self) -> None:
        """Stop the query."""
        self.follower.stop()
        self._ended()

    async def save(self) -> None:
        """Keep the text under its name, or ask for one."""
        if not self.name:
            self._ask_name("Save application", "Save", self._save_as)
            return
        await self.console.backend.save_application(self.name, self.code.value or "")
        self.console.drafts.pop(self.name, None)
        say(f"Saved {self.name}")

    async def _save_as(self, name: str) -> None:
        await self.console.backend.save_application(name, self.code.value or "")
        self.console.drafts.pop(self.name, None)
        say(f"Saved {name}")
        ui.navigate.to(f"/editor?application={name}")

    async def submit(self) -> None:
        """Ask how to run the text, unless it has a mistake; what it leaves open is filled in there."""
        text = self.code.value or ""
        if all(default is not None for default in references(text).values()):
            found = await self.console.backend.check(text, self.name)
            mistake = next((each for each in found if each.severity == "error"), None)
            if mistake is not None:
                await self.check()
                self.code.reveal_line(mistake.line)
                return
        ask_submit(self.name, text, self._submit_as)

    async def _submit_as(self, name: str, options: RunOptions) -> None:
        job = await self.console.backend.submit(name, self.code.value or "", options)
        self.console.drafts.pop(self.name, None)
        ui.navigate.to(address("jobs", job))

    def _ask_name(self, title: str, yes: str, act: Any) -> None:
        with dialog(title) as asked:
            named = field("Name", self.name, placeholder="for example fraud").props("autofocus")
            problem = box()

            async def go() -> None:
                try:
                    await act((named.value or "").strip())
                except Exception as error:
                    _show_in(problem, error)
                else:
                    asked.close()

            named.on("keydown.enter", go)
            with box("dialog-actions"):
                button("Cancel", asked.close)
                button(yes, go, kind="primary")


def _show_in(place: Element, error: Exception) -> None:
    from headrace.errors import HeadraceError

    if not isinstance(error, HeadraceError):
        complain(error)
        return
    place.clear()
    with place:
        show_problem(error)


def offset_of(text: str, line: int, column: int) -> int:
    r"""Return the offset of a place; one outside the text is moved to its end.

    >>> offset_of("one\ntwo", 2, 3), offset_of("one\ntwo", 9, 1)
    (6, 7)
    """
    lines = text.split("\n")
    if line > len(lines):
        return len(text)
    return sum(len(each) + 1 for each in lines[: line - 1]) + min(column - 1, len(lines[line - 1]))


def marks(text: str, found: Sequence[Diagnostic]) -> list[dict[str, Any]]:
    r"""Return the decorations that mark mistakes in the editor; an empty place is widened to one character.

    >>> marks("SELECT", [Diagnostic(1, 7, 1, "more is expected")])[0]
    {'kind': 'mark', 'from': 5, 'to': 6, 'class': 'mistake is-error'}
    """
    decorations: list[dict[str, Any]] = []
    for each in found:
        start = offset_of(text, each.line, each.column)
        end = min(start + max(1, each.length), len(text))
        if start >= end:
            start = max(0, end - 1)
        if start < end:
            decorations.append({"kind": "mark", "from": start, "to": end, "class": f"mistake is-{each.severity}"})
        decorations.append({"kind": "line", "line": min(each.line, text.count("\n") + 1), "class": "mistake-line"})
    return decorations
