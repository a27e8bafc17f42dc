"""The outputs of a query go in; the stores that keep them, and who takes their changes, come out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from headrace.catalog.view_options import ViewOptions
from headrace.errors import HeadraceError
from headrace.plan.outputs import Output
from headrace.views.definition import ViewColumn, ViewDefinition, ViewStore
from headrace.views.locations import Location
from headrace.views.open import open_store
from headrace.views.sqlite import SqliteViewStore
from headrace.views.store import MemoryStore
from headrace.views.takers import MemoryTaker, Notice, StoreTaker

VIEWS = "views.sqlite"
SHORT = timedelta(0)
"""How far the feed of a screen goes back: nobody reads it."""


@dataclass(slots=True)
class Kept:
    """The stores of a running application; ``state`` is its folder, None if that is not on this machine."""

    base: Path
    state: Path | None
    application: str
    stores: dict[tuple[object, ...], ViewStore] = field(default_factory=dict)
    memories: dict[str, MemoryStore] = field(default_factory=dict)
    of_output: dict[str, ViewStore] = field(default_factory=dict)

    def takers(
        self, query: str, outputs: Sequence[Output], notice: Notice | None, shown: Callable[[Output], bool]
    ) -> dict[str, StoreTaker | MemoryTaker]:
        """Return who takes the changes of each output; those of one store are taken at once."""
        found: dict[str, StoreTaker | MemoryTaker] = {}
        by_store: dict[int, StoreTaker] = {}
        for output in outputs:
            store = self._store(output)
            if store is None:
                found[output.name] = self._in_memory(output, notice if shown(output) else None)
                continue
            self.of_output[output.name.lower()] = store
            taker = by_store.setdefault(id(store), StoreTaker(store, self.query(query), {}, notice))
            taker.columns = {**taker.columns, output.name: output.relation.names}
            taker.watched |= {output.name} if shown(output) else set()
            found[output.name] = taker
        return found

    def query(self, name: str) -> str:
        """Return the name of a query in a store that several applications may share."""
        return f"{self.application}.{name}"

    def _in_memory(self, output: Output, notice: Notice | None) -> MemoryTaker:
        store = self.memories[output.name.lower()] = MemoryStore()
        name = output.name
        told = None if notice is None else lambda batch, changes: notice(name, batch, changes)
        return MemoryTaker(output.relation.names, store, told)

    def _store(self, output: Output) -> ViewStore | None:
        """Return the store of an output; that of a screen is its own, None if there is no place for it."""
        if output.view is None:
            if self.state is None:
                return None
            path = rows_file(self.state, output.name)
            if (path,) not in self.stores:
                self.stores[path,] = SqliteViewStore(path)
            return self.stores[path,]
        return self.store_of(output.view)

    def store_of(self, options: ViewOptions) -> ViewStore:
        """Return the store that a view's options name, opened once."""
        if options.store == "sqlite" and options.path is None and self.state is None:
            raise HeadraceError(
                "a view in SQLite needs a place on this machine",
                detail="The application's state is on another.",
                hint="Add store = 'postgres' to the view, or path = 'views.sqlite'.",
            )
        place = (options.store, options.path, options.url, options.schema, options.prefix)
        if place not in self.stores:
            self.stores[place] = open_store(options, self.base, (self.state or self.base) / VIEWS)
        return self.stores[place]

    def path_of(self, options: ViewOptions) -> Path:
        """Return the file of a view in SQLite."""
        return (self.state or self.base) / VIEWS if options.path is None else self.base / options.path

    def locations(self, outputs: Sequence[Output], file: str | None, state: str) -> list[Location]:
        """Return where the views are, a note for each store."""
        by_place: dict[tuple[str, str], list[str]] = {}
        for output in outputs:
            options = output.view
            if options is None or output.name.lower() not in self.of_output:
                continue
            place = options.url if options.store != "sqlite" else str(self.path_of(options))
            by_place.setdefault((options.store, place or ""), []).append(output.name)
        return [
            Location(self.application, store, place, tuple(names), file, state)
            for (store, place), names in by_place.items()
        ]

    def define(
        self,
        query: str,
        outputs: Sequence[Output],
        columns: Mapping[str, Sequence[ViewColumn]],
        *,
        anew: bool,
    ) -> None:
        """Make the outputs known to their stores; with ``anew`` what an earlier query kept there is forgotten."""
        for store in {id(each): each for each in self.of_output.values()}.values():
            mine = [output for output in outputs if self.of_output.get(output.name.lower()) is store]
            if not mine:
                continue
            if anew:
                self._forget(store, query, mine)
            store.define(self.query(query), [_definition(output, columns[output.name]) for output in mine])

    def _forget(self, store: ViewStore, query: str, outputs: Sequence[Output]) -> None:
        """Forget what this application kept: by this query, and by others that these outputs were part of before."""
        owners = {store.owner(output.name) for output in outputs}
        mine = {each for each in owners if each is not None and each.startswith(self.query(""))}
        for owner in sorted(mine | {self.query(query)}):
            store.remove(owner)

    def close(self) -> None:
        """Let go of the stores."""
        for store in self.stores.values():
            close = getattr(store, "close", None)
            if close is not None:
                close()


def rows_file(state: Path, output: str) -> Path:
    """Return the file that keeps the rows of an output that is not a view."""
    return state / output.lower() / "rows.sqlite"


def _definition(output: Output, columns: Sequence[ViewColumn]) -> ViewDefinition:
    options = output.view
    if options is None:
        return ViewDefinition(output.name, tuple(columns), output.key, retain=SHORT)
    known = {column.name.lower(): column.name for column in columns}
    indexes = tuple(tuple(known[name.lower()] for name in index) for index in options.indexes)
    return ViewDefinition(output.name, tuple(columns), output.key, indexes, options.retain)
