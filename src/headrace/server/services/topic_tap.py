"""Topics go in; the messages that came last, and those that come, come out."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from confluent_kafka import Message

from headrace.connectors.kafka.options import KafkaConnection
from headrace.events.clients import Follower
from headrace.server.services.tapped import MOST, Tapped, of_text

__all__ = ["TopicTap"]


class TopicTap:
    """Looks into topics; it joins no group and moves nobody's position."""

    def __init__(self, options: KafkaConnection, topics: Iterable[str], base: Path) -> None:
        self._followers: list[Follower] = []
        try:
            for topic in topics:
                self._followers.append(Follower(options, base, topic))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the connections."""
        for each in self._followers:
            each.close()
        self._followers.clear()

    def recent(self, limit: int = 50) -> list[Tapped]:
        """Return about the last so many messages, oldest first."""
        found: list[tuple[int, Tapped]] = []
        for follower in self._followers:
            each = max(1, -(-limit // len(follower.partitions)))
            start = {partition: max(0, end - each) for partition, end in follower.ends().items()}
            found += [(message.timestamp()[1], _tapped(message)) for message in follower.from_offsets(start)]
        found.sort(key=lambda pair: pair[0])
        return [tapped for _, tapped in found[-limit:]]

    def at(self, source: str, partition: int, position: int) -> Tapped | None:
        """Return the message at an offset; None if it is gone, or if its topic is none of these."""
        for follower in self._followers:
            if follower.topic == source:
                message = follower.message(partition, position)
                return None if message is None else _tapped(message)
        return None

    def new(self) -> Iterator[Tapped]:
        """Yield what has come since the last look, a sample if it is much."""
        for follower in self._followers:
            for number, message in enumerate(follower.new()):
                if number < MOST:
                    yield _tapped(message)


def _tapped(message: Message) -> Tapped:
    value, key = message.value(), message.key()
    millis = message.timestamp()[1]
    at = datetime.fromtimestamp(millis / 1000, UTC) if millis and millis > 0 else None
    position = f"{message.topic()}:{message.partition()}:{message.offset()}"
    return of_text(position, at, None if value is None else _text(value), key=None if key is None else _text(key))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else bytes(value).decode("utf-8", errors="replace")
