"""How far queries have read Kafka goes in; consumer groups that Kafka's own tools can look at come out."""

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from pyspark.sql import SparkSession

from headrace.connectors.kafka.client import client_properties
from headrace.connectors.kafka.options import KafkaSource
from headrace.errors import HeadraceError
from headrace.spark.kafka import Cluster
from headrace.spark.progress import Progress

EVERY = 1.0
"""Seconds between two reports."""


class Observed(Protocol):
    """A query whose figures can be asked for."""

    def observe(self) -> Progress: ...  # noqa: D102


class Reporter:
    """Commits positions to consumer groups, from a thread of its own; what fails is tried again the next time.

    A stream that several queries read has come as far as the slowest of them.
    """

    def __init__(
        self,
        spark: SparkSession,
        base: Path,
        group: str,
        watched: Mapping[str, tuple[KafkaSource, Sequence[Observed]]],
    ) -> None:
        self._spark = spark
        self._base = base
        self._group = group
        self._watched = watched
        self._told: dict[str, dict[str, int]] = {}
        self._clusters: dict[str, Cluster] = {}
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="headrace-kafka-groups", daemon=True)

    def start(self) -> None:
        """Begin to report."""
        self._thread.start()

    def stop(self) -> None:
        """Report for a last time and end."""
        self._stopping.set()
        self._thread.join(timeout=30)

    def _work(self) -> None:
        while not self._stopping.wait(EVERY):
            self._report()
        self._report()
        for cluster in self._clusters.values():
            cluster.close()

    def _report(self) -> None:
        for stream, (options, queries) in self._watched.items():
            try:
                positions = _slowest([_of_stream(query.observe().positions, options) for query in queries])
                if positions and positions != self._told.get(stream):
                    self._cluster(stream, options).commit(options.group or self._group, positions)
                    self._told[stream] = positions
            except HeadraceError:
                continue  # the brokers do not answer; the query itself will say so if that lasts
            except Exception:  # Spark is ending under us: figures must not end a job
                return

    def _cluster(self, stream: str, options: KafkaSource) -> Cluster:
        if stream not in self._clusters:
            self._clusters[stream] = Cluster(self._spark, client_properties(options, self._base))
        return self._clusters[stream]


def _of_stream(positions: Mapping[str, int], options: KafkaSource) -> dict[str, int]:
    """Return those positions that are of a stream's topics."""
    return {place: offset for place, offset in positions.items() if options.reads(place.rpartition(":")[0])}


def _slowest(several: Sequence[Mapping[str, int]]) -> dict[str, int]:
    """Return the least offset of each partition.

    >>> _slowest([{"a:0": 5, "a:1": 7}, {"a:0": 3}])
    {'a:0': 3, 'a:1': 7}
    """
    least: dict[str, int] = {}
    for positions in several:
        for place, offset in positions.items():
            least[place] = min(offset, least.get(place, offset))
    return least
