"""Messages of a commands topic go in; their events, rejections and offsets come out, in one transaction at a time."""

import threading
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from headrace.events.clients import ANSWER, Follower, name_of, partitions_of, place_of
from headrace.events.decisions import COMMAND_ID, Decide, Decision, Evolve, Row
from headrace.events.rows import Unreadable, key_bytes, parsed, reader, value_bytes
from headrace.events.shape import REASON, EventTables
from headrace.events.states import States

__all__ = ["Handled", "Session"]

AT_ONCE = 500
"""The most commands of one transaction."""
WAIT = 0.2
TRIES = 5


@dataclass(slots=True)
class Handled:
    """What was done so far; ``repeated`` commands had their answer already, ``broken`` messages are no commands."""

    accepted: int = 0
    events: int = 0
    rejected: int = 0
    repeated: int = 0
    broken: int = 0

    def __str__(self) -> str:
        parts = [f"{self.accepted} accepted with {self.events} events", f"{self.rejected} rejected"]
        parts += [f"{self.repeated} repeated"] if self.repeated else []
        parts += [f"{self.broken} broken"] if self.broken else []
        return ", ".join(parts)

    def add(self, other: "Handled") -> None:
        """Count what another has counted too."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass(slots=True)
class Session:
    """One run of a handler: its clients, and the loop over commands."""

    tables: EventTables
    states: States
    functions: tuple[Decide, Evolve]
    producer: Producer
    consumer: Consumer
    events: Follower
    rejections: Follower
    notice: Callable[[str], None]
    handled: Handled = field(default_factory=Handled)
    failures: int = 0

    def run(self, stopping: threading.Event, *, once: bool) -> None:
        """Decide commands until told to stop, or until the end of those that are there."""
        self._begin()
        partitions = set(partitions_of(self.consumer, self.tables.commands_topic))
        ended: set[int] = set()
        while not stopping.is_set():
            messages = []
            for message in self.consumer.consume(AT_ONCE, WAIT):
                error = message.error()
                if error is None:
                    messages.append(message)
                elif error.code() == KafkaError._PARTITION_EOF:
                    ended.add(place_of(message)[0])
                elif error.fatal() or not error.retriable():
                    raise KafkaException(error)
            self._catch_up()
            if messages:
                self._handle(messages)
            elif once and ended >= partitions:
                return

    def _begin(self) -> None:
        """Go on after the last command that was decided, with all that was written since."""
        topic = self.tables.commands_topic
        places = [TopicPartition(topic, each) for each in partitions_of(self.consumer, topic)]
        committed = self.consumer.committed(places, timeout=ANSWER.total_seconds())
        self.consumer.assign([TopicPartition(topic, each.partition, max(each.offset, 0)) for each in committed])
        self.states.load(self.events, self.rejections)

    def _catch_up(self) -> None:
        self.states.take_events(self.events.new())
        self.states.take_rejections(self.rejections.new())

    def _handle(self, messages: Sequence[Message]) -> None:
        """Decide commands in one transaction; one that Kafka breaks off is begun again."""
        if self.states.are_behind():
            self.states.load(self.events, self.rejections)
        try:
            self.producer.begin_transaction()
            decisions, done = self._decide(messages)
            if self.states.are_behind():  # the view was taken away meanwhile
                self._again()
                return
            places = dict(map(place_of, messages))  # the last of each partition
            self.producer.send_offsets_to_transaction(
                [TopicPartition(self.tables.commands_topic, *place) for place in _next(places)],
                self.consumer.consumer_group_metadata(),
                ANSWER.total_seconds(),
            )
            self._commit()
        except KafkaException as error:
            self.failures += 1
            if not error.args[0].txn_requires_abort() or self.failures > TRIES:
                raise
            self._again()
            return
        except BaseException:
            self.producer.abort_transaction(ANSWER.total_seconds())
            raise
        self.failures = 0
        self.states.committed(decisions)
        self.handled.add(done)

    def _decide(self, messages: Sequence[Message]) -> tuple[list[Decision], Handled]:
        deciding = self.states.deciding(*self.functions, self._catch_up)
        read = reader(self.tables.commands.stored, (self.tables.key, COMMAND_ID))
        decided: dict[tuple[object, object], Decision] = {}
        done = Handled()
        for message in messages:
            try:
                command: Row = read(parsed(message.value()))
            except Unreadable as error:
                self.notice(f"{name_of(message)} is not a command: {error}")
                done.broken += 1
                continue
            named = (command[self.tables.key], command[COMMAND_ID])
            known = decided.get(named) or self.states.answered(command)
            if known is not None:
                self._write(Decision(command, reason=known.reason))
                done.repeated += 1
                continue
            decision = decided[named] = deciding(command)
            self._write(decision)
            done.add(Handled(decision.reason is None, len(decision.events), decision.reason is not None))
        return list(decided.values()), done

    def _write(self, decision: Decision) -> None:
        """Write what a command led to, inside the transaction that is under way.

        All events of an entity are in one partition: a view that has read one of them has read those before it.
        """
        for event in decision.events:
            entity = key_bytes(event, [self.tables.key])
            self._produce(
                self.tables.events_topic,
                key_bytes(event, self.tables.events_key),
                event,
                partition=zlib.crc32(entity) % len(self.events.partitions),
            )
        if decision.reason is not None:
            told = {**decision.command, REASON: decision.reason}
            rejection = {column.name: told.get(column.name) for column in self.tables.rejections.columns}
            self._produce(
                self.tables.rejections_topic, key_bytes(rejection, self.tables.rejections_key), rejection, partition=-1
            )

    def _produce(self, topic: str, key: bytes, row: Row, *, partition: int) -> None:
        while True:
            try:
                self.producer.produce(topic, key=key, value=value_bytes(row), partition=partition)
                return
            except BufferError:
                self.producer.poll(WAIT)

    def _commit(self) -> None:
        until = time.monotonic() + ANSWER.total_seconds()
        while True:
            try:
                self.producer.commit_transaction(ANSWER.total_seconds())
                return
            except KafkaException as error:
                if not error.args[0].retriable() or time.monotonic() > until:
                    raise

    def _again(self) -> None:
        self.producer.abort_transaction(ANSWER.total_seconds())
        self._begin()


def _next(places: dict[int, int]) -> list[tuple[int, int]]:
    return [(partition, offset + 1) for partition, offset in places.items()]
