"""Ports and an amount of memory go in; Kafka's configuration files and the command that starts it come out."""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from headrace.errors import HeadraceError

__all__ = ["HOST", "LOGGING", "command", "mark", "memory", "properties"]

HOST = "127.0.0.1"  # nothing outside this machine can reach it

LOGGING = """<Configuration status="error">
  <Appenders>
    <RollingFile name="file" fileName="broker.log" filePattern="broker.log.%i">
      <PatternLayout pattern="%d{yyyy-MM-dd HH:mm:ss.SSS} %p %m (%c)%n%throwable"/>
      <SizeBasedTriggeringPolicy size="4 MB"/>
      <DefaultRolloverStrategy max="2"/>
    </RollingFile>
  </Appenders>
  <Loggers><Root level="warn"><AppenderRef ref="file"/></Root></Loggers>
</Configuration>
"""


def properties(port: int, controller_port: int, data: str = "data") -> str:
    """Return Kafka's ``server.properties`` for one node that is broker and controller.

    Paths are relative to the folder in which Kafka runs, so no folder's name needs quoting.
    """
    settings = {
        "process.roles": "broker,controller",
        "node.id": 1,
        "controller.quorum.voters": f"1@{HOST}:{controller_port}",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "listeners": f"PLAINTEXT://{HOST}:{port},CONTROLLER://{HOST}:{controller_port}",
        "advertised.listeners": f"PLAINTEXT://{HOST}:{port}",
        "log.dirs": data,
        "auto.create.topics.enable": "true",
        "num.partitions": 1,
        "default.replication.factor": 1,
        "min.insync.replicas": 1,
        # Internal topics: one copy each, and few partitions, to start fast.
        "offsets.topic.replication.factor": 1,
        "offsets.topic.num.partitions": 4,
        "transaction.state.log.replication.factor": 1,
        "transaction.state.log.min.isr": 1,
        "transaction.state.log.num.partitions": 4,
        "share.coordinator.state.topic.replication.factor": 1,
        "share.coordinator.state.topic.min.isr": 1,
        "share.coordinator.state.topic.num.partitions": 4,
        "group.initial.rebalance.delay.ms": 0,
        # After a crash the controller waits so long before it believes that the broker is a new one.
        "broker.session.timeout.ms": 5000,
        "broker.heartbeat.interval.ms": 1000,
        # A killed broker loses nothing; a machine without power loses what came in the last moments.
        "log.flush.interval.ms": 10,
        "log.flush.scheduler.interval.ms": 10,
        # Kafka would delete by a message's own time: old data that is played back would be gone within minutes.
        "log.retention.ms": -1,
        # One machine's share of threads and memory.
        "num.network.threads": 2,
        "num.io.threads": 4,
        "num.recovery.threads.per.data.dir": 2,
        "log.cleaner.dedupe.buffer.size": 16 * 1024 * 1024,
        # Few logs are soon looked through: what `headrace forget` waits for is done within seconds.
        "log.cleaner.backoff.ms": 1000,
    }
    return "".join(f"{name}={value}\n" for name, value in settings.items())


def memory(environment: Mapping[str, str] = os.environ) -> str:
    """Return the heap of the broker as Java wants it: ``$HEADRACE_BROKER_MEMORY`` or 512 MB.

    >>> memory({}), memory({"HEADRACE_BROKER_MEMORY": "2G"})
    ('512m', '2g')
    """
    named = environment.get("HEADRACE_BROKER_MEMORY", "512m").strip().lower()
    if not re.fullmatch(r"[1-9][0-9]{0,8}[kmg]", named):
        raise HeadraceError(
            f'HEADRACE_BROKER_MEMORY is "{named}", which is no amount of memory',
            hint="Write a number and a unit: 512m or 2g.",
        )
    return named


def mark(folder: Path) -> str:
    """Return the argument by which a process is known to be the broker of a folder."""
    return f"-Dheadrace.broker={folder}"


def command(java: Path, jars: Iterable[Path], folder: Path, heap: str) -> list[str]:
    """Return the command that runs Kafka, to be started in the broker's folder."""
    return [
        str(java),
        mark(folder),
        f"-Xmx{heap}",
        "-XX:+UseSerialGC",
        "-XX:+ExitOnOutOfMemoryError",
        "-Xshare:auto",
        "-Djava.awt.headless=true",
        "-Djava.net.preferIPv4Stack=true",
        "-Dlog4j2.configurationFile=log4j2.xml",
        "-Dlog4j2.disableJmx=true",
        "-cp",
        os.pathsep.join(map(str, jars)),
        "kafka.Kafka",
        "server.properties",
    ]
