"""Where a view is goes in, its store comes out, opened to read.

A store on a server is reached as its application says: the file is read again, so that no password is ever noted.
"""

import os
from pathlib import Path

from headrace.catalog.view_options import ViewOptions, view_options
from headrace.errors import HeadraceError
from headrace.language import fill, parse
from headrace.language.statements import CreateView
from headrace.views.definition import ViewStore
from headrace.views.locations import Location
from headrace.views.sqlite import SqliteViewStore

__all__ = ["open_located"]


def open_located(location: Location) -> ViewStore:
    """Return the store at a location."""
    if location.store == "sqlite":
        return SqliteViewStore(location.place, read_only=True)
    from headrace.views.open import open_store

    options = _declared(location) or ViewOptions(store=location.store, url=location.place)
    return open_store(options, Path(location.file or ".").parent, Path(location.place))


def _declared(location: Location) -> ViewOptions | None:
    """Return the options of the application's first view in this store, None if it has no file."""
    if location.file is None:
        return None
    try:
        text = Path(location.file).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise HeadraceError(
            f'the application "{location.file}" cannot be read', detail="It says how its views are reached."
        ) from error
    try:
        filled = fill(text, location.file, os.environ)
    except HeadraceError as error:
        raise HeadraceError(
            error.message,
            detail="The application says how its views are reached.",
            hint="Set the variable in the environment, as the application had it.",
            span=error.span,
        ) from error
    mine = {name.lower() for name in location.views}
    for statement in parse(filled):
        if isinstance(statement, CreateView) and statement.name.text.lower() in mine:
            options = view_options(statement.options, f'view "{statement.name.text}"', statement.name.span)
            if options.store == location.store:
                return options
    return None
