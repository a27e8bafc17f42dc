"""A row goes in; a dialog shows all of its values, and the records behind it where a column holds evidence."""

import json
from collections.abc import Awaitable, Callable, Sequence

from nicegui.element import Element

from headrace.errors import HeadraceError
from headrace.server.console.formatting import cell
from headrace.server.console.parts import Tag, box, button, dialog, plain_table, show_problem
from headrace.server.console.values.rows import Column, Value

__all__ = ["evidence_in", "show_row"]

_HEADS = {"variable": "Part of the pattern", "source": "Where", "partition": "Partition", "position": "Position"}


MOST = 50
"""How many records behind a match are looked up."""
Look = Callable[[Sequence[str]], Awaitable[Sequence[str | None]]]
"""Gives the records at some places, None for what is gone."""


async def show_row(name: str, columns: Sequence[Column], row: Sequence[Value], look: Look) -> None:
    """Show a row of a view; the rows behind a match stand below, with their records once these are looked up."""
    behind = [(column.name, found) for column, value in zip(columns, row, strict=True) if (found := evidence_in(value))]
    names = {label for label, _ in behind}
    places: list[Element] = []
    with dialog(f"A row of {name}") as shown:
        with box("scroll-x").style("max-height:40vh;overflow:auto"), box("table", "table"), box(tag="tbody"):
            for column, value in zip(columns, row, strict=True):
                if column.name not in names:
                    with box(tag="tr"):
                        Tag("th", column.name)
                        Tag("td", "NULL" if value is None else cell(value)).style("overflow-wrap:anywhere")
        for label, found in behind:
            Tag("h3", f"Rows behind it ({label})").style("margin:14px 0 6px")
            keys = [key for key in found[0] if any(each.get(key) is not None for each in found)]
            heads = [_HEADS.get(key, key) for key in keys]
            plain_table(heads, [[_text(each.get(key)) for key in keys] for each in found])
            places.append(box("stack"))
        with box("dialog-actions"):
            button("Close", shown.close, kind="primary")
    for place, (_, found) in zip(places, behind, strict=True):
        await _show_records(place, found, look)


async def _show_records(place: Element, found: Sequence[dict[str, object]], look: Look) -> None:
    """Put the records of rows behind a match below them; why not, if they cannot be read."""
    known = [each for each in found if None not in (each["source"], each.get("partition"), each["position"])][:MOST]
    if not known:
        return
    try:
        records = await look([f"{each['source']}:{each['partition']}:{each['position']}" for each in known])
    except HeadraceError as error:
        with place:
            show_problem(error, warning=True)
        return
    if place.is_deleted:
        return  # the dialog was closed meanwhile
    with place:
        for each, record in zip(known, records, strict=False):
            Tag(
                "div", f"{each['variable']} at {each['source']}, {each['partition']}, {each['position']}", "muted small"
            )
            text = Tag("div", "It is no longer there." if record is None else record, "mono")
            text.style("overflow-wrap:anywhere;white-space:pre-wrap")


def evidence_in(value: Value) -> list[dict[str, object]]:
    """Return the rows that EVIDENCE() noted, nothing if a value is something else.

    >>> evidence_in('[{"variable": "SMALL", "source": "payments", "partition": 0, "position": 7, "id": "a"}]')[0]["id"]
    'a'
    >>> evidence_in("text"), evidence_in([1, 2]), evidence_in(None)
    ([], [], [])
    """
    if isinstance(value, str) and value.startswith("[{"):
        try:
            value = json.loads(value)
        except ValueError:
            return []
    if not isinstance(value, list) or not value:
        return []
    fits = all(isinstance(each, dict) and {"variable", "source", "position"} <= set(each) for each in value)
    return list(value) if fits else []


def _text(value: object) -> str:
    return "" if value is None else str(value)
