"""A batch goes in; its rows reach a Kafka topic as often as the sink promises."""

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.readwriter import DataStreamWriter

from headrace.connectors.kafka.options import KafkaSink
from headrace.connectors.kafka.sink import Writer, as_messages
from headrace.spark.changes import by_key
from headrace.spark.lower import KEEP, KEY
from headrace.spark.maintained import WEIGHT
from headrace.spark.scans import PART
from headrace.spark.storage import Folder

ATTEMPTED, PARTITIONS = "attempted", "partitions"


@dataclass(slots=True)
class KafkaOutput:
    """Publishes the batches of one output.

    ``notes`` is the folder beside its checkpoint; ``parts`` is into how many parts rows are cut by their content,
    None where a batch that is run again is cut the same way anyway. The rows of one part are written in one
    transaction, and a part that is found written is not written again: so it must hold the same rows each time.
    ``named`` are the parts that have a name.
    """

    options: KafkaSink
    guarantee: str
    writer: Writer
    notes: Folder
    parts: int | None
    named: tuple[str, ...] = ()
    key: tuple[str, ...] = ()
    """What identifies a row, where rows come and go."""
    known: int | None = None

    def __call__(self, frame: DataFrame, batch: int) -> None:
        """Publish a batch."""
        changing = WEIGHT in frame.columns
        rows = messages(by_key(frame, self.options.key or self.key) if changing else frame, self.options)
        match self.guarantee:
            case "exactly-once":
                self._exactly_once(rows, batch)
            case "at-most-once":
                self._at_most_once(rows, batch)
            case _:
                self.writer.at_least_once(rows)

    def _exactly_once(self, rows: DataFrame, batch: int) -> None:
        if self.parts is not None:
            rows = rows.repartition(self.parts, "topic", F.coalesce("key", "value"))
        if self.known is None:  # the first batch of this run: an earlier one may have left transactions open
            self.known = int(self.notes.read(PARTITIONS) or 0)
            self.writer.recover(rows, self.named or [str(number) for number in range(self.known)])
        partitions = self.writer.exactly_once(rows, batch)
        if partitions > self.known:
            self.known = partitions
            self.notes.make().write(PARTITIONS, str(partitions))

    def _at_most_once(self, rows: DataFrame, batch: int) -> None:
        """Write a batch only if no run has begun to: what a crash cut off stays cut off."""
        begun = (self.notes / ATTEMPTED).make()
        if str(batch) in begun.names():
            rows.write.format("noop").mode("overwrite").save()  # state is kept by computing it
            return
        begun.write(str(batch), "")
        for old in begun.names():
            if old.isdigit() and int(old) < batch:
                begun.remove(old)
        self.writer.at_most_once(rows)

    def stream(self, frame: DataFrame) -> DataStreamWriter:
        """Return a writer that sends each row as it comes, and again after a crash."""
        options = {f"kafka.{name}": value for name, value in self.writer.properties.items()}
        writer = messages(frame, self.options).writeStream.format("kafka")
        return writer.options(**options).option("includeHeaders", "true")

    def close(self, frame: DataFrame) -> None:
        """Let go of what is kept between batches."""
        self.writer.close(frame)
        self.known = None


def messages(frame: DataFrame, options: KafkaSink) -> DataFrame:
    """Return rows as messages; a row that is gone has no value."""
    changing = KEY in frame.columns
    return as_messages(
        frame,
        options,
        identity=F.col(KEY) if changing else None,
        keep=F.col(KEEP) if changing else None,
        part=F.col(PART) if PART in frame.columns else None,
    )
