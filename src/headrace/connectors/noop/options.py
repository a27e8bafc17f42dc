"""The options of the connector noop: none."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class NoopSink:
    """Rows computed in full and thrown away."""
