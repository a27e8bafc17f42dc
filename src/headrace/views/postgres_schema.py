"""View definitions go in; the tables of PostgreSQL that keep them come out."""

from collections.abc import Sequence
from hashlib import blake2b

from psycopg import sql

from headrace.connectors.postgres.client import Connection
from headrace.connectors.postgres.types import TYPES, postgres_type
from headrace.connectors.spark_types import SparkType, parse_type
from headrace.connectors.tables import TableColumn, checked_columns
from headrace.errors import HeadraceError
from headrace.views.definition import ViewDefinition
from headrace.views.store_rules import (
    HIDDEN,
    KeptView,
    check_names,
    check_same,
    definition_from_text,
    definition_text,
    identified,
)

__all__ = ["Names", "columns_of", "define_views", "is_there", "kept_views", "make_store", "remove_view", "view_type"]

BATCH, ORDINAL, DELETED = f"{HIDDEN}batch", f"{HIDDEN}ordinal", f"{HIDDEN}deleted"
HASH, ID = f"{HIDDEN}hash", f"{HIDDEN}id"
LONGEST_NAME = 63
_LOCK = 0x68656165  # any number that nobody else uses: makers of tables wait for each other


class Names:
    """The names of a store's tables in one schema."""

    def __init__(self, schema: str) -> None:
        self.schema = schema
        self.views = sql.Identifier(schema, f"{HIDDEN}views")
        self.batches = sql.Identifier(schema, f"{HIDDEN}batches")
        self.feed_batches = sql.Identifier(schema, f"{HIDDEN}feed_batches")

    def table(self, view: ViewDefinition) -> sql.Identifier:
        """Return the table that holds the rows of a view."""
        return sql.Identifier(self.schema, table_name(view.name))

    def feed(self, view: ViewDefinition) -> sql.Identifier:
        """Return the table that holds the changes of a view."""
        return sql.Identifier(self.schema, f"{HIDDEN}feed_{_short(view.name.lower())}")

    def staging(self, view: ViewDefinition) -> sql.Identifier:
        """Return the temporary table that a batch of a view comes into."""
        return sql.Identifier("pg_temp", f"{HIDDEN}incoming_{_short(self.schema, definition_text(view))}")


def table_name(view: str) -> str:
    """Return the name of the table that holds the rows of a view: its own in lower case, as far as it is short enough.

    >>> table_name("Totals"), len(table_name("t" * 100))
    ('totals', 57)
    """
    name = view.lower()
    if len(name.encode()) <= LONGEST_NAME:
        return name
    return f"{name.encode()[:40].decode(errors='ignore')}_{_short(name)}"


def _short(*texts: str) -> str:
    return blake2b("\0".join(texts).encode(), digest_size=8).hexdigest()


def view_type(kind: SparkType) -> str:
    """Return the type of a view's column: text is ordered by its bytes, and a float keeps all its digits."""
    if kind.name in {"string", "interval", "void"}:
        return 'text COLLATE "C"'
    return "double precision" if kind.name == "float" else postgres_type(kind)


def columns_of(view: ViewDefinition) -> sql.Composed:
    """Return the names of a view's columns with commas between."""
    return sql.SQL(", ").join(sql.Identifier(each.name) for each in view.columns)


def is_there(connection: Connection, names: Names) -> bool:
    """Say whether the schema holds a store yet."""
    found = connection.execute(
        "SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE n.nspname = %s AND c.relname = %s",
        (names.schema, f"{HIDDEN}views"),
    )
    return found.fetchone() is not None


def make_store(connection: Connection, names: Names) -> None:
    """Make the tables of a store unless they are there, inside the transaction that is under way."""
    if is_there(connection, names):
        return
    connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
    if is_there(connection, names):  # made by whom we waited for
        return
    if connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (names.schema,)).fetchone() is None:
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(names.schema)))
    connection.execute(
        sql.SQL(
            "CREATE TABLE {} (name text PRIMARY KEY, query text NOT NULL, definition text NOT NULL, pruned_to bigint)"
        ).format(names.views)
    )
    connection.execute(
        sql.SQL(
            "CREATE TABLE {} (query text PRIMARY KEY, batch bigint NOT NULL, at timestamptz NOT NULL, "
            "watermark timestamptz, positions text NOT NULL)"
        ).format(names.batches)
    )
    connection.execute(
        sql.SQL("CREATE TABLE {} (view text, batch bigint, at timestamptz NOT NULL, PRIMARY KEY (view, batch))").format(
            names.feed_batches
        )
    )


def kept_views(connection: Connection, names: Names) -> dict[str, KeptView]:
    """Return the views of a store by their names in lower case."""
    if not is_there(connection, names):
        return {}
    rows = connection.execute(
        sql.SQL("SELECT name, query, definition, pruned_to FROM {} ORDER BY name").format(names.views)
    )
    return {name: KeptView(definition_from_text(text), query, pruned) for name, query, text, pruned in rows}


def define_views(connection: Connection, names: Names, query: str, views: Sequence[ViewDefinition]) -> None:
    """Make the tables of views that are new, inside the transaction that is under way."""
    kept = kept_views(connection, names)
    for view in views:
        _check(view)
        old = kept.get(view.name.lower())
        if old is None:
            _make_view(connection, names, view)
        else:
            check_same(query, view, old)
            _make_indexes(connection, names, view, old.definition.indexes)
        connection.execute(
            sql.SQL(
                "INSERT INTO {} (name, query, definition) VALUES (%s, %s, %s) "
                "ON CONFLICT (name) DO UPDATE SET definition = EXCLUDED.definition"
            ).format(names.views),
            (view.name.lower(), query, definition_text(identified(view, None if old is None else old.definition))),
        )


def remove_view(connection: Connection, names: Names, view: ViewDefinition) -> None:
    """Remove a view with its rows and its feed, inside the transaction that is under way."""
    for table in (names.table(view), names.feed(view)):
        connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(table))
    for table, column in ((names.feed_batches, "view"), (names.views, "name")):
        statement = sql.SQL("DELETE FROM {} WHERE {} = %s").format(table, sql.Identifier(column))
        connection.execute(statement, (view.name.lower(),))


def _check(view: ViewDefinition) -> None:
    check_names(view)
    checked_columns([TableColumn(each.name, each.type) for each in view.columns], TYPES, "PostgreSQL")
    for column in view.columns:
        if len(column.name.encode()) > LONGEST_NAME:
            raise HeadraceError(
                f'the name of column "{column.name}" of view "{view.name}" is too long for PostgreSQL',
                detail=f"It takes {LONGEST_NAME} bytes.",
                hint="Rename it with AS.",
            )


def _make_view(connection: Connection, names: Names, view: ViewDefinition) -> None:
    columns = sql.SQL(", ").join(
        sql.SQL("{} {}").format(sql.Identifier(each.name), sql.SQL(view_type(parse_type(each.type))))
        for each in view.columns
    )
    table, feed = names.table(view), names.feed(view)
    if view.key:
        connection.execute(sql.SQL("CREATE TABLE {} ({})").format(table, columns))
        connection.execute(sql.SQL("CREATE UNIQUE INDEX ON {} ({})").format(table, _list(_own_names(view, view.key))))
    else:
        connection.execute(
            sql.SQL("CREATE TABLE {} ({}, {} bytea NOT NULL, {} bigserial PRIMARY KEY)").format(
                table, columns, sql.Identifier(HASH), sql.Identifier(ID)
            )
        )
        connection.execute(sql.SQL("CREATE INDEX ON {} ({})").format(table, sql.Identifier(HASH)))
    connection.execute(
        sql.SQL("CREATE TABLE {} ({} bigint, {} bigint, {} boolean, {}, PRIMARY KEY ({}, {}))").format(
            feed,
            *map(sql.Identifier, (BATCH, ORDINAL, DELETED)),
            columns,
            *map(sql.Identifier, (BATCH, ORDINAL)),
        )
    )
    _make_indexes(connection, names, view, ())


def _make_indexes(
    connection: Connection, names: Names, view: ViewDefinition, already: Sequence[tuple[str, ...]]
) -> None:
    for columns in view.indexes:
        if columns not in already:
            connection.execute(
                sql.SQL("CREATE INDEX ON {} ({})").format(names.table(view), _list(_own_names(view, columns)))
            )


def _own_names(view: ViewDefinition, columns: Sequence[str]) -> list[str]:
    names = {each.name.lower(): each.name for each in view.columns}
    return [names[each.lower()] for each in columns]


def _list(names: Sequence[str]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, names))
