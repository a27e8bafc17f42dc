"""A step goes in; out comes whether its rows fall into the same parts when a batch is run again."""

from headrace.connectors.kafka.options import KafkaSource
from headrace.plan.steps import Join, Literals, ReadRelation, ReadTable, Scan, Step, inputs, is_stateful


def splits_alike(step: Step) -> bool:
    """Say whether a batch that is run again puts each row into the same part, also on other machines.

    Topics are read partition by partition, and state is cut by key into a fixed number of parts. Files are cut as
    the machine's cores suggest, and a table may be joined in one of two ways.
    """
    if is_stateful(step):
        return True
    match step:
        case Scan(stream=stream):
            return isinstance(stream.options, KafkaSource)
        case Join() | ReadTable() | ReadRelation() | Literals():
            return False
        case _:
            below = inputs(step)
            return bool(below) and all(splits_alike(each) for each in below)
