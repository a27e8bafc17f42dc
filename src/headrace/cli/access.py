"""The commands ``headrace access``: lines of access lists go in, a server keeps them; who may what comes out."""

import sys
from typing import Annotated, Any, Literal

import typer

from headrace.cli.client import Server, connect, path_of
from headrace.cli.listing import Rows, Text, print_fields, show_rows

__all__ = ["access_app"]

access_app = typer.Typer(help="See and change who may do what to which object of a server.")

KindName = Literal["application", "job", "stream", "view"]
Kind = Annotated[KindName, typer.Argument(metavar="KIND", help="application, job, stream or view.", show_default=False)]
Name = Annotated[str, typer.Argument(metavar="NAME", help="The object.", show_default=False)]
Pattern = Annotated[
    str, typer.Argument(metavar="PATTERN", help="The object, or a pattern with * and ?.", show_default=False)
]
User = Annotated[str | None, typer.Option(help="To this user.")]
Group = Annotated[str | None, typer.Option(help="To this group.")]
RoleName = Annotated[
    Literal["viewer", "operator", "developer", "admin"] | None, typer.Option("--role", help="What this role may.")
]
Actions = Annotated[
    list[str] | None,
    typer.Option("--action", metavar="ACTION", help="In place of a role: read_rows, stop. Repeatable."),
]

_ENTRIES = ("id", "effect", "kind", "pattern", "grantee_kind", "grantee", "role", "actions")


@access_app.command("list")
def list_entries(
    kind: Annotated[KindName | None, typer.Option(help="Only lines on this kind of objects.")] = None,
    output: Rows = "table",
    server: Server = None,
) -> None:
    """List the lines of all access lists."""
    with connect(server) as client:
        show_rows(list(client.pages("/access", kind=kind)), _ENTRIES, output)


@access_app.command()
def allow(
    kind: Kind,
    pattern: Pattern,
    user: User = None,
    group: Group = None,
    role: RoleName = None,
    action: Actions = None,
    server: Server = None,
) -> None:
    """Allow a role, or some actions, to a user or a group."""
    _add("allow", kind, pattern, {"user": user, "group": group, "role": role, "actions": action}, server)


@access_app.command()
def deny(
    kind: Kind,
    pattern: Pattern,
    user: User = None,
    group: Group = None,
    role: RoleName = None,
    action: Actions = None,
    server: Server = None,
) -> None:
    """Deny what needs at least a role, or some actions, to a user or a group."""
    _add("deny", kind, pattern, {"user": user, "group": group, "role": role, "actions": action}, server)


@access_app.command()
def delete(
    entry: Annotated[int, typer.Argument(metavar="ID", min=1, help="The id of the line.", show_default=False)],
    server: Server = None,
) -> None:
    """Delete a line of an access list."""
    with connect(server) as client:
        client.change("DELETE", path_of("access", str(entry)))
    sys.stdout.write(f"line {entry} is deleted\n")


@access_app.command()
def show(kind: Kind, name: Name, output: Text = "text", server: Server = None) -> None:
    """Show who owns an object, whether it is restricted, and the lines about it."""
    with connect(server) as client:
        _told(client.get(path_of("access", kind, name)), output)


@access_app.command()
def change(
    kind: Kind,
    name: Name,
    restrict: Annotated[
        bool | None, typer.Option("--restrict/--open", help="Only those on its list reach it, or whom roles allow it.")
    ] = None,
    owner: Annotated[str | None, typer.Option(metavar="USER", help='The new owner; "" for nobody.')] = None,
    output: Text = "text",
    server: Server = None,
) -> None:
    """Restrict an object or open it, or give it another owner; then show who may."""
    with connect(server) as client:
        _told(client.change("PATCH", path_of("access", kind, name), {"restricted": restrict, "owner": owner}), output)


def _add(effect: str, kind: str, pattern: str, whom_and_what: dict[str, Any], server: str | None) -> None:
    with connect(server) as client:
        made = client.change("POST", "/access", {"effect": effect, "kind": kind, "pattern": pattern, **whom_and_what})
    sys.stdout.write(f"line {made['id']} is added\n")


def _told(found: dict[str, Any], output: Literal["text", "json"]) -> None:
    from headrace.cli.inspect import print_json

    if output == "json":
        print_json(found)
        return
    print_fields({"owner": found["owner"] or "nobody", "restricted": "yes" if found["restricted"] else "no"})
    show_rows(found["entries"], _ENTRIES, "table")
