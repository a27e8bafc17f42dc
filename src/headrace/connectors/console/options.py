"""The options of the connector console."""

from dataclasses import dataclass

from headrace.connectors.options import option


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleSink:
    """Rows printed as they come, batch by batch."""

    rows: int = option(doc="The most rows shown of one batch.", default=20, minimum=1)
    truncate: bool = option(doc="Whether long values are cut to fit their column.", default=True)
