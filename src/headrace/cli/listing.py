"""What a server lists goes in; rows come out on stdout in the form that was asked for."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Annotated, Any, Literal

import typer

__all__ = ["Form", "Rows", "Text", "print_fields", "print_lines", "show_rows"]

Form = Literal["table", "json", "csv"]
Rows = Annotated[Form, typer.Option("--output", help="How rows are printed.")]
Text = Annotated[Literal["text", "json"], typer.Option("--output", help="How it is printed.")]


def show_rows(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], output: Form) -> None:
    """Print rows; in a table and in CSV, lists of names are names with commas between them."""
    from headrace.cli.render import print_rows

    if output != "json":
        rows = [{name: _joined(value) for name, value in row.items()} for row in rows]
    print_rows(rows, columns, output, sys.stdout)


def print_fields(fields: Mapping[str, Any]) -> None:
    """Print names and values one below the other, without those that are not there."""
    from headrace.cli.render import cell_text

    width = max(map(len, fields))
    for name, value in fields.items():
        if value is not None:
            sys.stdout.write(f"{name:<{width}}  {cell_text(_joined(value))}".rstrip() + "\n")


def print_lines(rows: Iterable[Any], most: int | None) -> None:
    """Print rows as JSON lines as they come, and no more than so many."""
    from headrace.values import json_text

    for row in islice(rows, most):
        sys.stdout.write(json_text(row) + "\n")
        sys.stdout.flush()


def _joined(value: Any) -> Any:
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return ", ".join(value)
    return value
