"""The command ``headrace audit``: what is looked for goes in; who did what to which object, and when, comes out."""

from itertools import islice
from typing import Annotated, Literal

import typer

from headrace.cli.client import Server, connect
from headrace.cli.listing import Rows, show_rows

__all__ = ["audit"]

PAGE = 500
Kind = Literal["application", "job", "stream", "view", "user", "group", "system"]

_ENTRIES = ("at", "actor", "action", "target_kind", "target_name", "outcome", "address", "details")


def audit(
    actor: Annotated[str | None, typer.Option(metavar="USER", help="Only what this user did.")] = None,
    action: Annotated[str | None, typer.Option(help="Only this action, as job.stop.")] = None,
    kind: Annotated[Kind | None, typer.Option(help="Only what was done to this kind of objects.")] = None,
    name: Annotated[str | None, typer.Option(help="Only what was done to the object of this name.")] = None,
    outcome: Annotated[Literal["done", "refused", "failed"] | None, typer.Option(help="Only what ended so.")] = None,
    since: Annotated[str | None, typer.Option(metavar="TIME", help="Not before, as 2026-01-31T10:00:00Z.")] = None,
    until: Annotated[str | None, typer.Option(metavar="TIME", help="Not after.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="How many at most.")] = 100,
    output: Rows = "table",
    server: Server = None,
) -> None:
    """Show what was done on a server, the newest first; for admins."""
    with connect(server) as client:
        entries = client.pages(
            "/audit",
            actor=actor,
            action=action,
            target_kind=kind,
            target_name=name,
            outcome=outcome,
            since=since,
            until=until,
            limit=min(limit, PAGE),
        )
        rows = list(islice(entries, limit))
    show_rows(rows, _ENTRIES, output)
