"""Jobs and their latest figures go in, the text that Prometheus reads comes out."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from headrace.jobs.figures import Figures
from headrace.jobs.model import Job
from headrace.jobs.states import RUNS, State

__all__ = ["CONTENT_TYPE", "Sample", "exposition"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Sample:
    """A job and the figures of each of its outputs."""

    job: Job
    figures: Sequence[Figures] = ()

    @property
    def current(self) -> Sequence[Figures]:
        """The figures that are those of now; a driver that has ended leaves its last ones behind."""
        return self.figures if self.job.state in RUNS else ()


def exposition(samples: Iterable[Sample]) -> bytes:
    """Return the figures of all jobs in Prometheus' text form.

    Counters begin at nought with every driver, which Prometheus takes for a restart; gauges are there while a driver
    runs. Outputs that are one query are one series, named after all of them.
    """
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Figures(list(samples)))
    return generate_latest(registry)


class _Figures(Collector):
    def __init__(self, samples: Sequence[Sample]) -> None:
        self._samples = samples

    def collect(self) -> Iterator[Metric]:
        yield from _of_jobs(self._samples)
        yield from _of_outputs(self._samples)
        yield from _of_operators(self._samples)
        yield from _of_streams(self._samples)
        yield from _observed(self._samples)


def _of_jobs(samples: Sequence[Sample]) -> Iterator[Metric]:
    state = GaugeMetricFamily("headrace_job_state", "1 for the state that a job is in.", labels=["job", "state"])
    restarts = CounterMetricFamily("headrace_job_restarts", "How often a job was restarted.", labels=["job"])
    for sample in samples:
        for each in State:
            state.add_metric([sample.job.name, str(each)], float(sample.job.state is each))
        restarts.add_metric([sample.job.name], sample.job.restart_count)
    yield state
    yield restarts
    counts = GaugeMetricFamily("headrace_jobs", "How many jobs are in each state.", labels=["state"])
    for each in State:
        counts.add_metric([str(each)], sum(sample.job.state is each for sample in samples))
    yield counts


_COUNTERS = {
    "rows_in": ("headrace_rows_in", "Rows that an output has read."),
    "rows_out": ("headrace_rows_out", "Rows that an output has published."),
    "late": ("headrace_late_rows", "Rows that came behind the watermark."),
    "dead": ("headrace_dead_records", "Records that did not parse."),
}
_GAUGES = {
    "in_per_second": ("headrace_rows_in_per_second", "Rows read per second, over the last seconds."),
    "out_per_second": ("headrace_rows_out_per_second", "Rows published per second, over the last seconds."),
    "batch": ("headrace_batch", "The number of the last batch."),
    "batch_time": ("headrace_batch_seconds", "How long the last batch took."),
    "under_way": (
        "headrace_batch_under_way_seconds",
        "For how long a batch has been under way, 0 between two; in real-time mode beyond the checkpoint interval.",
    ),
    "latency": (
        "headrace_latency_seconds",
        "The longest that a row of the last batch can have waited, from when it came until its result was published.",
    ),
    "lag": ("headrace_watermark_lag_seconds", "How far the watermark is behind the clock."),
    "state_rows": ("headrace_state_rows", "Rows of state."),
    "state_bytes": ("headrace_state_bytes", "The size of state, as it is stored."),
    "state_memory": ("headrace_state_memory_bytes", "Memory that the stores of state use."),
    "behind": ("headrace_messages_behind", "Messages of Kafka that are still to be read."),
}


def _of_outputs(samples: Sequence[Sample]) -> Iterator[Metric]:
    families: list[tuple[str, CounterMetricFamily | GaugeMetricFamily]] = [
        (field, CounterMetricFamily(name, text, labels=["job", "output"])) for field, (name, text) in _COUNTERS.items()
    ]
    families += [
        (field, GaugeMetricFamily(name, text, labels=["job", "output"])) for field, (name, text) in _GAUGES.items()
    ]
    for field, family in families:
        for sample in samples:
            for figures in sample.current if field in _GAUGES else sample.figures:
                value = getattr(figures, field)
                if value is not None:
                    number = value.total_seconds() if hasattr(value, "total_seconds") else float(value)
                    family.add_metric([sample.job.name, figures.name], number)
        yield family


_OPERATORS = {
    "rows": ("headrace_operator_state_rows", "Rows in the state of an operator."),
    "updated": ("headrace_operator_state_rows_updated", "Rows of its state that the last batch has changed."),
    "bytes": ("headrace_operator_state_bytes", "The size of an operator's state, as it is stored."),
    "memory": ("headrace_operator_state_memory_bytes", "Memory that the store of an operator's state uses."),
    "seconds": ("headrace_operator_state_seconds", "Time of all tasks that the last batch spent on its state."),
}


def _of_operators(samples: Sequence[Sample]) -> Iterator[Metric]:
    for field, (name, text) in _OPERATORS.items():
        family = GaugeMetricFamily(name, text, labels=["job", "output", "operator"])
        for sample in samples:
            for figures in sample.current:
                for operator, values in figures.operators.items():
                    family.add_metric([sample.job.name, figures.name, operator], values.get(field, 0.0))
        yield family


def _of_streams(samples: Sequence[Sample]) -> Iterator[Metric]:
    labels = ["job", "output", "stream"]
    rows = CounterMetricFamily("headrace_stream_rows", "Rows that an output has read of a stream.", labels=labels)
    dead = CounterMetricFamily("headrace_stream_dead_records", "Records of a stream that did not parse.", labels=labels)
    behind = GaugeMetricFamily(
        "headrace_partition_messages_behind",
        "Messages of a partition that are still to be read.",
        labels=["job", "output", "topic", "partition"],
    )
    for sample in samples:
        for figures in sample.figures:
            for stream, count in figures.rows_of.items():
                rows.add_metric([sample.job.name, figures.name, stream], count)
            for stream, count in figures.dead_of.items():
                dead.add_metric([sample.job.name, figures.name, stream], count)
        for figures in sample.current:
            for place, count in figures.behind_of.items():
                topic, _, partition = place.rpartition(":")
                behind.add_metric([sample.job.name, figures.name, topic, partition], count)
    yield rows
    yield dead
    yield behind


def _observed(samples: Sequence[Sample]) -> Iterator[Metric]:
    """Return what applications observe: the last batch's figures, and totals of those that can be added up."""
    labels = ["job", "name", "metric"]
    last = GaugeMetricFamily("headrace_observed", "What OBSERVE measured in the last batch.", labels=labels)
    total = CounterMetricFamily("headrace_observed", "What OBSERVE has counted or summed so far.", labels=labels)
    for sample in samples:
        for figures in sample.current:
            for name, values in figures.observed.items():
                for figure, value in values.items():
                    if value is not None:
                        last.add_metric([sample.job.name, name, figure], value)
        for figures in sample.figures:
            for name, sums in figures.observed_totals.items():
                for figure, value in sums.items():
                    total.add_metric([sample.job.name, name, figure], value)
    yield last
    yield total
