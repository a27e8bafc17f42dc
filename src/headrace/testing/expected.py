"""The body of a rows or changes block goes in; the rows that a case wants come out."""

import json
import re
from collections.abc import Iterator
from decimal import Decimal

from headrace.errors import HeadraceError, Span
from headrace.values import JsonValue

__all__ = ["BATCH", "CHANGE", "Row", "expected_batches", "expected_rows"]

BATCH = "--"  # the line between two batches of changes
CHANGE = "_change"

Row = dict[str, JsonValue]


def expected_rows(body: str, place: Span) -> tuple[Row, ...]:
    """Return the rows of a body of JSON lines; numbers keep their digits.

    >>> from headrace.errors import Source
    >>> expected_rows('{"n": 1.50}', Span(Source("a.test", ""), 0, 0))
    ({'n': Decimal('1.50')},)
    """
    return tuple(_row(line) for line in _lines(body, place))


def expected_batches(body: str, place: Span) -> tuple[tuple[Row, ...], ...]:
    """Return the batches of a body of changes, without those that have none."""
    batches: list[list[Row]] = [[]]
    for line in _lines(body, place):
        if line.text == BATCH:
            batches.append([])
            continue
        row = _row(line)
        if row.get(CHANGE) not in ("insert", "delete"):
            raise HeadraceError(f"a change needs {CHANGE}", hint=f'Add "{CHANGE}": "insert" or "delete".', span=line)
        batches[-1].append(row)
    return tuple(tuple(batch) for batch in batches if batch)


def _lines(body: str, place: Span) -> Iterator[Span]:
    """Yield the place of each line that is not blank."""
    # The body may have been replaced since it was read; then its text is no longer the source's.
    source, offset = place.source, place.start
    if place.text != body:
        source, offset = type(source)(source.name, body), 0
    for found in re.finditer(r"\S(?:[^\n]*\S)?", body):
        yield Span(source, offset + found.start(), offset + found.end())


def _row(line: Span) -> Row:
    def wrong(reason: str, start: int) -> HeadraceError:
        start = min(start, line.end - 1)
        return HeadraceError(f"not a JSON object: {reason}", span=Span(line.source, start, line.end))

    def members(pairs: list[tuple[str, JsonValue]]) -> Row:
        row = dict(pairs)
        if len(row) < len(pairs):
            raise wrong("a name occurs twice", line.start)
        return row

    def constant(name: str) -> JsonValue:
        raise wrong(f'{name} must be written "{name}"', line.text.find(name) + line.start)

    try:
        row = json.loads(line.text, parse_float=Decimal, parse_constant=constant, object_pairs_hook=members)
    except json.JSONDecodeError as error:
        raise wrong(error.msg[:1].lower() + error.msg[1:], line.start + error.pos) from None
    except ValueError as error:  # an integer beyond Python's limit of digits
        raise wrong(str(error), line.start) from None
    if not isinstance(row, dict):
        raise wrong(f"{line.text[:20]} is another value", line.start)
    return row
