"""The columns of a key go in, conditions that two rows have the same key come out; NULL is a value like any other."""

from collections.abc import Iterator, Sequence

from psycopg import sql

__all__ = ["has_nulls", "null_patterns", "same_key"]


def same_key(key: Sequence[str], nulls: Sequence[bool]) -> sql.Composed:
    """Return the condition that a row of ``t`` has the key of a row of ``s``, which is NULL at these places.

    ``IS NOT DISTINCT FROM`` would say the same for all places at once, but no index helps it.
    """
    parts = [
        sql.SQL("(t.{0} IS NULL AND s.{0} IS NULL)" if null else "t.{0} = s.{0}").format(sql.Identifier(name))
        for name, null in zip(key, nulls, strict=True)
    ]
    return sql.SQL(" AND ").join(parts)


def null_patterns(key: Sequence[str], rows: Sequence[Sequence[object]]) -> Iterator[tuple[bool, ...]]:
    """Yield where the keys of the rows are NULL, each way once; the key's columns come first in a row."""
    width = len(key)
    yield from dict.fromkeys(tuple(value is None for value in row[:width]) for row in rows)


def has_nulls(key: Sequence[str]) -> sql.Composed:
    """Return the condition that some column of a key of ``s`` is NULL."""
    return sql.SQL(" OR ").join(sql.SQL("s.{} IS NULL").format(sql.Identifier(name)) for name in key)
