"""A step that searches for a pattern goes in, the DataFrame of its matches comes out."""

from datetime import timedelta
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BooleanType, DataType, LongType, StringType, StructField, StructType
from sqlglot import exp

from headrace.connectors.files.options import FilesSource
from headrace.connectors.kafka.options import KafkaSource
from headrace.errors import HeadraceError
from headrace.language.dialect import Headrace
from headrace.plan.late import is_judged
from headrace.plan.patterns import Accept, AtEnd, AtStart, Instruction, Jump, Split, TakeRow
from headrace.plan.slots import CLASSIFIER, SLOT, Asked, Slot
from headrace.plan.steps import Match, ReadDead, ReadRelation, Scalar, Scan, Step, is_stateful, walk
from headrace.spark.event_time import tagged
from headrace.spark.mistakes import blame
from headrace.spark.place import FAR, Place, micros
from headrace.spark.records import quoted
from headrace.spark.scans import row_index
from headrace.spark.session import check_operators

ARRIVAL = "__arrival"
"""The last column of a row: who came first."""
_ROWS_OF_A_TASK = 33
"""How many bits of that are for the rows of one task."""
_LIMITS = ("max_files_per_batch", "max_bytes_per_batch", "max_rows_per_batch")
"""Options that cut what is there into several batches."""
ENDED_AT = micros(FAR.replace(year=FAR.year - 1000)) // 1000
"""The watermark, in milliseconds, from which on there is no further row."""


def matches(below: DataFrame, step: Match, place: Place, limit: int, late: Any, name: str | None = None) -> DataFrame:
    """Return the matches of a pattern in a stream; ``name`` is what it is called when it fails.

    ``limit`` is how many partial matches a key may have; ``late`` counts the rows behind the watermark.
    """
    check_operators(below.sparkSession)
    if step.program.has(AtEnd) and not place.controlled and not step.static:
        raise HeadraceError(
            "$ in a pattern over a stream that never ends",
            detail="Whether a row is the last of its partition is known only when the input has ended.",
            hint="Run with --once, or take $ out of the pattern.",
            span=step.span,
        )
    whole = takes_all(step, place)
    if place.bounded and not whole and any(map(_is_endless, walk(step))):
        raise HeadraceError(
            "a pattern over rows that do not tell when they have ended",
            detail="Open matches are decided at the end of the input. A DataFrame of a program does not tell it, "
            "nor do dead rows that are read in several batches.",
            hint="Start the application instead, or search a stream that it declares.",
            span=step.span,
        )
    rows = _rows(tagged(below, step.time), step)
    aggregates, filters = _aggregates(rows, step)
    slots = StructType([_slot(each, i, rows, aggregates) for i, each in enumerate(step.slots)])
    empty = _empty(rows, slots)
    values = [*(value for _, value in step.conditions), *(each.value for each in step.measures)]
    expressions = _guarded(values, empty, "true AS end")
    spark = below.sparkSession
    timed = ends(step, place) or (step.time is not None and not place.real_time and not whole)
    try:
        made = spark._jvm.org.headrace.patterns.Patterns.search(  # type: ignore[union-attr]
            spark._jsparkSession,
            rows._jdf,
            {
                **_told(step, rows),
                "name": name,
                "ended_at": ENDED_AT if place.controlled else None,
                "limit": limit,
                "whole": whole,
                "judged": not step.arrival and is_judged(step.input, step.span),
                "timed": timed,
                "gathered": not place.real_time,
            },
            expressions._jdf,
            [each._jdf for each in aggregates],
            [each if each is None else each._jdf for each in filters],
            late,
        )
    except (Py4JJavaError, PySparkException) as error:
        raise _refusal(error) from error
    return DataFrame(made, spark)


def _rows(below: DataFrame, step: Match) -> DataFrame:
    """Return the columns that the pattern needs of a row, and its place among those of its batch."""
    columns = [
        F.col(quoted(each.name)) if each.value.tree.name == each.name else F.expr(_sql(each.value)).alias(each.name)
        for each in step.values
    ]
    _guarded([each.value for each in step.values], below)
    part = F.shiftleft(F.spark_partition_id().cast("bigint"), _ROWS_OF_A_TASK)
    return below.select(*columns, (part + row_index(below.sparkSession)).alias(ARRIVAL))


def _aggregates(rows: DataFrame, step: Match) -> tuple[list[DataFrame], list[DataFrame | None]]:
    """Return the aggregates, and for each the condition on its rows, which Spark would mix up with DISTINCT."""
    fields = [*rows.schema.fields, StructField(CLASSIFIER, StringType())]
    empty = _empty(rows, StructType(fields))
    made: list[DataFrame] = []
    filters: list[DataFrame | None] = []
    for number, each in enumerate(step.aggregates):
        call, condition = _split(each.tree)
        try:
            made.append(empty.groupBy().agg(F.expr(call).alias(f"__aggregate_{number}")))
            filters.append(None if condition is None else empty.selectExpr(f"{condition} AS e0", "true AS end"))
        except (AnalysisException, ParseException) as error:
            mistake = blame(error, [], lambda _: True)
            mistake.span = each.span
            raise mistake from error
    return made, filters


def _split(aggregate: exp.Expr) -> tuple[str, str | None]:
    """Return the SQL of an aggregate without its FILTER, and that of the filter's condition."""
    if not isinstance(aggregate, exp.Filter):
        return aggregate.sql(dialect=Headrace), None
    return aggregate.this.sql(dialect=Headrace), aggregate.expression.this.sql(dialect=Headrace)


def _slot(slot: Slot, number: int, rows: DataFrame, aggregates: list[DataFrame]) -> StructField:
    kinds: dict[Asked, DataType] = {
        Asked.CLASSIFIER: StringType(),
        Asked.MATCH_NUMBER: LongType(),
        Asked.TIMED_OUT: BooleanType(),
        Asked.AWAITED: ArrayType(StringType()),
    }
    if slot.asked is Asked.VALUE:
        kind = rows.schema[slot.source].dataType
    elif slot.asked is Asked.AGGREGATE:
        kind = aggregates[int(slot.source)].schema.fields[0].dataType
    else:
        kind = kinds[slot.asked]
    return StructField(f"{SLOT}{number}", kind)


def _empty(like: DataFrame, schema: StructType) -> DataFrame:
    spark = like.sparkSession
    return spark.createDataFrame(spark.sparkContext.emptyRDD(), schema)


def _guarded(values: list[Scalar], over: DataFrame, *more: str) -> DataFrame:
    """Return expressions as columns; what Spark refuses is reported at its place."""

    def accepts(sql: str) -> bool:
        try:
            over.selectExpr(sql)
        except PySparkException:
            return False
        return True

    try:
        return over.selectExpr(*[f"{_sql(each)} AS e{i}" for i, each in enumerate(values)], *more)
    except (AnalysisException, ParseException) as error:
        raise blame(error, values, accepts) from error


def takes_all(step: Match, place: Place) -> bool:
    """Say whether one batch has all rows, so that none need wait for the watermark."""
    if step.static:
        return True
    read = [each.stream for each in walk(step) if isinstance(each, (Scan, ReadDead))]
    unlimited = all(
        isinstance(each.options, (FilesSource, KafkaSource))
        and not any(getattr(each.options, name, None) for name in _LIMITS)
        for each in read
    )
    apart = any(is_stateful(each) or _is_program(each) for each in walk(step.input))
    return place.bounded and unlimited and not apart


def _is_program(step: Step) -> bool:
    """Say whether a step reads a stream that a program has made, of whose batches nothing is known."""
    return isinstance(step, ReadRelation) and not step.static


def _is_endless(step: Step) -> bool:
    """Say whether a step reads what no control row can end."""
    return isinstance(step, ReadDead) or _is_program(step)


def ends(step: Step, place: Place) -> bool:
    """Say whether a step is a search that is told when the input has ended, whatever its streams have for a time."""
    if not isinstance(step, Match) or not place.controlled or place.real_time:
        return False
    return not takes_all(step, place) and any(isinstance(each, Scan) for each in walk(step))


def waits(step: Step, place: Place) -> bool:
    """Say whether a step remembers rows for a later batch."""
    return is_stateful(step) and not (isinstance(step, Match) and takes_all(step, place))


def _told(step: Match, rows: DataFrame) -> dict[str, Any]:
    columns = rows.columns
    order = [[name, descending, nulls_first] for name, descending, nulls_first in step.order]
    time = [] if step.arrival or step.time is None else [[step.time, False, True]]
    return {
        "program": [_instruction(each) for each in step.program.instructions],
        "variables": list(step.program.variables),
        "partition": list(step.partition),
        "time": step.time,
        "arrival": step.arrival or (step.static and step.within is None),
        "order": [*time, *order],
        "slots": [_numbers(each, columns) for each in step.slots],
        "defined": [variable for variable, _ in step.conditions],
        "measures": [each.name for each in step.measures],
        "before": list(step.before),
        "after": list(step.after),
        "shown": step.shown.name,
        "skip": step.skip.name,
        "skip_to": list(step.skip_to),
        "within": -1 if step.within is None else step.within // timedelta(microseconds=1),
        "timeouts": step.timeouts,
    }


def _instruction(instruction: Instruction) -> list[int]:
    match instruction:
        case TakeRow(variable, left_out):
            return [0, variable, int(left_out)]
        case Split(first, second):
            return [1, first, second]
        case Jump(to):
            return [2, to, 0]
        case AtStart():
            return [3, 0, 0]
        case AtEnd():
            return [4, 0, 0]
        case Accept():
            return [5, 0, 0]


def _numbers(slot: Slot, columns: list[str]) -> list[int]:
    source = columns.index(slot.source) if slot.asked is Asked.VALUE else int(slot.source or 0)
    kind = list(Asked).index(slot.asked)
    return [kind, int(slot.last), slot.offset, slot.shift, source, int(slot.whole), *slot.variables]


def _sql(value: Scalar) -> str:
    return str(value.tree.sql(dialect=Headrace))


def _refusal(error: Exception) -> Exception:
    cause = getattr(error, "java_exception", None)
    reason = str(cause.getMessage()) if cause is not None else str(error).splitlines()[0]
    return HeadraceError("this pattern cannot be searched for", detail=f"Spark computes it with: {reason}.")
