"""The commands ``headrace alert``: rules go in, a server keeps them; alerts that hold come out."""

import sys
from typing import Annotated, Any, Literal

import typer

from headrace.cli.client import Client, Server, connect, path_of
from headrace.cli.listing import Rows, show_rows
from headrace.errors import HeadraceError

__all__ = ["ALERTS", "alert_app"]

alert_app = typer.Typer(help="See the alerts of a server, and change their rules.")

Name = Annotated[str, typer.Argument(metavar="RULE", help="The name of the rule.", show_default=False)]
AlertId = Annotated[str, typer.Argument(metavar="ID", help="The id of the alert.", show_default=False)]
Kind = Literal["lag", "watermark-stuck", "batch-stuck", "dead-rows", "crash-loop", "state-growth"]

ALERTS = ("id", "job", "rule", "output", "raised_at", "over_at", "message", "acknowledged_by")
_RULES = ("name", "kind", "job", "options", "origin", "changed_by")


@alert_app.command("list")
def list_alerts(
    over: Annotated[bool, typer.Option("--over", help="Also those that hold no longer.")] = False,
    output: Rows = "table",
    server: Server = None,
) -> None:
    """List the alerts that hold now."""
    with connect(server) as client:
        show_rows(list(client.pages("/alerts", over=over)), ALERTS, output)


@alert_app.command()
def acknowledge(alert: AlertId, server: Server = None) -> None:
    """Take note of an alert, so that others see that somebody has."""
    with connect(server) as client:
        found = _found(client, alert)
        noted = client.change("POST", path_of("jobs", found["job"], "alerts", alert, "acknowledge"))
    sys.stdout.write(f"{noted['acknowledged_by']} has taken note of {noted['rule']} of {noted['job']}\n")


@alert_app.command()
def evidence(alert: AlertId, output: Rows = "table", server: Server = None) -> None:
    """Show what is behind an alert now: dead records, sources, errors, partitions or operators."""
    with connect(server) as client:
        found = _found(client, alert)
        behind = client.get(path_of("jobs", found["job"], "alerts", alert, "evidence"))
    show_rows(behind["rows"], behind["columns"], output)


@alert_app.command()
def rules(output: Rows = "table", server: Server = None) -> None:
    """List the rules, and where each comes from: standard, the server's file, or people."""
    with connect(server) as client:
        rows = list(client.pages("/alert-rules"))
    for row in rows:
        row["options"] = ", ".join(f"{name} {value}" for name, value in row["options"].items())
    show_rows(rows, _RULES, output)


@alert_app.command("set")
def set_rule(
    name: Name,
    kind: Annotated[Kind, typer.Option(help="What is looked at.", show_default=False)],
    job: Annotated[str, typer.Option(help="A job, or a pattern with * and ?.")] = "*",
    lasting: Annotated[str | None, typer.Option(help="How long it must hold: 5 minutes.")] = None,
    within: Annotated[str | None, typer.Option(help="How far to look back: 10 minutes.")] = None,
    messages: Annotated[int | None, typer.Option(min=0, help="lag: more are still to be read.")] = None,
    more_than: Annotated[int | None, typer.Option(min=0, help="dead-rows: how many are borne.")] = None,
    restarts: Annotated[int | None, typer.Option(min=0, help="crash-loop: how many are too many.")] = None,
    factor: Annotated[float | None, typer.Option(min=1, help="state-growth: by what factor.")] = None,
    least: Annotated[int | None, typer.Option(min=0, help="state-growth: the least bytes.")] = None,
    server: Server = None,
) -> None:
    """Add a rule, or change the one of that name."""
    given: dict[str, Any] = {
        "lasting": lasting,
        "within": within,
        "messages": messages,
        "more_than": more_than,
        "restarts": restarts,
        "factor": factor,
        "least": least,
    }
    body = {"kind": kind, "job": job, **{option: value for option, value in given.items() if value is not None}}
    with connect(server) as client:
        client.change("PUT", path_of("alert-rules", name), body)
    sys.stdout.write(f"rule {name} counts from now on\n")


@alert_app.command()
def remove(name: Name, server: Server = None) -> None:
    """Remove a rule that was made with headrace alert set, or in the console."""
    with connect(server) as client:
        client.change("DELETE", path_of("alert-rules", name))
    sys.stdout.write(f"rule {name} is removed\n")


def _found(client: Client, alert: str) -> dict[str, Any]:
    for each in client.pages("/alerts", over=True):
        if each["id"] == alert:
            return dict(each)
    raise HeadraceError(f'there is no alert "{alert}"', hint="See which there are: headrace alert list --over.")
