"""A search for a pattern goes in, what people read about it comes out."""

from collections.abc import Iterator

from headrace.connectors.durations import duration_text
from headrace.plan.match_state import has_many_ways, looks_ahead, looks_back, takes_several, untold
from headrace.plan.patterns import AtEnd, AtStart
from headrace.plan.slots import Asked
from headrace.plan.steps import Match, Scalar, Skip


def described_match(step: Match) -> tuple[str, tuple[str, ...], str | None, tuple[str, ...]]:
    """Return the title of a search, its details, what it remembers, and what to beware of."""
    names = step.program.variables
    key = ", ".join(step.partition)
    title = f"search {f'the rows of each {key}' if key else 'all rows'} for {step.pattern}"
    title += f" within {duration_text(step.within)}" if step.within is not None else ""
    columns = ", ".join((*((step.time,) if step.time else ()), *(name for name, _, _ in step.order)))
    waiting = "" if step.static else ", once the watermark has passed"
    details = [_arriving(step) if step.arrival else f"in the order of {columns}{waiting}"]
    details += [f"{names[variable]} where {_written(condition)}" for variable, condition in step.conditions]
    details.append(
        f"gives {step.shown.value}" + (", and partial matches that ran out of time" if step.timeouts else "")
    )
    to = ", ".join(names[each] for each in step.skip_to)
    after = f"{step.skip.value} {to}".rstrip()
    details.append(f"after a match the search goes on {after}" + _side(step))
    return title, tuple(details), _state(step, key), tuple(_warnings(step, key))


def _arriving(step: Match) -> str:
    return "in the order in which they arrive" + (f", their time is {step.time}" if step.within is not None else "")


def _side(step: Match) -> str:
    return ", so matches may overlap" if step.skip is Skip.TO_NEXT_ROW else ""


def _written(value: Scalar) -> str:
    """Return an expression as the user wrote it, in one line."""
    if value.span is None:
        return ""
    return " ".join(value.span.source.text[value.span.start : value.span.end].split())


def _state(step: Match, key: str) -> str | None:
    if step.static:
        return None
    of = f" of each {key}" if key else ""
    parts = [] if step.arrival else [f"rows until the watermark passes {step.time}"]
    parts.append(f"the rows of open partial matches{of}{_until(step)}")
    if back := looks_back(step):
        parts.append(f"{_last(back)}{of}, for PREV")
    if ahead := looks_ahead(step):
        parts.append(f"{_last(ahead)}{of}, until {_further(ahead)} for NEXT")
    return "; ".join(parts)


def _until(step: Match) -> str:
    if step.program.has(AtEnd):
        return ", until the input has ended"
    if step.within is None:
        return ""
    return ", until the next row comes too late" if step.arrival else f", for at most {duration_text(step.within)}"


def _last(rows: int) -> str:
    return "the last row" if rows == 1 else f"the last {rows} rows"


def _further(rows: int) -> str:
    return "a further one comes" if rows == 1 else f"{rows} further ones come"


def _warnings(step: Match, key: str) -> list[str]:
    if step.static:
        return []
    found = []
    if not key:
        found.append("all rows are searched in one place: the pattern has no PARTITION BY")
    looping = list(dict.fromkeys(step.program.variables[each] for each in step.program.loops()))
    if looping and step.within is None:
        found.append(
            f"partial matches may grow without bound: {' and '.join(looping)} may repeat for ever, "
            "and there is no WITHIN"
        )
    found += _kept_for_ever(step, key, open_ended=not looping) if key else []
    apart = untold(step)
    if apart and has_many_ways(step.program):
        found.append(
            "there may be very many partial matches: the same rows fit in many ways, which the condition of "
            f"{' and '.join(apart)} tells apart; with more than SET partial_matches of a key the query fails"
        )
    if step.program.has(AtEnd):
        found.append("$ is decided when the input has ended: by --once, and by drain in tests; else it is refused")
    return found


def _kept_for_ever(step: Match, key: str, *, open_ended: bool) -> Iterator[str]:
    """Yield what stays of a key of which no further row comes."""
    if (open_ended and step.within is None) or (step.arrival and step.within is not None):
        why = "and there is no WITHIN" if step.within is None else "which alone tells, by arrival, that time is over"
        if takes_several(step.program):
            yield f"state grows for ever: a partial match of each {key} stays open until its next row comes, {why}"
    if back := looks_back(step):
        yield f"state grows for ever: {_last(back)} of each {key}, for PREV"
    if ahead := looks_ahead(step):
        yield f"state grows for ever: {_last(ahead)} of each {key}, until {_further(ahead)} for NEXT"
    if step.program.has(AtStart) or any(each.asked is Asked.MATCH_NUMBER for each in step.slots):
        yield f"state grows for ever: a few bytes for each {key}, to know the number of a match or the first row"
