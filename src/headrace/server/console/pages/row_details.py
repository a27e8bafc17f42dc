"""A row goes in; a dialog shows all of its values, and rows behind it where a column holds evidence."""

import json
from collections.abc import Sequence

from headrace.server.console.formatting import cell
from headrace.server.console.parts import Tag, box, button, dialog, plain_table
from headrace.server.console.values.rows import Column, Value

__all__ = ["evidence_in", "show_row"]

_HEADS = {"variable": "Part of the pattern", "source": "Where", "partition": "Partition", "position": "Position"}


def show_row(name: str, columns: Sequence[Column], row: Sequence[Value]) -> None:
    """Show a row of a view; the rows behind a match stand below."""
    behind = [(column.name, found) for column, value in zip(columns, row, strict=True) if (found := evidence_in(value))]
    names = {label for label, _ in behind}
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
        with box("dialog-actions"):
            button("Close", shown.close, kind="primary")


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
