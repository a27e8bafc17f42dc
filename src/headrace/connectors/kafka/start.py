"""Where a stream begins: the option `start` goes in, an instant, offsets or an end of the topic comes out."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from headrace.errors import HeadraceError


@dataclass(frozen=True, slots=True)
class Start:
    """One of three: an end of each partition, an instant, or an offset per partition."""

    end: str | None = None
    instant: datetime | None = None
    offsets: tuple[tuple[int, int], ...] = ()


def parse_start(text: str) -> Start:
    """Return what the option says.

    >>> parse_start("0:15, 1:20").offsets
    ((0, 15), (1, 20))
    >>> parse_start("2024-01-01T10:00:00Z").instant.isoformat()
    '2024-01-01T10:00:00+00:00'
    """
    word = text.strip().lower()
    if word in ("earliest", "latest"):
        return Start(end=word)
    parts = [part.strip() for part in word.split(",")]
    if all(re.fullmatch(r"[0-9]{1,9}\s*:\s*[0-9]{1,18}", part) for part in parts):
        pairs = [part.split(":") for part in parts]
        offsets = tuple((int(partition), int(offset)) for partition, offset in pairs)
        if len({partition for partition, _ in offsets}) < len(offsets):
            raise HeadraceError(f"option start names a partition twice: '{text}'")
        return Start(offsets=offsets)
    try:
        instant = datetime.fromisoformat(text.strip())
    except ValueError:
        raise HeadraceError(
            f"option start cannot be '{text}'",
            detail="It takes earliest, latest, an instant in ISO 8601, or partition:offset with commas between.",
            hint="For example: start = '2024-01-01T00:00:00Z', or start = '0:15, 1:20'.",
        ) from None
    return Start(instant=instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC))
