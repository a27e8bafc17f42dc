"""The commands ``headrace user`` and ``headrace token``: changes of accounts go in, a server makes them."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Literal

import typer

from headrace.cli.client import Client, Server, connect, path_of
from headrace.cli.listing import Rows, Text, print_fields, show_rows

__all__ = ["token_app", "user_app"]

user_app = typer.Typer(help="Manage the users of a server; for admins.")
token_app = typer.Typer(help="Manage your tokens; asks for your password, for a token cannot make tokens.")

Name = Annotated[str, typer.Argument(metavar="USER", help="The user.", show_default=False)]
RoleName = Literal["viewer", "operator", "developer", "admin"]
Keep = Annotated[
    bool, typer.Option("--may-keep-password", help="Do not make the user choose another one; for programs.")
]
Who = Annotated[str | None, typer.Option("--user", help="Who you are; asked for without it.")]

_USERS = ("name", "role", "groups", "active", "must_change_password", "created_at", "last_seen_at")
_TOKENS = ("id", "name", "role", "created_at", "expires_at", "revoked_at", "last_used_at")


@user_app.command("list")
def list_users(output: Rows = "table", server: Server = None) -> None:
    """List all users."""
    with connect(server) as client:
        show_rows(list(client.pages("/users")), _USERS, output)


@user_app.command()
def show(name: Name, output: Text = "text", server: Server = None) -> None:
    """Show a user; everybody may see themselves."""
    from headrace.cli.inspect import print_json

    with connect(server) as client:
        found = client.get(path_of("users", name))
    if output == "json":
        print_json(found)
    else:
        print_fields(found)


@user_app.command()
def add(
    name: Name,
    role: Annotated[RoleName, typer.Option(help="A developer's applications run as the server's user.")] = "viewer",
    keep: Keep = False,
    server: Server = None,
) -> None:
    """Add a user, and print the first password, this once; the user chooses another at the first log-in."""
    with connect(server) as client:
        made = client.change("POST", "/users", {"name": name, "role": role, "must_change_password": not keep})
    sys.stdout.write(f"user {made['name']} is added\npassword {made['password']}\n")


@user_app.command()
def change(
    name: Name,
    role: Annotated[RoleName | None, typer.Option(help="The new role.")] = None,
    disable: Annotated[bool | None, typer.Option("--disable/--enable", help="Lock the user out, or in again.")] = None,
    group: Annotated[
        list[str] | None, typer.Option(help="The groups that the user is in, and no others. Repeatable.")
    ] = None,
    server: Server = None,
) -> None:
    """Change the role of a user, lock them out, or put them into groups."""
    body: dict[str, Any] = {"role": role, "active": None if disable is None else not disable, "groups": group}
    with connect(server) as client:
        found = client.change("PATCH", f"/users/{name}", body)
    state = "" if found["active"] else ", locked out"
    sys.stdout.write(f"user {found['name']} is {found['role']}{state}\n")


@user_app.command()
def password(name: Name, keep: Keep = False, server: Server = None) -> None:
    """Give a user a new password, and print it, this once; the user is logged out everywhere."""
    with connect(server) as client:
        made = client.change("POST", f"/users/{name}/password", {"must_change_password": not keep})
    sys.stdout.write(f"password {made['password']}\n")


@user_app.command()
def logout(name: Name, server: Server = None) -> None:
    """Log a user out everywhere; tokens go on."""
    with connect(server) as client:
        client.change("DELETE", f"/users/{name}/sessions")
    sys.stdout.write(f"user {name} is logged out\n")


@user_app.command()
def delete(name: Name, server: Server = None) -> None:
    """Delete a user with tokens, sessions and lines in access lists."""
    with connect(server) as client:
        client.change("DELETE", f"/users/{name}")
    sys.stdout.write(f"user {name} is deleted\n")


@token_app.command("list")
def list_tokens(user: Who = None, output: Rows = "table", server: Server = None) -> None:
    """List your tokens, those that are over too."""
    with _oneself(user, server) as client:
        rows = list(client.pages("/tokens"))
    show_rows(rows, _TOKENS, output)


@token_app.command()
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What it is for.", show_default=False)],
    role: Annotated[RoleName | None, typer.Option(help="The most that it may; by default what you may.")] = None,
    days: Annotated[int, typer.Option(min=1, max=366, help="How long it lasts.")] = 90,
    user: Who = None,
    server: Server = None,
) -> None:
    """Make a token, and print it, this once."""
    with _oneself(user, server) as client:
        made = client.change("POST", "/tokens", {"name": name, "role": role, "days": days})
    sys.stdout.write(f"{made['text']}\n")


@token_app.command()
def revoke(
    token: Annotated[str, typer.Argument(metavar="ID", help="The id of the token.", show_default=False)],
    user: Who = None,
    server: Server = None,
) -> None:
    """Make a token useless from now on."""
    with _oneself(user, server) as client:
        client.change("DELETE", path_of("tokens", token))
    sys.stdout.write(f"token {token} is revoked\n")


@contextmanager
def _oneself(user: str | None, server: str | None) -> Iterator[Client]:
    """Give a server to ask with a session of a user: tokens are not for tokens to make."""
    from headrace.cli.login import session

    with connect(server) as client:
        url = client.url
    with session(url, user) as (http, _):
        yield Client(url, http)
