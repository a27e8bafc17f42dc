"""The commands ``headrace job`` that only look: a job goes in; its moves, texts, graph and alerts come out."""

import re
import sys
from typing import Annotated, Any, Literal

import typer

from headrace.cli.alert import ALERTS
from headrace.cli.client import Server, connect, path_of
from headrace.cli.listing import Rows, show_rows
from headrace.errors import HeadraceError

__all__ = ["Name", "alerts", "events", "records", "topology", "versions"]

Name = Annotated[str, typer.Argument(metavar="JOB", help="The name of the job, or its id.", show_default=False)]

_EVENTS = ("at", "state", "reason", "error")
_VERSIONS = ("number", "created_at", "created_by", "directory", "variables", "provides", "uses")
_PLACE = re.compile(r".+:[0-9]{1,18}:[0-9]{1,18}")
_RECORDS = ("place", "stream", "at", "key", "record")
_STEPS = ("step", "reads", "title", "rows_per_second", "state_rows", "lag", "health", "note")


def alerts(job: Name, output: Rows = "table", server: Server = None) -> None:
    """List the alerts of a job since the server started, also those that hold no longer."""
    with connect(server) as client:
        show_rows(list(client.pages(path_of("jobs", job, "alerts"))), ALERTS, output)


def events(
    job: Name,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on until the job is deleted; Ctrl-C ends.")
    ] = False,
    output: Rows = "table",
    server: Server = None,
) -> None:
    """Show how a job went from state to state, the oldest first."""
    from headrace.cli.render import print_rows, visible

    with connect(server) as client:
        if not follow:
            show_rows([_event(each) for each in client.pages(path_of("jobs", job, "events"))], _EVENTS, output)
            return
        for number, (_, data) in enumerate(client.events(path_of("jobs", job, "events", "events"))):
            row = _event(data)
            if output == "table":
                told = f": {row['error']}" if row["error"] else ""
                sys.stdout.write(visible(f"{row['at']} {row['state']}: {row['reason']}{told}") + "\n")
            else:
                print_rows([row], _EVENTS, output, sys.stdout, header=number == 0)
            sys.stdout.flush()


def versions(
    job: Name,
    text: Annotated[int | None, typer.Option(metavar="NUMBER", min=1, help="Print the text of this version.")] = None,
    output: Rows = "table",
    server: Server = None,
) -> None:
    """List the versions of a job, the newest first; of variables only the names are told."""
    with connect(server) as client:
        found = list(client.pages(path_of("jobs", job, "versions")))
    if text is None:
        show_rows(found, _VERSIONS, output)
        return
    wanted = next((each for each in found if each["number"] == text), None)
    if wanted is None:
        raise HeadraceError(f"job {job} has no version {text}", hint=f"See which it has: headrace job versions {job}.")
    sys.stdout.write(wanted["text"])


def topology(
    job: Name,
    output: Annotated[
        Literal["table", "mermaid", "svg", "json"], typer.Option(help="How the topology is drawn.")
    ] = "table",
    server: Server = None,
) -> None:
    """Show the steps of a job, and as a table or JSON what each does now."""
    from headrace.cli.inspect import print_json
    from headrace.plan.mermaid import mermaid
    from headrace.plan.svg import svg
    from headrace.plan.topology import from_dict

    with connect(server) as client:
        found = client.get(path_of("jobs", job, "topology"))
    match output:
        case "json":
            print_json(found)
        case "mermaid":
            sys.stdout.write(mermaid(from_dict(found)))
        case "svg":
            sys.stdout.write(svg(from_dict(found), title=job))
        case "table":
            show_rows([_step(node, found["edges"]) for node in found["nodes"]], _STEPS, "table")


def records(
    job: Name,
    places: Annotated[
        list[str],
        typer.Argument(metavar="PLACE…", help="topic:partition:offset, or file:block:number.", show_default=False),
    ],
    output: Rows = "table",
    server: Server = None,
) -> None:
    """Show the records at places that EVIDENCE() noted: what is behind a match."""
    from headrace.values import json_text

    for each in places:
        if not _PLACE.fullmatch(each):
            raise HeadraceError(f'"{each}" is no place', hint="Write topic:partition:offset, or file:block:number.")
    with connect(server) as client:
        found = client.rows("GET", path_of("jobs", job, "records"), at=places)["items"]
    for each in found:
        row, text = each.pop("row"), each.pop("text")
        each["record"] = text if row is None else json_text(row)
    show_rows(found, _RECORDS, output)


def _event(event: dict[str, Any]) -> dict[str, Any]:
    return {**event, "error": None if event["error"] is None else event["error"]["message"]}


def _step(node: dict[str, Any], edges: list[dict[str, str]]) -> dict[str, Any]:
    figures = node["figures"] or {}
    return {
        "step": node["id"],
        "reads": [each["from"] for each in edges if each["to"] == node["id"]],
        "title": f"view {node['name']}: {node['title']}" if node["name"] else node["title"],
        **{name: figures.get(name) for name in _STEPS[3:]},
    }
