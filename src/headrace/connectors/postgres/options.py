"""The options of the connector postgres."""

from dataclasses import dataclass

from headrace.connectors.options import option

KEY = (
    "The columns that identify a row: a row replaces the one of the same key. What the query says identifies a row "
    "without it; a query whose rows never change needs none, and adds rows."
)
CREATE = "Whether the table is made if it is missing."


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresConnection:
    """Where the database is, and who is asking; what is not said is taken from libpq's own variables, as `PGHOST`."""

    url: str | None = option(
        doc="The database as `postgresql://user@host:port/database`.",
        default=None,
        example="postgresql://headrace@localhost/shop",
        secret=True,
    )
    host: str | None = option(doc="The server, where `url` does not say it.", default=None, example="localhost")
    port: int | None = option(doc="The server's port.", default=None, example=5432, minimum=1, maximum=65535)
    user: str | None = option(doc="Who logs in.", default=None, example="headrace")
    database: str | None = option(doc="The database.", default=None, example="shop")
    password: str | None = option(
        doc="The password; write `${NAME}` to take it from the environment.",
        default=None,
        example="${PGPASSWORD}",
        secret=True,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresSink(PostgresConnection):
    """A table that takes the rows, each batch in one transaction."""

    table: str = option(doc="The table, as `table` or `schema.table`.", example="public.totals")
    key: tuple[str, ...] = option(doc=KEY, default=(), example="customer, day")
    create: bool = option(doc=CREATE, default=True)
