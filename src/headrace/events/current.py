"""An application and the name of a view go in; the rows that the view shows now, and up to where, come out."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headrace.application import Application
from headrace.errors import HeadraceError
from headrace.views.kept import Kept
from headrace.views.reading import View
from headrace.views.sqlite import SqliteViewStore

__all__ = ["CurrentRows", "kept_by", "open_view", "positions_in"]


def kept_by(application: Application) -> Kept:
    """Return the stores of an application, opened when they are asked for."""
    state = application.state_folder()
    local = "://" not in state or state.startswith("file://")
    return Kept(application.directory, Path(state.removeprefix("file://")) if local else None, application.name)


def open_view(application: Application, name: str) -> View | None:
    """Return a materialised view to read, None as long as the application has not made it."""
    options = next(each.view for each in application.plan.outputs if each.name.lower() == name.lower())
    if options is None:
        raise ValueError(f"{name} is not a materialised view")
    kept = kept_by(application)
    if options.store != "sqlite":
        store = kept.store_of(options)
    else:
        store = SqliteViewStore(kept.path_of(options), read_only=True)
        if not store.made():
            return None
    return View(store, name) if name.lower() in {each.name.lower() for each in store.views()} else None


def positions_in(positions: Mapping[str, str], topic: str) -> dict[int, int]:
    """Return up to where a topic is read, from the positions that a view notes; the least if it is read twice.

    >>> positions_in({"events": '{"ledger":{"0":12}}', "files": '{"logOffset":3}'}, "ledger")
    {0: 12}
    """
    least: dict[int, int] = {}
    for text in positions.values():
        try:
            noted = json.loads(text)
        except ValueError:
            continue
        offsets = noted.get(topic) if isinstance(noted, dict) else None
        for partition, offset in offsets.items() if isinstance(offsets, dict) else ():
            least[int(partition)] = min(int(offset), least.get(int(partition), int(offset)))
    return least


class CurrentRows:
    """The rows of one view by key; none as long as the application has not made the view."""

    def __init__(self, application: Application, name: str, topic: str) -> None:
        self._application = application
        self._name = name
        self._topic = topic
        self._view: View | None = None

    def positions(self) -> dict[int, int]:
        """Return the offset up to which each partition of the topic is in the view."""
        try:
            self._view = self._view or open_view(self._application, self._name)
            return {} if self._view is None else positions_in(self._view.reflects().positions, self._topic)
        except HeadraceError:
            self.close()  # it was just removed, to be built anew
            return {}

    def row(self, entity: Any) -> dict[str, Any] | None:
        """Return the row of an entity."""
        if self._view is None:
            return None
        try:
            found = self._view.get(entity)
        except HeadraceError:
            self.close()
            return None
        return found if isinstance(found, dict) else None

    def close(self) -> None:
        """Close the store."""
        close = getattr(self._view.store, "close", None) if self._view is not None else None
        if close is not None:
            close()
        self._view = None
