"""The commands ``headrace dashboard``: YAML goes in, a server keeps it; YAML that it keeps comes out."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from headrace.cli.client import Server, connect, path_of
from headrace.cli.listing import Rows, Text, show_rows

__all__ = ["dashboard_app"]

dashboard_app = typer.Typer(help="Keep dashboards of applications on a server.")

_DASHBOARDS = ("name", "changed_at", "changed_by")


@dashboard_app.command("list")
def list_dashboards(output: Rows = "table", server: Server = None) -> None:
    """List the dashboards."""
    with connect(server) as client:
        show_rows(list(client.pages("/dashboards")), _DASHBOARDS, output)


@dashboard_app.command()
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The application.", show_default=False)],
    output: Text = "text",
    server: Server = None,
) -> None:
    """Print the dashboard of an application, as YAML."""
    from headrace.cli.inspect import print_json

    with connect(server) as client:
        found = client.get(path_of("dashboards", name))
    if output == "json":
        print_json(found)
    else:
        sys.stdout.write(found["text"])


@dashboard_app.command()
def save(
    file: Annotated[Path, typer.Argument(metavar="FILE.yaml", help="The dashboard.", show_default=False)],
    name: Annotated[
        str | None,
        typer.Option(help="The application; by default the name of the file, of its folder for dashboard.yaml."),
    ] = None,
    server: Server = None,
) -> None:
    """Keep the dashboard of an application."""
    from headrace.cli.texts import read_text

    body = {"text": read_text(file), "from_file": True}
    with connect(server) as client:
        saved = client.change("PUT", path_of("dashboards", name or _name_of(file)), body)
    sys.stdout.write(f"dashboard {saved['name']} is saved\n")


def _name_of(file: Path) -> str:
    folder = file.resolve().parent.name
    return folder if file.stem == "dashboard" and folder else file.stem
