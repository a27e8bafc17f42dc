"""The command ``headrace forget``: an application and values go in; a report on what was removed comes out."""

import fcntl
import os
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from headrace.cli.failures import complain
from headrace.cli.variables import variables_of
from headrace.errors import JobFailed

if TYPE_CHECKING:
    from headrace.application import Application

__all__ = ["forget"]

POLL = 0.2


def forget(
    file: Annotated[Path, typer.Argument(metavar="FILE.sql", help="The application.", show_default=False)],
    key: Annotated[
        list[str],
        typer.Option(
            "--key", metavar="COLUMN=VALUE", help="What is to be forgotten, wherever the column is. Repeatable."
        ),
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be removed.")] = False,
    wait: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, help="How long views and the broker's compaction may take.")
    ] = 120,
    output: Annotated[Literal["table", "json", "csv"], typer.Option(help="How the report is printed.")] = "table",
    var: Annotated[
        list[str] | None, typer.Option("--var", metavar="NAME=VALUE", help="Fills ${NAME}. Repeatable.")
    ] = None,
    state: Annotated[
        str | None, typer.Option(metavar="DIR", help="Where the application keeps its state, if not beside the file.")
    ] = None,
    master: Annotated[
        str | None, typer.Option(metavar="URL", help="The Spark cluster; by default this machine.")
    ] = None,
) -> None:
    """Remove one person's data from tables, state, views and compacted topics; exit 1 if something is left."""
    from headrace.application import Application
    from headrace.cli.render import print_rows
    from headrace.events.forgetting.forget import forget as forget_rows
    from headrace.events.forgetting.report import COLUMNS, as_rows, is_complete
    from headrace.events.forgetting.wanted import wanted_of

    place = os.path.abspath(state) if state is not None and "://" not in state else state
    application = Application.load(file, variables_of(var), state=place, master=master)
    patience = timedelta(seconds=wait)
    lines = forget_rows(
        application,
        [wanted_of(each) for each in key],
        catch_up=lambda reflected: catch_up(application, reflected, patience),
        dry_run=dry_run,
        patience=patience,
    )
    print_rows(as_rows(lines), COLUMNS, output, sys.stdout)
    if not is_complete(lines):
        complain("error: not all of it is removed; the notes say what is left")
        raise typer.Exit(1)


def catch_up(application: "Application", reflected: Callable[[], bool], patience: timedelta) -> None:
    """Bring the views up to date: by a run until all is processed, or by waiting for the one that runs."""
    from headrace.cli.quiet import start_spark
    from headrace.cli.workplace import alone, run_log

    state = application.state_folder()
    if _is_running(state):
        complain("waiting until the application, which runs, has brought its views up to date ...")
        _await(reflected, patience)
        return
    complain("bringing the views up to date ...")
    with alone(state), run_log(state) as log:
        start_spark(application.session, log)
        try:
            application.start()
            application.process_available()
        finally:
            application.stop()


def _is_running(state: str) -> bool:
    """Say whether a process of this machine holds the state of an application."""
    lock = Path(f"{state}.lock")
    if not lock.is_file():
        return False
    with lock.open("r+") as opened:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def _await(reflected: Callable[[], bool], patience: timedelta) -> None:
    until = time.monotonic() + patience.total_seconds()
    while not reflected():
        if time.monotonic() > until:
            raise JobFailed(
                f"the views are not up to date after {patience.total_seconds():.0f} seconds",
                detail="The deletes are written; the application has not taken them in yet.",
                hint="Run this again later, or give it longer: --wait SECONDS.",
            )
        time.sleep(POLL)
