"""Takes batches into a store or a sink until it is killed, by itself inside a batch or by whoever started it.

    python killed_writer.py KIND URL PLACE

PLACE is ``never``, or ``before:NAME`` or ``after:NAME`` of a function that a batch passes; the third time it does is
the end of the process. Each batch that is taken in is told on the standard output.
"""

import importlib
import os
import signal
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

from headrace.catalog.view_options import ViewOptions
from headrace.connectors.postgres.options import PostgresSink
from headrace.connectors.redis.options import RedisSink
from headrace.connectors.sqlite.options import SqliteSink
from headrace.connectors.tables import TableColumn, TableWriter, open_writer
from headrace.views.definition import Delta, Reflects, ViewColumn, ViewDefinition, ViewStore
from headrace.views.open import open_store

KEYS = 300
THIRD = 3

TOTALS = ViewDefinition("totals", (ViewColumn("id", "bigint"), ViewColumn("batch", "bigint")), ("id",))
LOG = ViewDefinition("log", (ViewColumn("batch", "bigint"), ViewColumn("text", "string")))


def totals(batch: int) -> tuple[list[Any], list[Any]]:
    """Return what a batch does to the totals: it is in each of their rows."""
    gone = [(key, batch - 1) for key in range(KEYS)] if batch else []
    return gone, [(key, batch) for key in range(KEYS)]


def open_target(kind: str, url: str) -> tuple[ViewStore | TableWriter, Callable[[int], bool]]:
    """Return a store or a writer, and what makes it take a batch."""
    where, _, name = kind.partition("-")
    if name == "store":
        store = open_store(ViewOptions(store=where, url=url), Path(), Path())
        store.define("q", [TOTALS, LOG])
        return store, lambda batch: store.take(
            "q", batch, {"totals": Delta(*totals(batch)), "log": Delta(inserted=[(batch, "x")] * 5)}, Reflects()
        )
    options = {
        "postgres": lambda: PostgresSink(url=url, table="totals"),
        "redis": lambda: RedisSink(url=url, prefix="totals:"),
        "sqlite": lambda: SqliteSink(path=url, table="totals"),
    }[where]()
    writer = open_writer(options, name="totals", base=Path())
    writer.prepare([TableColumn("id", "bigint"), TableColumn("batch", "bigint")], ["id"])
    return writer, lambda batch: writer.take("q", batch, *totals(batch))


def kill_at(place: str) -> None:
    """Make the process end inside a batch."""
    when, _, name = place.partition(":")
    module, _, path = name.partition(":")
    owner: Any = importlib.import_module(module)
    *parents, attribute = path.split(".")
    for parent in parents:
        owner = getattr(owner, parent)
    original, times = getattr(owner, attribute), count(1)

    def killed(*arguments: Any, **named: Any) -> Any:
        last = next(times) == THIRD
        if last and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        result = original(*arguments, **named)
        if last:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(owner, attribute, killed)


def main(kind: str, url: str, place: str) -> None:
    """Take batches for ever."""
    target, take = open_target(kind, url)
    if place != "never":
        kill_at(place)
    last = target.last_batch("q")
    for batch in count(0 if last is None else last + 1):
        assert take(batch)
        sys.stdout.write(f"{batch}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
