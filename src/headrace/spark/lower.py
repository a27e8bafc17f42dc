"""A step goes in, the DataFrame that computes it comes out."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import reduce
from typing import Any

from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headrace.catalog.objects import Stream
from headrace.connectors.expressions import WHOLE_JSON
from headrace.language.dialect import Headrace
from headrace.plan.slots import EVIDENCE
from headrace.plan.steps import (
    Aggregate,
    AssignWindows,
    Column,
    Deduplicate,
    Filter,
    Join,
    JoinKind,
    LateRows,
    Literals,
    Match,
    Project,
    Rank,
    ReadDead,
    ReadRelation,
    ReadTable,
    Rename,
    Scalar,
    Scan,
    SetOperation,
    Sort,
    Step,
    TopRows,
    Union,
    Unnest,
    is_maintained,
    is_static,
    scalars,
    walk,
)
from headrace.spark import aggregates, scans, windows
from headrace.spark.event_time import tagged
from headrace.spark.late import late_rows
from headrace.spark.maintained import WEIGHT, StandIns
from headrace.spark.matching import ends, matches, waits
from headrace.spark.mistakes import blame
from headrace.spark.place import Place
from headrace.spark.ranking import top_rows
from headrace.spark.records import quoted
from headrace.spark.refreshing import Refreshing
from headrace.spark.scans import PART
from headrace.spark.state_names import StateNames

KEY, KEEP = "__key", "__keep"
"""Hidden columns of rows that change: what identifies a row, and whether it is still wanted."""
HIDDEN = (KEY, KEEP, PART, WEIGHT, EVIDENCE)

_HOW = {
    JoinKind.INNER: "inner", JoinKind.LEFT: "left_outer", JoinKind.RIGHT: "right_outer",
    JoinKind.FULL: "full_outer", JoinKind.SEMI: "left_semi", JoinKind.ANTI: "left_anti",
    JoinKind.CROSS: "cross",
}  # fmt: skip


_HALF = frozenset({JoinKind.SEMI, JoinKind.ANTI})


@dataclass(slots=True)
class Lowering:
    """Turns steps into DataFrames over one session."""

    spark: SparkSession
    place: Place
    defined: dict[str, DataFrame] = field(default_factory=dict)
    partial_matches: int = 10_000
    timed: bool = True
    ending: bool = False
    parted: bool = False
    traced: bool = True
    scanned: int = 0
    stand_ins: StandIns | None = None
    refreshing: Refreshing = field(default_factory=Refreshing)
    late: list[Any] = field(default_factory=list)
    """Counters of rows behind the watermark, of the operators in the frame that was made last."""
    named: Mapping[int, str] = field(default_factory=dict)
    """The names of searches by the identity of their steps."""
    state_names: StateNames | None = None
    """Those of the frame that was made last, as its operators have them."""
    timekeeper: Stream | None = None
    """A stream of the frame that has a watermark, if any."""
    _standing: bool = False
    _tracing: bool = False
    _shared: dict[str, DataFrame] | None = None
    _streams: list[tuple[int, str]] = field(default_factory=list)

    def changes(self, step: Step, remembered: timedelta | None = None) -> DataFrame:
        """Return the changes of a step whose rows come and go, each with its weight in a hidden column."""
        if self._shared is None:
            with self.together():
                return self.changes(step, remembered)
        if self.stand_ins is None:
            raise TypeError("frames are made together with their stand-ins")
        self._standing = True
        try:
            return self.stand_ins.incremental(self.frame(step), remembered)
        finally:
            self._standing = False

    @property
    def session(self) -> Any:
        """What the operators of the frames that are being made belong to."""
        return self.stand_ins.session if self.stand_ins is not None else None

    @contextmanager
    def together(self) -> Iterator[None]:
        """Let all frames that are made meanwhile share the streams that they read, each read once."""
        self.stand_ins = StandIns(self.spark, self.place)
        self.stand_ins.begin()
        self._shared = {}
        try:
            yield
        finally:
            self._shared = None

    def frame(self, step: Step) -> DataFrame:
        """Return the DataFrame of a step; what Spark refuses is reported at its place in the text."""
        if self._standing and not is_static(step) and (isinstance(step, ReadTable) or not is_maintained(step)):
            return self._stand_in(step)
        match step:
            case Scan(stream=stream):
                return self._source(step, lambda: self._scan(stream))
            case ReadDead(stream=source):
                return self._source(step, lambda: scans.dead(self.spark, source, self.place))
            case ReadTable(table=table):
                rows = self._source(step, lambda: scans.read_table(self.spark, table, self.place))
                self.refreshing.add(table, rows, self.place.clock())
                return rows
            case ReadRelation(name=name):
                return self.defined[name]
            case Literals(sql=sql, span=span):
                return self._source(step, lambda: self.spark.sql(sql), span)
            case Join():
                return self._join(step)
            case SetOperation():
                left, right = self.frame(step.left), self.frame(step.right)
                return self._guarded(step, left, lambda: _set_operation(step, left, right))
            case Union(inputs=several):
                first, *others = [self.frame(each) for each in several]
                return self._guarded(step, first, lambda: reduce(DataFrame.union, others, first))
            case LateRows():
                with self._traced(True):
                    below = self.frame(step.input)
                return self._guarded(step, below, lambda: late_rows(below, step))
            case Match():
                with self._traced(step.traced):
                    below = self.frame(step.input)
                return self._match(step, self._ending(step, below))
            case _:
                below = self.frame(step.input)
                return self._guarded(step, below, lambda: _hidden_last(self._unary(step, below)))

    @contextmanager
    def _traced(self, wanted: bool) -> Iterator[None]:
        """Let the rows that are read meanwhile say where they stand, if that is wanted."""
        before, self._tracing = self._tracing, wanted
        try:
            yield
        finally:
            self._tracing = before

    def _match(self, step: Match, below: DataFrame) -> DataFrame:
        context: Any = self.spark.sparkContext
        late = context._jsc.sc().longAccumulator("rows behind the watermark")
        self.late.append(late)
        name = self.named.get(id(step))
        found = matches(below, step, self.place, self.partial_matches, late, name)
        if self.state_names is not None and name is not None:
            self.state_names.add(name, found)
        return found

    def _ending(self, step: Match, below: DataFrame) -> DataFrame:
        """Return rows under a watermark, so that their search is told when the input has ended.

        Where a query has streams with and without one, the end of the latter is that of the former: one of them joins
        the rows and gives none.
        """
        if self.timekeeper is None or not ends(step, self.place) or any(map(_has_watermark, walk(step))):
            return below
        nothing = self._scan(self.timekeeper).filter("spark_partition_id() < 0")
        columns = [F.lit(None).cast(each.dataType).alias(each.name) for each in below.schema.fields]
        return below.union(nothing.select(*columns))

    def _stand_in(self, step: Step) -> DataFrame:
        if self.stand_ins is None:
            raise TypeError("stand-ins are there only while changes are lowered")

        def stream() -> DataFrame:
            self._standing = False
            try:
                return self.frame(step)
            finally:
                self._standing = True

        return self.stand_ins.of(step, stream)

    def _scan(self, stream: Stream) -> DataFrame:
        if self._shared is not None:
            if stream.name not in self._shared:
                self._shared[stream.name] = scans.scan(
                    self.spark, stream, self.place, timed=self.timed, ending=self.ending, traced=self.traced
                )
            shared = self._shared[stream.name]
            return shared if self._tracing else shared.drop(EVIDENCE)
        self.scanned += 1
        part = str(self.scanned) if self.parted else None
        self._streams.append((self.scanned, stream.name.lower()))
        return scans.scan(
            self.spark, stream, self.place, timed=self.timed, ending=self.ending, part=part, traced=self._tracing
        )

    def parts(self) -> tuple[str, ...]:
        """Return the names of the parts of the frame that was made last, as far as its topics have partitions now."""
        return tuple(
            f"{number}/{topic}/{partition}"
            for number, name in self._streams
            for topic, count in self.place.partitions.get(name, {}).items()
            for partition in range(count)
        )

    def begin(self, step: Step, *, parted: bool) -> None:
        """Say what the next frame is for, and whether it needs the parts of topics."""
        steps = list(walk(step))
        self.timed = any(waits(each, self.place) and not is_maintained(each) for each in steps)
        self.timekeeper = next((each.stream for each in steps if isinstance(each, Scan) and _has_watermark(each)), None)
        self.ending = self.timekeeper is None and any(ends(each, self.place) for each in steps)
        self.traced = any(isinstance(each, LateRows) or (isinstance(each, Match) and each.traced) for each in steps)
        self.parted, self.scanned, self.late = parted, 0, []
        self.state_names = StateNames(self.spark._jvm)
        self._streams.clear()

    def _unary(self, step: Step, below: DataFrame) -> DataFrame:
        match step:
            case Rename(names=names):
                return below.toDF(*names, *_hidden(below))
            case Project(columns=columns):
                return below.selectExpr(*[self._column(column) for column in columns], *_hidden(below))
            case Filter(condition=condition):
                return self._filter(below, condition)
            case Unnest(generator=generator, names=names, outer=outer):
                return self._unnest(below, generator, names, outer)
            case AssignWindows(window=window, time=time):
                return windows.assign(below, window, time)
            case Aggregate():
                self._lookups(*scalars(step))
                result = aggregates.aggregate(below, step)
                return _keyed(result, step) if step.updating and below.isStreaming else result
            case Deduplicate(keys=keys, time=time, within_watermark=within):
                if not below.isStreaming:
                    return below.dropDuplicates(list(keys))
                below = tagged(below, time)
                if within:
                    return below.dropDuplicatesWithinWatermark(list(keys))
                return below.dropDuplicates(list(keys))
            case TopRows():
                return top_rows(below, step)
            case Rank(columns=columns):
                return below.selectExpr("*", *[self._column(column) for column in columns])
            case Sort(order=order, limit=limit, offset=offset):
                return self._sort(below, order, limit, offset)
            case _:
                raise TypeError(f"no lowering for {step}")

    def _column(self, column: Column) -> str:
        self._lookups(column.value)
        return f"{_sql(column.value)} AS {quoted(column.name)}"

    def _lookups(self, *values: Scalar) -> None:
        """Make the tables that expressions look things up in known to Spark by their names."""
        for value in values:
            for lookup in value.lookups:
                self.frame(lookup.relation.step).createOrReplaceTempView(lookup.view)

    def _filter(self, below: DataFrame, condition: Scalar) -> DataFrame:
        self._lookups(condition)
        sql = _sql(condition)
        if KEEP in below.columns:
            return below.withColumn(KEEP, F.expr(f"{KEEP} AND coalesce(({sql}), false)"))
        return below.filter(sql)

    def _unnest(self, below: DataFrame, generator: Scalar, names: tuple[str, ...], outer: bool) -> DataFrame:
        self._lookups(generator)
        sql = _sql(generator)
        if outer:
            sql = _outer(sql)
        made = F.expr(sql).alias(*names)
        return below.select("*", made)

    def _sort(self, below: DataFrame, order: tuple, limit: int | None, offset: int | None) -> DataFrame:  # type: ignore[type-arg]
        terms = []
        for term in order:
            column = F.expr(_sql(term.value))
            if term.descending:
                terms.append(column.desc_nulls_first() if term.nulls_first else column.desc_nulls_last())
            else:
                terms.append(column.asc_nulls_first() if term.nulls_first else column.asc_nulls_last())
        if terms:
            below = below.orderBy(*terms)
        if offset is not None:
            below = below.offset(offset)
        return below.limit(limit) if limit is not None else below

    def _join(self, step: Join) -> DataFrame:
        left, right = self.frame(step.left), self.frame(step.right)
        if step.streaming:
            left, right = tagged(left, step.left_time), tagged(right, step.right_time)
        elif self.place.real_time:  # rows are not shuffled to meet a table; the table is where they are
            left, right = (side if side.isStreaming else F.broadcast(side) for side in (left, right))
        if step.condition is None:
            return left.join(right, F.lit(True), _HOW[step.kind]) if step.kind in _HALF else left.crossJoin(right)
        self._lookups(step.condition)
        condition = F.expr(_sql(step.condition))
        pair = left.crossJoin(right) if not step.streaming else left.join(right, F.lit(True))
        return self._guarded(step, pair, lambda: left.join(right, condition, _HOW[step.kind]))

    def _source(self, step: Step, read: Callable[[], DataFrame], span: object = None) -> DataFrame:
        try:
            return read()
        except (AnalysisException, ParseException) as error:
            stream = getattr(step, "stream", None) or getattr(step, "table", None)
            mistake = blame(error, [], lambda _: True)
            mistake.span = span or getattr(stream, "span", None)  # type: ignore[assignment]
            raise mistake from error

    def _guarded(self, step: Step, below: DataFrame, lower: Callable[[], DataFrame]) -> DataFrame:
        try:
            return lower()
        except (AnalysisException, ParseException) as error:
            grouped = isinstance(step, Aggregate)

            def accepts(sql: str) -> bool:
                try:
                    below.groupBy().agg(F.expr(sql)) if grouped else below.selectExpr(sql)
                except PySparkException:
                    return False
                return True

            raise blame(error, list(scalars(step)), accepts) from error


def _has_watermark(step: Step) -> bool:
    return isinstance(step, Scan) and step.stream.watermark is not None


def _set_operation(step: SetOperation, left: DataFrame, right: DataFrame) -> DataFrame:
    if step.kept:
        return left.intersectAll(right) if step.every else left.intersect(right)
    return left.exceptAll(right) if step.every else left.subtract(right)


def _sql(value: Scalar) -> str:
    return str(value.tree.sql(dialect=Headrace))


def _hidden(frame: DataFrame) -> list[str]:
    return [name for name in HIDDEN if name in frame.columns]


def _hidden_last(frame: DataFrame) -> DataFrame:
    """Return the columns that a user sees first, then the hidden ones: steps above go by the order."""
    hidden = _hidden(frame)
    if frame.columns[len(frame.columns) - len(hidden) :] == hidden:
        return frame
    visible = [name for name in frame.columns if name not in HIDDEN]
    return frame.select(*[quoted(name) for name in (*visible, *hidden)])


def _keyed(frame: DataFrame, step: Aggregate) -> DataFrame:
    keys = [F.col(quoted(key.name)) for key in step.keys]
    key = F.to_json(F.struct(*keys), WHOLE_JSON) if keys else F.lit("")
    return frame.withColumn(KEY, key).withColumn(KEEP, F.lit(True))


def _outer(sql: str) -> str:
    """Return a generator call that gives one row of NULLs where there is no element.

    >>> _outer("EXPLODE(items)")
    'EXPLODE_OUTER(items)'
    """
    name, _, rest = sql.partition("(")
    return sql if name.lower().endswith("_outer") else f"{name}_OUTER({rest}"
