"""The options of the connector memory: none."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySource:
    """Rows that a test or a program hands over, batch by batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryTable:
    """Rows that a test or a program hands over before the start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySink:
    """Rows kept in this process, to be looked at."""
