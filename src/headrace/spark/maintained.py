"""Steps whose rows come and go: the DataFrame of their changes comes out, each row with a weight.

The steps are first lowered as if their inputs were tables, each an empty stand-in. Spark analyses and optimises that
query as any other; then our operators take the place of what needs a memory, and the streams that of the stand-ins.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.errors.exceptions.captured import UnsupportedOperationException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructField, StructType

from headrace.catalog.imports import OtherView
from headrace.catalog.objects import Table
from headrace.errors import HeadraceError
from headrace.plan.steps import ReadTable, Step
from headrace.spark import scans
from headrace.spark.mistakes import blame
from headrace.spark.place import Place
from headrace.spark.session import check_operators
from headrace.spark.view_source import view_changes

WEIGHT = "__weight"
"""Hidden column of changes: how often a row comes, or goes if negative."""

_EXCLUDED = "spark.sql.optimizer.excludedRules"
_NOT_FOR_STREAMS = ",".join(
    f"org.apache.spark.sql.{rule}"
    for rule in (
        "catalyst.optimizer.MergeSubplans",
        "catalyst.optimizer.InjectRuntimeFilter",
        "catalyst.optimizer.ComputeCurrentTime",
        "catalyst.optimizer.CostBasedJoinReorder",
        "catalyst.optimizer.OptimizeOneRowRelationSubquery",
    )
)
"""Rules that look at how large tables are, or make one subquery of several."""


@dataclass(slots=True)
class StandIns:
    """The empty tables that stand for streams while a query is put together."""

    spark: SparkSession
    place: Place
    session: Any = None
    made: dict[int, tuple[Step, DataFrame]] = field(default_factory=dict)

    def begin(self) -> None:
        """Forget what stood for what: the next query has streams of its own."""
        check_operators(self.spark)
        seed = self.place.folder("seed").make()
        if "one" not in seed.names():
            seed.write("one", "seed\n")
        frame = self.spark.readStream.schema("value STRING").text(seed.path).select()
        self.session = self.spark._jvm.org.headrace.changelog.Session(  # type: ignore[union-attr]
            self.spark._jsparkSession, frame._jdf
        )
        self.made.clear()

    def of(self, step: Step, stream: Callable[[], DataFrame]) -> DataFrame:
        """Return what stands for a step, the same each time it is asked for."""
        known = self.made.get(id(step))
        if known is not None:
            return known[1]
        weighted = isinstance(step, ReadTable)
        rows = self._table(step.table) if isinstance(step, ReadTable) else stream()
        columns = [each for each in rows.schema.fields if each.name != WEIGHT]
        schema = StructType([StructField(each.name, each.dataType, True) for each in columns])
        empty = self.spark.createDataFrame(self.spark.sparkContext.emptyRDD(), schema)
        self.session.define(empty._jdf, rows._jdf, weighted)
        self.made[id(step)] = (step, empty)
        return empty

    def _table(self, table: Table) -> DataFrame:
        if isinstance(table.options, OtherView):
            return view_changes(self.spark, table)
        written = scans.table_writes(self.spark, table, self.place)
        order = [name for name in written.columns if name.startswith("__order_")]
        names = [column.name for column in table.columns]
        key = [next(name for name in names if name.lower() == each.lower()) for each in table.primary_key]
        made = self.session.table(written._jdf, key, names, order, "__removed")
        return DataFrame(made, self.spark)

    def incremental(self, query: DataFrame, remembered: timedelta | None) -> DataFrame:
        """Return the changes of a query over stand-ins."""
        millis = None if remembered is None else int(remembered.total_seconds() * 1000)
        with _without_rules(self.spark):
            try:
                return DataFrame(self.session.incremental(query._jdf, millis), self.spark)
            except (Py4JJavaError, PySparkException) as error:
                raise _refusal(error) from error


def _refusal(error: Exception) -> Exception:
    cause = getattr(error, "java_exception", None)
    if isinstance(error, UnsupportedOperationException):
        reason = str(error).splitlines()[0]
    elif cause is not None and "UnsupportedOperationException" in str(cause.getClass().getName()):
        reason = str(cause.getMessage())
    else:
        return blame(error, [], lambda _: True) if isinstance(error, PySparkException) else error
    return HeadraceError(
        "this query cannot be kept current",
        detail=f"Spark computes it with: {reason}.",
        hint="Put that part into a query over rows that do not change.",
    )


@contextmanager
def _without_rules(spark: SparkSession) -> Iterator[None]:
    before = spark.conf.get(_EXCLUDED, "")
    spark.conf.set(_EXCLUDED, _NOT_FOR_STREAMS)
    try:
        yield
    finally:
        spark.conf.set(_EXCLUDED, before) if before else spark.conf.unset(_EXCLUDED)
