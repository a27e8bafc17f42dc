"""A broker goes in; whether and where it runs, and what it holds, come out."""

from dataclasses import dataclass
from pathlib import Path

from headrace.broker import storage
from headrace.broker.server import Broker
from headrace.jars.pinned import pinned

__all__ = ["Status", "kafka_version", "status_of"]


@dataclass(frozen=True, slots=True)
class Status:
    """What there is to know about a broker; address, process and topics are None when it does not run."""

    address: str | None
    pid: int | None
    version: str
    data: Path
    size: int
    topics: int | None


def status_of(broker: Broker) -> Status:
    """Ask a broker for its condition."""
    address = broker.running_address()
    count = None
    if address is not None:
        from headrace.broker.topics import topic_names

        count = len(topic_names(address))
    pid = broker.pid if address is not None else None
    return Status(address, pid, kafka_version(), broker.data_path, storage.size(broker.folder), count)


def kafka_version() -> str:
    """Return the version of Kafka that is run.

    >>> kafka_version()
    '4.1.0'
    """
    return next(pin.version for pin in pinned("broker") if pin.artifact == "kafka_2.13")
