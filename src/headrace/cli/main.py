"""The command ``headrace``: arguments go in; answers, complaints and an exit code come out.

Nothing here imports pyspark: a command fetches what it needs when it runs, so that checking and
explaining start at once.
"""

import sys
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from headrace.cli.access import access_app
from headrace.cli.alert import alert_app
from headrace.cli.application import application_app
from headrace.cli.audit import audit
from headrace.cli.broker import broker_app
from headrace.cli.catalog import catalog_app
from headrace.cli.client import OtherwiseHere, Server
from headrace.cli.dashboard import dashboard_app
from headrace.cli.failures import reported
from headrace.cli.forget import forget
from headrace.cli.group import group_app
from headrace.cli.handle import handle
from headrace.cli.job import job_app
from headrace.cli.login import login, logout, password, whoami
from headrace.cli.serve import serve, up
from headrace.cli.user import token_app, user_app
from headrace.cli.variables import variables_of
from headrace.cli.view import view_app
from headrace.cli.warm import warm

__all__ = ["app", "main"]


class Commands(TyperGroup):
    """The commands, with one place where every failure becomes a report and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        with reported():
            return super().invoke(ctx)


app = typer.Typer(
    cls=Commands,
    help="Continuous SQL on Apache Spark: write a query once, and its answer stays current.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(broker_app, name="broker", no_args_is_help=True)
app.add_typer(view_app, name="view", no_args_is_help=True)
app.add_typer(job_app, name="job", no_args_is_help=True)
app.add_typer(alert_app, name="alert", no_args_is_help=True)
app.add_typer(application_app, name="application", no_args_is_help=True)
app.add_typer(dashboard_app, name="dashboard", no_args_is_help=True)
app.add_typer(catalog_app, name="catalog", no_args_is_help=True)
app.add_typer(access_app, name="access", no_args_is_help=True)
app.add_typer(group_app, name="group", no_args_is_help=True)
app.add_typer(user_app, name="user", no_args_is_help=True)
app.add_typer(token_app, name="token", no_args_is_help=True)
app.command()(up)
app.command()(serve)
app.command()(login)
app.command()(logout)
app.command()(whoami)
app.command()(password)
app.command()(audit)
app.command()(handle)
app.command()(forget)
app.command()(warm)

File = Annotated[Path, typer.Argument(metavar="FILE.sql", help="The application.", show_default=False)]
Variables = Annotated[
    list[str] | None,
    typer.Option("--var", metavar="NAME=VALUE", help="Fills ${NAME}; before the environment. Repeatable."),
]
RowsAs = Annotated[Literal["table", "json", "csv"], typer.Option("--output", help="How rows are printed.")]


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"headrace {version_of('headrace')}")
        raise typer.Exit


@app.callback()
def headrace(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Continuous SQL on Apache Spark: write a query once, and its answer stays current."""


@app.command()
def run(
    file: File,
    once: Annotated[
        bool, typer.Option("--once", help="Read what is there, close every window, print the rows, end.")
    ] = False,
    output: RowsAs = "table",
    changes: Annotated[
        bool, typer.Option("--changes", help="Print every change, with _change (insert or delete) last.")
    ] = False,
    var: Variables = None,
    state: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Where checkpoints are kept; by default .headrace beside the file."),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Forget what earlier runs of this application remembered.")
    ] = False,
    master: Annotated[
        str | None, typer.Option(metavar="URL", help="The Spark cluster; by default this machine.")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option("--for", metavar="SECONDS", min=0, help="Stop by itself after so long.")
    ] = None,
) -> None:
    """Run an application; a bare SELECT prints its rows as they change. Ctrl-C stops it."""
    from headrace.application import Application

    if once and (fresh or seconds is not None):
        raise typer.BadParameter("--once starts from nothing and ends by itself: leave out --fresh and --for")
    application = Application.load(file, variables_of(var), state=state, master=master)
    if once:
        from headrace.cli.once import run_once

        run_once(application, output, changes=changes)
    else:
        from headrace.cli.foreground import run_foreground

        run_foreground(application, output, changes=changes, fresh=fresh, seconds=seconds)


@app.command()
def check(
    file: File,
    var: Variables = None,
    output: Annotated[Literal["text", "json"], typer.Option(help="How the verdict is printed.")] = "text",
    server: OtherwiseHere = None,
) -> None:
    """Parse and plan an application without running it; a server knows the views and streams of its jobs."""
    if server is not None:
        from headrace.cli.inspect_server import check_on

        raise typer.Exit(check_on(server, file, variables_of(var, {}), output))
    from headrace.cli.inspect import check_file

    raise typer.Exit(check_file(file, variables_of(var), output))


@app.command()
def explain(
    file: File,
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="One relation; by default all outputs.")] = None,
    output: Annotated[
        Literal["text", "mermaid", "svg", "json"], typer.Option(help="How the topology is drawn.")
    ] = "text",
    var: Variables = None,
    server: OtherwiseHere = None,
) -> None:
    """Show the steps of an application, the state they keep and until when, without running it."""
    if server is not None:
        from headrace.cli.inspect_server import explain_on

        if name is not None:
            raise typer.BadParameter("a server explains all outputs: leave out NAME or --server")
        explain_on(server, file, variables_of(var, {}), output)
        return
    from headrace.cli.inspect import explain_file

    explain_file(file, name, variables_of(var), output)


@app.command("try")
def try_file(
    file: File,
    var: Variables = None,
    seconds: Annotated[int, typer.Option("--for", min=1, max=300, help="For how many seconds.")] = 60,
    rows: Annotated[int | None, typer.Option(min=1, help="End after so many rows.", show_default=False)] = None,
    server: Server = None,
) -> None:
    """Run the last query of an application on a server without its sinks, and print its rows as JSON lines."""
    from headrace.cli.inspect_server import try_on

    try_on(server, file, variables_of(var, {}), seconds, rows)


@app.command()
def test(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Test files, or folders of them.")],
    rewrite: Annotated[bool, typer.Option("--rewrite", help="Accept the new rows as expected.")] = False,
) -> None:
    """Run test files, each case straight and with a stop and a resume after each batch."""
    from headrace.cli.tests import run_tests

    raise typer.Exit(run_tests(paths, rewrite=rewrite))


@app.command()
def demo(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Without one, lists them.")] = None,
    seconds: Annotated[float, typer.Option(min=1, help="How long it runs.")] = 60,
    console: Annotated[
        bool | None,
        typer.Option(
            "--console/--foreground",
            help="As a job of a server, or in this terminal; a server by default if there is a dashboard.",
            show_default=False,
        ),
    ] = None,
    stay: Annotated[bool, typer.Option("--stay", help="Until Ctrl-C, with a console.")] = False,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Where the console is; 8642 by default, 0 takes a free one.")
    ] = None,
) -> None:
    """Run one of the applications that come along, with a generator of its rows."""
    from headrace.cli.demo import list_demos, run_demo

    if console is False and (stay or port is not None):
        raise typer.BadParameter("--stay and --port are for a demo with a console: leave out --foreground")
    if name is None:
        list_demos()
    else:
        run_demo(name, seconds, console=console, stay=stay, port=port)


def main() -> None:
    """Run the command of this process's arguments."""
    if hasattr(sys.stdout, "reconfigure"):
        # Rows are UTF-8 whatever the locale says; a lone surrogate must not end a run.
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    app()


if __name__ == "__main__":
    main()
