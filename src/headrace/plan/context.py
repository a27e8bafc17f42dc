"""What a query may refer to while it is planned: relations, functions, and the text it stands in."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import count

from sqlglot import exp

from headrace.catalog.objects import Function
from headrace.errors import PlanError, Source, Span
from headrace.language.spans import span_of
from headrace.plan.scope import did_you_mean
from headrace.plan.steps import Kind, Relation, is_maintained

COMPANIONS = (DEAD, LATE) = (".dead", ".late")
"""What follows the name of a stream in those of its companions: what does not parse, and what comes too late."""


@dataclass(frozen=True, slots=True)
class Context:
    """The names that are known where a query stands; names are matched without regard to case."""

    source: Source
    relations: Mapping[str, Relation]
    functions: Mapping[str, Function]
    lookup_name: Callable[[], str]

    def relation(self, name: str, span: Span | None) -> Relation:
        """Return the relation of a name, or raise with the nearest name as a hint."""
        found = self.relations.get(name.lower())
        if found is not None:
            return found
        head, _, companion = name.lower().partition(".")
        if companion == "late" and head in self.relations:
            raise PlanError(
                f'"{head}" has no late rows',
                detail="A row is late when the watermark of its stream has passed its time.",
                hint=f"Give stream {head} a watermark: WATERMARK FOR at AS at - INTERVAL 5 SECONDS.",
                span=span,
            )
        if head != name.lower() and head not in self.relations:
            raise PlanError(
                f'unknown table or stream "{name}"',
                detail=f'A name with a dot is what another job has, here "{name.rpartition(".")[0]}"; '
                "only a server knows its jobs.",
                hint="Submit the application to a server: headrace job submit FILE.",
                span=span,
            )
        shown = [each for each in self.relations if not each.endswith(COMPANIONS)]
        raise PlanError(f'unknown table or stream "{name}"', hint=did_you_mean(name, shown), span=span)

    def including(self, names: Mapping[str, Relation]) -> "Context":
        """Return a context in which some more names are known."""
        return replace(self, relations={**self.relations, **names})

    def span(self, node: exp.Expr) -> Span | None:
        """Return where a node stands in the user's text."""
        return span_of(node, self.source)


def lookup_names() -> Callable[[], str]:
    """Return a function that gives a new name at each call."""
    numbers = count()
    return lambda: f"headrace_lookup_{next(numbers)}"


def check_composable(relation: Relation, span: Span | None) -> None:
    """Raise if nothing can be built on a relation: a window's rows that change are kept by key, not row by row."""
    if relation.kind is Kind.CHANGELOG and not is_maintained(relation.step):
        raise PlanError(
            "a query over a window that publishes its rows as they change",
            detail="What such a window publishes is replaced until it closes.",
            hint="Leave EMIT CHANGES out of it: its rows are then final, and any query can go on from there.",
            span=span,
        )


def not_supported(what: str, span: Span | None, hint: str | None = None) -> PlanError:
    """Return the error for something that parses but that no release runs yet."""
    return PlanError(f"{what} is not supported yet", hint=hint, span=span)
