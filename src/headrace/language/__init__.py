"""Text goes in, statements come out."""

from headrace.language.format import format_application, format_statement
from headrace.language.parser import parse
from headrace.language.spans import span_of
from headrace.language.variables import fill

__all__ = ["fill", "format_application", "format_statement", "parse", "span_of"]
