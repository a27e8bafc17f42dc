"""The commands ``headrace job``: wishes go in, a server fulfils them, and what it answers comes out."""

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from headrace.cli.boards import BoardFile, NoBoard, board_beside, keep_board
from headrace.cli.client import Server, connect
from headrace.cli.job_reading import Name, alerts, events, records, topology, versions
from headrace.cli.job_waiting import FINAL, rebuilt, told
from headrace.cli.listing import Rows
from headrace.cli.texts import application_of

__all__ = ["job_app"]

job_app = typer.Typer(help="Run applications on a server: submit, watch, stop, upgrade.")
job_app.command()(alerts)
job_app.command()(events)
job_app.command()(versions)
job_app.command()(topology)
job_app.command()(records)

File = Annotated[Path, typer.Argument(metavar="FILE.sql", help="The application.", show_default=False)]
Variables = Annotated[list[str] | None, typer.Option("--var", metavar="NAME=VALUE", help="Fills ${NAME}. Repeatable.")]
From = Annotated[
    str | None,
    typer.Option(
        "--from", metavar="TIME", help="Forget its state, and let sources begin at this time, as 2024-05-01T00:00:00Z."
    ),
]
Sources = Annotated[
    list[str] | None, typer.Option("--source", metavar="NAME", help="Only this source begins at that time. Repeatable.")
]
Wait = Annotated[bool, typer.Option("--wait", help="Until it is so, or has ended; exit 3 if it failed or was stopped.")]

_COLUMNS = ("name", "state", "version", "restarts", "owner", "since", "reason")
_SAVEPOINTS = ("id", "status", "version", "created_at", "created_by")
_SHOWN = ("output", "batch", "at", "change", "row")
_REJECTED = ("kind", "of", "rows", "reason", "position", "record")
_ENTRIES = ("effect", "grantee_kind", "grantee", "pattern", "role", "actions")


@job_app.command()
def submit(
    file: File,
    name: Annotated[str | None, typer.Option(help="The name of the job; by default that of the file.")] = None,
    var: Variables = None,
    cores: Annotated[int, typer.Option(min=1)] = 1,
    memory: Annotated[int | None, typer.Option(min=512, metavar="MB", help="Of the driver's Java.")] = None,
    master: Annotated[
        str | None, typer.Option(metavar="URL", help="The Spark cluster; by default the server's.")
    ] = None,
    dashboard: BoardFile = None,
    no_dashboard: NoBoard = False,
    wait: Wait = False,
    server: Server = None,
) -> None:
    """Submit an application, and the dashboard beside it; it runs as soon as there is room."""
    from headrace.jobs.submission import name_of

    board = board_beside(file, dashboard, without=no_dashboard)
    with connect(server) as client:
        body = {
            **application_of(client, file),
            "name": name or name_of(file),
            "variables": _given(var),
            "cores": cores,
            "memory": memory,
            "master": master,
        }
        job = client.change("POST", "/jobs", body)
        keep_board(client, job["name"], board)
        told(client, job, wait, {"running"})


@job_app.command("list")
def list_jobs(
    state: Annotated[list[str] | None, typer.Option(help="Only jobs in this state. Repeatable.")] = None,
    name: Annotated[str | None, typer.Option(help="Only jobs with this in their names.")] = None,
    owner: Annotated[str | None, typer.Option(metavar="USER", help="Only jobs of this user.")] = None,
    output: Rows = "table",
    server: Server = None,
) -> None:
    """List the jobs that you may see."""
    from headrace.cli.render import print_rows

    with connect(server) as client:
        rows = list(client.pages("/jobs", state=state or None, name=name, owner=owner))
    print_rows(rows, _COLUMNS, output, sys.stdout)


@job_app.command()
def show(
    job: Name,
    output: Annotated[Literal["text", "json"], typer.Option(help="How it is printed.")] = "text",
    server: Server = None,
) -> None:
    """Show a job, its error if it has one, and what its outputs do."""
    from headrace.cli.inspect import print_json

    with connect(server) as client:
        found = client.get(f"/jobs/{job}")
        figures = client.get(f"/jobs/{job}/figures")["outputs"]
    if output == "json":
        print_json({**found, "outputs": figures})
        return
    error = found.pop("error")
    width = max(map(len, found))
    sys.stdout.writelines(f"{name:<{width}}  {value}\n" for name, value in found.items() if value is not None)
    for each in figures:
        rates = f"{each['rows_in']} rows in, {each['rows_out']} out, {each['in_per_second']:.0f} rows/s"
        sys.stdout.write(f"{'output':<{width}}  {each['name']}: {rates}, {each['late']} late, {each['dead']} dead\n")
        for name, values in each["observed"].items():
            told = ", ".join(f"{figure} {value}" for figure, value in values.items())
            sys.stdout.write(f"{'observed':<{width}}  {name}: {told}\n")
    if error is not None:
        from headrace.jobs.reports import Report

        sys.stdout.write(f"{Report(**error).text()}\n")


@job_app.command()
def stop(
    job: Name,
    savepoint: Annotated[bool, typer.Option("--savepoint", help="Copy its state once it has stopped.")] = False,
    wait: Wait = False,
    server: Server = None,
) -> None:
    """Let a job stop between two batches."""
    with connect(server) as client:
        found = client.change("POST", f"/jobs/{job}/stop", {"savepoint": savepoint})
        told(client, found, wait, FINAL)


@job_app.command()
def restart(
    job: Name,
    savepoint: Annotated[str | None, typer.Option(metavar="ID", help="Go on from this savepoint.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget its state, and begin anew.")] = False,
    from_time: From = None,
    source: Sources = None,
    cores: Annotated[int | None, typer.Option(help="Cores that it uses from now on.")] = None,
    memory: Annotated[int | None, typer.Option(help="Megabytes of memory that it has from now on.")] = None,
    wait: Wait = False,
    server: Server = None,
) -> None:
    """Start a job again, one that runs after it has stopped."""
    from headrace.cli.render import print_rows

    wish: dict[str, Any] = {"savepoint": savepoint, "fresh": fresh, "cores": cores, "memory": memory}
    if from_time is not None or source:
        wish |= {"from_time": from_time, "sources": source or []}
    with connect(server) as client:
        before = client.get(f"/jobs/{job}")["attempt"]
        found = client.change("POST", f"/jobs/{job}/restart", wish)
        if found["sources"]:
            print_rows(found["sources"], ("source", "where"), "table", sys.stdout)
        told(client, found, wait, {"running"}, after=before)


@job_app.command()
def upgrade(
    job: Name,
    file: File,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what it would do.")] = False,
    beside: Annotated[
        bool, typer.Option("--beside", help="Build all of it anew while the old version runs on, and swap in the end.")
    ] = False,
    var: Variables = None,
    dashboard: BoardFile = None,
    no_dashboard: NoBoard = False,
    output: Rows = "table",
    wait: Wait = False,
    server: Server = None,
) -> None:
    """Bring a job to a new version on its old state; tells which outputs keep theirs and why others do not."""
    from headrace.cli.render import print_rows

    board = board_beside(file, dashboard, without=no_dashboard)
    with connect(server) as client:
        found = client.get(f"/jobs/{job}")
        before = found["attempt"]
        body = {**application_of(client, file), **({} if var is None else {"variables": _given(var)})}
        if beside:
            body["beside"] = True
        report = client.change("POST", f"/jobs/{job}/upgrade", body, dry_run=dry_run)
        if not dry_run:
            keep_board(client, found["name"], board)
        if beside and not dry_run:
            rebuilt(client, job, wait, found["version"])
            return
        print_rows(report["changes"], ("output", "fate", "why"), output, sys.stdout)
        if report["job"] is not None:
            told(client, report["job"], wait, {"running"}, after=before)


@job_app.command()
def rebuild(
    job: Name,
    from_time: From = None,
    source: Sources = None,
    cancel: Annotated[bool, typer.Option("--cancel", help="Give up a rebuild, or forget one that has failed.")] = False,
    status: Annotated[bool, typer.Option("--status", help="Only tell how far it is.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Until it has taken over; exit 3 if it fails.")] = False,
    server: Server = None,
) -> None:
    """Build a job anew beside itself, and swap when that has caught up; its views stay readable meanwhile."""
    from headrace.cli.render import print_rows

    with connect(server) as client:
        if cancel:
            client.change("DELETE", f"/jobs/{job}/rebuild")
            sys.stdout.write(f"the rebuild of {job} is given up\n")
            return
        version = client.get(f"/jobs/{job}")["version"]
        if not status:
            found = client.change("POST", f"/jobs/{job}/rebuild", {"from_time": from_time, "sources": source or []})
            if found["sources"]:
                print_rows(found["sources"], ("source", "where"), "table", sys.stdout)
        rebuilt(client, job, wait, version)


@job_app.command()
def delete(job: Name, server: Server = None) -> None:
    """Delete a job at rest with its state, savepoints and log."""
    with connect(server) as client:
        client.change("DELETE", f"/jobs/{job}")
    sys.stdout.write(f"job {job} is deleted\n")


@job_app.command()
def logs(
    job: Name,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what is written; Ctrl-C ends.")] = False,
    lines: Annotated[int, typer.Option("--lines", "-n", min=1, max=10_000, help="How many of the last lines.")] = 50,
    server: Server = None,
) -> None:
    """Print the log of a job."""
    with connect(server) as client:
        if not follow:
            sys.stdout.writelines(f"{line}\n" for line in client.get(f"/jobs/{job}/logs", lines=lines)["lines"])
            return
        for _, data in client.events(f"/jobs/{job}/logs/events", lines=lines):
            sys.stdout.writelines(f"{line}\n" for line in data.get("lines", ()))
            sys.stdout.flush()


@job_app.command()
def savepoints(
    job: Name,
    make: Annotated[
        bool, typer.Option("--make", help="Make one now; a job that runs stops for it and goes on.")
    ] = False,
    delete: Annotated[str | None, typer.Option(metavar="ID", help="Delete one.")] = None,
    output: Rows = "table",
    server: Server = None,
) -> None:
    """List the savepoints of a job, make one or delete one."""
    from headrace.cli.render import print_rows

    with connect(server) as client:
        if make:
            client.change("POST", f"/jobs/{job}/savepoints")
        if delete is not None:
            client.change("DELETE", f"/jobs/{job}/savepoints/{delete}")
        rows = list(client.pages(f"/jobs/{job}/savepoints"))
    print_rows(rows, _SAVEPOINTS, output, sys.stdout)


@job_app.command()
def rows(job: Name, output: Rows = "table", server: Server = None) -> None:
    """Show the last rows of a bare SELECT or a console sink of a job, the newest first."""
    from headrace.cli.render import print_rows

    with connect(server) as client:
        print_rows(list(client.pages(f"/jobs/{job}/rows")), _SHOWN, output, sys.stdout)


@job_app.command()
def rejected(job: Name, output: Rows = "table", server: Server = None) -> None:
    """Show what a job did not use: late rows and dead records with their reasons, or how many there were."""
    from headrace.cli.render import print_rows

    with connect(server) as client:
        found = client.get(f"/jobs/{job}/rejected")
    rows: list[dict[str, Any]] = [
        {"kind": "late", "of": each["output"], "rows": each["rows"], "reason": "not taken, behind the watermark"}
        for each in found["late"]
        if each["rows"]
    ]
    rows += [{"kind": "late", "of": each["stream"], "rows": 1, **each} for each in found["late_rows"]]
    rows += [{"kind": "dead", "of": of, "rows": n, "reason": "no view keeps them"} for of, n in found["unkept"].items()]
    rows += [{"kind": "dead", "of": each["stream"], "rows": 1, **each} for each in found["dead"]]
    print_rows(rows, _REJECTED, output, sys.stdout)


@job_app.command()
def share(
    job: Name,
    user: Annotated[list[str] | None, typer.Option(help="To whom. Repeatable.")] = None,
    group: Annotated[list[str] | None, typer.Option(help="To which group. Repeatable.")] = None,
    role: Annotated[Literal["viewer", "operator", "developer"], typer.Option(help="What they may.")] = "viewer",
    remove: Annotated[bool, typer.Option("--remove", help="Take it back.")] = False,
    output: Rows = "table",
    server: Server = None,
) -> None:
    """Allow others a role on a job of yours, or take it back; then list who may."""
    from headrace.cli.render import print_rows

    whom = [{"user": each} for each in user or ()] + [{"group": each} for each in group or ()]
    with connect(server) as client:
        listed = client.get(f"/access/job/{job}")["entries"]
        for each in whom:
            [(kind, name)] = each.items()
            if not remove:
                wish = {"effect": "allow", "kind": "job", "pattern": job, "role": role, **each}
                client.change("POST", "/access", wish)
            for entry in listed:
                same = (entry["grantee_kind"], entry["grantee"]) == (kind, name.lower())
                if remove and same and entry["effect"] == "allow" and entry["pattern"] == job.lower():
                    client.change("DELETE", f"/access/{entry['id']}")
        rows = client.get(f"/access/job/{job}")["entries"]
    print_rows(rows, _ENTRIES, output, sys.stdout)


def _given(var: list[str] | None) -> dict[str, str]:
    from headrace.cli.variables import variables_of

    given = variables_of(var, {})
    return dict(given)
