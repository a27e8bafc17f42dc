"""A server and the name of a view go in; what ``headrace view`` prints comes out, as the server tells it."""

import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from headrace.cli.client import connect, path_of
from headrace.cli.failures import complain
from headrace.cli.listing import Form, show_rows
from headrace.cli.positions import as_values, in_short
from headrace.cli.render import print_rows
from headrace.errors import HeadraceError
from headrace.views.definition import Delta, FeedBatch

__all__ = ["ServedView", "get_row", "list_views", "query_views", "served_view"]

MOST = 10_000
"""How many rows a server gives to a query."""
POLL = 0.3

_LISTED = ("name", "job", "store", "key", "batch", "watermark", "positions", "at")


def list_views(server: str, output: Form) -> None:
    """Print the views that one may see."""
    with connect(server) as client:
        items = list(client.pages("/views"))
    told = as_values if output == "json" else in_short
    show_rows([{**each, "positions": told(each["positions"])} for each in items], _LISTED, output)


def get_row(server: str, name: str, key: list[str], output: Form) -> None:
    """Print the rows of a key."""
    if not key:
        raise HeadraceError("a server is asked for the rows of a key", hint=f"For all: headrace view rows {name}.")
    with connect(server) as client:
        found = client.rows("GET", path_of("views", name, "row"), key=key)
    print_rows(found["rows"], [each["name"] for each in found["columns"]], output, sys.stdout)


def query_views(server: str, sql: str, output: Form) -> None:
    """Print the answer of a SELECT."""
    with connect(server) as client:
        found = client.rows("POST", "/views/query", {"sql": sql, "limit": MOST})
    print_rows(found["rows"], found["columns"], output, sys.stdout)
    if found["truncated"]:
        complain(f"warning: these are the first {MOST} rows; there are more")


@dataclass(frozen=True, slots=True)
class ServedView:
    """A view of a server, as far as one follows it: its columns, and where it was when it was looked up."""

    server: str
    name: str
    columns: tuple[str, ...]
    batch: int | None

    def follow_batches(self, after: int | Literal["now"] | None, stopping: threading.Event) -> Iterator[FeedBatch]:
        """Yield what each batch changes after a position, until told to stop; the server is asked at least once."""
        position = self.batch if after == "now" else after
        with connect(self.server) as client:
            while True:
                found = client.rows("GET", path_of("views", self.name, "changes"), after=position)
                position = found["next"]
                yield from map(_batch, found["batches"])
                if stopping.wait(0 if found["batches"] else POLL):
                    return


def served_view(server: str, name: str) -> ServedView:
    """Return a view of a server."""
    with connect(server) as client:
        found = client.get(path_of("views", name))
    return ServedView(server, name, tuple(each["name"] for each in found["columns"]), found["batch"])


def _batch(plain: dict[str, Any]) -> FeedBatch:
    rows: dict[str, list[tuple[Any, ...]]] = {"delete": [], "insert": []}
    for each in plain["changes"]:
        rows[each["change"]].append(tuple(each["row"].values()))
    return FeedBatch(plain["batch"], datetime.fromisoformat(plain["at"]), Delta(rows["delete"], rows["insert"]))
