"""The sinks that take whole batches: an output goes in, what writes its batches comes out."""

import json
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.connectors.files.options import FilesSink
from headrace.connectors.files.sink import forget_run
from headrace.connectors.files.source import resolve_path
from headrace.connectors.kafka.client import client_properties
from headrace.connectors.kafka.options import KafkaSink
from headrace.connectors.kafka.sink import Writer, producer_properties
from headrace.connectors.tables import TableSink
from headrace.plan.application import Output
from headrace.plan.real_time import guarantee_of, is_real_time
from headrace.plan.splitting import Split, split_of
from headrace.plan.steps import (
    is_maintained,
    unsorted,
)
from headrace.spark.kafka import MARKERS, prepare_sink
from headrace.spark.kafka_output import KafkaOutput
from headrace.spark.place import Place
from headrace.spark.publish import Publish, into_files
from headrace.spark.storage import Folder

if TYPE_CHECKING:
    from headrace.spark.run import Run


def files_publisher(output: Output, place: Place, named: Folder) -> Publish:
    """Return what writes a files sink, under a name that is kept in a folder.

    A run that ends replaces what its like wrote before: its answer is of all that is there.
    """
    if output.sink is None or not isinstance(output.sink.options, FilesSink):
        raise TypeError("not a files sink")
    options = output.sink.options
    folder = Folder(resolve_path(options.path, place.base))
    name = kept_name(named, "once" if place.bounded else "run")
    if place.bounded:
        forget_run(folder, name)
    return into_files(options, folder, name)


def kafka_publisher(output: Output, run: "Run") -> KafkaOutput:
    """Return what writes a Kafka sink; its transactions have a name that its checkpoint keeps.

    A run that ends starts from nothing, so it has a name of its own.
    """
    if output.sink is None or not isinstance(output.sink.options, KafkaSink):
        raise TypeError("not a Kafka sink")
    options = output.sink.options
    prepare_sink(run.spark, options, run.place.base, output.sink.span)
    notes = run.place.folder(output.name.lower(), "kafka")
    local = str(run.spark.sparkContext.master).startswith("local")
    name = f"headrace-{output.name.lower()}-{kept_name(notes, 'name')}"
    properties = producer_properties(options, client_properties(options, run.place.base))
    real_time = is_real_time(output, run.plan.settings) and not run.place.bounded
    guarantee = guarantee_of(output.sink, real_time=real_time)
    if guarantee == "exactly-once":
        properties["transaction.timeout.ms"] = str(int(options.transaction_timeout.total_seconds() * 1000))
    step = unsorted(output.relation)
    by_content = is_maintained(step) or split_of(step) is Split.CHANCE
    parts = run.plan.settings.shuffle_partitions if by_content else None
    writer = Writer(properties, name, options.topic or MARKERS, local=local)
    return KafkaOutput(options, guarantee, writer, notes, parts, key=output.key)


@dataclass(frozen=True, slots=True)
class TakenNote:
    """Remembers, in a file beside a checkpoint, that a table has taken batches."""

    folder: Folder
    file: str
    text: str

    def is_there(self) -> bool:
        """Say whether it has been written."""
        return self.folder.read(self.file) == self.text

    def write(self) -> None:
        """Write it."""
        self.folder.make().write(self.file, self.text)


def taken_note(folder: Folder, sink: str, output: str, options: TableSink) -> TakenNote:
    """Return the note of a sink's table; another table, or another name of the output, is not known by it."""
    place = [getattr(options, each, None) for each in ("path", "table", "prefix")]
    return TakenNote(folder, f"{sink.lower()}.taken", json.dumps([output, place]))


def kept_name(folder: Folder, file: str) -> str:
    """Return a name that stays the same from run to run."""
    known = folder.read(file)
    if known is None:
        known = secrets.token_hex(4)
        folder.make().write(file, known)
    return known
