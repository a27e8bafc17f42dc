"""The streams, tables and sinks of an application go in; those that hold a column come out, by what can be done."""

from collections.abc import Sequence
from dataclasses import dataclass

from headrace.application import Application
from headrace.catalog.objects import Stream, Table
from headrace.connectors.files.options import FilesTable
from headrace.connectors.kafka.options import KafkaReading, KafkaSink, KafkaSource
from headrace.connectors.memory.options import MemoryTable
from headrace.events.forgetting.topics import KeyedTopic
from headrace.events.forgetting.wanted import Matches, Wanted, matching
from headrace.plan.steps import Kind
from headrace.plan.together import TABLES

__all__ = ["Sources", "TopicOf", "sources_of"]

_JSON = frozenset({"json", "upsert", "debezium-json"})


@dataclass(frozen=True, slots=True)
class TopicOf:
    """A topic of a table, stream or sink, and the test for its records."""

    owner: str
    topic: KeyedTopic
    matches: Matches


@dataclass(frozen=True, slots=True)
class Sources:
    """What has the column: topics that take deletes, files that do, and what cannot be changed from here.

    ``published`` are topics that the application itself keeps by key; ``streams`` are topics of rows that never
    change; ``elsewhere`` has a word on each of the others.
    """

    tables: tuple[TopicOf, ...]
    files: tuple[tuple[Table, str, Matches], ...]
    captured: tuple[TopicOf, ...]
    published: tuple[TopicOf, ...]
    streams: tuple[TopicOf, ...]
    elsewhere: tuple[tuple[str, str, str], ...]


def sources_of(application: Application, wanted: Sequence[Wanted]) -> Sources:
    """Return what of an application holds one of the columns."""
    plan, base = application.plan, application.directory
    tables: list[TopicOf] = []
    files: list[tuple[Table, str, Matches]] = []
    captured: list[TopicOf] = []
    published: list[TopicOf] = []
    streams: list[TopicOf] = []
    elsewhere: list[tuple[str, str, str]] = []
    for table in plan.tables.values():
        test = matching(wanted, [column.name for column in table.columns])
        options = table.options
        if test is None:
            continue
        if isinstance(options, KafkaReading) and options.format in _JSON:
            topics = _topics(table, options, application, test)
            (captured if options.format == "debezium-json" else tables).extend(topics)
        elif table.live and isinstance(options, FilesTable) and options.format == "json":
            files.append((table, str(base / options.path), test))
        elif table.live and isinstance(options, MemoryTable):
            feed = f"{application.state_folder().removeprefix('file://')}/feeds/{table.name.lower()}"
            files.append((table, feed, test))
        else:
            elsewhere.append(("table", table.name, f"its rows are kept in {table.connector}: delete them there"))
    for stream in plan.streams.values():
        test = matching(wanted, [column.name for column in stream.stored])
        if test is None:
            continue
        if isinstance(stream.options, KafkaSource) and stream.options.format in _JSON and stream.options.topic:
            streams.extend(_topics(stream, stream.options, application, test))
        else:
            elsewhere.append(("stream", stream.name, f"its rows are kept in {stream.connector}: delete them there"))
    for output in plan.outputs:
        sink, test = output.sink, matching(wanted, output.relation.names)
        if sink is None or test is None or sink.connector in {"console", "noop", "memory"}:
            continue
        options = sink.options
        if isinstance(options, KafkaSink) and options.topic is not None and options.format in _JSON:
            topic = KeyedTopic(options, base, options.topic, tuple(options.key) or output.key)
            (published if options.format == "upsert" else streams).append(TopicOf(sink.name, topic, test))
        elif sink.connector in TABLES and output.relation.kind is Kind.CHANGELOG:
            note = (
                f"it deletes rows of keyed tables from {sink.connector} as the application runs: look there for others"
            )
            elsewhere.append(("sink", sink.name, note))
        else:
            elsewhere.append(("sink", sink.name, f"what it wrote is kept in {sink.connector}: delete it there"))
    return Sources(*map(tuple, (tables, files, captured, published, streams, elsewhere)))  # type: ignore[arg-type]


def _topics(source: Stream | Table, options: KafkaReading, application: Application, test: Matches) -> list[TopicOf]:
    key = tuple(options.key) or (source.primary_key if isinstance(source, Table) else ())
    debezium = options.format == "debezium-json"
    return [
        TopicOf(source.name, KeyedTopic(options, application.directory, name, key, debezium), test)
        for name in options.topic
    ]
