"""The statements of a text go in; the names in it that are another job's come out, each with its place."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from sqlglot import exp

from headrace.errors import Source, Span
from headrace.language import statements as st
from headrace.language.spans import span_of

__all__ = ["Outside", "outside_names"]

_CREATES = (st.CreateStream, st.CreateTable, st.CreateView, st.CreateSink)
_DEAD = "dead"


@dataclass(frozen=True, slots=True)
class Outside:
    """``JOB.RELATION`` as a query names it; the name of a job may have dots of its own."""

    job: str
    relation: str
    span: Span = field(compare=False, repr=False)


def outside_names(statements: Iterable[st.Statement], source: Source) -> list[Outside]:
    """Return what a text reads of other jobs, in its order, each once.

    >>> from headrace.language import parse
    >>> text = Source("a.sql", "SELECT * FROM fraud.alerts a JOIN fraud.cards.dead d ON d.raw = a.card")
    >>> [(each.job, each.relation, each.span.text) for each in outside_names(parse(text), text)]
    [('fraud', 'alerts', 'fraud.alerts'), ('fraud', 'cards', 'fraud.cards.dead')]
    """
    several = list(statements)
    own = {each.name.text.lower() for each in several if isinstance(each, _CREATES)}
    found: dict[tuple[str, str], Outside] = {}
    for parts, span in sorted(_dotted(several, source), key=lambda each: each[1].start):
        if parts[0].lower() in own:
            continue  # a companion of the text's own, as in clicks.dead
        named = parts[:-1] if len(parts) > 2 and parts[-1].lower() == _DEAD else parts
        job, relation = ".".join(named[:-1]), named[-1]
        found.setdefault((job, relation.lower()), Outside(job, relation, span))
    return list(found.values())


def _dotted(statements: Iterable[st.Statement], source: Source) -> Iterator[tuple[list[str], Span]]:
    """Yield the names with dots that are read, as their parts."""
    for statement in statements:
        if isinstance(statement, st.Explain):
            yield from _dotted([statement.statement], source)
        if isinstance(statement, st.Describe) and "." in statement.name.text:
            yield statement.name.text.split("."), statement.name.span
        query = getattr(statement, "query", None)
        for table in query.tree.find_all(exp.Table) if query is not None else ():
            parts = list(table.parts)
            if len(parts) > 1 and all(isinstance(part, exp.Identifier) for part in parts):
                span = span_of(parts[0], source).to(span_of(parts[-1], source))
                yield [part.name for part in parts], span
