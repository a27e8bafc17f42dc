"""The options of the connector memory: none."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySource:
    """Rows that a test or a program hands over, batch by batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryTable:
    """Rows that a test or a program hands over: by key as they were last written, or before the start without a key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySink:
    """Rows kept in this process, to be looked at."""
