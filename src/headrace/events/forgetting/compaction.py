"""A topic goes in; its log is compacted now instead of some day, and its settings are as they were afterwards."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    ResourceType,
)

from headrace.connectors.kafka.options import KafkaConnection
from headrace.events.clients import ANSWER, connection, told

__all__ = ["ROLL", "TopicSettings", "await_gone"]

ROLL = timedelta(milliseconds=100)
"""How long a segment of the log takes messages while a topic is being compacted; a segment that is open never is."""
_EAGER = {
    "segment.ms": str(int(ROLL.total_seconds() * 1000)),
    "segment.jitter.ms": "0",
    "min.cleanable.dirty.ratio": "0",
    "min.compaction.lag.ms": "0",
}
POLL = timedelta(seconds=1)


class TopicSettings:
    """The settings of one topic, to be read and changed for a while."""

    def __init__(self, options: KafkaConnection, base: Path, topic: str) -> None:
        self._topic = topic
        with told():
            self._client = AdminClient(connection(options, base))
            resource = ConfigResource(ResourceType.TOPIC, topic)
            [found] = self._client.describe_configs([resource]).values()
            self._known = found.result(ANSWER.total_seconds())

    def __getitem__(self, name: str) -> str:
        return str(self._known[name].value)

    @property
    def compacted(self) -> bool:
        """Whether old messages of a key are removed from the log."""
        return "compact" in self["cleanup.policy"]

    @property
    def retention(self) -> timedelta | None:
        """How long messages are kept whatever their key, None if for ever."""
        if "delete" not in self["cleanup.policy"] or int(self["retention.ms"]) < 0:
            return None
        return timedelta(milliseconds=int(self["retention.ms"]))

    @property
    def tombstones_kept(self) -> timedelta:
        """How long a message without a value stays, for readers that have not seen it."""
        return timedelta(milliseconds=int(self["delete.retention.ms"]))

    @contextmanager
    def eager(self) -> Iterator[None]:
        """Have the log cut and compacted as soon as can be, for as long as the block lasts."""
        before = {
            name: self._known[name].value
            for name in _EAGER
            if self._known[name].source == ConfigSource.DYNAMIC_TOPIC_CONFIG.value
        }
        self._alter(_EAGER)
        try:
            yield
        finally:
            self._alter({name: before.get(name) for name in _EAGER})

    def _alter(self, values: Mapping[str, str | None]) -> None:
        """Set settings of the topic; those without a value are the broker's again."""
        entries = [
            ConfigEntry(
                name,
                value,
                incremental_operation=AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET,
            )
            for name, value in values.items()
        ]
        with told():
            resource = ConfigResource(ResourceType.TOPIC, self._topic, incremental_configs=entries)
            [done] = self._client.incremental_alter_configs([resource]).values()
            done.result(ANSWER.total_seconds())


def await_gone(left: Callable[[], int], patience: timedelta) -> int:
    """Wait until nothing is left, or patience is; return how much is."""
    until = time.monotonic() + patience.total_seconds()
    while (found := left()) and time.monotonic() < until:
        time.sleep(POLL.total_seconds())
    return found
