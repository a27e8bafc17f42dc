"""A view goes in; its definition and how far its rows are come out, read again only when its store has changed."""

import time
from collections.abc import Callable

from headrace.server.services.views import JobView, Views
from headrace.views.definition import Reflects, ViewDefinition

__all__ = ["Glances"]

SETTLED = 2.0
"""Seconds after its last change from which on a store is known by the stamps of its files: two changes within one tick
of a file system's clock have the same."""
MOST = 5_000
"""How many views are remembered."""

Glance = tuple[ViewDefinition, Reflects]


class Glances:
    """Remembers what views say of themselves: a list of many would open the store of each, every time."""

    def __init__(self, views: Views, now: Callable[[], float] = time.time) -> None:
        self._views, self._now = views, now
        self._known: dict[tuple[str, int, str], tuple[object, Glance]] = {}

    def at(self, view: JobView) -> Glance:
        """Return the definition of a view and up to where its input is in it; raise if it is not there yet."""
        key = (view.planned.job.id, view.planned.job.version, view.name)
        now, stamp = self._now(), self._views.version(view)  # before it is read: it may change meanwhile
        known = self._known.get(key)
        if known is not None and stamp and known[0] == stamp:
            return known[1]
        with self._views.opened(view) as opened:
            found = opened.definition, opened.reflects()
        if stamp and max(each.changed for each in stamp) < now - SETTLED:
            if len(self._known) >= MOST:
                self._known.clear()
            self._known[key] = (stamp, found)
        return found
