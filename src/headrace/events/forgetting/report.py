"""What was removed and what is left, object by object; said in rows that people and machines read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["COLUMNS", "Line", "as_rows", "is_complete"]

COLUMNS = ("what", "name", "removed", "remains", "note")


@dataclass(frozen=True, slots=True)
class Line:
    """One object: how many rows or messages were removed, how many are left, and until when or why.

    ``wrong`` says that what is left should not be there.
    """

    what: str
    name: str
    removed: int = 0
    remains: int = 0
    note: str = ""
    wrong: bool = False


def as_rows(lines: Sequence[Line]) -> list[dict[str, Any]]:
    """Return the lines as rows of a table."""
    return [{name: getattr(line, name) for name in COLUMNS} for line in lines]


def is_complete(lines: Sequence[Line]) -> bool:
    """Say whether nothing is left that should not be there."""
    return not any(line.wrong for line in lines)
