"""The text of a type, in the words of Spark, goes in; the parsed type comes out."""

from functools import cache

from sqlglot import exp
from sqlglot.errors import SqlglotError

from headrace.language.dialect import Headrace

__all__ = ["parsed_type"]


@cache
def parsed_type(text: str) -> exp.DataType | None:
    """Return a type, or None for one that cannot be read.

    >>> parsed_type("decimal(10,2)").this.value, parsed_type("void").this.value, parsed_type("struct<a b:int>")
    ('DECIMAL', 'NULL', None)
    """
    if text.strip().lower() == "void":
        return exp.DataType.build("null")
    try:
        return exp.DataType.build(text.partition(" collate ")[0], dialect=Headrace)
    except (SqlglotError, IndexError):  # sqlglot looks behind the end of what it cannot read
        return None
