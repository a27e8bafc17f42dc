"""A process that moves money between accounts in two views that must agree; tests read beside it or kill it.

    python tests/views/writer.py PATH BATCHES ROWS

It prints the number of each batch once it is taken in, and goes on from the last one.
"""

import random
import sys

from headrace.views.definition import Delta, Reflects, ViewColumn, ViewDefinition
from headrace.views.sqlite import SqliteViewStore

VIEWS = [
    ViewDefinition("accounts", (ViewColumn("id", "int"), ViewColumn("amount", "bigint")), key=("id",)),
    ViewDefinition("total", (ViewColumn("batch", "bigint"), ViewColumn("amount", "bigint")), key=("batch",)),
    ViewDefinition("moves", (ViewColumn("amount", "bigint"),)),
]


def amounts(batch: int, rows: int) -> list[int]:
    """Return what the accounts hold after a batch, the same in every process."""
    random_ = random.Random(batch)
    return [random_.randint(0, 9) for _ in range(rows)]


def deltas(batch: int, rows: int) -> dict[str, Delta]:
    """Return what a batch changes: all accounts, their total, and one more move for each account."""
    new = list(enumerate(amounts(batch, rows)))
    old = list(enumerate(amounts(batch - 1, rows))) if batch else []
    total = [(batch - 1, sum(amount for _, amount in old))] if batch else []
    return {
        "accounts": Delta([row for row in old if row not in new], [row for row in new if row not in old]),
        "total": Delta(total, [(batch, sum(amount for _, amount in new))]),
        "moves": Delta((), [(amount,) for _, amount in new]),
    }


def main() -> None:
    """Take in batches from where the store stands."""
    path, batches, rows = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    store = SqliteViewStore(path)
    store.define("bank", VIEWS)
    last = store.last_batch("bank")
    for batch in range(0 if last is None else last + 1, batches):
        store.take("bank", batch, deltas(batch, rows), Reflects(positions={"moves": str(batch)}))
        sys.stdout.write(f"{batch}\n")
        sys.stdout.flush()
    store.close()


if __name__ == "__main__":
    main()
