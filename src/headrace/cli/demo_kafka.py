"""The name of a demo over Kafka goes in; a running broker, and topics that no other run has, come out.

The embedded broker is used. If it did not run, it is stopped afterwards; the topics are deleted in any case.
"""

import os
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from headrace.cli.failures import complain
from headrace.connectors.kafka.options import KafkaReading, KafkaSink
from headrace.errors import HeadraceError, JobFailed
from headrace.plan.application import Plan

if TYPE_CHECKING:
    import subprocess

__all__ = ["Topics", "await_topics", "kafka_running", "topics_of"]

SERVERS = "HEADRACE_BOOTSTRAP_SERVERS"
FIRST_MESSAGE = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Topics:
    """The topics of an application as its SQL names them without variables, and the suffix of one run.

    >>> Topics(read=("bids",), written=("hot",), suffix="-1f").variables
    {'BIDS': 'bids-1f', 'HOT': 'hot-1f'}
    """

    read: tuple[str, ...]
    written: tuple[str, ...]
    suffix: str = field(default_factory=lambda: f"-demo-{secrets.token_hex(3)}")

    @property
    def variables(self) -> Mapping[str, str]:
        """The variables by which the application gets the names of this run."""
        return {name.upper().replace("-", "_"): f"{name}{self.suffix}" for name in (*self.read, *self.written)}

    @property
    def expected(self) -> frozenset[str]:
        """The topics that a generator makes."""
        return frozenset(f"{name}{self.suffix}" for name in self.read)


def topics_of(plan: Plan) -> Topics:
    """Return the topics that an application reads and writes."""
    sources = [*(each.options for each in plan.streams.values()), *(each.options for each in plan.tables.values())]
    read = [topic for options in sources if isinstance(options, KafkaReading) for topic in options.topic]
    sinks = [each.options for each in plan.sinks.values() if isinstance(each.options, KafkaSink)]
    written = [options.topic for options in sinks if options.topic is not None and options.topic not in read]
    return Topics(tuple(dict.fromkeys(read)), tuple(dict.fromkeys(written)))


@contextmanager
def kafka_running(topics: Topics) -> Iterator[str]:
    """Yield the address of the broker, which applications find meanwhile; delete the topics at the end."""
    from headrace.broker.server import embedded_broker
    from headrace.jars.fetch import is_present

    broker = embedded_broker()
    ran = broker.pid is not None
    if not ran:
        fetched = is_present("broker") and is_present("kafka")
        complain("starting Kafka ..." if fetched else "fetching Kafka, once (about 40 MB), and starting it ...")
    before = os.environ.get(SERVERS)
    try:
        address = os.environ[SERVERS] = broker.start()
        try:
            yield address
        finally:
            _delete(address, topics.suffix)
    finally:
        if before is None:
            os.environ.pop(SERVERS, None)
        else:
            os.environ[SERVERS] = before
        if not ran:
            broker.stop()


def _delete(address: str, suffix: str) -> None:
    from headrace.broker.topics import delete, topic_names

    try:
        for name in topic_names(address):
            if name.endswith(suffix):  # also those that a crash of the generator left half made
                delete(address, name)
    except HeadraceError as error:
        complain(f"warning: topics whose names end with {suffix} are left: {error.message}")


def await_topics(address: str, topics: Topics, generator: "subprocess.Popen[bytes]") -> None:
    """Wait until the generator has made what the application reads."""
    from headrace.broker.topics import topic_names

    ends = time.monotonic() + FIRST_MESSAGE.total_seconds()
    while missing := topics.expected - set(topic_names(address)):
        if generator.poll() is not None or time.monotonic() > ends:
            raise JobFailed("the generator writes nothing", detail=f"Topics are missing: {', '.join(sorted(missing))}.")
        time.sleep(0.1)
