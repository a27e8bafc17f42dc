"""Requests and answers about views, streams and their rows."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from headrace.server.rest.models.fields import Wish, example

__all__ = ["CatalogObject", "Column", "QueryWish", "Record", "Tapped", "View", "ViewAnswer", "ViewChanges", "ViewRows"]

_COLUMNS = [{"name": "card", "type": "string"}, {"name": "total", "type": "bigint"}]
_ROW = {"card": "c1", "total": 900}
_PAYMENT = {"card": "c1", "amount": 900}


class Column(BaseModel):
    """A column and its type."""

    model_config = example(name="card", type="string")

    name: str
    type: str


class View(BaseModel):
    """A materialised view, the job that keeps it, and how far its rows are; its sources write the ``positions``."""

    model_config = example(
        name="alerts",
        job="fraud",
        store="sqlite",
        key=["card"],
        columns=_COLUMNS,
        batch=7,
        watermark=None,
        positions={"payments": '{"payments":{"0":48000}}'},
        at="2024-05-01T10:05:00Z",
    )

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

    model_config = example(columns=_COLUMNS, key=["card"], rows=[_ROW], total=1, next=None, batch=7)

    columns: list[Column]
    key: list[str]
    rows: list[dict[str, Any]]
    total: int
    next: int | None
    batch: int | None


class QueryWish(Wish):
    """A SELECT over views."""

    model_config = example(sql="SELECT * FROM alerts WHERE total > 500", limit=100)

    sql: Annotated[str, Field(max_length=100_000, pattern=r"^[^\x00]*$", examples=["SELECT * FROM totals"])]
    limit: Annotated[int, Field(ge=1, le=10_000)] = 1000


class ViewAnswer(BaseModel):
    """What a SELECT gives; ``truncated`` says that there is more."""

    model_config = example(columns=["card", "total"], rows=[_ROW], truncated=False)

    columns: list[str]
    rows: list[dict[str, Any]]
    truncated: bool


class ViewChanges(BaseModel):
    """Batches of changes; ``next`` is the position to go on from."""

    model_config = example(
        batches=[{"batch": 7, "at": "2024-05-01T10:05:00Z", "changes": [{"change": "insert", "row": _ROW}]}], next=7
    )

    batches: list[dict[str, Any]]
    next: int | None


class CatalogObject(BaseModel):
    """A stream, table, view or sink; options are without secrets."""

    model_config = example(
        name="payments",
        kind="stream",
        job="fraud",
        columns=[{"name": "card", "type": "STRING"}, {"name": "amount", "type": "INT"}],
        connector="kafka",
        options={"connector": "kafka", "topic": "payments"},
        watermark="",
        used_by=[],
    )

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

    model_config = example(
        place="payments:0:17", stream="payments", at="2024-05-01T10:05:00Z", key=None, row=_PAYMENT, text=None
    )

    place: str
    stream: str | None
    at: datetime | None
    key: str | None
    row: dict[str, Any] | None
    text: str | None


class Tapped(BaseModel):
    """A message of a topic or a row of a file: its columns if it has such, else its text.

    What is no text is told as its first bytes, in hexadecimal.
    """

    model_config = example(position="payments:0:17", at="2024-05-01T10:05:00Z", key=None, row=_PAYMENT, text=None)

    position: str
    at: datetime | None
    key: str | None
    row: dict[str, Any] | None
    text: str | None
