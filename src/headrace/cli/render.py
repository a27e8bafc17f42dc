"""Rows and their columns go in; a text table, JSON lines or CSV come out on a stream."""

import csv
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal, TextIO, TypeAlias

from rich.cells import cell_len

from headrace.values import json_text, json_value, to_json_line

__all__ = ["Output", "cell_text", "is_numeric", "line_text", "print_rows", "rule_text", "visible"]

Output: TypeAlias = Literal["table", "json", "csv"]

# Escapes could steer the user's terminal, and line ends would break the table.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def print_rows(
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[str],
    output: Output,
    stream: TextIO,
    *,
    header: bool = True,
) -> None:
    r"""Write the named columns of the rows to a stream, in the order given; CSV also without its header.

    >>> import io
    >>> stream = io.StringIO()
    >>> print_rows([{"page": "/a", "n": 10}, {"page": None, "n": 2}], ["page", "n"], "table", stream)
    >>> print(stream.getvalue(), end="")
     page |  n
    ------+----
     /a   | 10
     NULL |  2
    (2 rows)
    """
    match output:
        case "json":
            for row in rows:
                stream.write(to_json_line({column: row[column] for column in columns}) + "\n")
        case "csv":
            writer = csv.writer(stream, lineterminator="\n")
            if header:
                writer.writerow(columns)
            writer.writerows([_plain(row[column], null="") for column in columns] for row in rows)
        case "table":
            stream.writelines(line + "\n" for line in _table(rows, columns))


def _plain(value: Any, *, null: str) -> str:
    """Return a value as JSON has it, but text without its quotes."""
    if value is None:
        return null
    plain = json_value(value)
    return plain if isinstance(plain, str) else json_text(plain)


def _table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> list[str]:
    """Return the lines of a table: numbers to the right, the rest to the left, nothing cut off."""
    numeric = [is_numeric([row[column] for row in rows]) for column in columns]
    head = [visible(column) for column in columns]
    body = [[cell_text(row[column]) for column in columns] for row in rows]
    widths = [max(map(cell_len, cells)) for cells in zip(head, *body, strict=True)]
    lines = [line_text(cells, widths, numeric) for cells in (head, *body)]
    rule = rule_text(widths)
    count = "(1 row)" if len(rows) == 1 else f"({len(rows)} rows)"
    return [lines[0], rule, *lines[1:], count]


def cell_text(value: Any) -> str:
    """Return a value as a table shows it."""
    return visible(_plain(value, null="NULL"))


def line_text(cells: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> str:
    """Return one line of a table."""
    return f" {' | '.join(map(_padded, cells, widths, numeric))}".rstrip()


def rule_text(widths: Sequence[int]) -> str:
    """Return the line under a table's head."""
    return "+".join("-" * (width + 2) for width in widths)


def _padded(cell: str, width: int, to_right: bool) -> str:
    space = " " * max(0, width - cell_len(cell))  # str.ljust counts characters, terminals count cells
    return space + cell if to_right else cell + space


def is_numeric(values: Sequence[Any]) -> bool:
    """Return whether a column holds numbers only, NULL aside."""
    there = [value for value in values if value is not None]
    return bool(there) and all(
        isinstance(value, (int, float, Decimal)) and not isinstance(value, bool) for value in there
    )


def visible(text: str) -> str:
    r"""Return text that stays in its cell: line ends, tabs and other control characters are escaped.

    >>> print(visible("one" + chr(10) + "two" + chr(27)))
    one\ntwo\x1b
    """
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)
