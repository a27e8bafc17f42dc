"""The commands ``headrace catalog``: names go in; what the jobs of a server define, and messages of it, come out."""

from typing import Annotated, Any

import typer

from headrace.cli.client import Server, connect, path_of
from headrace.cli.listing import Rows, Text, print_fields, print_lines, show_rows

__all__ = ["catalog_app"]

catalog_app = typer.Typer(help="See the streams, tables, views and sinks of all jobs of a server.")

Name = Annotated[
    str, typer.Argument(metavar="NAME", help="The name, or JOB.NAME if several jobs have it.", show_default=False)
]

_OBJECTS = ("name", "kind", "job", "connector", "columns", "watermark", "used_by")
_MESSAGES = ("position", "at", "key", "row")


@catalog_app.command("list")
def list_objects(output: Rows = "table", server: Server = None) -> None:
    """List what jobs define, and who reads it."""
    with connect(server) as client:
        rows = list(client.pages("/catalog"))
    if output != "json":
        rows = [{**row, "columns": _columns(row)} for row in rows]
    show_rows(rows, _OBJECTS, output)


@catalog_app.command()
def show(name: Name, output: Text = "text", server: Server = None) -> None:
    """Show a stream, table, view or sink: its columns, options without secrets, and who reads it."""
    from headrace.cli.inspect import print_json

    with connect(server) as client:
        found = client.get(path_of("catalog", name))
    if output == "json":
        print_json(found)
        return
    options = found.pop("options")
    print_fields({**found, "columns": _columns(found), **options})


@catalog_app.command()
def recent(
    name: Name,
    limit: Annotated[int, typer.Option(min=1, max=500, help="About how many.")] = 50,
    output: Rows = "table",
    server: Server = None,
) -> None:
    """Show the last rows of a stream, table or sink in Kafka or in files, oldest first; what has no columns as text."""
    with connect(server) as client:
        messages = client.rows("GET", path_of("catalog", name, "recent"), limit=limit)["items"]
    show_rows([_message(each) for each in messages], _MESSAGES, output)


@catalog_app.command()
def follow(
    name: Name,
    rows: Annotated[int | None, typer.Option(min=1, help="End after so many.", show_default=False)] = None,
    server: Server = None,
) -> None:
    """Print the last rows of a stream, table or sink, then those that come, as JSON lines; Ctrl-C ends."""
    with connect(server) as client:
        print_lines((_message(data) for _, data in client.events(path_of("catalog", name, "events"))), rows)


def _message(found: dict[str, Any]) -> dict[str, Any]:
    text = found.pop("text")
    return {**found, "row": text if found["row"] is None else found["row"]}


def _columns(found: dict[str, Any]) -> list[str]:
    return [f"{each['name']} {each['type']}" for each in found["columns"]]
