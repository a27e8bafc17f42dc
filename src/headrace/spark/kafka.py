"""What is asked of Kafka's brokers before and beside the rows: the options go in, topics and complaints come out."""

import re
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from headrace.connectors.kafka.client import client_properties
from headrace.connectors.kafka.options import KafkaConnection, KafkaReading, KafkaSink, KafkaSource
from headrace.connectors.options import closest
from headrace.errors import HeadraceError, Span

PATIENCE = 30
"""Seconds that brokers have to answer."""
MARKERS = "headrace-sinks"
"""The topic under whose name a sink with a topic per row keeps the numbers of its batches."""


class Cluster:
    """Brokers that answered: their topics can be asked for and made, and groups told how far they are."""

    def __init__(self, spark: SparkSession, properties: Mapping[str, str]) -> None:
        self.servers = properties["bootstrap.servers"]
        _check_addresses(self.servers)
        jvm: Any = spark._jvm
        with self._answering():
            self._java = jvm.org.headrace.kafka.Cluster(dict(properties), PATIENCE)

    def topics(self) -> list[str]:
        """Return the names of all topics."""
        with self._answering():
            return sorted(str(name) for name in self._java.topics())

    def partitions(self, topics: list[str]) -> dict[str, int]:
        """Return how many partitions each of the topics has."""
        with self._answering():
            return {str(name): int(count) for name, count in self._java.partitions(topics).items()}

    def create(self, topic: str, partitions: int | None, configuration: Mapping[str, str]) -> None:
        """Make a topic."""
        with self._answering():
            self._java.create(topic, partitions or 0, dict(configuration))

    def commit(self, group: str, offsets: Mapping[str, int]) -> None:
        """Tell a consumer group how far its topics are read; keys are topic, colon, partition."""
        with self._answering():
            self._java.commit(group, {place: str(offset) for place, offset in offsets.items()})

    def close(self) -> None:
        """Let go of the connection."""
        self._java.close()

    @contextmanager
    def _answering(self) -> Iterator[None]:
        try:
            yield
        except Py4JJavaError as error:
            raise _complaint(str(error.java_exception), self.servers) from error


def _complaint(text: str, servers: str) -> HeadraceError:
    first = re.sub(r"^[\w.$]+: ", "", text.strip().split("\n")[0])
    if "AuthenticationException" in text or "AuthorizationException" in text:
        return HeadraceError(
            f"the Kafka brokers at {servers} do not let us in",
            detail=f"{first.rstrip('.')}.",
            hint="Look at security_protocol, sasl_mechanism, the user and the password.",
        )
    if "TimeoutException" in text or "DisconnectException" in text:
        return HeadraceError(
            f"the Kafka brokers at {servers} do not answer",
            detail=f"Something listens there, but gave no answer within {PATIENCE} s.",
            hint="Is it Kafka, and does security_protocol fit what it speaks?",
            passing="TimeoutException" in text,
        )
    return HeadraceError(f"the Kafka brokers at {servers} refuse", detail=f"{first.rstrip('.')}.")


def _check_addresses(servers: str) -> None:
    """Raise unless one of the addresses takes a connection."""
    reasons = []
    for each in servers.split(","):
        host, colon, port = each.strip().rpartition(":")
        if not colon or not port.isdigit():
            raise HeadraceError(
                f'"{each.strip()}" is not the address of a broker', hint="Write bootstrap_servers = 'host:port'."
            )
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=3).close()
        except (OSError, OverflowError) as error:
            reasons.append(f"{each.strip()}: {getattr(error, 'strerror', None) or error}")
        else:
            return
    raise HeadraceError(
        f"no Kafka broker answers at {servers}",
        detail=f"{'; '.join(reasons)}.",
        hint="Is it running? The embedded one starts with: headrace broker start.",
        passing=True,
    )


@contextmanager
def cluster_of(spark: SparkSession, options: KafkaConnection, base: Path, span: Span | None) -> Iterator[Cluster]:
    """Connect to the brokers that options name; what goes wrong is told at the span."""
    try:
        cluster = Cluster(spark, client_properties(options, base))
        try:
            yield cluster
        finally:
            cluster.close()
    except HeadraceError as error:
        error.span = error.span or span
        raise


def topics_to_read(spark: SparkSession, options: KafkaReading, base: Path, span: Span | None) -> dict[str, int]:
    """Return the topics of a stream or table with their partitions, or raise if one is missing."""
    with cluster_of(spark, options, base, span) as cluster:
        known = cluster.topics()
        pattern = options.topic_pattern if isinstance(options, KafkaSource) else None
        if pattern is not None:
            return cluster.partitions([name for name in known if re.fullmatch(pattern, name)])
        for topic in options.topic:
            if topic not in known:
                raise _missing(topic, known, cluster.servers)
        return cluster.partitions(list(options.topic))


def _missing(topic: str, known: list[str], servers: str) -> HeadraceError:
    meant = closest(topic, known)
    shown = [name for name in known if not name.startswith("__")]
    listed = ", ".join(shown[:10]) + (", …" if len(shown) > 10 else "")
    return HeadraceError(
        f'topic "{topic}" does not exist at {servers}',
        detail=f"Topics there: {listed}." if shown else "There is no topic yet.",
        hint=f'Did you mean "{meant}"?' if meant is not None else f"Make it: headrace broker topics create {topic}.",
    )


def prepare_sink(spark: SparkSession, options: KafkaSink, base: Path, span: Span | None) -> None:
    """Make the topics that a sink needs, where they are missing."""
    with cluster_of(spark, options, base, span) as cluster:
        topic = options.topic if options.topic is not None else MARKERS
        if topic in cluster.topics():
            return
        compacted = {"cleanup.policy": "compact"} if options.format == "upsert" else {}
        cluster.create(topic, options.partitions if options.topic is not None else 1, compacted)
