"""What every table of the server's database has in common."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import DateTime, Dialect, MetaData
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.types import TypeDecorator

Clock = Callable[[], datetime]
"""Says what time it is, in a time zone; tests move it."""

NAMES = {
    "ix": "ix_%(column_0_label)s",
    "uq": "uq_%(table_name)s_%(column_0_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}
"""How constraints are called, so that migrations can name them on every database."""


class Base(DeclarativeBase):
    """The parent of every table."""

    metadata = MetaData(naming_convention=NAMES)


class Instant(TypeDecorator[datetime]):
    """An instant in UTC; SQLite keeps no time zone, so it is put back on reading."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return the instant in UTC, as it is stored."""
        if value is not None and value.tzinfo is None:
            raise ValueError("an instant without a time zone")
        if value is None:
            return None
        try:
            return value.astimezone(UTC)
        except OverflowError:  # a few hours before the first year or after the last: the nearest that there is
            return datetime.min.replace(tzinfo=UTC) if value.year == 1 else datetime.max.replace(tzinfo=UTC)

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        """Return the instant in UTC, as it was stored."""
        if value is None:
            return None
        instant: datetime = value
        return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)
