"""All connectors there are; the options of a statement go in, typed options come out."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from headrace.connectors.console.options import ConsoleSink
from headrace.connectors.datagen.options import DatagenSource
from headrace.connectors.files.options import FilesSink, FilesSource, FilesTable
from headrace.connectors.formats import FILE_FORMATS, KAFKA_SOURCE_FORMATS, SOCKET_FORMATS
from headrace.connectors.kafka.options import KafkaSink, KafkaSource, KafkaTable
from headrace.connectors.memory.options import MemorySink, MemorySource, MemoryTable
from headrace.connectors.noop.options import NoopSink
from headrace.connectors.options import (
    closest,
    option,
    option_fields,
    option_names,
    read_options,
    without_secrets,
)
from headrace.connectors.postgres.options import PostgresSink
from headrace.connectors.redis.options import RedisSink
from headrace.connectors.socket.options import SocketSource
from headrace.connectors.sqlite.options import SqliteSink
from headrace.errors import HeadraceError, Span
from headrace.language.statements import Option

__all__ = [
    "CONNECTORS",
    "Connector",
    "ConnectorSink",
    "ConnectorSource",
    "ConnectorTable",
    "Role",
    "SinkOptions",
    "StreamOptions",
    "TableOptions",
    "connector_named",
    "sink_options",
    "source_options",
    "table_options",
]

ConnectorSource = FilesSource | KafkaSource | MemorySource | DatagenSource | SocketSource
ConnectorTable = FilesTable | KafkaTable | MemoryTable
ConnectorSink = FilesSink | KafkaSink | PostgresSink | SqliteSink | RedisSink | MemorySink | ConsoleSink | NoopSink

GUARANTEES = ("exactly-once", "at-least-once", "at-most-once")
_CONNECTOR_DOC = "Which connector it is; the other options depend on it."


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamOptions:
    """What every stream takes, whatever its connector."""

    connector: str = option(doc=_CONNECTOR_DOC, example="files")
    late: str = option(
        doc="What becomes of a row behind the watermark: it is dropped where a query cannot take it any more, or, "
        "besides, kept in a materialised view `<stream>_late` with the reason; `accept` is not supported yet.",
        default="drop",
        choices=("drop", "keep", "accept"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOptions:
    """What every table takes, whatever its connector."""

    connector: str = option(doc=_CONNECTOR_DOC, example="files")
    refresh: str | None = option(
        doc="Makes the table one that rows are looked up in as it stands, instead of one whose changes change answers: "
        "how often it is read anew, or `never`. A table without a primary key is read at the start.",
        default=None,
        example="10 minutes",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkOptions:
    """What every sink takes, whatever its connector."""

    connector: str = option(doc=_CONNECTOR_DOC, example="console")
    guarantee: str | None = option(
        doc="What must hold after a crash and a resume; the strongest that the connector gives without it.",
        default=None,
        choices=GUARANTEES,
    )


class Role(Enum):
    """What a statement wants of a connector."""

    SOURCE = "be read"
    TABLE = "be a table"
    SINK = "be written"


@dataclass(frozen=True, slots=True)
class Connector:
    """One system that rows come from or go to."""

    name: str
    doc: str
    example_sql: str
    source: type[ConnectorSource] | None = None
    table: type[ConnectorTable] | None = None
    sink: type[ConnectorSink] | None = None
    formats: tuple[str, ...] = ()
    guarantee: str | None = None

    def takes(self, role: Role) -> bool:
        """Whether the connector can play the role."""
        return {Role.SOURCE: self.source, Role.TABLE: self.table, Role.SINK: self.sink}[role] is not None


CONNECTORS = (
    Connector(
        name="files",
        doc="Files in a folder. A stream reads each new file once; a sink writes each batch once.",
        source=FilesSource,
        table=FilesTable,
        sink=FilesSink,
        formats=FILE_FORMATS,
        guarantee="exactly-once",
        example_sql="""\
CREATE STREAM orders (
  id BIGINT, country STRING, amount DOUBLE, placed_at TIMESTAMP,
  WATERMARK FOR placed_at AS placed_at - INTERVAL 5 SECONDS
) WITH (connector = 'files', path = 'orders/*.json', max_files_per_batch = 100);

CREATE TABLE countries (code STRING, name STRING, PRIMARY KEY (code))
  WITH (connector = 'files', path = 'countries.csv', format = 'csv');

CREATE SINK large_orders
  WITH (connector = 'files', path = 'out', format = 'parquet', partition_by = 'country')
  AS SELECT o.id, o.amount, c.name AS country
     FROM orders o JOIN countries c ON c.code = o.country
     WHERE o.amount > 500;
""",
    ),
    Connector(
        name="kafka",
        doc="Topics of Apache Kafka. A stream begins where it is told and goes on from its checkpoint; a sink writes "
        "each batch once, in transactions.",
        source=KafkaSource,
        table=KafkaTable,
        sink=KafkaSink,
        formats=KAFKA_SOURCE_FORMATS,
        guarantee="exactly-once",
        example_sql="""\
CREATE STREAM bids (
  auction BIGINT, price BIGINT, placed_at TIMESTAMP,
  bidder STRING AS CAST(kafka_key() AS STRING), at_offset BIGINT AS kafka_offset(),
  WATERMARK FOR placed_at AS placed_at - INTERVAL 4 SECONDS
) WITH (connector = 'kafka', topic = 'bids', start = 'earliest', max_rows_per_batch = 100000);

CREATE TABLE auctions (id BIGINT, category STRING, PRIMARY KEY (id))
  WITH (connector = 'kafka', topic = 'auctions', format = 'upsert');

CREATE SINK best WITH (connector = 'kafka', topic = 'best', key = 'category', guarantee = 'exactly-once')
  AS SELECT a.category, b.window_start, max(b.price) AS price
     FROM TUMBLE(bids, placed_at, INTERVAL 10 SECONDS) b JOIN auctions a ON a.id = b.auction
     GROUP BY a.category, b.window_start;
""",
    ),
    Connector(
        name="postgres",
        doc="Tables of PostgreSQL. A sink writes each batch once, in one transaction; rows with a key replace each "
        "other.",
        sink=PostgresSink,
        guarantee="exactly-once",
        example_sql="""\
CREATE STREAM orders (id BIGINT, customer STRING, amount DECIMAL(10, 2)) WITH (connector = 'memory');

CREATE SINK totals
  WITH (connector = 'postgres', host = 'localhost', user = 'headrace', database = 'shop', table = 'public.totals',
        key = 'customer')
  AS SELECT customer, count(*) AS orders, sum(amount) AS total FROM orders GROUP BY customer;
""",
    ),
    Connector(
        name="sqlite",
        doc="Tables of an SQLite file. A sink writes each batch once, in one transaction; rows with a key replace each "
        "other. Decimals, times and nested values are text, so that they keep all their digits.",
        sink=SqliteSink,
        guarantee="exactly-once",
        example_sql="""\
CREATE STREAM orders (id BIGINT, customer STRING, amount DECIMAL(10, 2)) WITH (connector = 'memory');

CREATE SINK totals WITH (connector = 'sqlite', path = 'shop.db', table = 'totals', key = 'customer')
  AS SELECT customer, count(*) AS orders, sum(amount) AS total FROM orders GROUP BY customer;
""",
    ),
    Connector(
        name="redis",
        doc="Hashes of Redis, one for each key. A sink writes each batch once, in one transaction.",
        sink=RedisSink,
        guarantee="exactly-once",
        example_sql="""\
CREATE STREAM orders (id BIGINT, customer STRING, amount DECIMAL(10, 2)) WITH (connector = 'memory');

CREATE SINK totals
  WITH (connector = 'redis', url = 'redis://localhost:6379/0', key = 'customer', prefix = 'totals:')
  AS SELECT customer, count(*) AS orders, sum(amount) AS total FROM orders GROUP BY customer;
""",
    ),
    Connector(
        name="memory",
        doc="Rows in this process: a test or a notebook hands them over and looks at them.",
        source=MemorySource,
        table=MemoryTable,
        sink=MemorySink,
        guarantee="at-least-once",
        example_sql="""\
CREATE STREAM clicks (at TIMESTAMP, page STRING) WITH (connector = 'memory');

CREATE TABLE pages (page STRING, title STRING, PRIMARY KEY (page)) WITH (connector = 'memory');

CREATE SINK seen WITH (connector = 'memory')
  AS SELECT c.at, p.title FROM clicks c JOIN pages p ON p.page = c.page;
""",
    ),
    Connector(
        name="datagen",
        doc="Made-up rows at a steady rate, each column by an SQL expression.",
        source=DatagenSource,
        example_sql="""\
CREATE STREAM ticks (
  symbol STRING, price DOUBLE, at TIMESTAMP,
  WATERMARK FOR at AS at - INTERVAL 1 SECOND
) WITH (
  connector = 'datagen',
  rows_per_second = 100,
  rows = 1000,
  start = '2024-01-01T00:00:00Z',
  symbol = 'element_at(array("ABC", "XYZ"), CAST(1 + value % 2 AS INT))',
  price = '100 + 10 * sin(value / 50)',
  at = 'timestamp'
);
""",
    ),
    Connector(
        name="socket",
        doc="Lines of text from a TCP server, such as `nc -lk 9999`. It cannot be read twice, so what comes "
        "while the application is down is lost: for trying things out.",
        source=SocketSource,
        formats=SOCKET_FORMATS,
        example_sql="""\
CREATE STREAM lines (line STRING) WITH (connector = 'socket', port = 9999);

SELECT word, count(*) AS n
FROM (SELECT explode(split(line, ' ')) AS word FROM lines) AS words
GROUP BY word;
""",
    ),
    Connector(
        name="console",
        doc="Rows printed on the terminal, batch by batch.",
        sink=ConsoleSink,
        guarantee="at-most-once",
        example_sql="""\
CREATE STREAM clicks (at TIMESTAMP, page STRING) WITH (connector = 'memory');

CREATE SINK shown WITH (connector = 'console', rows = 50, truncate = false)
  AS SELECT at, page FROM clicks;
""",
    ),
    Connector(
        name="noop",
        doc="Rows computed in full and thrown away, to measure how fast a query is.",
        sink=NoopSink,
        guarantee="at-least-once",
        example_sql="""\
CREATE STREAM ticks (n BIGINT)
  WITH (connector = 'datagen', rows_per_second = 100000, n = 'value');

CREATE SINK nowhere WITH (connector = 'noop')
  AS SELECT n, n * n AS square FROM ticks WHERE n % 2 = 0;
""",
    ),
)


def connector_named(name: str, role: Role, span: Span) -> Connector:
    """Return the connector, or raise at the span when there is none that can play the role."""
    able = [each.name for each in CONNECTORS if each.takes(role)]
    detail = f"Connectors that can {role.value}: {', '.join(able)}."
    found = next((each for each in CONNECTORS if each.name == name.lower()), None)
    if found is None:
        meant = closest(name, able)
        raise HeadraceError(
            f'unknown connector "{name}"',
            detail=detail,
            hint=f'Did you mean "{meant}"?' if meant is not None else "Choose one of these.",
            span=span,
        )
    if not found.takes(role):
        raise HeadraceError(
            f"connector {found.name} cannot {role.value}",
            detail=detail,
            hint="Choose one of these.",
            span=span,
        )
    return found


def source_options(
    options: tuple[Option, ...],
    owner: str,
    owner_span: Span,
    *,
    columns: Iterable[str] | None = None,
) -> tuple[StreamOptions, ConnectorSource]:
    """Read the WITH clause of a stream: what all streams take, and what its connector takes.

    The owner is what errors call it, as in ``stream "bids"``. With the names of the stream's
    columns, an option of datagen that names none of them is refused.
    """
    options, owner_span = without_secrets(options, owner_span, SECRETS)
    common, connector = _common_options(StreamOptions, options, owner, owner_span, Role.SOURCE)
    assert connector.source is not None
    return common, read_options(
        connector.source,
        options,
        owner=f"connector {connector.name}",
        owner_span=owner_span,
        known_elsewhere=option_names(StreamOptions),
        rest_names=columns,
    )


def table_options(options: tuple[Option, ...], owner: str, owner_span: Span) -> tuple[TableOptions, ConnectorTable]:
    """Read the WITH clause of a table: what all tables take, and what its connector takes."""
    options, owner_span = without_secrets(options, owner_span, SECRETS)
    common, connector = _common_options(TableOptions, options, owner, owner_span, Role.TABLE)
    assert connector.table is not None
    return common, read_options(
        connector.table,
        options,
        owner=f"connector {connector.name}",
        owner_span=owner_span,
        known_elsewhere=option_names(TableOptions),
    )


def sink_options(options: tuple[Option, ...], owner: str, owner_span: Span) -> tuple[SinkOptions, ConnectorSink]:
    """Read the WITH clause of a sink: what all sinks take, and what its connector takes."""
    options, owner_span = without_secrets(options, owner_span, SECRETS)
    common, connector = _common_options(SinkOptions, options, owner, owner_span, Role.SINK)
    assert connector.sink is not None
    _check_guarantee(common, connector, options)
    return common, read_options(
        connector.sink,
        options,
        owner=f"connector {connector.name}",
        owner_span=owner_span,
        known_elsewhere=option_names(SinkOptions),
    )


Common = TypeVar("Common", StreamOptions, TableOptions, SinkOptions)

SECRETS = frozenset(
    facts.prefix or facts.name
    for connector in CONNECTORS
    for kind in (connector.source, connector.table, connector.sink)
    if kind is not None
    for facts in option_fields(kind)
    if facts.secret
)


def _common_options(
    kind: type[Common], options: tuple[Option, ...], owner: str, owner_span: Span, role: Role
) -> tuple[Common, Connector]:
    names = option_names(kind)
    mine = tuple(each for each in options if each.name.lower() in names)
    common = read_options(kind, mine, owner=owner, owner_span=owner_span)
    span = next(each.value_span for each in mine if each.name.lower() == "connector")
    connector = connector_named(common.connector, role, span)
    return common, connector


def _check_guarantee(common: SinkOptions, connector: Connector, options: tuple[Option, ...]) -> None:
    """Refuse a promise that the connector cannot keep; a stronger one covers a weaker."""
    if common.guarantee is None or connector.guarantee is None:
        return
    if GUARANTEES.index(common.guarantee) >= GUARANTEES.index(connector.guarantee):
        return
    able = [
        each.name
        for each in CONNECTORS
        if each.guarantee is not None and GUARANTEES.index(each.guarantee) <= GUARANTEES.index(common.guarantee)
    ]
    raise HeadraceError(
        f"connector {connector.name} cannot promise {common.guarantee}",
        detail=f"The most that it promises is {connector.guarantee}.",
        hint=f"Leave guarantee out, or choose a connector that can: {', '.join(able)}.",
        span=next(each.value_span for each in options if each.name.lower() == "guarantee"),
    )
