"""What an application gives: relations kept current for somebody, and small tables that answer at once."""

from dataclasses import dataclass, field
from typing import Any

from headrace.catalog.objects import Sink
from headrace.catalog.view_options import ViewOptions
from headrace.errors import Span
from headrace.plan.steps import Relation


@dataclass(frozen=True, slots=True)
class Output:
    """A relation that is kept current for somebody: a sink, a materialised view, or the screen."""

    name: str
    relation: Relation
    sink: Sink | None
    role: str
    view: ViewOptions | None = None
    key: tuple[str, ...] = ()
    """The columns that identify a row; none where equal rows may be there."""
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Answer:
    """What SHOW, DESCRIBE or EXPLAIN gives: a small table."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
