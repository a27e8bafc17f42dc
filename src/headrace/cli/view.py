"""The commands ``headrace view``: the name of a view goes in; its rows, answers to SQL and its changes come out."""

import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from headrace.views.definition import ViewStore
    from headrace.views.locations import Location
    from headrace.views.reading import View

__all__ = ["view_app"]

view_app = typer.Typer(help="Read materialised views: by key, by SQL, or as they change.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The view.", show_default=False)]
Rows = Annotated[Literal["table", "json", "csv"], typer.Option("--output", help="How rows are printed.")]
Chosen = Annotated[
    str | None,
    typer.Option("--application", metavar="NAME", help="The application, or its file, if several have the view."),
]

_LISTED = ("view", "application", "store", "key", "rows", "batch", "watermark")


@view_app.command("list")
def list_views(output: Rows = "table", application: Chosen = None) -> None:
    """List the views that applications on this machine keep."""
    from headrace.cli.render import print_rows
    from headrace.views.locations import find_application

    rows = [row for location in find_application(application) for row in _listed(location)]
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
) -> None:
    """Print the rows of a key; exit 1 if there is none."""
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
) -> None:
    """Answer a SELECT over views, all as of one batch."""
    from headrace.cli.render import print_rows

    columns, rows = _store_of(sql, application).query(sql)
    names = _told_apart(columns)
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
) -> None:
    """Print the changes of a view as they happen, with _change (insert or delete) last. Ctrl-C ends."""
    from headrace.cli.signals import Stopping
    from headrace.cli.view_changes import ChangePrinter

    after = _position(start)
    view = _view(name, application)
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
                "at": reflects.at,
                "age": None if reflects.at is None else duration_text(datetime.now(UTC) - reflects.at),
            }
    except HeadraceError as error:
        complain(error.report())


def _key_text(columns: tuple[str, ...], texts: "list[str] | tuple[()]") -> str:
    pairs = ", ".join(f"{column} = {text}" for column, text in zip(columns, texts, strict=False))
    return f"with {pairs}" if pairs else ""


def _told_apart(columns: tuple[str, ...]) -> tuple[str, ...]:
    """Return names that are all different: a second ``n`` is ``n_2``."""
    names: list[str] = []
    for column in columns:
        name, number = column, 1
        while name in names:
            number += 1
            name = f"{column}_{number}"
        names.append(name)
    return tuple(names)
