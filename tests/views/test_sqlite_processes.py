"""Views across processes: a reader never sees half a batch, nor does a kill leave one."""

import importlib.util
import random
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

from headrace.views.sqlite import SqliteViewStore

WRITER = Path(__file__).parent / "writer.py"
spec = importlib.util.spec_from_file_location("writer", WRITER)
writer = importlib.util.module_from_spec(spec)
spec.loader.exec_module(writer)

AGREE = """
SELECT (SELECT sum(amount) FROM accounts) AS accounts, (SELECT amount FROM total) AS total,
       (SELECT batch FROM total) AS batch, (SELECT count(*) FROM moves) AS moves
"""


def start(path, batches, rows):
    return subprocess.Popen(
        [sys.executable, str(WRITER), str(path), str(batches), str(rows)], stdout=subprocess.PIPE, text=True
    )


def test_a_reader_sees_all_views_as_of_one_batch(tmp_path):
    path, rows = tmp_path / "bank.sqlite", 200
    process = start(path, 1_000_000, rows)
    process.stdout.readline()
    reader = SqliteViewStore(path, read_only=True)
    seen = set()
    while len(seen) < 30:
        assert process.poll() is None, "the writer ended by itself"
        [(accounts, total, batch, moves)] = reader.query(AGREE)[1]
        assert accounts == total == sum(writer.amounts(batch, rows))
        assert moves == (batch + 1) * rows
        seen.add(batch)
    process.kill()
    process.communicate()
    reader.close()


def test_a_kill_leaves_a_whole_batch_or_none(tmp_path):
    path, rows = tmp_path / "bank.sqlite", 400
    random_ = random.Random(7)
    for _ in range(25):
        process = start(path, 1_000_000, rows)
        for _ in range(random_.randint(1, 4)):
            assert process.stdout.readline(), "the writer ended by itself"
        # A batch takes some milliseconds: most of these moments are inside one.
        try:
            process.wait(random_.uniform(0, 0.03))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        process.communicate()
        check(path, rows)


def check(path, rows):
    store = SqliteViewStore(path, read_only=True)
    last = store.last_batch("bank")
    amounts = writer.amounts(last, rows)
    assert list(store.rows("accounts")) == list(enumerate(amounts))
    assert list(store.rows("total")) == [(last, sum(amounts))]
    moved = Counter()
    for batch in range(last + 1):
        moved.update((amount,) for amount in writer.amounts(batch, rows))
    assert Counter(store.rows("moves")) == moved
    assert [each.batch for each in store.changes("total", None)] == list(range(last + 1))
    assert store.reflects("total").positions == {"moves": str(last)}
    rebuilt = {}
    for each in store.changes("accounts", None):
        for row in each.delta.deleted:
            assert rebuilt.pop(row[0]) == row[1]
        rebuilt.update(each.delta.inserted)
    assert sorted(rebuilt.items()) == list(enumerate(amounts))
    store.close()
