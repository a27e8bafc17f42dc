"""What each format can carry: columns go in, an error at their place comes out if they do not fit."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from headrace.errors import HeadraceError, Span

__all__ = [
    "BAD_DELIMITERS",
    "DELIMITER",
    "FILE_FORMATS",
    "FORMATS",
    "KAFKA_SINK_FORMATS",
    "KAFKA_SOURCE_FORMATS",
    "KAFKA_TABLE_FORMATS",
    "SOCKET_FORMATS",
    "TIMESTAMP_FORMAT",
    "Format",
    "check_format",
    "format_named",
]


@dataclass(frozen=True, slots=True)
class Format:
    """One way to write rows as bytes."""

    name: str
    doc: str
    carries: str
    refuses: frozenset[exp.DType] = frozenset()
    cannot_write: frozenset[exp.DType] = frozenset()
    single: exp.DType | None = None


_JSON = frozenset({"json", "upsert", "debezium-json"})
_NESTED = frozenset({exp.DType.ARRAY, exp.DType.MAP, exp.DType.STRUCT, exp.DType.LIST})

FORMATS = (
    Format("json", "One JSON object per line.", "Columns of every type, by name."),
    Format(
        "csv",
        "One row per line, fields with a delimiter between.",
        "Columns of plain types, in order: no arrays, maps or structs; a VARIANT can be read, not written.",
        refuses=_NESTED,
        cannot_write=frozenset({exp.DType.VARIANT}),
    ),
    Format("text", "One line per row, as it stands.", "Exactly one STRING column.", single=exp.DType.TEXT),
    Format("parquet", "Apache Parquet: compressed columns.", "Columns of every type, by name."),
    Format("raw", "The bytes of a message, as they stand.", "Exactly one BINARY column.", single=exp.DType.BINARY),
    Format(
        "avro",
        "Apache Avro: with a schema registry each message names its schema, without one all have the same.",
        "Columns of every type but VARIANT, by name.",
        refuses=frozenset({exp.DType.VARIANT}),
    ),
    Format(
        "upsert",
        "JSON objects by key: the last one of a key counts, a message without a value deletes it.",
        "Columns of every type, by name; those of the key also where the value is missing.",
    ),
    Format(
        "debezium-json",
        "Changes of a database table as Debezium writes them, with or without their schema.",
        "Columns of every type, by name: the row after the change, for a delete the row before.",
    ),
)

DELIMITER = "What stands between two csv fields."
BAD_DELIMITERS = ("\\", '"', "\n", "\r")
TIMESTAMP_FORMAT = "How timestamps are written, as a Spark datetime pattern; ISO 8601 without it."

FILE_FORMATS = ("json", "csv", "text", "parquet")
SOCKET_FORMATS = ("text",)
KAFKA_SOURCE_FORMATS = ("json", "csv", "text", "raw", "avro", "upsert", "debezium-json")
KAFKA_TABLE_FORMATS = ("upsert", "debezium-json")
KAFKA_SINK_FORMATS = ("json", "csv", "text", "raw", "avro", "upsert")


def format_named(name: str) -> Format:
    """Return the facts of a format that options have already been checked for."""
    return next(each for each in FORMATS if each.name == name)


def check_format(
    format: str,
    columns: Sequence[tuple[str, exp.DataType]],
    span: Span,
    *,
    writing: bool = False,
) -> None:
    """Raise at the span when the format cannot carry the columns.

    The columns are those that really stand in the data: without computed columns of a stream, and
    without the columns that ``partition_by`` of a sink turns into folders.
    """
    facts = format_named(format)
    if facts.single is not None:
        _check_single(facts, facts.single, columns, span)
    refused = facts.refuses | facts.cannot_write if writing else facts.refuses
    for name, column_type in columns:
        if facts.name in _JSON and not writing:
            _check_keys(name, column_type, span)
        if column_type.this in refused:
            raise HeadraceError(
                f'column "{name}" of type {column_type.sql("spark")} does not fit format {facts.name}',
                detail=f"Format {facts.name} carries: {_lower_first(facts.carries)}",
                hint=(
                    "Choose format = 'json' or 'parquet', or write the column as text with to_json."
                    if writing
                    else "Choose format = 'json' or 'parquet', or declare it STRING and use from_json."
                ),
                span=span,
            )


def _check_keys(name: str, column_type: exp.DataType, span: Span) -> None:
    """Raise where a map has keys that are no texts: members of a JSON object have names."""
    for each in column_type.find_all(exp.DataType):
        if each.this == exp.DType.MAP and each.expressions and each.expressions[0].this != exp.DType.TEXT:
            raise HeadraceError(
                f'column "{name}" of type {column_type.sql("spark")} does not fit JSON',
                detail="The keys of a map are the names of members there, which are texts.",
                hint="Make the keys STRING, and cast them where they are used.",
                span=span,
            )


def _check_single(facts: Format, kind: exp.DType, columns: Sequence[tuple[str, exp.DataType]], span: Span) -> None:
    word = "STRING" if kind == exp.DType.TEXT else kind.value
    detail = f"A {'line of text' if kind == exp.DType.TEXT else 'message'} fills one {word} column"
    if len(columns) != 1:
        names = ", ".join(f'"{name}"' for name, _ in columns) or "none"
        raise HeadraceError(
            f"format {facts.name} takes exactly one column, not {len(columns)}",
            detail=f"{detail}; the columns here: {names}.",
            hint=f"Keep one {word} column and compute the others from it, or choose another format.",
            span=span,
        )
    ((name, column_type),) = columns
    if column_type.this not in (kind, exp.DType.UNKNOWN):
        raise HeadraceError(
            f'column "{name}" of type {column_type.sql("spark")} does not fit format {facts.name}',
            detail=f"{detail}.",
            hint=f'Make "{name}" a {word}, and compute what you need from it.',
            span=span,
        )


def _lower_first(text: str) -> str:
    return text[0].lower() + text[1:]
