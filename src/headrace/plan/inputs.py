"""The inputs of one SELECT while they are put together: joined into one relation, each under its name."""

from dataclasses import dataclass, field

from sqlglot import exp

from headrace.plan.binding import Binder
from headrace.plan.scope import Item
from headrace.plan.sources import SourceItem, assigned
from headrace.plan.steps import Field, Relation, Rename, Scalar


@dataclass(slots=True)
class Inputs:
    """The joined inputs of a SELECT; ``pending`` is the only one, while its window is not applied."""

    relation: Relation
    items: list[Item]
    pending: SourceItem | None
    where: list[exp.Expr]
    shared: dict[str, str] = field(default_factory=dict)
    generated: bool = False
    subqueries: int = 0

    def settled(self) -> Relation:
        """Return the relation with the window's columns, for a query that does not group."""
        if self.pending is None or self.generated:
            return self.relation
        return assigned(self.pending, None)

    def bind_where(self, binder: Binder) -> Scalar | None:
        """Bind what is left of WHERE, None if nothing is."""
        if not self.where:
            return None
        tree = self.where[0] if len(self.where) == 1 else exp.and_(*self.where, copy=True)
        return binder.condition(tree, "WHERE")

    def prefix_first(self) -> None:
        """Let the columns of an only input be called ``alias.column``, as those of several are."""
        only = self.items[0]
        if len(self.items) > 1 or only.inner != tuple(each.name for each in only.fields):
            return
        source = self.pending if self.pending is not None else SourceItem(only.alias, self.relation)
        self.relation, described = prefixed(source)
        self.items[0], self.pending = described, None


def prefixed(item: SourceItem) -> tuple[Relation, Item]:
    """Return an input whose columns are called ``alias.column``, so that names stay unique."""
    relation = assigned(item, None)
    inner = tuple(f"{item.alias}.{each.name}" for each in relation.fields)
    fields = tuple(Field(name, each.type) for name, each in zip(inner, relation.fields, strict=True))
    times = frozenset(f"{item.alias}.{name}" for name in relation.times)
    renamed = Relation(Rename(relation.step, inner, item.alias), fields, relation.kind, times)
    return renamed, Item(item.alias, relation.fields, inner)
