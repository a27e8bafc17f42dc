"""The options of the connector datagen, and the two columns its expressions start from."""

from dataclasses import dataclass
from datetime import datetime

from headrace.connectors.options import option

NUMBER_COLUMN = "value"
INSTANT_COLUMN = "timestamp"


@dataclass(frozen=True, slots=True, kw_only=True)
class DatagenSource:
    """Rows that are numbered from 0 and evenly spaced in event time."""

    rows_per_second: int = option(doc="How many rows come each second.", default=10, minimum=1)
    rows: int | None = option(
        doc="How many rows come in all, after which the stream ends; it never ends without it.",
        default=None,
        example=1000,
        minimum=1,
    )
    start: datetime | None = option(  # noqa: RUF009 - a field, as dataclasses.field
        doc="The event time of the first row, in UTC unless it has an offset; the job's start without it.",
        default=None,
        example="2024-01-01T00:00:00Z",
    )
    expressions: dict[str, str] = option(  # noqa: RUF009 - likewise; each instance has its own
        doc="Every other option makes the column of its name, by a Spark SQL expression. It may use "
        f"`{NUMBER_COLUMN}` (BIGINT, the row's number from 0) and "
        f"`{INSTANT_COLUMN}` (TIMESTAMP, the row's event time).",
        rest=True,
    )
