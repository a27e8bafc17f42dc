"""``column=value`` goes in; a test that finds the rows of that value, whatever the column's type, comes out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.errors import HeadraceError
from headrace.views.definition import ViewColumn, ViewDefinition
from headrace.views.reading_keys import key_from_text

__all__ = ["Matches", "Wanted", "matching", "wanted_of"]

Matches = Callable[[Mapping[str, Any]], bool]
"""Says of a record in JSON whether it is to be forgotten."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A column, and the value in it that is to be forgotten."""

    column: str
    text: str

    def column_of(self, names: Sequence[str]) -> str | None:
        """Return the column as these names spell it, None if it is not among them."""
        return next((name for name in names if name.lower() == self.column.lower()), None)

    def value(self, type_text: str) -> Any:
        """Return the value as one of a type, in the words of Spark."""
        view = ViewDefinition(self.column, (ViewColumn(self.column, type_text.lower()),), (self.column,))
        return key_from_text(view, [self.text])[0]


def wanted_of(text: str) -> Wanted:
    """Return what ``column=value`` says.

    >>> wanted_of("account=42")
    Wanted(column='account', text='42')
    """
    column, sign, value = text.partition("=")
    if not (column.strip() and sign and value):
        raise HeadraceError(f'"{text}" is not COLUMN=VALUE', hint="For example: --key account=42.")
    return Wanted(column.strip(), value)


def matching(wanted: Sequence[Wanted], names: Sequence[str]) -> Matches | None:
    """Return the test for records with these columns, None if they have none of those that are wanted.

    >>> test = matching([Wanted("ID", "42")], ["id", "name"])
    >>> test({"id": 42}), test({"id": "42"}), test({"id": None}), test({})
    (True, True, False, False)
    """
    pairs = [(name, each.text) for each in wanted if (name := each.column_of(names)) is not None]
    if not pairs:
        return None
    return lambda record: any(_text(record.get(name)) == text for name, text in pairs)


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, (dict, list)):
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)
