"""How far the input of a view is, as its sources write it, goes in; what a line of a table can show comes out."""

import json
from collections.abc import Mapping
from typing import Any

__all__ = ["as_values", "in_short"]

FEW = 4
"""Up to so many partitions are shown one by one."""


def as_values(positions: Mapping[str, str]) -> dict[str, Any]:
    """Return the position in each source, whole: JSON where the source writes that.

    >>> as_values({"bids": '{"bids":{"0":12}}', "odd": "somewhere"})
    {'bids': {'bids': {'0': 12}}, 'odd': 'somewhere'}
    """
    return {name: _value(text) for name, text in positions.items()}


def in_short(positions: Mapping[str, str]) -> str | None:
    """Return the position in each source in short: offsets of a topic, the number of the last files.

    >>> in_short({"bids": '{"bids":{"1":8,"0":12}}', "sales": '{"logOffset":3}'})
    'bids 0:12 1:8, sales #3'
    >>> in_short({"bids": json.dumps({"bids": {str(i): 10 for i in range(9)}})})
    'bids 90 in 9 partitions'
    """
    return ", ".join(f"{name} {_short(value)}" for name, value in as_values(positions).items()) or None


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _short(value: Any) -> str:
    match value:
        case {"logOffset": int(number)}:
            return f"#{number}"
        case dict() if value and all(isinstance(offsets, dict) for offsets in value.values()):
            several = len(value) > 1
            return " ".join(f"{topic}/{_offsets(each)}" if several else _offsets(each) for topic, each in value.items())
        case _:
            return str(value)


def _offsets(offsets: dict[str, Any]) -> str:
    if len(offsets) > FEW:
        return f"{sum(offsets.values())} in {len(offsets)} partitions"
    return " ".join(f"{partition}:{offset}" for partition, offset in sorted(offsets.items()))
