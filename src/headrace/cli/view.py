"""The commands ``headrace view``: the name of a view goes in; its rows, answers to SQL and its changes come out."""

import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from headrace.cli.client import OtherwiseHere
from headrace.cli.listing import Rows
from headrace.cli.view_rows import rows, show

if TYPE_CHECKING:
    from headrace.cli.view_server import ServedView
    from headrace.views.definition import ViewStore
    from headrace.views.locations import Location
    from headrace.views.reading import View

__all__ = ["view_app"]

view_app = typer.Typer(help="Read materialised views: by key, by SQL, or as they change.")
view_app.command()(rows)
view_app.command()(show)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The view.", show_default=False)]
Chosen = Annotated[
    str | None,
    typer.Option("--application", metavar="NAME", help="The application, or its file, if several have the view."),
]

_LISTED = ("view", "application", "store", "key", "rows", "batch", "watermark", "positions")


@view_app.command("list")
def list_views(output: Rows = "table", application: Chosen = None, server: OtherwiseHere = None) -> None:
    """List the views that applications on this machine, or the jobs of a server, keep."""
    if server is not None:
        from headrace.cli import view_server

        _without(application)
        view_server.list_views(server, output)
        return
    from headrace.cli.positions import as_values, in_short
    from headrace.cli.render import print_rows
    from headrace.views.locations import find_application

    told = as_values if output == "json" else in_short
    rows = [
        {**row, "positions": told(row["positions"])}
        for location in find_application(application)
        for row in _listed(location)
    ]
    print_rows(rows, [*_LISTED, "age" if output == "table" else "at"], output, sys.stdout)


@view_app.command()
def get(
    name: Name,
    key: Annotated[
        list[str] | None,
        typer.Argument(metavar="[KEY]...", help="Values of the key columns in their order; fewer give several rows."),
    ] = None,
    output: Rows = "table",
    application: Chosen = None,
    server: OtherwiseHere = None,
) -> None:
    """Print the rows of a key; exit 1 if there is none."""
    if server is not None:
        from headrace.cli import view_server

        _without(application)
        view_server.get_row(server, name, key or [], output)
        return
    from headrace.cli.render import print_rows
    from headrace.errors import HeadraceError
    from headrace.views.reading_keys import key_from_text

    view = _view(name, application)
    values = key_from_text(view.definition, key or ())
    found = view.get(*values)
    rows = found if isinstance(found, list) else [found] if found is not None else []
    if not rows:
        raise HeadraceError(f'view "{view.name}" has no row {_key_text(view.definition.key, key or ())}'.rstrip())
    print_rows(rows, view.columns, output, sys.stdout)


@view_app.command()
def query(
    sql: Annotated[str, typer.Argument(metavar="SELECT", help="One SELECT over views.", show_default=False)],
    output: Rows = "table",
    application: Chosen = None,
    server: OtherwiseHere = None,
) -> None:
    """Answer a SELECT over views, all as of one batch."""
    if server is not None:
        from headrace.cli import view_server

        _without(application)
        view_server.query_views(server, sql, output)
        return
    from headrace.cli.render import print_rows
    from headrace.views.names import told_apart

    columns, rows = _store_of(sql, application).query(sql)
    names = told_apart(columns)
    print_rows([dict(zip(names, row, strict=True)) for row in rows], names, output, sys.stdout)


@view_app.command()
def follow(
    name: Name,
    start: Annotated[
        str, typer.Option("--from", metavar="now|start|BATCH", help="Where to begin; BATCH means after that batch.")
    ] = "now",
    seconds: Annotated[
        float | None, typer.Option("--for", metavar="SECONDS", min=0, help="Stop by itself after so long.")
    ] = None,
    output: Rows = "table",
    application: Chosen = None,
    server: OtherwiseHere = None,
) -> None:
    """Print the changes of a view as they happen, with _change (insert or delete) last. Ctrl-C ends."""
    from headrace.cli.signals import Stopping
    from headrace.cli.view_changes import ChangePrinter

    after = _position(start)
    view = _view(name, application) if server is None else _served(server, name, application)
    printer = ChangePrinter(view.columns, output, sys.stdout)
    stopping = Stopping(told=lambda: None)
    timer = threading.Timer(seconds, stopping.event.set) if seconds is not None else None
    with stopping.listening():
        batches = view.follow_batches(after, stopping.event)
        if timer is not None:
            timer.start()
        try:
            for batch in batches:
                printer.show(batch)
        finally:
            if timer is not None:
                timer.cancel()


def _position(text: str) -> int | Literal["now"] | None:
    if text.lower() == "now":
        return "now"
    if text.lower() == "start":
        return None
    if not text.isdecimal():
        raise typer.BadParameter(f'"{text}" is not now, start or the number of a batch', param_hint="--from")
    return int(text)


def _view(name: str, application: str | None) -> "View":
    from headrace.views.locations import find
    from headrace.views.reading import View

    return View(_open(find(name, application)), name)


def _served(server: str, name: str, application: str | None) -> "ServedView":
    from headrace.cli.view_server import served_view

    _without(application)
    return served_view(server, name)


def _without(application: str | None) -> None:
    if application is not None:
        raise typer.BadParameter("a server knows jobs: write JOB.NAME in place of --application", param_hint="--server")


def _store_of(sql: str, application: str | None) -> "ViewStore":
    """Return the store that holds the views of a query."""
    from headrace.errors import PlanError
    from headrace.views.locations import find
    from headrace.views.query_text import view_names

    locations = {(each.store, each.place): each for each in (find(name, application) for name in view_names(sql))}
    if not locations:
        raise PlanError("the query reads no view", hint="Name one in FROM; headrace view list shows which there are.")
    if len(locations) > 1:
        places = " and ".join(place for _, place in sorted(locations))
        raise PlanError("the views of the query are in different stores", detail=f"They are {places}.")
    return _open(next(iter(locations.values())))


def _open(location: "Location") -> "ViewStore":
    """Return the store at a location, to read."""
    from headrace.views.located import open_located

    return open_located(location)


def _listed(location: "Location") -> Iterator[dict[str, Any]]:
    """Yield what is told of each view of a store; a store that cannot be read is complained of."""
    from headrace.cli.failures import complain
    from headrace.cli.status import duration_text
    from headrace.errors import HeadraceError

    try:
        store = _open(location)
        mine = {name.lower() for name in location.views}
        for view in store.views():
            if view.name.lower() not in mine:
                continue
            reflects = store.reflects(view.name)
            escaped = view.name.replace("`", "``")
            [(count,)] = store.query(f"SELECT count(*) AS n FROM `{escaped}`")[1]
            yield {
                "view": view.name,
                "application": location.application,
                "store": location.store,
                "key": ", ".join(view.key) or None,
                "rows": count,
                "batch": reflects.batch,
                "watermark": reflects.watermark,
                "positions": reflects.positions,
                "at": reflects.at,
                "age": None if reflects.at is None else duration_text(datetime.now(UTC) - reflects.at),
            }
    except HeadraceError as error:
        complain(error.report())


def _key_text(columns: tuple[str, ...], texts: "list[str] | tuple[()]") -> str:
    pairs = ", ".join(f"{column} = {text}" for column, text in zip(columns, texts, strict=False))
    return f"with {pairs}" if pairs else ""
