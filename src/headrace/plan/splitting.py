"""A step goes in; out comes what cuts its rows into parts: some of it cuts a batch that is run again differently."""

from enum import Enum

from headrace.connectors.kafka.options import KafkaSource
from headrace.plan.steps import Join, Literals, ReadRelation, ReadTable, Scan, Step, inputs, is_stateful


class Split(Enum):
    """What decides in which part of a batch a row is."""

    TOPIC = "the partition of the topic that it came from"
    KEY = "its key, by which state is cut into a fixed number of parts"
    CHANCE = "how many cores there are, which machine is free"


def split_of(step: Step) -> Split:
    """Return what cuts the rows of a step: files are cut as it suits, tables joined in one of two ways."""
    if is_stateful(step):
        return Split.KEY
    match step:
        case Scan(stream=stream):
            return Split.TOPIC if isinstance(stream.options, KafkaSource) else Split.CHANCE
        case Join() | ReadTable() | ReadRelation() | Literals():
            return Split.CHANCE
        case _:
            found = {split_of(each) for each in inputs(step)}
            return found.pop() if len(found) == 1 else Split.CHANCE
