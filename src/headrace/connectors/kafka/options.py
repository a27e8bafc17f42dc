"""The options of the connector kafka."""

import re
from dataclasses import dataclass, field
from datetime import timedelta

from headrace.connectors.formats import (
    BAD_DELIMITERS,
    DELIMITER,
    KAFKA_SINK_FORMATS,
    KAFKA_SOURCE_FORMATS,
    KAFKA_TABLE_FORMATS,
    TIMESTAMP_FORMAT,
)
from headrace.connectors.options import Needs, option

PREFIX = "kafka."
"""Begins the names of options that are properties of Kafka's own client."""

_CSV = Needs("format", ("csv",))
_AVRO = Needs("format", ("avro",))
_TIMES = Needs("format", ("json", "csv", "upsert", "debezium-json"))
_SASL = Needs("security_protocol", ("sasl_plaintext", "sasl_ssl"))
_TLS = Needs("security_protocol", ("ssl", "sasl_ssl"))
_MOST_ROWS = "The most messages that one micro-batch takes; all that are there without it."
_FORMAT = "How the messages are written."


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaConnection:
    """How the brokers are reached, and who is asking."""

    bootstrap_servers: str | None = option(
        doc="Brokers to begin with, as `host:port` with commas between; without it the environment variable "
        "`HEADRACE_BOOTSTRAP_SERVERS`, or else the embedded broker of `headrace broker start`.",
        default=None,
        example="localhost:9092",
    )
    security_protocol: str = option(
        doc="Whether the connection is encrypted (`ssl`) and whether it logs in (`sasl`).",
        default="plaintext",
        choices=("plaintext", "ssl", "sasl_plaintext", "sasl_ssl"),
    )
    sasl_mechanism: str = option(
        doc="How it logs in.",
        default="plain",
        choices=("plain", "scram-sha-256", "scram-sha-512"),
        needs=_SASL,
    )
    sasl_username: str | None = option(doc="Who logs in.", default=None, example="headrace", needs=_SASL)
    sasl_password: str | None = option(
        doc="The password; write `${NAME}` to take it from the environment.",
        default=None,
        example="${KAFKA_PASSWORD}",
        needs=_SASL,
        secret=True,
    )
    sasl_password_file: str | None = option(
        doc="A file that holds the password and nothing else; relative to the application file.",
        default=None,
        example="secrets/kafka-password",
        needs=_SASL,
    )
    ssl_ca: str | None = option(
        doc="A PEM file with the certificates that brokers are checked by.", default=None, example="ca.pem", needs=_TLS
    )
    ssl_certificate: str | None = option(
        doc="A PEM file with the client's certificate and its private key (PKCS #8).",
        default=None,
        example="client.pem",
        needs=_TLS,
    )
    ssl_key_password: str | None = option(
        doc="The password of the private key.", default=None, example="${KEY_PASSWORD}", needs=_TLS, secret=True
    )
    properties: dict[str, str] = option(  # noqa: RUF009 - a field, as dataclasses.field
        doc="Any property of Kafka's own Java client, as `kafka.` and its name: `kafka.client.id = 'fraud'`.",
        rest=True,
        prefix=PREFIX,
        secret=True,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaMessages(KafkaConnection):
    """How messages are written, whoever writes them."""

    delimiter: str = option(doc=DELIMITER, default=",", refused=BAD_DELIMITERS, needs=_CSV)
    schema_registry: str | None = option(
        doc="The address of a schema registry: each Avro message begins with the number of its schema. A "
        "sink tells it the schema of its rows as `<topic>-value`.",
        default=None,
        example="http://localhost:8081",
        needs=_AVRO,
    )
    schema_registry_username: str | None = option(
        doc="Who asks the registry.", default=None, example="headrace", needs=_AVRO
    )
    schema_registry_password: str | None = option(
        doc="The registry's password.", default=None, example="${REGISTRY_PASSWORD}", needs=_AVRO, secret=True
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaReading(KafkaMessages):
    """What a stream and a table have in common."""

    topic: tuple[str, ...] = option(doc="The topic, or several with commas between.", default=(), example="bids")
    format: str = field(default="json")
    key: tuple[str, ...] = option(
        doc="The columns that a message's key holds: one as it stands, several as a JSON object. A delete of an upsert "
        "topic has nothing else.",
        default=(),
        example="id",
        needs=Needs("format", ("upsert",)),
    )
    timestamp_format: str | None = option(
        doc=TIMESTAMP_FORMAT, default=None, example="yyyy-MM-dd HH:mm:ss", needs=_TIMES
    )
    avro_schema: str | None = option(
        doc="A file with the schema of plain Avro messages, which carry no schema; relative to the application file.",
        default=None,
        example="bid.avsc",
        needs=_AVRO,
    )
    allow_data_loss: bool = option(
        doc="Whether to go on when messages were deleted before they were read; otherwise that is an error.",
        default=False,
    )

    def reads(self, topic: str) -> bool:
        """Say whether a topic is one of those that are read."""
        return topic in self.topic


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaSource(KafkaReading):
    """The messages of topics, each partition in order."""

    format: str = option(doc=_FORMAT, default="json", choices=KAFKA_SOURCE_FORMATS)
    topic_pattern: str | None = option(
        doc="A regular expression: every topic whose whole name it matches, also those made later.",
        default=None,
        example="bids-.*",
    )
    start: str = option(
        doc="Where the first run begins: `earliest`, `latest`, an instant in ISO 8601, or offsets as "
        "`partition:offset` with commas between. Later runs go on where the last one stopped.",
        default="earliest",
        example="2024-01-01T00:00:00Z",
    )
    max_rows_per_batch: int | None = option(doc=_MOST_ROWS, default=None, example=100_000, minimum=1)
    group: str | None = option(
        doc="The consumer group under which progress is told to Kafka, for Kafka's own tools; "
        "`headrace-` and the application's name without it. It does not decide where a run begins.",
        default=None,
        example="fraud-detection",
    )
    lag_warning: int | None = option(
        doc="Warn when the stream is more than so many messages behind its topics.",
        default=None,
        example=100_000,
        minimum=1,
    )

    def reads(self, topic: str) -> bool:
        """Say whether a topic is one of the stream's."""
        return topic in self.topic if self.topic_pattern is None else bool(re.fullmatch(self.topic_pattern, topic))


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaTable(KafkaReading):
    """What a topic says of each key: the last message wins, an empty one deletes.

    With `refresh` it is looked up, and read anew for each batch.
    """

    format: str = option(doc=_FORMAT, default="upsert", choices=KAFKA_TABLE_FORMATS)
    max_rows_per_batch: int | None = option(doc=_MOST_ROWS, default=None, example=100_000, minimum=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaSink(KafkaMessages):
    """A topic, or several; it is made if it is missing."""

    topic: str | None = option(doc="The topic that takes the rows.", default=None, example="alerts")
    topic_column: str | None = option(
        doc="A column that names the topic of each row; it is left out of the message.", default=None, example="route"
    )
    format: str = option(doc=_FORMAT, default="json", choices=KAFKA_SINK_FORMATS)
    key: tuple[str, ...] = option(
        doc="The columns of the message's key: one as it stands, several as a JSON object. They stay in the message. "
        "For `upsert` without it, what identifies a row.",
        default=(),
        example="id",
    )
    headers: tuple[str, ...] = option(
        doc="Columns that become headers of the message, and are left out of it.", default=(), example="trace_id"
    )
    partition_column: str | None = option(
        doc="An INT column that names the partition of each row; it is left out of the message.",
        default=None,
        example="shard",
    )
    partitioner: str = option(
        doc="How rows are spread over partitions: by the `hash` of the key (rows without one in turns of a batch), or "
        "`round-robin`.",
        default="hash",
        choices=("hash", "round-robin"),
    )
    partitions: int | None = option(
        doc="How many partitions the topic gets if it is made; the broker's default without it.",
        default=None,
        example=4,
        minimum=1,
    )
    compression: str = option(
        doc="How messages are compressed.", default="none", choices=("none", "gzip", "snappy", "lz4", "zstd")
    )
    latency: str | None = option(
        doc="`micro-batch` or `real-time` for this sink alone; as `SET latency` says without it.",
        default=None,
        choices=("micro-batch", "real-time"),
    )
    transaction_timeout: timedelta = option(  # noqa: RUF009 - a field, as dataclasses.field
        doc="How long one partition of a batch may take to be written exactly-once; also how long readers may have to "
        "wait for rows behind a transaction that a crash left open.",
        default=timedelta(minutes=5),
        example="5 minutes",
        minimum=timedelta(seconds=10),
        maximum=timedelta(minutes=15),
    )
