"""The options of a materialised view go in, the store that keeps it comes out."""

from datetime import timedelta
from pathlib import Path

from headrace.catalog.view_options import ViewOptions
from headrace.connectors.postgres.options import PostgresConnection
from headrace.connectors.redis.options import RedisConnection
from headrace.connectors.tables import installed
from headrace.views.definition import ViewStore

__all__ = ["open_store"]


def open_store(
    options: ViewOptions, base: Path, default_path: Path, query_timeout: timedelta = timedelta(seconds=30)
) -> ViewStore:
    """Return the store of a view; paths are relative to ``base``, and ``default_path`` is the file of SQLite's.

    Queries in PostgreSQL and over views in Redis that take longer than ``query_timeout`` are ended.
    """
    match options.store:
        case "postgres":
            with installed("psycopg", "postgres"):
                from headrace.views.postgres import PostgresViewStore
            return PostgresViewStore(
                PostgresConnection(url=options.url, password=options.password),
                schema=options.schema,
                query_timeout=query_timeout,
            )
        case "redis":
            with installed("redis", "redis"):
                from headrace.views.redis import RedisViewStore
            return RedisViewStore(
                RedisConnection(url=options.url, password=options.password),
                prefix=options.prefix,
                query_timeout=query_timeout,
            )
        case _:
            from headrace.views.sqlite import SqliteViewStore

            return SqliteViewStore(default_path if options.path is None else base / options.path)
