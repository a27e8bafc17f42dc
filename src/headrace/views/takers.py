"""What a batch changes goes in; a store, a table of a database or a screen has it afterwards, once."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from headrace.connectors.tables import TableWriter
from headrace.views.definition import Delta, Reflects, Row, ViewStore
from headrace.views.store import Change, MemoryStore, Published

Notice = Callable[[str, int, Sequence[Change]], None]


@dataclass(slots=True)
class StoreTaker:
    """Keeps views in a store, and tells what changed in those that somebody watches."""

    store: ViewStore
    query: str
    columns: Mapping[str, tuple[str, ...]]
    notice: Notice | None = None
    watched: frozenset[str] = frozenset()
    forgetful: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The keys of views whose query forgets: it may publish a row anew without withdrawing the old one."""

    def take(self, batch: int, deltas: Mapping[str, Delta], reflects: Reflects) -> None:
        """Take in a batch of all views at once."""
        if self.forgetful:
            deltas = {name: self._reconciled(name, delta) for name, delta in deltas.items()}
        if not self.store.take(self.query, batch, deltas, reflects) or self.notice is None:
            return
        for name, delta in deltas.items():
            if name in self.watched and (delta.deleted or delta.inserted):
                self.notice(name, batch, changes_of(delta, self.columns[name]))

    def _reconciled(self, name: str, delta: Delta) -> Delta:
        """Return a change that fits what the store has, where the query has forgotten it."""
        key = self.forgetful.get(name)
        if key is None:
            return delta
        places = [self.columns[name].index(column) for column in key]
        kept: dict[str, tuple[list[Row], list[Row]]] = {}
        for row in (*delta.deleted, *delta.inserted):
            values = [row[place] for place in places]
            kept.setdefault(repr(values), (self.store.get(name, values), []))
        for row in delta.inserted:
            kept[repr([row[place] for place in places])][1].append(row)
        changed = [(old, new) for old, new in kept.values() if old != new]
        return Delta([row for old, _ in changed for row in old], [row for _, new in changed for row in new])


@dataclass(slots=True)
class TableTaker:
    """Writes a sink's table."""

    writer: TableWriter
    output: str

    def take(self, batch: int, deltas: Mapping[str, Delta], reflects: Reflects) -> None:
        """Take in a batch of the one output."""
        (delta,) = deltas.values()
        self.writer.take(self.output, batch, delta.deleted, delta.inserted)


@dataclass(slots=True)
class MemoryTaker:
    """Keeps the rows of a run that ends."""

    columns: tuple[str, ...]
    store: MemoryStore = field(default_factory=MemoryStore)
    notice: Callable[[int, Sequence[Change]], None] | None = None

    def take(self, batch: int, deltas: Mapping[str, Delta], reflects: Reflects) -> None:
        """Take in a batch of the one output."""
        (delta,) = deltas.values()
        gone = [Published(self._row(row), weight=-1) for row in delta.deleted]
        come = [Published(self._row(row)) for row in delta.inserted]
        changes = self.store.apply(batch, [*gone, *come])
        if self.notice is not None and changes:
            self.notice(batch, changes)

    def _row(self, row: Row) -> dict[str, object]:
        return dict(zip(self.columns, row, strict=True))


def changes_of(delta: Delta, columns: Sequence[str]) -> list[Change]:
    """Return what a batch does to a view as changes, what goes first."""
    return [
        *(Change("delete", dict(zip(columns, row, strict=True))) for row in delta.deleted),
        *(Change("insert", dict(zip(columns, row, strict=True))) for row in delta.inserted),
    ]
