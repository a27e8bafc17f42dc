"""The commands ``headrace view rows`` and ``show``: a view of a server goes in; its rows, or how it is, come out."""

import sys
from typing import Annotated

import typer

from headrace.cli.client import Server, connect, path_of
from headrace.cli.listing import Rows, Text, print_fields

__all__ = ["rows", "show"]

Name = Annotated[
    str, typer.Argument(metavar="NAME", help="The view, or JOB.NAME if several jobs have it.", show_default=False)
]
MOST = 10_000


def rows(
    name: Name,
    search: Annotated[str, typer.Option(help="Only rows with this text in any column.", show_default=False)] = "",
    order_by: Annotated[str | None, typer.Option(metavar="COLUMN", help="In its order; by default the key's.")] = None,
    descending: Annotated[bool, typer.Option("--descending", help="The largest first.")] = False,
    offset: Annotated[int, typer.Option(min=0, help="How many rows to leave out first.")] = 0,
    limit: Annotated[int, typer.Option(min=1, max=MOST, help="How many at most.")] = 100,
    output: Rows = "table",
    server: Server = None,
) -> None:
    """Show rows of a view of a server, page by page."""
    from headrace.cli.failures import complain
    from headrace.cli.render import print_rows

    query = {"search": search, "order_by": order_by, "descending": descending, "offset": offset, "limit": limit}
    with connect(server) as client:
        found = client.rows("GET", path_of("views", name, "rows"), **query)
    print_rows(found["rows"], [each["name"] for each in found["columns"]], output, sys.stdout)
    if found["next"] is not None:
        complain(f"{found['total']} rows in all; go on with --offset {found['next']}")


def show(name: Name, output: Text = "text", server: Server = None) -> None:
    """Show a view of a server: its columns, its key, and how far its rows are."""
    from headrace.cli.inspect import print_json
    from headrace.cli.positions import in_short

    with connect(server) as client:
        found = client.get(path_of("views", name))
    if output == "json":
        print_json(found)
        return
    columns = [f"{each['name']} {each['type']}" for each in found["columns"]]
    print_fields({**found, "columns": columns, "positions": in_short(found["positions"])})
