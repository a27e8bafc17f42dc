"""What an expression of MATCH_RECOGNIZE asks of a match; each thing asked has a column of its own, a slot."""

from dataclasses import dataclass
from enum import Enum

from sqlglot import exp

SLOT = "__slot_"
CLASSIFIER = "__classifier"
"""The column, beside those of a row, in which aggregates find the name of the row's variable."""


EVIDENCE = "__evidence"
"""The column in which a row says where it stands: topic, partition and offset, or file, block and line."""
EVIDENCE_TYPE = exp.DataType.build("struct<source string, partition bigint, position bigint>", dialect="spark")


class Asked(Enum):
    """What a slot holds."""

    VALUE = "a column of a row"
    CLASSIFIER = "the variable of a row"
    AGGREGATE = "an aggregate over rows"
    MATCH_NUMBER = "the number of the match"
    TIMED_OUT = "whether the time ran out"
    AWAITED = "the variables that were awaited"


@dataclass(frozen=True, slots=True)
class Slot:
    """One thing that is asked of a match.

    ``source`` is the column, or the number of the aggregate; ``variables`` are those whose rows count. Of these rows,
    ``offset`` are passed over from the last one back or from the first one on; ``shift`` rows further on, among all
    rows, stands the one that is read. ``whole`` looks at the whole match also where it is shown row by row.
    """

    asked: Asked
    type: exp.DataType
    source: str = ""
    variables: tuple[int, ...] = ()
    last: bool = True
    offset: int = 0
    shift: int = 0
    whole: bool = False
