"""What a message carries beside its value: a function of a computed column goes in, a hidden column comes out."""

from dataclasses import dataclass

from sqlglot import exp

CHANGES = frozenset({"upsert", "debezium-json"})
"""Formats whose messages say what happened to a row."""


@dataclass(frozen=True, slots=True)
class Metadata:
    """One thing to know of a message: the function that asks for it, and the column that holds it."""

    function: str
    column: str
    type: str
    doc: str


METADATA = (
    Metadata("kafka_key", "__kafka_key", "BINARY", "The message's key."),
    Metadata(
        "kafka_headers",
        "__kafka_headers",
        "ARRAY<STRUCT<key: STRING, value: BINARY>>",
        "The message's headers, in order.",
    ),
    Metadata("kafka_topic", "__kafka_topic", "STRING", "The topic that it came from."),
    Metadata("kafka_partition", "__kafka_partition", "INT", "The partition of the topic."),
    Metadata("kafka_offset", "__kafka_offset", "BIGINT", "Its place in the partition."),
    Metadata("kafka_timestamp", "__kafka_timestamp", "TIMESTAMP", "When the broker got it, or its producer made it."),
    Metadata(
        "change_kind",
        "__change",
        "STRING",
        "What happened to the row: `insert`, `update` or `delete`; of an upsert topic `upsert` or `delete`.",
    ),
)
BY_FUNCTION = {each.function: each for each in METADATA}


def called(tree: exp.Expr) -> list[Metadata]:
    """Return the metadata that an expression asks for."""
    return [BY_FUNCTION[name] for node in tree.find_all(exp.Anonymous) if (name := node.name.lower()) in BY_FUNCTION]


def with_columns(tree: exp.Expr) -> exp.Expr:
    """Return an expression that reads the hidden columns instead of calling functions."""

    def read(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Anonymous) and (found := BY_FUNCTION.get(node.name.lower())) is not None:
            return exp.column(found.column)
        return node

    return tree.copy().transform(read)
