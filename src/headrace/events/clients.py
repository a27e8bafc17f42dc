"""How a stream or table reaches its brokers goes in; clients of Kafka, and messages read to the end, come out."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from headrace.connectors.kafka.client import servers_of
from headrace.connectors.kafka.options import PREFIX, KafkaConnection
from headrace.errors import HeadraceError, JobFailed

__all__ = ["ANSWER", "Follower", "Reader", "connection", "name_of", "partitions_of", "place_of", "refusal", "told"]

ANSWER = timedelta(seconds=60)
"""How long a broker may take to answer."""


def connection(options: KafkaConnection, base: Path) -> dict[str, Any]:
    """Return what every client of these brokers needs, in the words of librdkafka."""
    found: dict[str, Any] = {"bootstrap.servers": servers_of(options), "log_level": 0}
    if options.security_protocol != "plaintext":
        found["security.protocol"] = options.security_protocol.upper()
    if options.security_protocol.startswith("sasl"):
        found["sasl.mechanisms"] = options.sasl_mechanism.upper()
        found["sasl.username"] = options.sasl_username or ""
        found["sasl.password"] = _password(options, base)
    if options.ssl_ca is not None:
        found["ssl.ca.location"] = str(base / options.ssl_ca)
    if options.ssl_certificate is not None:
        found["ssl.certificate.location"] = found["ssl.key.location"] = str(base / options.ssl_certificate)
    if options.ssl_key_password is not None:
        found["ssl.key.password"] = options.ssl_key_password
    found.update({name[len(PREFIX) :]: value for name, value in options.properties.items()})
    return found


def _password(options: KafkaConnection, base: Path) -> str:
    if options.sasl_password is not None or options.sasl_password_file is None:
        return options.sasl_password or ""
    try:
        return (base / options.sasl_password_file).read_text("utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise HeadraceError(f'the password file "{options.sasl_password_file}" cannot be read') from error


@contextmanager
def told() -> Iterator[None]:
    """Turn what Kafka's client raises inside into an error for the user."""
    try:
        yield
    except KafkaException as error:
        raise refusal(error) from error


def refusal(error: KafkaException) -> HeadraceError:
    """Return what Kafka's client raised as an error for the user."""
    inner: KafkaError = error.args[0]
    reason = inner.str().rstrip(".") or str(inner)
    if inner.code() == KafkaError._INVALID_ARG:
        return HeadraceError("Kafka's client cannot be set up so", detail=f"{reason}.")
    return JobFailed("Kafka refused", detail=f"{reason[:1].upper()}{reason[1:]}.")


def partitions_of(client: Any, topic: str) -> list[int]:
    """Return the numbers of a topic's partitions, or raise if it is not there."""
    found = client.list_topics(topic, timeout=ANSWER.total_seconds()).topics.get(topic)
    if found is None or found.error is not None or not found.partitions:
        raise HeadraceError(f'topic "{topic}" does not exist', hint=f"Make it: headrace broker topics create {topic}.")
    return sorted(found.partitions)


def place_of(message: Message) -> tuple[int, int]:
    """Return the partition and the offset of a message that was read."""
    partition, offset = message.partition(), message.offset()
    if partition is None or offset is None:
        raise ValueError("the message was not read from a topic")
    return partition, offset


def name_of(message: Message) -> str:
    """Return how errors name a message: topic, partition and offset."""
    return f"{message.topic()}/{message.partition()}/{message.offset()}"


class Reader:
    """Reads places of topics by a client that joins no group; ``committed`` leaves aborted messages out."""

    def __init__(
        self, options: KafkaConnection, base: Path, *, group: str = "headrace-reader", committed: bool = True
    ) -> None:
        with told():
            self._consumer = Consumer(
                {
                    **connection(options, base),
                    "group.id": group,  # never joined, never committed to
                    "enable.auto.commit": False,
                    "enable.partition.eof": True,
                    "auto.offset.reset": "earliest",
                    "isolation.level": "read_committed" if committed else "read_uncommitted",
                }
            )

    def close(self) -> None:
        """End the connection."""
        self._consumer.close()

    def topics(self) -> dict[str, list[int]]:
        """Return all topics that are there, with the numbers of their partitions."""
        with told():
            found = self._consumer.list_topics(timeout=ANSWER.total_seconds()).topics
        return {name: sorted(each.partitions) for name, each in found.items() if not each.error and each.partitions}

    def partitions_of(self, topic: str) -> list[int]:
        """Return the numbers of a topic's partitions, or raise if it is not there."""
        with told():
            return partitions_of(self._consumer, topic)

    def reach(self, topic: str, partition: int) -> tuple[int, int]:
        """Return the first offset of a partition, and the one after its last message."""
        with told():
            place = TopicPartition(topic, partition)
            first, end = self._consumer.get_watermark_offsets(place, timeout=ANSWER.total_seconds())
            return int(first), int(end)

    def to_the_end(self, places: Sequence[TopicPartition]) -> Iterator[Message]:
        """Yield the messages from some places on to the end as it is now."""
        with told():
            self._consumer.assign(list(places))
            open_ones = {(each.topic, each.partition) for each in places}
            until = time.monotonic() + ANSWER.total_seconds()
            while open_ones:
                for message in self._consumer.consume(1000, 0.2):
                    until = time.monotonic() + ANSWER.total_seconds()
                    error = message.error()
                    if error is None:
                        yield message
                    elif error.code() == KafkaError._PARTITION_EOF:
                        open_ones.discard((str(message.topic()), place_of(message)[0]))
                    elif error.fatal() or not error.retriable():
                        raise KafkaException(error)
                if open_ones and time.monotonic() > until:
                    raise _silence(min(open_ones)[0])

    def follow(self, places: Sequence[TopicPartition]) -> None:
        """Let ``new`` give what comes at further places too."""
        with told():
            self._consumer.incremental_assign(list(places))

    def message_at(self, topic: str, partition: int, offset: int) -> Message | None:
        """Return the message at an offset of a partition, None if there is none any more, or not yet."""
        first, end = self.reach(topic, partition)
        if not first <= offset < end:
            return None  # the consumer would begin somewhere else
        with told():
            self._consumer.assign([TopicPartition(topic, partition, offset)])
            found = self._consumer.poll(ANSWER.total_seconds())
            if found is None:
                raise _silence(topic)
            if (error := found.error()) is not None:
                if error.code() == KafkaError._PARTITION_EOF:
                    return None
                raise KafkaException(error)
        return found if found.offset() == offset else None

    def new(self) -> Iterator[Message]:
        """Yield what has come since the last look, without waiting."""
        with told():
            while found := self._consumer.consume(1000, 0):
                for message in found:
                    error = message.error()
                    if error is None:
                        yield message
                    elif error.fatal():
                        raise KafkaException(error)


class Follower(Reader):
    """Reads one topic to its end and goes on from there."""

    def __init__(self, options: KafkaConnection, base: Path, topic: str, *, committed: bool = True) -> None:
        super().__init__(options, base, group=f"headrace-reader-{topic}", committed=committed)
        self.topic = topic
        self.partitions = self.partitions_of(topic)

    def __enter__(self) -> "Follower":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def offsets_at(self, millis: int) -> dict[int, int]:
        """Return where the messages from an instant on begin; at the end where there are none."""
        asked = [TopicPartition(self.topic, each, millis) for each in self.partitions]
        with told():
            found = self._consumer.offsets_for_times(asked, timeout=ANSWER.total_seconds())
            return {each.partition: each.offset if each.offset >= 0 else self.end(each.partition) for each in found}

    def end(self, partition: int) -> int:
        """Return the offset after the last message of a partition."""
        return self.reach(self.topic, partition)[1]

    def ends(self) -> dict[int, int]:
        """Return the offset after the last message of each partition."""
        return {partition: self.end(partition) for partition in self.partitions}

    def from_offsets(self, start: Mapping[int, int]) -> Iterator[Message]:
        """Yield the messages from some offsets (the beginning where none is given) to the end as it is now."""
        return self.to_the_end([TopicPartition(self.topic, each, start.get(each, 0)) for each in self.partitions])


def _silence(topic: str) -> JobFailed:
    return JobFailed(f'topic "{topic}" cannot be read: the broker does not answer')
