"""An application and the name of a view go in; the rows that the view shows now, and up to where, come out."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headrace.application import Application
from headrace.errors import HeadraceError
from headrace.views.located import open_located
from headrace.views.locations import Location, known
from headrace.views.reading import View

__all__ = ["CurrentRows", "locations_of", "positions_in"]


def locations_of(application: Application) -> list[Location]:
    """Return the stores in which an application keeps its views; none before its first start."""
    state = application.state_folder().removeprefix("file://")
    state = state if "://" in state else str(Path(state).absolute())
    return [each for each in known() if each.state is not None and each.state.removeprefix("file://") == state]


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

    def _found(self) -> View | None:
        if self._view is None:
            for location in locations_of(self._application):
                if self._name.lower() in {each.lower() for each in location.views}:
                    self._view = View(open_located(location), self._name)
                    break
        return self._view

    def positions(self) -> dict[int, int]:
        """Return the offset up to which each partition of the topic is in the view."""
        try:
            view = self._found()
            return {} if view is None else positions_in(view.reflects().positions, self._topic)
        except HeadraceError:
            self._view = None  # it was just removed, to be built anew
            return {}

    def row(self, entity: Any) -> dict[str, Any] | None:
        """Return the row of an entity."""
        if self._view is None:
            return None
        found = self._view.get(entity)
        return found if isinstance(found, dict) else None

    def close(self) -> None:
        """Close the store."""
        close = getattr(self._view.store, "close", None) if self._view is not None else None
        if close is not None:
            close()
        self._view = None
