"""The commands ``headrace application``: texts go in, a server keeps them; texts that it keeps come out."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from headrace.cli.client import Server, connect, path_of
from headrace.cli.listing import Rows, Text, show_rows
from headrace.errors import HeadraceError

__all__ = ["application_app"]

application_app = typer.Typer(help="Keep the texts of applications on a server; none of them runs by that.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The application.", show_default=False)]

_APPLICATIONS = ("name", "version", "changed_at", "changed_by")
_VERSIONS = ("number", "created_at", "created_by")


@application_app.command("list")
def list_applications(output: Rows = "table", server: Server = None) -> None:
    """List the applications that the server keeps."""
    with connect(server) as client:
        show_rows(list(client.pages("/applications")), _APPLICATIONS, output)


@application_app.command()
def show(
    name: Name,
    version: Annotated[int | None, typer.Option(min=1, help="An older text; by default the newest.")] = None,
    output: Text = "text",
    server: Server = None,
) -> None:
    """Print the text of an application."""
    from headrace.cli.inspect import print_json

    with connect(server) as client:
        if version is None:
            found = client.get(path_of("applications", name))
        else:
            versions = list(client.pages(path_of("applications", name, "versions")))
            found = next((each for each in versions if each["number"] == version), None)
    if found is None:
        raise HeadraceError(
            f'application "{name}" has no version {version}',
            hint=f"See which it has: headrace application versions {name}.",
        )
    if output == "json":
        print_json(found)
    else:
        sys.stdout.write(found["text"])


@application_app.command()
def versions(name: Name, output: Rows = "table", server: Server = None) -> None:
    """List the texts that an application had, the newest first."""
    with connect(server) as client:
        show_rows(list(client.pages(path_of("applications", name, "versions"))), _VERSIONS, output)


@application_app.command()
def save(
    file: Annotated[Path, typer.Argument(metavar="FILE.sql", help="The text.", show_default=False)],
    name: Annotated[str | None, typer.Option(help="The name of the application; by default that of the file.")] = None,
    expected: Annotated[
        int | None, typer.Option(min=0, metavar="VERSION", help="Only if this is still the newest; 0 if there is none.")
    ] = None,
    server: Server = None,
) -> None:
    """Keep a text as the newest version of an application; it may have mistakes."""
    from headrace.cli.texts import read_text
    from headrace.jobs.submission import name_of

    body = {"text": read_text(file), "expected": expected}
    with connect(server) as client:
        saved = client.change("PUT", path_of("applications", name or name_of(file)), body)
    sys.stdout.write(f"application {saved['name']} has version {saved['number']}\n")


@application_app.command()
def delete(name: Name, server: Server = None) -> None:
    """Delete an application with all its texts and its dashboard; its job stays."""
    with connect(server) as client:
        client.change("DELETE", path_of("applications", name))
    sys.stdout.write(f"application {name} is deleted\n")
