"""The sqlglot dialect of Headrace: Spark's expressions and queries, and the relations Headrace adds."""

from sqlglot.dialects.spark import Spark

from headrace.language.functions import NAME_KEY
from headrace.language.generator import HeadraceGenerator
from headrace.language.query_parser import HeadraceParser
from headrace.language.tokens import HeadraceTokenizer

__all__ = ["Headrace"]


class Headrace(Spark):
    """Spark's dialect with window tables, MATCH_RECOGNIZE and versioned tables."""

    ORIGINAL_NAME_META_KEY = NAME_KEY

    Tokenizer = HeadraceTokenizer
    Parser = HeadraceParser
    Generator = HeadraceGenerator
