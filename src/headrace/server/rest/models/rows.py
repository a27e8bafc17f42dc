"""Requests and answers about views, streams and their rows."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from headrace.server.rest.models.fields import Wish

__all__ = ["CatalogObject", "Column", "QueryWish", "Record", "Tapped", "View", "ViewAnswer", "ViewChanges", "ViewRows"]


class Column(BaseModel):
    """A column and its type."""

    name: str
    type: str


class View(BaseModel):
    """A materialised view, the job that keeps it, and how far its rows are; its sources write the ``positions``."""

    name: str
    job: str
    store: str
    key: list[str]
    columns: list[Column]
    batch: int | None
    watermark: datetime | None
    positions: dict[str, str]
    at: datetime | None


class ViewRows(BaseModel):
    """Some rows out of ``total``; ``next`` is the offset of those behind them."""

    columns: list[Column]
    key: list[str]
    rows: list[dict[str, Any]]
    total: int
    next: int | None
    batch: int | None


class QueryWish(Wish):
    """A SELECT over views."""

    sql: Annotated[str, Field(max_length=100_000, pattern=r"^[^\x00]*$", examples=["SELECT * FROM totals"])]
    limit: Annotated[int, Field(ge=1, le=10_000)] = 1000


class ViewAnswer(BaseModel):
    """What a SELECT gives; ``truncated`` says that there is more."""

    columns: list[str]
    rows: list[dict[str, Any]]
    truncated: bool


class ViewChanges(BaseModel):
    """Batches of changes; ``next`` is the position to go on from."""

    batches: list[dict[str, Any]]
    next: int | None


class CatalogObject(BaseModel):
    """A stream, table, view or sink; options are without secrets."""

    name: str
    kind: Literal["stream", "table", "view", "materialized view", "sink"]
    job: str
    columns: list[Column]
    connector: str
    options: dict[str, str]
    watermark: str
    used_by: list[str]


class Record(BaseModel):
    """What stands at a place that EVIDENCE() noted; without ``stream`` it is gone, or no stream that one sees reads it.

    It has its columns if it has such, else its text.
    """

    place: str
    stream: str | None
    at: datetime | None
    key: str | None
    row: dict[str, Any] | None
    text: str | None


class Tapped(BaseModel):
    """A message of a topic or a row of a file: its columns if it has such, else its text."""

    position: str
    at: datetime | None
    key: str | None
    row: dict[str, Any] | None
    text: str | None
