"""A stream goes in, the relation of its rows behind the watermark comes out; and which steps have left such out."""

from collections.abc import Sequence

from headrace.catalog.objects import Stream
from headrace.errors import PlanError, Span
from headrace.plan import types
from headrace.plan.steps import Deduplicate, Field, Kind, LateRows, Relation, Scan, Step, inputs, is_stateful, is_static

__all__ = ["POSITION", "REASON", "WATERMARK", "is_judged", "late_relation"]

REASON, WATERMARK, POSITION = "_reason", "_watermark", "_position"
ADDED = (Field(REASON, types.STRING), Field(WATERMARK, types.TIMESTAMP), Field(POSITION, types.STRING))


def late_relation(stream: Stream, fields: Sequence[Field]) -> Relation | None:
    """Return the late rows of a stream: its columns, and why they are here; None if it has no watermark.

    A column of the stream's own with the name of an added one stays, and the added one is left out.
    """
    if stream.watermark is None:
        return None
    taken = {each.name.lower() for each in fields}
    added = tuple(each for each in ADDED if each.name not in taken)
    time = next(each.name for each in fields if each.name.lower() == stream.watermark.column.lower())
    step = LateRows(Scan(stream), time, tuple(each.name for each in added))
    return Relation(step, (*fields, *added), Kind.APPEND)


def is_judged(step: Step, span: Span | None) -> bool:
    """Say whether a step of the input has told late rows from others already; raise if it has for some rows only.

    A windowed aggregate or a join gives rows as the watermark passes them: to ask again whether they are behind it
    would lose them.
    """
    if is_stateful(step) and not isinstance(step, Deduplicate):
        return True
    judged = {is_judged(each, span) for each in inputs(step) if not is_static(each)}
    if len(judged) > 1:
        raise PlanError(
            "a pattern over rows of a stream united with rows that were grouped or joined",
            detail="Of the former the search must tell which are late; the latter have been judged, and come later.",
            hint="Search each by itself, or ORDER BY ARRIVAL.",
            span=span,
        )
    return True in judged
