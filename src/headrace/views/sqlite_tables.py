"""The encoded rows that come and go in a batch go in; the table of their view holds them, or an error says why not."""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from operator import itemgetter
from typing import Any

from headrace.errors import HeadraceError
from headrace.views.definition import Row, ViewDefinition
from headrace.views.sqlite_schema import COPIES, HASH, quoted, table_of

__all__ = ["change_rows"]

_OUT_OF_STEP = "Run the application with --fresh to build the view anew."


def change_rows(
    connection: sqlite3.Connection, view: ViewDefinition, deleted: Sequence[Row], inserted: Sequence[Row]
) -> None:
    """Take rows out of the table of a view and put rows in, inside the transaction that is under way."""
    if view.key:
        _change_keyed(connection, view, deleted, inserted)
    else:
        _change_bag(connection, view, deleted, inserted)


def _change_keyed(
    connection: sqlite3.Connection, view: ViewDefinition, deleted: Sequence[Row], inserted: Sequence[Row]
) -> None:
    """Update the rows whose key goes and comes back; delete and insert the others."""
    names = [each.name.lower() for each in view.columns]
    places = [names.index(each.lower()) for each in view.key]
    key_of = itemgetter(*places)
    gone = set(map(key_of, deleted))
    come = set(map(key_of, inserted))
    if len(come) < len(inserted):
        raise _twice(view, places, _first_double(map(key_of, inserted)))
    if len(gone) < len(deleted):
        raise _absent(view, places, _first_double(map(key_of, deleted)))
    kept = gone & come
    only_deleted = [row for row in deleted if key_of(row) not in kept] if kept else deleted
    only_inserted = [row for row in inserted if key_of(row) not in kept] if kept else inserted
    updated = [row for row in inserted if key_of(row) in kept] if kept else ()

    table = table_of(view)
    _delete(connection, view, places, only_deleted)
    if updated:
        _update(connection, view, places, updated)
    marks = ", ".join("?" * len(view.columns))
    try:
        connection.executemany(f"INSERT INTO {table} VALUES ({marks})", only_inserted)
    except sqlite3.IntegrityError as error:
        raise _found_twice(connection, view, places, only_inserted) from error


def _delete(connection: sqlite3.Connection, view: ViewDefinition, places: Sequence[int], rows: Sequence[Row]) -> None:
    key_of = _tuple_of(places)
    statement = f"DELETE FROM {table_of(view)} WHERE {_is_key(view)}"
    if rows and connection.executemany(statement, map(key_of, rows)).rowcount != len(rows):
        connection.rollback()
        raise _first_absent(connection, view, places, rows)


def _update(connection: sqlite3.Connection, view: ViewDefinition, places: Sequence[int], rows: Sequence[Row]) -> None:
    others = [place for place in range(len(view.columns)) if place not in places]
    if not others:
        return  # the row is its key
    setting = ", ".join(f"{quoted(view.columns[place].name)} = ?" for place in others)
    values_of = itemgetter(*others, *places)
    statement = f"UPDATE {table_of(view)} SET {setting} WHERE {_is_key(view)}"
    if connection.executemany(statement, map(values_of, rows)).rowcount != len(rows):
        connection.rollback()
        raise _first_absent(connection, view, places, rows)


def _is_key(view: ViewDefinition) -> str:
    return " AND ".join(f"{quoted(each)} COLLATE BINARY IS ?" for each in view.key)


def _tuple_of(places: Sequence[int]) -> Any:
    first = places[0]
    return itemgetter(*places) if len(places) > 1 else lambda row: (row[first],)


def _change_bag(
    connection: sqlite3.Connection, view: ViewDefinition, deleted: Sequence[Row], inserted: Sequence[Row]
) -> None:
    table = table_of(view)
    if deleted:
        gone = [(copies, _hash(row), copies) for row, copies in Counter(deleted).items()]
        statement = f"UPDATE {table} SET {COPIES} = {COPIES} - ? WHERE {HASH} = ? AND {COPIES} >= ?"
        if connection.executemany(statement, gone).rowcount != len(gone):
            raise HeadraceError(
                f'a row that should leave view "{view.name}" is not there',
                detail="The store is out of step with its query.",
                hint=_OUT_OF_STEP,
            )
        connection.execute(f"DELETE FROM {table} WHERE {COPIES} = 0 AND {COPIES} <> 1")
    if inserted:
        come = [(*row, copies, _hash(row)) for row, copies in Counter(inserted).items()]
        marks = ", ".join("?" * (len(view.columns) + 2))
        connection.executemany(
            f"INSERT INTO {table} VALUES ({marks}) "
            f"ON CONFLICT ({HASH}) DO UPDATE SET {COPIES} = {COPIES} + excluded.{COPIES}",
            come,
        )


def _hash(row: Row) -> bytes:
    """Return what stands for a row, the same in every run and on every machine."""
    return blake2b(ascii(row).encode("ascii"), digest_size=16).digest()


def _first_double(keys: Iterable[Any]) -> Any:
    return next(key for key, times in Counter(keys).items() if times > 1)


def _found_twice(
    connection: sqlite3.Connection, view: ViewDefinition, places: Sequence[int], rows: Sequence[Row]
) -> HeadraceError:
    """Return the error for the first row whose key is there; those before it were put in by the same statement."""
    connection.rollback()
    statement = f"SELECT 1 FROM {table_of(view)} WHERE {_is_key(view)}"
    key_of = _tuple_of(places)
    for row in rows:
        if connection.execute(statement, key_of(row)).fetchone() is not None:
            return _twice(view, places, key_of(row))
    return _twice(view, places, ())


def _first_absent(
    connection: sqlite3.Connection, view: ViewDefinition, places: Sequence[int], rows: Sequence[Row]
) -> HeadraceError:
    statement = f"SELECT 1 FROM {table_of(view)} WHERE {_is_key(view)}"
    key_of = _tuple_of(places)
    for row in rows:
        if connection.execute(statement, key_of(row)).fetchone() is None:
            return _absent(view, places, key_of(row))
    return _absent(view, places, ())


def _twice(view: ViewDefinition, places: Sequence[int], key: Any) -> HeadraceError:
    return HeadraceError(
        f'two rows of view "{view.name}" have the same key',
        detail=f"The key is {_shown(view, places, key)}.",
        hint="Declare a key that identifies each row, or none.",
    )


def _absent(view: ViewDefinition, places: Sequence[int], key: Any) -> HeadraceError:
    return HeadraceError(
        f'a row that should leave view "{view.name}" is not there',
        detail=f"Its key is {_shown(view, places, key)}. The store is out of step with its query.",
        hint=_OUT_OF_STEP,
    )


def _shown(view: ViewDefinition, places: Sequence[int], key: Any) -> str:
    values = key if isinstance(key, tuple) else (key,)
    return ", ".join(f"{view.columns[place].name} = {value!r}" for place, value in zip(places, values, strict=False))
