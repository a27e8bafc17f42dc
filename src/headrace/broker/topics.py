"""The address of a broker goes in; its topics come out, are made and are deleted."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from headrace.broker.process import POLL
from headrace.errors import HeadraceError

__all__ = ["Topic", "create", "delete", "topic_names", "topics"]

_ANSWER = timedelta(seconds=30)
# A topic that is just made or deleted, or a broker that is just up.
_PASSING = {KafkaError.LEADER_NOT_AVAILABLE, KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.UNKNOWN_TOPIC_OR_PART}


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic, and how many messages it holds at most.

    Marks of transactions count as messages, and so do messages that compaction has taken away.
    """

    name: str
    partitions: int
    messages: int


def topics(address: str) -> tuple[Topic, ...]:
    """Return the topics of a broker by name, without Kafka's own."""
    with _asking(address) as client, _reading(address) as reader:
        until = time.monotonic() + _ANSWER.total_seconds()
        while True:
            try:
                return tuple(_counted(reader, name, partitions) for name, partitions in _listed(client))
            except KafkaException as error:
                if error.args[0].code() not in _PASSING or time.monotonic() > until:
                    raise
            time.sleep(POLL.total_seconds())


def topic_names(address: str) -> tuple[str, ...]:
    """Return the names of the topics, without Kafka's own."""
    with _asking(address) as client:
        return tuple(name for name, _ in _listed(client))


def create(address: str, name: str, partitions: int = 1, options: Mapping[str, str] | None = None) -> None:
    """Make a topic, and return when it can be written; the options are Kafka's, such as ``cleanup.policy``."""
    with _asking(address) as client:
        topic = NewTopic(name, num_partitions=partitions, replication_factor=1, config=dict(options or {}))
        client.create_topics([topic])[name].result(_ANSWER.total_seconds())
        _await(lambda: name in dict(_listed(client)))


def delete(address: str, name: str) -> None:
    """Delete a topic with all that is in it, and return when it is gone."""
    with _asking(address) as client:
        if name not in dict(_listed(client)):
            raise HeadraceError(f'there is no topic "{name}"', hint="List them with: headrace broker topics.")
        client.delete_topics([name])[name].result(_ANSWER.total_seconds())
        _await(lambda: name not in dict(_listed(client)))


@contextmanager
def _asking(address: str) -> Iterator[AdminClient]:
    """Yield a client that lives as long as the questions; Kafka's refusals are the user's to mend."""
    try:
        yield AdminClient({"bootstrap.servers": address, "log_level": 0})
    except KafkaException as error:
        reason = error.args[0].str().rstrip(".")
        raise HeadraceError("the broker refused", detail=f"{reason[:1].upper()}{reason[1:]}.") from error


@contextmanager
def _reading(address: str) -> Iterator[Consumer]:
    """Yield a client that can ask how far partitions reach; it joins no group."""
    reader = Consumer({"bootstrap.servers": address, "group.id": "headrace", "log_level": 0})
    try:
        yield reader
    finally:
        reader.close()


def _listed(client: AdminClient) -> list[tuple[str, list[int]]]:
    """Return the names of topics and their partitions."""
    found = client.list_topics(timeout=_ANSWER.total_seconds()).topics
    return [(name, sorted(found[name].partitions)) for name in sorted(found) if not name.startswith("__")]


def _counted(reader: Consumer, name: str, partitions: Sequence[int]) -> Topic:
    messages = 0
    for each in partitions:
        low, high = reader.get_watermark_offsets(TopicPartition(name, each), timeout=_ANSWER.total_seconds())
        messages += high - low
    return Topic(name, len(partitions), messages)


def _await(reached: Callable[[], bool]) -> None:
    until = time.monotonic() + _ANSWER.total_seconds()
    while not reached():
        if time.monotonic() > until:
            raise HeadraceError(f"the broker did not do it within {_ANSWER.total_seconds():.0f} seconds")
        time.sleep(POLL.total_seconds())
