"""Topics go in; the messages that came last, and those that come, come out."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from heapq import nlargest
from pathlib import Path

from confluent_kafka import Message, TopicPartition

from headrace.connectors.kafka.avro import AvroError
from headrace.connectors.kafka.avro_messages import message_decoder
from headrace.connectors.kafka.options import KafkaReading, KafkaSink
from headrace.events.clients import Reader
from headrace.server.services.tapped import MOST, Tapped, of_text, shown_bytes

__all__ = ["TopicTap"]

NEW_TOPICS_EVERY = timedelta(seconds=10)
_OF_KAFKA = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})
"""Topics of Kafka itself, which no pattern reads."""


class TopicTap:
    """Looks into topics by one client; it joins no group and moves nobody's position.

    Without names they are those that the options read by a pattern, also those made later.
    """

    def __init__(
        self,
        options: KafkaReading | KafkaSink,
        topics: Sequence[str],
        base: Path,
        passed: Callable[[], float] = time.monotonic,
    ) -> None:
        self._options, self._passed, self._by_pattern = options, passed, not topics
        self._decode = message_decoder(options, base) if options.format == "avro" else _decoded
        self._reader = Reader(options, base)
        self._looked = passed()
        try:
            named = {topic: self._reader.partitions_of(topic) for topic in topics}
            self._topics = named or self._matching()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the connection."""
        self._reader.close()

    def recent(self, limit: int = 50) -> list[Tapped]:
        """Return about the last so many messages, oldest first."""
        places: list[TopicPartition] = []
        for topic, partitions in self._topics.items():
            each = max(1, -(-limit // len(partitions)))
            for partition in partitions:
                first, end = self._reader.reach(topic, partition)
                places.append(TopicPartition(topic, partition, max(first, end - each)))
        numbered = enumerate(self._reader.to_the_end(places))
        last = nlargest(limit, numbered, key=lambda pair: (pair[1].timestamp()[1], pair[0]))
        return [self._tapped(message) for _, message in reversed(last)]

    def at(self, source: str, partition: int, position: int) -> Tapped | None:
        """Return the message at an offset; None if it is gone, or if its topic is none of these."""
        if partition not in self._topics.get(source, ()):
            return None
        message = self._reader.message_at(source, partition, position)
        return None if message is None else self._tapped(message)

    def new(self) -> Iterator[Tapped]:
        """Yield what has come since the last look, a sample if it is much."""
        if self._by_pattern and self._passed() - self._looked >= NEW_TOPICS_EVERY.total_seconds():
            self._look_for_topics()
        seen: Counter[str | None] = Counter()
        for message in self._reader.new():
            seen[message.topic()] += 1
            if seen[message.topic()] <= MOST:
                yield self._tapped(message)

    def _matching(self) -> dict[str, list[int]]:
        """Return the topics that a pattern reads now."""
        if not isinstance(self._options, KafkaReading):
            return {}
        there = self._reader.topics()
        return {name: there[name] for name in sorted(there) if name not in _OF_KAFKA and self._options.reads(name)}

    def _look_for_topics(self) -> None:
        """Follow topics that were made since the last look, from their beginning."""
        self._looked = self._passed()
        made = {name: partitions for name, partitions in self._matching().items() if name not in self._topics}
        if made:
            self._topics |= made
            self._reader.follow([TopicPartition(name, each, 0) for name in made for each in made[name]])

    def _tapped(self, message: Message) -> Tapped:
        value, key = message.value(), message.key()
        position = f"{message.topic()}:{message.partition()}:{message.offset()}"
        text = None if value is None else self._text(_bytes(value))
        return of_text(position, _time_of(message), text, key=None if key is None else _decoded(_bytes(key)))

    def _text(self, value: bytes) -> str:
        try:
            return self._decode(value)
        except AvroError as problem:
            return f"no Avro record, {problem}; {shown_bytes(value)}"


def _time_of(message: Message) -> datetime | None:
    """Return when a message was written; None if its producer gave no time, or one that no calendar has."""
    millis = message.timestamp()[1]
    try:
        return datetime.fromtimestamp(millis / 1000, UTC) if millis and millis > 0 else None
    except (ValueError, OverflowError, OSError):
        return None


def _decoded(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return f"no text; {shown_bytes(value)}"


def _bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)
