"""What each format can carry: columns go in, an error at their place comes out if they do not fit."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from headrace.errors import HeadraceError, Span

__all__ = ["FILE_FORMATS", "FORMATS", "SOCKET_FORMATS", "Format", "check_format", "format_named"]


@dataclass(frozen=True, slots=True)
class Format:
    """One way to write rows as bytes."""

    name: str
    doc: str
    carries: str
    refuses: frozenset[exp.DType] = frozenset()
    cannot_write: frozenset[exp.DType] = frozenset()
    single_text_column: bool = False


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
    Format("text", "One line per row, as it stands.", "Exactly one STRING column.", single_text_column=True),
    Format("parquet", "Apache Parquet: compressed columns.", "Columns of every type, by name."),
)

FILE_FORMATS = ("json", "csv", "text", "parquet")
SOCKET_FORMATS = ("text",)


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
    if facts.single_text_column:
        _check_single_text(facts, columns, span)
    refused = facts.refuses | facts.cannot_write if writing else facts.refuses
    for name, column_type in columns:
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


def _check_single_text(facts: Format, columns: Sequence[tuple[str, exp.DataType]], span: Span) -> None:
    if len(columns) != 1:
        names = ", ".join(f'"{name}"' for name, _ in columns) or "none"
        raise HeadraceError(
            f"format {facts.name} takes exactly one column, not {len(columns)}",
            detail=f"A line of text fills one STRING column; the columns here: {names}.",
            hint="Keep one STRING column and compute the others from it, or choose another format.",
            span=span,
        )
    ((name, column_type),) = columns
    if column_type.this != exp.DType.TEXT:
        raise HeadraceError(
            f'column "{name}" of type {column_type.sql("spark")} does not fit format {facts.name}',
            detail="A line of text fills one STRING column.",
            hint=f'Make "{name}" a STRING, and compute what you need from it.',
            span=span,
        )


def _lower_first(text: str) -> str:
    return text[0].lower() + text[1:]
