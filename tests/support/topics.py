"""Topics of a test: messages go in and come out, as any client of Kafka writes and reads them."""

import json
import time
import uuid
from collections.abc import Iterable
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from support.waiting import until

PATIENCE = 240


def new_topic(servers: str, name: str = "t", partitions: int = 1, **config: str) -> str:
    """Make a topic of a name of its own, and return it once it can be read and written."""
    topic = f"{name}-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(topic, partitions, 1, config=config)])[topic].result(PATIENCE)

    def is_told() -> bool:  # the broker tells of a topic a little later than the controller has made it
        found = admin.list_topics(timeout=PATIENCE).topics.get(topic)
        return found is not None and len(found.partitions) == partitions

    until(is_told, PATIENCE)
    return topic


def send(servers: str, topic: str, values: Iterable[Any], **more: Any) -> None:
    """Send messages; a value that is neither bytes nor None is sent as JSON."""
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 5, "enable.idempotence": True})
    failed: list[KafkaError] = []

    def told(error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            failed.append(error)

    for value in values:
        text = value if isinstance(value, bytes | None) else json.dumps(value)
        while True:
            try:
                producer.produce(topic, value=text, on_delivery=told, **more)
                break
            except BufferError:
                producer.poll(0.5)
    assert producer.flush(PATIENCE) == 0
    assert not failed, failed[:3]


def read(servers: str, topic: str, *, committed: bool = True) -> list[Message]:
    """Return all messages of a topic, partition by partition, up to its end as it is now."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": f"reader-{uuid.uuid4().hex}",
            "isolation.level": "read_committed" if committed else "read_uncommitted",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
        }
    )
    try:
        known = consumer.list_topics(topic, PATIENCE).topics[topic]
        if known.error is not None:
            return []
        consumer.assign([TopicPartition(topic, partition, 0) for partition in known.partitions])
        found, ended = [], set()
        while len(ended) < len(known.partitions):
            message = consumer.poll(PATIENCE)
            assert message is not None, f"{topic} gave no message and no end"
            if message.error() is None:
                found.append(message)
            elif message.error().code() == KafkaError._PARTITION_EOF:
                ended.add(message.partition())
            elif message.error().fatal():
                raise RuntimeError(message.error())  # anything else the client tries again by itself
        return found
    finally:
        consumer.close()


def rows(servers: str, topic: str) -> list[dict[str, Any]]:
    """Return the committed messages of a topic as JSON."""
    return [json.loads(message.value()) for message in read(servers, topic)]


def size(servers: str, topic: str) -> int:
    """Return how many places all partitions of a topic have, those of transactions included.

    A broker that has just started may not know yet that it leads a partition: it is asked again.
    """
    deadline = time.monotonic() + PATIENCE
    while True:
        consumer = Consumer({"bootstrap.servers": servers, "group.id": "sizes"})
        try:
            partitions = consumer.list_topics(topic, PATIENCE).topics[topic].partitions
            ends = [consumer.get_watermark_offsets(TopicPartition(topic, each), PATIENCE) for each in partitions]
            return sum(high - low for low, high in ends)
        except KafkaException:
            if time.monotonic() > deadline:
                raise
        finally:
            consumer.close()
