"""The file of an application goes in; the dashboard beside it comes out, and is kept by a server."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from headrace.cli.client import Client, path_of
from headrace.cli.failures import complain
from headrace.cli.texts import read_text
from headrace.errors import HeadraceError

__all__ = ["BESIDE", "Board", "BoardFile", "NoBoard", "board_beside", "keep_board"]

BESIDE = "dashboard.yaml"

BoardFile = Annotated[
    Path | None,
    typer.Option(
        "--dashboard",
        metavar="FILE.yaml",
        help=f"Its dashboard; without it {BESIDE} beside the application, unless it was edited on the server.",
    ),
]
NoBoard = Annotated[bool, typer.Option("--no-dashboard", help=f"Leave {BESIDE} beside the application where it is.")]


@dataclass(frozen=True, slots=True)
class Board:
    """A dashboard of a file; only one that was named takes the place of one that was edited on the server."""

    text: str
    was_named: bool


def board_beside(file: Path, named: Path | None, *, without: bool) -> Board | None:
    """Return the dashboard that goes with an application, None without one; raise if it has a mistake."""
    from headrace.server.services.dashboards import parse

    if without:
        if named is not None:
            raise typer.BadParameter("--dashboard and --no-dashboard exclude each other")
        return None
    found = named or file.parent / BESIDE
    if named is None and not found.is_file():
        return None
    text = read_text(found)
    parse(text, found.name)
    return Board(text, named is not None)


def keep_board(client: Client, name: str, board: Board | None) -> None:
    """Let a server keep the dashboard of an application, and say so; if one stays that was edited there, say that."""
    if board is None:
        return
    try:
        known = client.find(path_of("dashboards", name))
        wish = {"text": board.text, "from_file": True, "over_edited": board.was_named}
        client.change("PUT", path_of("dashboards", name), wish)
    except HeadraceError as error:
        if board.was_named:
            raise
        complain(error.report().replace("error: ", "warning: the dashboard is not taken along: ", 1))
        return
    if known is None or known["text"] != board.text:
        complain(f"dashboard {name} is saved")
