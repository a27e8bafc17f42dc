"""The commands ``headrace group``: changes of groups go in, a server makes them; groups and members come out."""

import sys
from typing import Annotated

import typer

from headrace.cli.client import Server, connect, path_of
from headrace.cli.listing import Rows, show_rows
from headrace.errors import HeadraceError

__all__ = ["group_app"]

group_app = typer.Typer(help="Manage the groups of a server; for admins.")

Name = Annotated[str, typer.Argument(metavar="GROUP", help="The group.", show_default=False)]


@group_app.command("list")
def list_groups(output: Rows = "table", server: Server = None) -> None:
    """List all groups."""
    with connect(server) as client:
        show_rows(list(client.pages("/groups")), ("name", "members", "created_at"), output)


@group_app.command()
def add(name: Name, server: Server = None) -> None:
    """Add a group without members."""
    with connect(server) as client:
        made = client.change("POST", "/groups", {"name": name})
    sys.stdout.write(f"group {made['name']} is added\n")


@group_app.command()
def members(
    name: Name,
    add: Annotated[list[str] | None, typer.Option(metavar="USER", help="Put this user into it. Repeatable.")] = None,
    remove: Annotated[
        list[str] | None, typer.Option(metavar="USER", help="Take this user out of it. Repeatable.")
    ] = None,
    output: Rows = "table",
    server: Server = None,
) -> None:
    """Put users into a group or take them out of it; then list who is in it."""
    with connect(server) as client:
        for user in add or ():
            client.change("PUT", path_of("groups", name, "members", user))
        for user in remove or ():
            client.change("DELETE", path_of("groups", name, "members", user))
        groups = {each["name"]: each for each in client.pages("/groups")}
    found = groups.get(name.strip().lower())
    if found is None:
        raise HeadraceError(f'there is no group "{name}"', hint="See which there are: headrace group list.")
    show_rows([{"member": each} for each in found["members"]], ("member",), output)


@group_app.command()
def delete(name: Name, server: Server = None) -> None:
    """Delete a group; its members stay users."""
    with connect(server) as client:
        client.change("DELETE", path_of("groups", name))
    sys.stdout.write(f"group {name} is deleted\n")
