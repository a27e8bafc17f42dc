"""Several outputs of one query: their frames go in as one, and what a batch changes in each comes out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headrace.plan.outputs import Output
from headrace.spark.collect import plain_frame, plain_rows
from headrace.spark.maintained import WEIGHT
from headrace.spark.records import quoted
from headrace.views.definition import Delta, Reflects, Row

OUTPUT, BYTES = "__output", "__bytes"


class Taker(Protocol):
    """Somebody who is given what a batch changes in some outputs."""

    def take(self, batch: int, deltas: Mapping[str, Delta], reflects: Reflects) -> None:
        """Take in a batch; one that was taken in before changes nothing."""


@dataclass(frozen=True, slots=True)
class Part:
    """One output of a query: its rows, with a weight if they can go, and who takes its changes."""

    output: Output
    frame: DataFrame
    taker: Taker


def united(parts: Sequence[Part], session: Any) -> DataFrame:
    """Return the rows of all parts as one frame: which part, the columns of each part, weight and bytes."""
    frames = [plain_frame(part.frame) for part in parts]
    columns = [[name for name in frame.columns if name != WEIGHT] for frame in frames]
    result: DataFrame | None = None
    for number, (frame, names) in enumerate(zip(frames, columns, strict=True)):
        weighted = WEIGHT in frame.columns
        rows = DataFrame(session.withBytes(frame._jdf, names, BYTES), frame.sparkSession) if weighted else frame
        chosen = [F.lit(number).alias(OUTPUT)]
        for other, (its_frame, its_names) in enumerate(zip(frames, columns, strict=True)):
            for place, name in enumerate(its_names):
                nothing = F.lit(None).cast(its_frame.schema[name].dataType)
                value = F.col(quoted(name)) if other == number else nothing
                chosen.append(value.alias(_place(other, place)))
        weight, content = (F.col(WEIGHT), F.col(BYTES)) if weighted else (F.lit(1), F.lit(None).cast("binary"))
        one = rows.select(*chosen, weight.cast("bigint").alias(WEIGHT), content.alias(BYTES))
        result = one if result is None else result.union(one)
    if result is None:
        raise ValueError("no output")
    return result


@dataclass(slots=True)
class Together:
    """Publishes the batches of a query with several outputs: all of them see the same input."""

    parts: Sequence[Part]
    sources: Mapping[str, str] = field(default_factory=dict)
    """The name of each stream and table, by a text that tells its source."""
    query: Any = None

    def begin(self, query: Any) -> None:
        """Say which query the batches are of."""
        self.query = query

    def __call__(self, frame: DataFrame, batch: int) -> int:
        """Give each output what a batch changes in it."""
        table = frame.toArrow()  # also when the takers know the batch: state is kept by computing it
        deltas = dict(_deltas(table, self.parts))
        reflects = self._reflects()
        takers = {id(part.taker): part.taker for part in self.parts}
        for number, taker in takers.items():
            mine = [part.output.name for part in self.parts if id(part.taker) == number]
            taker.take(batch, {name: deltas[name] for name in mine}, reflects)
        return sum(len(delta.deleted) + len(delta.inserted) for delta in deltas.values())

    def _reflects(self) -> Reflects:
        """Return how far the input is in the batch that is being published."""
        if self.query is None:
            return Reflects()
        inner = self.query._jsq.streamingQuery()
        millis = int(inner.lastExecution().offsetSeqMetadata().batchWatermarkMs())
        watermark = datetime.fromtimestamp(millis / 1000, UTC) if millis > 0 else None
        positions: dict[str, str] = {}
        offsets = inner.availableOffsets().iterator()
        while offsets.hasNext():
            pair = offsets.next()
            described = str(pair._1().toString())
            name = next((name for text, name in self.sources.items() if text in described), None)
            if name is not None:
                positions[name] = str(pair._2().json())
        return Reflects(watermark, positions)


def _deltas(table: pa.Table, parts: Sequence[Part]) -> Iterator[tuple[str, Delta]]:
    outputs = table.column(OUTPUT).to_pylist()
    weights = table.column(WEIGHT).to_pylist()
    contents = table.column(BYTES).to_pylist()
    net: list[dict[Any, list[int]]] = [{} for _ in parts]
    for index, (output, weight, content) in enumerate(zip(outputs, weights, contents, strict=True)):
        known = net[output].setdefault(index if content is None else content, [0, index])
        known[0] += weight
    for number, part in enumerate(parts):
        signs = {sign: [each for each in net[number].values() if each[0] * sign > 0] for sign in (-1, 1)}
        rows = {sign: _rows(table, number, chosen, part.frame) for sign, chosen in signs.items()}
        yield part.output.name, Delta(deleted=rows[-1], inserted=rows[1])


def _place(output: int, column: int) -> str:
    return f"c{output}_{column}"


def _rows(table: pa.Table, output: int, chosen: Sequence[Sequence[int]], frame: DataFrame) -> list[Row]:
    """Return the rows of an output at some places, each as often as its weight says."""
    if not chosen:
        return []
    fields = [each for each in frame.schema.fields if each.name != WEIGHT]
    mine = table.select([_place(output, i) for i in range(len(fields))])
    taken = mine.take(pa.array([index for _, index in chosen]))
    rows = plain_rows(taken.columns, fields, len(chosen))
    return [row for row, (weight, _) in zip(rows, chosen, strict=True) for _ in range(abs(weight))]
