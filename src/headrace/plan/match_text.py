"""A search for a pattern goes in, what people read about it comes out."""

from headrace.connectors.durations import duration_text
from headrace.plan.patterns import AtStart
from headrace.plan.slots import Asked
from headrace.plan.steps import Match, Scalar, Skip


def described_match(step: Match) -> tuple[str, tuple[str, ...], str, tuple[str, ...]]:
    """Return the title of a search, its details, what it remembers, and what to beware of."""
    names = step.program.variables
    key = ", ".join(step.partition)
    title = f"search {f'the rows of each {key}' if key else 'all rows'} for {step.pattern}"
    title += f" within {duration_text(step.within)}" if step.within is not None else ""
    columns = ", ".join((str(step.time), *(name for name, _, _ in step.order)))
    details = [
        "in the order in which they arrive"
        if step.arrival
        else f"in the order of {columns}, once the watermark has passed"
    ]
    details += [f"{names[variable]} where {_written(condition)}" for variable, condition in step.conditions]
    details.append(
        f"gives {step.shown.value}" + (", and partial matches that ran out of time" if step.timeouts else "")
    )
    to = ", ".join(names[each] for each in step.skip_to)
    after = f"{step.skip.value} {to}".rstrip()
    details.append(f"after a match the search goes on {after}" + _side(step))
    return title, tuple(details), _state(step, key), tuple(_warnings(step, key))


def _side(step: Match) -> str:
    return ", so matches may overlap" if step.skip is Skip.TO_NEXT_ROW else ""


def _written(value: Scalar) -> str:
    """Return an expression as the user wrote it, in one line."""
    if value.span is None:
        return ""
    return " ".join(value.span.source.text[value.span.start : value.span.end].split())


def _state(step: Match, key: str) -> str:
    of = f" of each {key}" if key else ""
    until = f", for at most {duration_text(step.within)}" if step.within is not None else ""
    waiting = "" if step.arrival else f"rows until the watermark passes {step.time}; "
    return f"{waiting}the rows of open partial matches{of}{until}"


def _warnings(step: Match, key: str) -> list[str]:
    found = []
    if not key:
        found.append("all rows are searched in one place: the pattern has no PARTITION BY")
    looping = list(dict.fromkeys(step.program.variables[each] for each in step.program.loops()))
    if looping and step.within is None:
        found.append(
            f"partial matches may grow without bound: {' and '.join(looping)} may repeat for ever, "
            "and there is no WITHIN"
        )
    counted = any(each.asked is Asked.MATCH_NUMBER for each in step.slots)
    if key and (counted or step.program.has(AtStart)):
        found.append(
            f"state grows for ever: a few bytes for each {key}, to know the number of a match or the first row"
        )
    return found
