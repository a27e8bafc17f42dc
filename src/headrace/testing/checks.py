"""What a block wants and what there is go in; the difference and the body that would be right come out."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.errors import HeadraceError
from headrace.testing.directives import did_you_mean
from headrace.testing.expected import BATCH, CHANGE, Row
from headrace.testing.matching import unmatched
from headrace.values import json_value, sort_key, to_json_line

__all__ = ["Difference", "check_changes", "check_error", "check_rows", "check_text"]

LONGEST_DIFF = 40  # lines of each sign


@dataclass(frozen=True, slots=True)
class Difference:
    """Why a block failed, in lines to show; and the body with which it would have passed, if there is one."""

    diff: str
    accepted: tuple[str, ...] | None = None


def check_rows(
    name: str, wanted: Sequence[Row], actual: Sequence[Mapping[str, Any]], *, exactly: bool
) -> Difference | None:
    """Return how the rows of a relation differ from those wanted, in any order."""
    columns = _columns(wanted)
    shown = _project(actual, [] if exactly else columns)
    diff = _wrong_columns(name, wanted, actual, exactly=exactly) or _row_diff(wanted, actual, shown)
    return Difference("\n".join(diff), _body(shown)) if diff else None


def check_changes(
    name: str, wanted: Sequence[Sequence[Row]], actual: Sequence[Sequence[Mapping[str, Any]]]
) -> Difference | None:
    """Return how the batches of changes differ from those wanted; batches without changes do not count."""
    there = [batch for batch in actual if batch]
    every_wanted = [row for batch in wanted for row in batch]
    every_actual = [row for batch in there for row in batch]
    columns = _columns(every_wanted)
    if columns:
        columns = [*(column for column in columns if column != CHANGE), CHANGE]
    shown = [_project(batch, columns) for batch in there]
    accepted = tuple(
        line for number, batch in enumerate(shown) for line in (*([BATCH] if number else []), *_body(batch))
    )
    diff = _wrong_columns(name, every_wanted, every_actual, exactly=False)
    if not diff:
        several = max(len(wanted), len(there)) > 1
        for number in range(max(len(wanted), len(there))):
            lines = _row_diff(
                wanted[number] if number < len(wanted) else (),
                there[number] if number < len(there) else (),
                shown[number] if number < len(there) else [],
            )
            if lines and several:
                diff.append(f"batch {number + 1}:")
            diff += lines
    return Difference("\n".join(diff), accepted) if diff else None


def check_text(wanted: str, actual: str) -> Difference | None:
    """Return how two texts differ, space at the ends of lines and blank lines around them aside."""
    before, after = _trimmed(wanted), _trimmed(actual)
    if before == after:
        return None
    return Difference(_diff(before, after), tuple(after))


def check_error(wanted: str, error: HeadraceError) -> Difference | None:
    """Return how an error differs from the one wanted: each wanted line must be in the report, in order.

    Space does not count. An empty body is a difference: a test must say which error it wants.
    """
    report = iter([" ".join(line.split()) for line in error.report().splitlines()])
    lines = [" ".join(line.split()) for line in wanted.splitlines() if line.strip()]
    # The iterator is shared, so that each line is looked for after the one before.
    if lines and all(any(line in there for there in report) for line in lines):
        return None
    body = _error_body(error)
    return Difference(_diff(_trimmed(wanted), body), tuple(body))


def _error_body(error: HeadraceError) -> list[str]:
    """Return the report without file name and line number, which change when the test file is edited."""
    lines = error.report().splitlines()
    if error.span is not None:
        gutter = len(f"  {error.span.line} | ")
        lines[1:4] = ["  " + line[gutter:] for line in lines[2:4]]
    return lines


def _diff(before: Sequence[str], after: Sequence[str]) -> str:
    signs = ("-", "+", " ")  # all but the "---" and "+++" of file names and the "@@" of places
    lines = [*difflib.unified_diff(before, after, lineterm="")][2:]
    return "\n".join(line for line in lines if line.startswith(signs))


def _trimmed(text: str) -> list[str]:
    lines = [line.rstrip() for line in text.split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    while lines and not lines[0]:
        lines.pop(0)
    return lines


def _columns(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(column for row in rows for column in row))


def _project(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> list[Mapping[str, Any]]:
    """Return the rows with those of the columns that they have, or with all if they have none."""
    kept = [column for column in columns if rows and column in rows[0]]
    return [{column: row[column] for column in kept} if kept else row for row in rows]


def _body(rows: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    return tuple(to_json_line(row) for row in sorted(rows, key=sort_key))


def _wrong_columns(
    name: str, wanted: Sequence[Row], actual: Sequence[Mapping[str, Any]], *, exactly: bool
) -> list[str]:
    """Return lines that say which wanted columns are not there, and which are there but not wanted."""
    if not wanted or not actual:
        return []
    there = list(actual[0])
    lines = []
    for column in _columns(wanted):
        if column not in there:
            hint = did_you_mean(column, there)
            lines.append(f'{name} has no column "{column}"' + (f". {hint}" if hint else ""))
    if exactly:
        left_out = [column for column in there if any(column not in row for row in wanted)]
        lines += [f'{name} has a column "{column}" that is not in every wanted row' for column in left_out]
    return [*lines, f"the columns of {name} are: {', '.join(there)}"] if lines else []


def _row_diff(
    wanted: Sequence[Row], actual: Sequence[Mapping[str, Any]], shown: Sequence[Mapping[str, Any]]
) -> list[str]:
    """Return a line for each missing (-) and unwanted (+) row, the two signs side by side by value."""
    plain: list[Row] = [{name: json_value(item) for name, item in row.items()} for row in actual]
    missing, unwanted = unmatched(wanted, plain)
    if not missing and not unwanted:
        return []
    signed = [("-", wanted[i]) for i in missing[:LONGEST_DIFF]]
    signed += [("+", {name: plain[j][name] for name in shown[j]}) for j in unwanted[:LONGEST_DIFF]]
    order = _columns([row for _, row in signed])
    signed.sort(key=lambda line: (sort_key({name: line[1].get(name) for name in order}), line[0] == "+"))
    lines = [f"{sign} {to_json_line(row)}" for sign, row in signed]
    for sign, rows in (("-", missing), ("+", unwanted)):
        if len(rows) > LONGEST_DIFF:
            lines.append(f"{sign} … and {len(rows) - LONGEST_DIFF} more")
    if fine := len(wanted) - len(missing):
        lines.append(f"  ({fine} {'row is' if fine == 1 else 'rows are'} as wanted)")
    return lines
