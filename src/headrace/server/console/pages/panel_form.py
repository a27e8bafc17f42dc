"""A form for a panel of a dashboard: the panel as it is goes in, the panel as it shall be comes out."""

from collections.abc import Awaitable, Callable
from typing import Any

from nicegui import ui

from headrace.errors import HeadraceError
from headrace.server.console.parts import Tag, box, button, choice, dialog, field, show_problem
from headrace.server.services.dashboards import KINDS, Dashboard, Panel, parse, render

__all__ = ["edit_panel", "panel_from"]

_LABELS = {
    "x": "Column along the axis",
    "y": "Columns to draw, separated by commas",
    "value": "Column with the value",
    "unit": "Unit",
    "latitude": "Column with the latitude",
    "longitude": "Column with the longitude",
    "label": "Column with the name",
}


def edit_panel(title: str, panel: Panel, take: Callable[[Panel], Awaitable[None]]) -> None:
    """Ask for a panel, and hand it on once it has no mistake."""
    fields: dict[str, Any] = {}
    with dialog(title) as asked:
        with box("line"):
            kind = choice(list(KINDS), panel.kind, "Kind").style("width:130px")
            fields["title"] = field("Title", panel.title).classes("grow")
            fields["width"] = field("Width (1 to 12)", str(panel.width)).style("width:120px")
            fields["height"] = field("Height", str(panel.height)).style("width:90px")
        Tag("div", "Query", "muted small")
        with box("editor-box").style("height:120px;flex:none"):
            query = ui.codemirror(panel.query, language="SQL", indent="  ")
        ui.run_javascript(f"headrace.dress({query.id})")
        with box("columns-2").style("gap:10px") as special:
            pass
        problem = box()

        def show_special() -> None:
            special.clear()
            for name in _LABELS:
                fields.pop(name, None)
            with special:
                for name in KINDS[str(kind.value)]:
                    value = getattr(panel, name)
                    text = ", ".join(value) if isinstance(value, tuple) else value or ""
                    fields[name] = field(_LABELS[name], text)

        async def go() -> None:
            problem.clear()
            try:
                texts = {name: str(each.value or "") for name, each in fields.items()}
                made = panel_from(str(kind.value), {**texts, "query": query.value or ""})
            except HeadraceError as error:
                with problem:
                    show_problem(error)
                return
            asked.close()
            await take(made)

        kind.on_value_change(show_special)
        show_special()
        with box("dialog-actions"):
            button("Cancel", asked.close)
            button("Take over", go, kind="primary")


def panel_from(kind: str, texts: dict[str, str]) -> Panel:
    """Return the panel that a form describes; what is wrong with it is told as for YAML.

    >>> panel_from("bar", {"title": "T", "query": "SELECT 1", "width": "3", "x": "city", "y": "a, b"}).y
    ('a', 'b')
    >>> panel_from("number", {"title": "T", "query": "SELECT 1", "width": "30"})
    Traceback (most recent call last):
    ...
    headrace.errors.HeadraceError: error: the field "width" is a whole number from 1 to 12
    """
    given: dict[str, Any] = {name: text.strip() for name, text in texts.items() if text.strip()}
    for name, most in (("width", 12), ("height", 12)):
        if name in given:
            text = given[name]
            if not (text.isascii() and text.isdigit() and 1 <= int(text) <= most):
                raise HeadraceError(f'the field "{name}" is a whole number from 1 to {most}')
            given[name] = int(text)
    for name in ("title", "query"):
        if name not in given:
            raise HeadraceError(f'the panel needs the field "{name}"')
    if "y" in given:
        given["y"] = tuple(part.strip() for part in given["y"].split(",") if part.strip())
    panel = Panel(kind, **given)
    try:
        return parse(render(Dashboard("form", (panel,)))).panels[0]
    except HeadraceError as error:
        # The place is in a text that the user has not seen.
        raise HeadraceError(error.message, hint=error.hint) from None
