"""Batches of rows go in; the hashes of Redis are left as they say, in one transaction each."""

from collections.abc import Sequence
from typing import Any

import redis

from headrace.connectors.redis.client import RedisAddress, open_client
from headrace.connectors.redis.options import RedisSink
from headrace.connectors.tables import TableColumn, by_key, checked_key
from headrace.connectors.typed_values import from_text, key_text, text_of
from headrace.errors import HeadraceError

__all__ = ["RedisWriter", "fields_of"]

Row = tuple[Any, ...]

BATCH = "headrace:batch:"
MOST_TRIES = 100


class RedisWriter:
    """Writes each row as a hash; the number of an output's last batch is in a key of its own."""

    def __init__(self, options: RedisSink, prefix: str) -> None:
        self._options = options
        self._prefix = prefix
        self._address = RedisAddress(options)
        self._client: Any = open_client(options)
        self._names: tuple[str, ...] = ()
        self._places: tuple[int, ...] = ()

    def prepare(self, columns: Sequence[TableColumn], key: Sequence[str]) -> None:
        """Check that the server answers and that rows have a key."""
        self._places = checked_key(columns, self._options.key or tuple(key))
        if not self._places:
            raise HeadraceError(
                "a sink of connector redis needs a key",
                detail="Each row is a hash, and the key is its name.",
                hint="Name the columns that identify a row with key = '…'.",
            )
        for column in columns:
            from_text(column.kind)
        self._names = tuple(column.name for column in columns)
        with self._address.plain_words():
            self._client.ping()

    def last_batch(self, output: str) -> int | None:
        """Return the last batch of an output that was taken."""
        with self._address.plain_words():
            found = self._client.get(BATCH + output)
        return int(found) if isinstance(found, str) else None

    def take(self, output: str, batch: int, deleted: Sequence[Row], inserted: Sequence[Row]) -> bool:
        """Take in a batch: rows and number at once. One that was taken in before changes nothing: False."""
        changes = by_key(self._places, deleted, inserted)
        with self._address.plain_words():
            for _ in range(MOST_TRIES):
                with self._client.pipeline() as transaction:
                    try:
                        transaction.watch(BATCH + output)
                        last = transaction.get(BATCH + output)
                        if isinstance(last, str) and int(last) >= batch:
                            return False
                        transaction.multi()
                        for key in changes.gone:
                            transaction.delete(self._prefix + key_text(key))
                        for key, row in changes.rows.items():
                            name = self._prefix + key_text(key)
                            transaction.delete(name)  # fields that are NULL now
                            if fields := fields_of(self._names, row):
                                transaction.hset(name, mapping=fields)
                        transaction.set(BATCH + output, batch)
                        transaction.execute()
                        return True
                    except redis.WatchError:
                        continue  # another run of the same output was faster: look again
        raise HeadraceError(f'another run writes "{output}" to Redis at {self._address}', hint="Stop one of them.")

    def close(self) -> None:
        """Let go of the connection."""
        self._client.close()


def fields_of(names: Sequence[str], row: Row) -> dict[str, str]:
    """Return a row as a hash; what is NULL is left out.

    >>> fields_of(("id", "name", "tags"), (1, None, ["a"]))
    {'id': '1', 'tags': '["a"]'}
    """
    return {name: text_of(value) for name, value in zip(names, row, strict=True) if value is not None}
