"""The name of a table goes in; what PostgreSQL knows of it, or a table made to measure, comes out."""

from collections.abc import Sequence
from dataclasses import dataclass

from psycopg import sql

from headrace.connectors.postgres.client import Connection
from headrace.connectors.postgres.types import TYPES, fits, postgres_type
from headrace.connectors.tables import TableColumn, checked_columns
from headrace.errors import HeadraceError

__all__ = ["BATCHES", "check_target", "create_target", "find_columns", "make_batches"]

BATCHES = "headrace_batches"
_LOCK = 0x68656164  # any number that nobody else uses: makers of tables wait for each other


@dataclass(frozen=True, slots=True)
class FoundColumn:
    """A column of a table that is there."""

    name: str
    type: str
    must_be_given: bool


def make_batches(connection: Connection, schema: str) -> None:
    """Make the table that holds the number of each output's last batch, unless it is there."""
    connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
    found = connection.execute(
        "SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE n.nspname = %s AND c.relname = %s",
        (schema, BATCHES),
    ).fetchone()
    if found is None:
        statement = sql.SQL("CREATE TABLE {} (output text PRIMARY KEY, batch bigint NOT NULL)")
        connection.execute(statement.format(sql.Identifier(schema, BATCHES)))


def find_columns(connection: Connection, schema: str, table: str) -> list[FoundColumn] | None:
    """Return the columns of a table, None if there is no such table."""
    kind = connection.execute(
        "SELECT c.relkind::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE n.nspname = %s AND c.relname = %s",
        (schema, table),
    ).fetchone()
    if kind is None:
        return None
    if kind[0] not in {"r", "p"}:
        raise HeadraceError(f"{schema}.{table} is no table that takes rows", hint="Name a table, not a view or index.")
    rows = connection.execute(
        "SELECT a.attname, format_type(a.atttypid, a.atttypmod), "
        "a.attnotnull AND NOT a.atthasdef AND a.attidentity = '' "
        "FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE n.nspname = %s AND c.relname = %s AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum",
        (schema, table),
    )
    return [FoundColumn(*row) for row in rows]


def create_target(
    connection: Connection, schema: str, table: str, columns: Sequence[TableColumn], key: Sequence[str]
) -> None:
    """Make the table, with a unique index over the key if there is one."""
    checked_columns(columns, TYPES, "PostgreSQL")
    parts = [
        sql.SQL("{} {}").format(sql.Identifier(column.name), sql.SQL(postgres_type(column.kind))) for column in columns
    ]
    if key:
        parts.append(sql.SQL("UNIQUE ({})").format(sql.SQL(", ").join(map(sql.Identifier, key))))
    connection.execute(sql.SQL("CREATE TABLE {} ({})").format(sql.Identifier(schema, table), sql.SQL(", ").join(parts)))


def check_target(
    connection: Connection,
    schema: str,
    table: str,
    found: Sequence[FoundColumn],
    columns: Sequence[TableColumn],
    key: Sequence[str],
) -> dict[str, str]:
    """Return what the table calls each column, or raise if it cannot take such rows."""
    checked_columns(columns, TYPES, "PostgreSQL")
    exact = {each.name: each for each in found}
    folded = {each.name.lower(): each for each in found}
    names: dict[str, str] = {}
    for column in columns:
        target = exact.get(column.name) or folded.get(column.name.lower())
        if target is None:
            raise HeadraceError(
                f'table {schema}.{table} has no column "{column.name}"',
                detail=f"Its columns are: {', '.join(each.name for each in found)}.",
                hint="Rename the column in the query with AS, or add it to the table.",
            )
        if not fits(column.kind, target.type):
            raise HeadraceError(
                f'column "{target.name}" of table {schema}.{table} is {target.type}, and the query gives {column.type}',
                detail=f"{column.type} is kept as {postgres_type(column.kind)}.",
                hint="Convert it in the query with CAST, or change the table.",
            )
        names[column.name] = target.name
    for each in found:
        if each.must_be_given and each.name not in names.values():
            raise HeadraceError(
                f'column "{each.name}" of table {schema}.{table} must have a value, and the query gives none',
                hint="Add it to the query, or give it a DEFAULT.",
            )
    _check_rights(connection, schema, table, bool(key))
    if key:
        _check_unique(connection, schema, table, [names[name] for name in key])
    return names


def _check_rights(connection: Connection, schema: str, table: str, keyed: bool) -> None:
    needed = ("INSERT", "SELECT", "UPDATE", "DELETE") if keyed else ("INSERT",)
    for right in needed:
        allowed = connection.execute(
            "SELECT has_table_privilege(format('%%I.%%I', %s::text, %s::text), %s)", (schema, table, right)
        ).fetchone()
        if allowed != (True,):
            raise HeadraceError(
                f"this user may not {right} in table {schema}.{table}",
                hint=f"Ask the owner for: GRANT {', '.join(needed)} ON {schema}.{table} TO …",
            )


def _check_unique(connection: Connection, schema: str, table: str, key: Sequence[str]) -> None:
    rows = connection.execute(
        "SELECT array_agg(a.attname::text) FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid "
        "JOIN pg_namespace n ON n.oid = c.relnamespace "
        "JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey[0:i.indnkeyatts - 1]) "
        "WHERE n.nspname = %s AND c.relname = %s AND i.indisunique AND i.indpred IS NULL AND i.indexprs IS NULL "
        "AND i.indimmediate GROUP BY i.indexrelid",
        (schema, table),
    )
    if not any(set(names) == set(key) for (names,) in rows):
        raise HeadraceError(
            f"table {schema}.{table} has no unique index over ({', '.join(key)})",
            detail="Without one, two rows of one key could be there.",
            hint=f"CREATE UNIQUE INDEX ON {schema}.{table} ({', '.join(key)}).",
        )
