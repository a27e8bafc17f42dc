"""The views of an application and a value go in; rows that have it are counted, and their changes are removed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.application import Application
from headrace.events.current import kept_by, positions_in
from headrace.events.forgetting.report import Line
from headrace.events.forgetting.wanted import Wanted
from headrace.views.definition import ViewColumn, ViewDefinition, ViewStore
from headrace.views.kept import rows_file
from headrace.views.sqlite import SqliteViewStore

__all__ = ["KeptRows", "kept_rows", "wiped"]


@dataclass(frozen=True, slots=True)
class KeptRows:
    """One view or shown output whose rows are in a store, with the values in it that are to be forgotten."""

    store: ViewStore
    view: ViewDefinition
    place: str
    values: tuple[tuple[ViewColumn, Any], ...]

    def count(self) -> int:
        """Return how many rows have one of the values."""
        if len(self.values) == 1 and self.view.key and self.view.key[0] == self.values[0][0].name:
            return len(self.store.get(self.view.name, [self.values[0][1]]))
        names = [each.name for each in self.view.columns]
        places = [(names.index(column.name), value) for column, value in self.values]
        return sum(any(row[place] == value for place, value in places) for row in self.store.rows(self.view.name))

    def purge(self) -> int | None:
        """Remove the values from the change feed; return how many changes went, None if the store cannot do so."""
        purge = getattr(self.store, "purge", None)
        if purge is None:
            return None
        return sum(int(purge(self.view.name, column.name, value)) for column, value in self.values)

    def reflects(self, topic: str, ends: Mapping[int, int]) -> bool:
        """Say whether the view has read a topic up to some offsets; also if it does not read it."""
        shown = positions_in(self.store.reflects(self.view.name).positions, topic)
        return not shown or all(shown.get(partition, 0) >= end for partition, end in ends.items())


def kept_rows(application: Application, wanted: Sequence[Wanted]) -> list[KeptRows]:
    """Return the views and shown outputs that have one of the columns; none before the first start."""
    kept = kept_by(application)
    found: list[KeptRows] = []
    for output in application.plan.outputs:
        if output.view is not None:
            path = kept.path_of(output.view) if output.view.store == "sqlite" else None
            if path is not None and not path.is_file():
                continue
            store = kept.store_of(output.view)
            place = output.view.store if path is None else str(path)
        else:
            if kept.state is None or not rows_file(kept.state, output.name).is_file():
                continue
            store = SqliteViewStore(rows_file(kept.state, output.name))
            place = str(rows_file(kept.state, output.name))
        view = next((each for each in store.views() if each.name.lower() == output.name.lower()), None)
        values = () if view is None else _values(view, wanted)
        if view is not None and values:
            found.append(KeptRows(store, view, place, values))
    return found


def _values(view: ViewDefinition, wanted: Sequence[Wanted]) -> tuple[tuple[ViewColumn, Any], ...]:
    by_name = {each.name: each for each in view.columns}
    named = [(each.column_of(list(by_name)), each) for each in wanted]
    return tuple((by_name[name], each.value(by_name[name].type)) for name, each in named if name is not None)


def wiped(rows: Sequence[KeptRows]) -> list[Line]:
    """Rewrite each file of views once, so that no deleted row is left between the others."""
    lines = []
    for place, store in {each.place: each.store for each in rows}.items():
        wipe = getattr(store, "wipe", None)
        if wipe is not None and not wipe():
            note = "somebody reads an old copy of this file; run it again when they have ended"
            lines.append(Line("file of views", place, note=note, wrong=True))
    return lines
