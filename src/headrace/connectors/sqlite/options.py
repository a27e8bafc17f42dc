"""The options of the connector sqlite."""

from dataclasses import dataclass

from headrace.connectors.options import option
from headrace.connectors.postgres.options import CREATE, KEY


@dataclass(frozen=True, slots=True, kw_only=True)
class SqliteSink:
    """A table of a file that takes the rows, each batch in one transaction."""

    path: str = option(
        doc="The file; relative to the application file. It is made if it is missing.", example="shop.db"
    )
    table: str = option(doc="The table.", example="totals")
    key: tuple[str, ...] = option(doc=KEY, default=(), example="customer, day")
    create: bool = option(doc=CREATE, default=True)
