"""The texts in ``queries`` go in; the queries that are kept current under random changes come out.

A query begins with ``-- name: NAME``. Behind it may stand ``-- duckdb:`` and what DuckDB is asked where a translation
would not do, or ``-- by spark`` where only Spark can say from scratch what is right. ``-- refused: MESSAGE`` says that
the planner does not take it, and what it answers.
"""

from dataclasses import dataclass
from pathlib import Path

TABLES = """\
CREATE TABLE a (k INT, g STRING, n INT, x DOUBLE, m DECIMAL(10, 2), due TIMESTAMP, tags ARRAY<STRING>, PRIMARY KEY (k))
  WITH (connector = 'memory');
CREATE TABLE b (k INT, g STRING, n INT, y DOUBLE, PRIMARY KEY (k)) WITH (connector = 'memory');
CREATE TABLE c (g STRING, h INT, label STRING, w INT, PRIMARY KEY (g, h)) WITH (connector = 'memory');
CREATE STREAM e (k INT, g STRING, n INT, x DOUBLE) WITH (connector = 'memory');
"""
"""What every application under test begins with: three keyed tables and a stream that only grows."""


@dataclass(frozen=True, slots=True)
class Template:
    """A query, how it is answered from scratch, and what the planner says if it does not take it."""

    name: str
    sql: str
    duckdb: str | None = None
    by_spark: bool = False
    refused: str | None = None


def read(text: str) -> list[Template]:
    """Return the templates of a text.

    >>> read("-- name: one\\nSELECT 1\\n-- duckdb:\\nSELECT 2\\n")
    [Template(name='one', sql='SELECT 1', duckdb='SELECT 2', by_spark=False, refused=None)]
    """
    found = []
    for block in text.split("-- name: ")[1:]:
        name, _, body = block.partition("\n")
        refused = None
        if body.startswith("-- refused: "):
            refused, _, body = body.removeprefix("-- refused: ").partition("\n")
        sql, by_spark, _ = body.partition("-- by spark")
        sql, _, duckdb = sql.partition("-- duckdb:")
        found.append(Template(name.strip(), sql.strip(), duckdb.strip() or None, bool(by_spark), refused))
    return found


ALL = tuple(
    template
    for path in sorted((Path(__file__).parent / "queries").glob("*.sql"))
    for template in read(path.read_text("utf-8"))
)
"""Every template, each under a name of its own."""
