"""What a batch changes goes in; a store, a table of a database or a screen has it afterwards, once."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from headrace.connectors.tables import TableWriter
from headrace.errors import HeadraceError
from headrace.views.definition import Delta, Reflects, Row, ViewStore
from headrace.views.store import Change, MemoryStore, Published

Notice = Callable[[str, int, Sequence[Change]], None]


class Note(Protocol):
    """Remembers beside a query's checkpoint that a table has taken batches of it."""

    def is_there(self) -> bool:
        """Say whether it has been written."""

    def write(self) -> None:
        """Write it."""


@dataclass(slots=True)
class StoreTaker:
    """Keeps views in a store, and tells what changed in those that somebody watches."""

    store: ViewStore
    query: str
    columns: Mapping[str, tuple[str, ...]]
    notice: Notice | None = None
    watched: frozenset[str] = frozenset()
    begun: bool = False

    def take(self, batch: int, deltas: Mapping[str, Delta], reflects: Reflects) -> None:
        """Take in a batch of all views at once."""
        if not self.begun:
            check_in_step(f"the store of {', '.join(deltas)}", self.store.last_batch(self.query), batch)
            self.begun = True
        if not self.store.take(self.query, batch, deltas, reflects) or self.notice is None:
            return
        for name, delta in deltas.items():
            if name in self.watched and (delta.deleted or delta.inserted):
                self.notice(name, batch, changes_of(delta, self.columns[name]))


@dataclass(slots=True)
class TableTaker:
    """Writes a sink's table; a note tells later runs that it has taken batches."""

    writer: TableWriter
    output: str
    note: Note | None = None
    begun: bool = False

    def take(self, batch: int, deltas: Mapping[str, Delta], reflects: Reflects) -> None:
        """Take in a batch of the one output."""
        ((name, delta),) = deltas.items()
        if not self.begun:
            last = self.writer.last_batch(self.output)
            if last is not None or (self.note is not None and self.note.is_there()):
                check_in_step(f'the table of sink "{name}"', last, batch)
        self.writer.take(self.output, batch, delta.deleted, delta.inserted)
        if not self.begun and self.note is not None:
            self.note.write()
        self.begun = True


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


def check_in_step(what: str, last: int | None, batch: int) -> None:
    """Raise if a query goes on with a later batch than the next one: those between are lost."""
    if batch > (-1 if last is None else last) + 1:
        raise HeadraceError(
            f"{what} is out of step with its query",
            detail=f"{'It has taken in nothing' if last is None else f'The last batch that it has is {last}'}, "
            f"and the query goes on with batch {batch}. It was deleted, or an older copy was put in its place.",
            hint="Start the application with --fresh to build it anew.",
        )


def changes_of(delta: Delta, columns: Sequence[str]) -> list[Change]:
    """Return what a batch does to a view as changes, what goes first."""
    return [
        *(Change("delete", dict(zip(columns, row, strict=True))) for row in delta.deleted),
        *(Change("insert", dict(zip(columns, row, strict=True))) for row in delta.inserted),
    ]
