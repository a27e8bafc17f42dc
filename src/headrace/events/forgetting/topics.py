"""A topic and a test go in; the keys and messages that it finds come out, and tombstones go in for them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confluent_kafka import Message, Producer

from headrace.connectors.kafka.options import KafkaConnection
from headrace.errors import JobFailed
from headrace.events.clients import ANSWER, Follower, connection, place_of, told
from headrace.events.forgetting.wanted import Matches
from headrace.events.rows import Unreadable, parsed

__all__ = ["Found", "KeyedTopic", "bury", "ends", "found_in", "messages_in"]

Place = tuple[int, bytes]
"""A partition and a key."""


@dataclass(frozen=True, slots=True)
class KeyedTopic:
    """A topic whose last message of a key counts: how it is reached, and what its keys hold."""

    options: KafkaConnection = field(repr=False)
    base: Path
    name: str
    key: tuple[str, ...]
    debezium: bool = False

    def record(self, message: Message) -> Mapping[str, Any]:
        """Return what a message says of its row: the fields of its value, and of its key."""
        return {**self._key_fields(message.key()), **self._value_fields(message.value())}

    def _key_fields(self, key: bytes | None) -> Mapping[str, Any]:
        try:
            return parsed(key)
        except Unreadable:
            return {self.key[0]: key.decode(errors="replace")} if key is not None and len(self.key) == 1 else {}

    def _value_fields(self, value: bytes | None) -> Mapping[str, Any]:
        try:
            found = parsed(value)
        except Unreadable:
            return {}
        if not self.debezium:
            return found
        change = found.get("payload", found)
        row = (change.get("after") or change.get("before")) if isinstance(change, dict) else None
        return row if isinstance(row, dict) else {}


@dataclass(frozen=True, slots=True)
class Found:
    """Keys that are live, and keys of which old messages are in the log."""

    live: frozenset[Place]
    logged: Mapping[Place, int]

    @property
    def messages(self) -> int:
        """How many messages of the log hold the value."""
        return sum(self.logged.values())


def found_in(topic: KeyedTopic, matches: Matches) -> Found:
    """Return the keys whose row a test finds: those that are live now, and all that the log still holds."""
    live: set[Place] = set()
    with Follower(topic.options, topic.base, topic.name) as follower:
        for message in follower.from_offsets({}):
            place = (place_of(message)[0], bytes(message.key() or b""))
            if message.value() is not None and not _is_delete(topic, message) and matches(topic.record(message)):
                live.add(place)
            else:
                live.discard(place)
    return Found(frozenset(live), messages_in(topic, matches))


def _is_delete(topic: KeyedTopic, message: Message) -> bool:
    if not topic.debezium:
        return False
    try:
        found = parsed(message.value())
    except Unreadable:
        return False
    change = found.get("payload", found)
    return isinstance(change, dict) and change.get("op") == "d"


def messages_in(topic: KeyedTopic, matches: Matches) -> dict[Place, int]:
    """Return how many messages with a value the log holds that a test finds, by key; also what was never committed."""
    logged: dict[Place, int] = {}
    with Follower(topic.options, topic.base, topic.name, committed=False) as follower:
        for message in follower.from_offsets({}):
            if message.value() is not None and matches(topic.record(message)):
                place = (place_of(message)[0], bytes(message.key() or b""))
                logged[place] = logged.get(place, 0) + 1
    return logged


def bury(topic: KeyedTopic, places: Sequence[Place]) -> None:
    """Write a message without a value for each key, where the key's other messages are."""
    with told():
        producer = Producer({**connection(topic.options, topic.base), "enable.idempotence": True})
        failures: list[object] = []
        for partition, key in places:
            while True:
                try:
                    producer.produce(
                        topic.name,
                        key=key,
                        value=None,
                        partition=partition,
                        on_delivery=lambda error, _: failures.append(error) if error is not None else None,
                    )
                    break
                except BufferError:
                    producer.poll(1)
        if producer.flush(ANSWER.total_seconds()) or failures:
            reason = f"{failures[0]}." if failures else "The broker does not answer."
            raise JobFailed(f'topic "{topic.name}" does not take the deletes', detail=reason)


def ends(topic: KeyedTopic) -> dict[int, int]:
    """Return the offset after the last message of each partition."""
    with Follower(topic.options, topic.base, topic.name) as follower:
        return follower.ends()
