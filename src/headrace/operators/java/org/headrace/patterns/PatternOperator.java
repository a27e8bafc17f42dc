package org.headrace.patterns;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.Consumer;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.catalyst.expressions.InterpretedOrdering;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.streaming.ExpiredTimerInfo;
import org.apache.spark.sql.streaming.ListState;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.LongAccumulator;
import org.headrace.rows.Expressions;
import org.headrace.rows.Unpack;
import scala.jdk.javaapi.CollectionConverters;

/** Searches the rows of each key, in the order of their time once the watermark has passed them, or as they come. */
final class PatternOperator extends StatefulProcessor<byte[], Row, Row> {
  private static final long serialVersionUID = 1L;
  static final StructType IN =
      new StructType().add("key", DataTypes.BinaryType).add("row", DataTypes.BinaryType);
  static final StructType OUT = new StructType().add("row", DataTypes.BinaryType);
  /** What Spark says while there is no watermark; there is none before 1970, so older rows wait until it has passed that. */
  private static final long NONE = 0;

  private final Search search;
  private final LongAccumulator late;
  private transient Matcher matcher;
  private transient Conditions conditions;
  private transient Comparator<UnsafeRow> order;
  private transient ListState<byte[]> pending;
  private transient ValueState<byte[]> work;
  private transient ValueState<Long> due;
  private transient boolean timed;

  PatternOperator(Search search, LongAccumulator late) {
    this.search = search;
    this.late = late;
  }

  /** Return the type of a column of the output. */
  DataType given(int column) {
    return search.given().get(column).dataType();
  }

  @Override
  public void init(OutputMode mode, TimeMode time) {
    timed = !time.equals(TimeMode.None());
    pending = getHandle().getListState("pending", Encoders.BINARY(), TTLConfig.NONE());
    work = getHandle().getValueState("work", Encoders.BINARY(), TTLConfig.NONE());
    due = getHandle().getValueState("due", Encoders.LONG(), TTLConfig.NONE());
    Slots slots = new Slots(search);
    conditions = new Conditions(search, slots);
    matcher = new Matcher(search, conditions, new Measures(search, slots));
    InterpretedOrdering ordering = Expressions.ordering(search.order(), search.columns());
    order = ordering::compare;
  }

  @Override
  public scala.collection.Iterator<Row> handleInputRows(
      byte[] key, scala.collection.Iterator<Row> given, TimerValues timers) {
    long watermark = timed ? timers.getCurrentWatermarkInMs() : NONE;
    long behind = search.judged() || watermark <= NONE ? Long.MIN_VALUE : watermark;
    List<UnsafeRow> rows = new ArrayList<>();
    while (given.hasNext()) {
      byte[] next = given.next().getAs(1);
      Consumer<UnsafeRow> taker =
          row -> {
            if (search.arrival() || search.whole() || (!row.isNullAt(search.time()) && millis(row) >= behind)) {
              rows.add(row);
            } else {
              late.add(1L);
            }
          };
      if (search.gathered()) {
        Chunk.forEach(next, search.columns().size(), taker);
      } else {
        taker.accept(Unpack.row(next, search.columns().size()));
      }
    }
    if (rows.isEmpty()) {
      return scala.collection.Iterator$.MODULE$.empty();
    }
    rows.sort(Comparator.comparingLong(row -> row.getLong(search.columns().size() - 1)));
    if (search.whole()) {
      rows.sort(order);
      return searched(rows, search.endedAt());
    }
    if (search.arrival()) {
      return searched(rows, watermark);
    }
    pending.appendValue(Chunk.of(rows));
    callFor(rows);
    return scala.collection.Iterator$.MODULE$.empty();
  }

  @Override
  public scala.collection.Iterator<Row> handleExpiredTimer(
      byte[] key, TimerValues timers, ExpiredTimerInfo expired) {
    due.clear();
    long watermark = timers.getCurrentWatermarkInMs();
    List<UnsafeRow> ready = new ArrayList<>();
    List<UnsafeRow> early = new ArrayList<>();
    scala.collection.Iterator<byte[]> chunks = pending.get();
    while (chunks.hasNext()) {
      Chunk.forEach(
          chunks.next(), search.columns().size(), row -> (millis(row) < watermark ? ready : early).add(row));
    }
    if (!ready.isEmpty()) {
      pending.clear();
      if (!early.isEmpty()) {
        pending.appendValue(Chunk.of(early));
      }
    }
    ready.sort(order); // those that it does not tell apart stay as they came
    scala.collection.Iterator<Row> found = searched(ready, watermark);
    callFor(early);
    return found;
  }

  /** Be called when the watermark passes the first of these rows. */
  private void callFor(List<UnsafeRow> rows) {
    rows.stream().mapToLong(this::millis).min().ifPresent(soonest -> call(soonest + 1));
  }

  private scala.collection.Iterator<Row> searched(List<UnsafeRow> rows, long watermark) {
    Work now = search.whole() ? new Work() : known();
    rows.forEach(now.rows::add);
    List<byte[]> found = new ArrayList<>();
    try {
      matcher.run(now, watermark, found);
    } catch (PatternFailure failure) {
      throw failure.of(search.place().of(now.rows.get(now.rows.end() - 1)));
    }
    if (!search.whole()) {
      keep(now);
    }
    return CollectionConverters.asScala(found.iterator()).map(each -> RowFactory.create((Object) each));
  }

  private Work known() {
    byte[] saved = work.get();
    return saved == null ? new Work() : Work.read(saved, search.columns().size(), conditions.history());
  }

  private void keep(Work now) {
    if (matcher.isDone(now)) {
      work.clear();
    } else {
      work.update(now.write());
    }
    if (timed) {
      long next = matcher.due(now);
      if (next == Matcher.NEVER) {
        callNoMore();
      } else {
        call(next);
      }
    }
  }

  private void callNoMore() {
    if (due.exists()) {
      getHandle().deleteTimer(due.get());
      due.clear();
    }
  }

  /** Be called when the watermark has reached a time; a key is called once, at the soonest. */
  private void call(long at) {
    long timer = Math.max(NONE + 1, at);
    Long before = due.exists() ? due.get() : null;
    if (before != null && before <= timer) {
      return;
    }
    if (before != null) {
      getHandle().deleteTimer(before);
    }
    getHandle().registerTimer(timer);
    due.update(timer);
  }

  private long millis(UnsafeRow row) {
    return Math.floorDiv(row.getLong(search.time()), 1000L);
  }
}
