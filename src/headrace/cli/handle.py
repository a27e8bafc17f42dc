"""The command ``headrace handle``: an application and a module go in; its commands are decided until told to stop."""

import threading
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.failures import complain
from headrace.cli.variables import variables_of

if TYPE_CHECKING:
    from headrace.events import CommandHandler

__all__ = ["handle"]

BETWEEN_LINES = timedelta(seconds=5)


def handle(
    file: Annotated[Path, typer.Argument(metavar="FILE.sql", help="The application.", show_default=False)],
    view: Annotated[str, typer.Option(metavar="NAME", help="The materialised view that commands are decided against.")],
    module: Annotated[
        str, typer.Option(metavar="NAME", help="The module beside the application with decide and evolve.")
    ] = "commands",
    commands: Annotated[str, typer.Option(metavar="NAME", help="The stream of commands.")] = "commands",
    events: Annotated[str, typer.Option(metavar="NAME", help="The table of events.")] = "events",
    rejections: Annotated[str, typer.Option(metavar="NAME", help="The table of rejections.")] = "rejections",
    once: Annotated[bool, typer.Option("--once", help="End when all commands that are there are decided.")] = False,
    seconds: Annotated[
        float | None, typer.Option("--for", metavar="SECONDS", min=0, help="Stop by itself after so long.")
    ] = None,
    var: Annotated[
        list[str] | None, typer.Option("--var", metavar="NAME=VALUE", help="Fills ${NAME}. Repeatable.")
    ] = None,
    state: Annotated[
        str | None, typer.Option(metavar="DIR", help="Where the application keeps its state, if not beside the file.")
    ] = None,
) -> None:
    """Decide commands: each becomes events, or is refused, once. Ctrl-C stops it."""
    from headrace.application import Application
    from headrace.cli.signals import Stopping
    from headrace.events import CommandHandler
    from headrace.events.module import load_functions

    application = Application.load(file, variables_of(var), state=state)
    decide, evolve = load_functions(module, application.directory)
    handler = CommandHandler(
        application,
        decide=decide,
        evolve=evolve,
        view=view,
        commands=commands,
        events=events,
        rejections=rejections,
        notice=lambda text: complain(f"warning: {text}"),
    )
    stopping = Stopping(told=lambda: complain("stopping"))
    with stopping.listening():
        timer = threading.Timer(seconds, stopping.event.set) if seconds is not None else None
        if timer is not None:
            timer.start()
        telling = threading.Thread(target=_tell, args=(handler, stopping.event), daemon=True)
        telling.start()
        try:
            handler.run(stopping.event, once=once)
        finally:
            stopping.event.set()
            if timer is not None:
                timer.cancel()
    complain(f"decided: {handler.handled}")


def _tell(handler: "CommandHandler", stopping: threading.Event) -> None:
    """Say from time to time what was done, if anything was."""
    said = str(handler.handled)
    while not stopping.wait(BETWEEN_LINES.total_seconds()):
        text = str(handler.handled)
        if text != said:
            complain(f"decided: {text}")
            said = text
