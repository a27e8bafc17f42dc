"""The last rows of a job that are in no view: those of a bare SELECT or a console sink."""

import json

from nicegui import ui

from headrace.server.console.formatting import count
from headrace.server.console.layout import Console
from headrace.server.console.live import RowGrid
from headrace.server.console.parts import Tag, box, card, empty, guarded
from headrace.server.console.values.jobs import Job
from headrace.server.console.values.rows import Column

__all__ = ["build_rows", "columns_and_rows"]


async def build_rows(console: Console, job: Job) -> None:
    """Build a table of the last rows of each output that is only shown."""
    name = job.summary.name
    grids: dict[str, RowGrid] = {}
    told: dict[str, Tag] = {}
    shown: object = None
    with box("stack"):
        for output in (each for each in job.outputs if each.kind == "screen"):
            with card():
                with box("card-head"):
                    Tag("h2", output.name)
                    told[output.name] = Tag("span", "No row yet", "muted grow").style("font-weight:400")
                grids[output.name] = RowGrid(none="No row yet.", marks=True).style("height:340px;border:0")
        if not grids:
            with card():
                empty(
                    "Every row goes somewhere",
                    "Rows of a bare SELECT or a console sink would stand here; views and sinks keep theirs.",
                    "views",
                )
            return

    async def refresh() -> None:
        nonlocal shown
        found = list(await console.backend.shown_rows(name))
        if found == shown:
            return
        shown = found
        for output, grid in grids.items():
            mine = [each for each in found if each.output.lower() == output.lower()]
            columns, rows = columns_and_rows([each.row for each in mine])
            grid.replace(columns, rows, [each.change for each in mine])
            told[output].text = f"The last {count(len(mine))} rows, the newest on top" if mine else "No row yet"

    await refresh()
    ui.timer(1.0, guarded(refresh), immediate=False)


def columns_and_rows(texts: list[str]) -> tuple[list[Column], list[tuple[object, ...]]]:
    """Return rows of JSON as a table; one that was cut stands as a text in the first column.

    >>> columns_and_rows(['{"k": "a", "n": 1}'])[1]
    [('a', 1)]
    """
    parsed: list[dict[str, object]] = []
    for text in texts:
        try:
            value = json.loads(text)
        except ValueError:
            value = {"row": text}
        parsed.append(value if isinstance(value, dict) else {"row": value})
    names = list(dict.fromkeys(name for row in parsed for name in row))
    columns = [
        Column(name, "BIGINT" if any(isinstance(row.get(name), int | float) for row in parsed) else "STRING")
        for name in names
    ]
    return columns, [tuple(row.get(name) for name in names) for row in parsed]
