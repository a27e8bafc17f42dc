"""The WITH clause of a materialised view goes in, typed options come out."""

from dataclasses import dataclass
from datetime import timedelta

from headrace.connectors.options import Needs, option, read_options
from headrace.errors import HeadraceError, Span
from headrace.language.statements import Option

__all__ = ["STORES", "ViewOptions", "view_options"]

STORES = ("sqlite", "postgres", "redis")
_SQLITE = Needs("store", ("sqlite",))
_POSTGRES = Needs("store", ("postgres",))
_REDIS = Needs("store", ("redis",))
_SERVER = Needs("store", ("postgres", "redis"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewOptions:
    """Where a materialised view is kept, how its rows are found, and for how long."""

    store: str = option(
        doc="Where it is kept: in an SQLite file of the application, or on a server that many machines read.",
        default="sqlite",
        choices=STORES,
    )
    path: str | None = option(
        doc="The SQLite file; relative to the application file. Beside the application's state without it.",
        default=None,
        example="views.sqlite",
        needs=_SQLITE,
    )
    url: str | None = option(
        doc="The server, as `postgresql://user@host:port/database` or `redis://host:port/number`.",
        default=None,
        example="postgresql://headrace@localhost/views",
        needs=_SERVER,
        secret=True,
    )
    password: str | None = option(
        doc="The server's password; write `${NAME}` to take it from the environment.",
        default=None,
        example="${PGPASSWORD}",
        needs=_SERVER,
        secret=True,
    )
    schema: str = option(
        doc="The schema of PostgreSQL that holds the view.", default="headrace", example="headrace", needs=_POSTGRES
    )
    prefix: str = option(
        doc="How the names of keys in Redis begin.", default="headrace:", example="headrace:", needs=_REDIS
    )
    key: tuple[str, ...] = option(
        doc="The columns that identify a row; what the query says identifies a row without it.",
        default=(),
        example="customer, day",
    )
    index: str | None = option(
        doc="Columns by which rows are also looked up, with commas between; several indexes have semicolons between.",
        default=None,
        example="country; customer, day",
    )
    retain: timedelta = option(  # noqa: RUF009 - a field, as dataclasses.field
        doc="How long the change feed goes back; the last batch always stays.",
        default=timedelta(days=7),
        example="7 days",
        minimum=timedelta(0),
    )
    ttl: timedelta | None = option(  # noqa: RUF009 - a field, as dataclasses.field
        doc="How long what is grouped, joined or ranked stays when nothing comes for its key; for ever without it.",
        default=None,
        example="1 day",
        minimum=timedelta(seconds=1),
    )

    @property
    def indexes(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each index.

        >>> ViewOptions(index="country; customer, day").indexes
        (('country',), ('customer', 'day'))
        """
        return tuple(
            tuple(name.strip() for name in each.split(",")) for each in (self.index or "").split(";") if each.strip()
        )


def view_options(options: tuple[Option, ...], owner: str, owner_span: Span) -> ViewOptions:
    """Read the WITH clause of a materialised view; the owner is what errors call it, as in ``view "totals"``."""
    read = read_options(ViewOptions, options, owner=owner, owner_span=owner_span)
    for columns in read.indexes:
        if not all(columns):
            place = next(each.value_span for each in options if each.name.lower() == "index")
            raise HeadraceError(
                'option "index" names an empty column',
                hint="For example: index = 'country; customer, day'.",
                span=place,
            )
    return read
