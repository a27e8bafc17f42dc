"""What time it is: asked of the system, or moved by a test."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

__all__ = ["Clock", "system_clock"]


@dataclass(frozen=True, slots=True)
class Clock:
    """Instants, which people may set, and time that only passes."""

    now: Callable[[], datetime]
    passed: Callable[[], timedelta]
    """The time since some moment; only differences mean something."""


def system_clock() -> Clock:
    """Return the clock of this machine."""
    return Clock(lambda: datetime.now(UTC), lambda: timedelta(seconds=time.monotonic()))
