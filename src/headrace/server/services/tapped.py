"""A record of a stream goes in; what is shown of it comes out."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

__all__ = ["MOST", "Tapped", "of_text", "shown_bytes"]

MOST = 500
"""How many records one look at what is new shows of one place."""

MOST_BYTES = 32
"""How much is shown of what is no text."""


@dataclass(frozen=True, slots=True)
class Tapped:
    """A record: where it is, when it came, and its row if it has columns, else its text."""

    position: str
    at: datetime | None
    key: str | None
    row: Mapping[str, Any] | None
    text: str | None


def of_text(position: str, at: datetime | None, text: str | None, key: str | None = None) -> Tapped:
    """Return a record as its row if it is a JSON object, else as its text.

    >>> of_text("orders:0:7", None, '{"id": 1}').row
    {'id': 1}
    """
    row = None
    if text is not None:
        try:
            found = json.loads(text, parse_float=Decimal)
            row = found if isinstance(found, dict) else None
        except (ValueError, RecursionError):
            row = None
    return Tapped(position, at, key, row, None if row is not None else text)


def shown_bytes(value: bytes) -> str:
    """Return how something is shown that is no text.

    >>> shown_bytes(bytes([0, 0, 159, 146]))
    '4 bytes: 00 00 9f 92'
    """
    more = " …" if len(value) > MOST_BYTES else ""
    return f"{len(value)} bytes: {value[:MOST_BYTES].hex(' ')}{more}"
