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
  private transient Calls calls;
  private transient Prospects prospects;
  private transient ValueState<byte[]> waiting;
  private transient ListState<byte[]> aside;
  private transient ValueState<byte[]> work;
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
    waiting = getHandle().getValueState("waiting", Encoders.BINARY(), TTLConfig.NONE());
    aside = getHandle().getListState("aside", Encoders.BINARY(), TTLConfig.NONE());
    work = getHandle().getValueState("work", Encoders.BINARY(), TTLConfig.NONE());
    Slots slots = new Slots(search);
    conditions = new Conditions(search, slots);
    Measures measures = new Measures(search, slots);
    matcher = new Matcher(search, conditions, measures);
    prospects = new Prospects(search, conditions.looksAhead() || measures.looksAhead());
    calls = new Calls(search, prospects);
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
      return given(searched(new Work(), rows, search.endedAt()));
    }
    if (!timed) {
      byte[] saved = work.get();
      Work now = saved == null ? new Work() : read(saved);
      List<byte[]> found = searched(now, rows, watermark);
      keep(now, saved != null);
      return given(found);
    }
    Waiting known = Waiting.read(waiting.get(), search.columns().size());
    if (search.arrival()) {
      return given(turn(known, rows, watermark));
    }
    rows.forEach(row -> known.add(row, millis(row), prospects));
    return given(turn(known, ripe(known, watermark), watermark));
  }

  @Override
  public scala.collection.Iterator<Row> handleExpiredTimer(
      byte[] key, TimerValues timers, ExpiredTimerInfo expired) {
    long watermark = timers.getCurrentWatermarkInMs();
    Waiting known = Waiting.read(waiting.get(), search.columns().size());
    known.timer = Matcher.NEVER; // Spark removes one that it has called for
    return given(turn(known, ripe(known, watermark), watermark));
  }

  private static scala.collection.Iterator<Row> given(List<byte[]> found) {
    return found.isEmpty()
        ? scala.collection.Iterator$.MODULE$.empty()
        : CollectionConverters.asScala(found.iterator()).map(each -> RowFactory.create((Object) each));
  }

  /** Take the rows that the watermark has passed from those that wait, in their order. */
  private List<UnsafeRow> ripe(Waiting known, long watermark) {
    if (watermark <= NONE || known.from >= watermark) {
      return List.of();
    }
    List<UnsafeRow> all = new ArrayList<>();
    if (known.aside) {
      scala.collection.Iterator<byte[]> chunks = aside.get();
      while (chunks.hasNext()) {
        Chunk.forEach(chunks.next(), search.columns().size(), all::add);
      }
      aside.clear();
      known.aside = false;
    }
    all.addAll(known.rows);
    known.clear();
    List<UnsafeRow> ripe = new ArrayList<>();
    for (UnsafeRow row : all) {
      long time = millis(row);
      if (time < watermark) {
        ripe.add(row);
      } else {
        known.add(row, time, prospects);
      }
    }
    ripe.sort(order); // those that it does not tell apart stay as they came
    return ripe;
  }

  /** Search rows that are ripe, and what the watermark alone decides; keep what the next turn needs. */
  private List<byte[]> turn(Waiting known, List<UnsafeRow> ripe, long watermark) {
    List<byte[]> found = List.of();
    if (!ripe.isEmpty() || Math.min(known.due, known.over) <= watermark) {
      Work now = known.works ? read(work.get()) : new Work();
      found = searched(now, ripe, watermark);
      known.works = keep(now, known.works);
      known.open = !now.attempts.isEmpty();
      known.urgent = matcher.isUrgent(now);
      known.due = matcher.due(now);
      known.over = matcher.over(now);
    }
    call(known, watermark);
    if (known.isEmpty()) {
      waiting.clear();
      return found;
    }
    byte[] saved = known.write();
    if (saved.length > Waiting.ROOM && !known.rows.isEmpty()) {
      aside.appendValue(Chunk.of(known.rows));
      known.aside = true;
      known.rows.clear();
      saved = known.write();
    }
    waiting.update(saved);
    return found;
  }

  private List<byte[]> searched(Work now, List<UnsafeRow> rows, long watermark) {
    rows.forEach(now.rows::add);
    List<byte[]> found = new ArrayList<>();
    try {
      matcher.run(now, watermark, found);
    } catch (PatternFailure failure) {
      throw failure.of(search.place().of(now.rows.get(now.rows.end() - 1)));
    }
    return found;
  }

  private Work read(byte[] saved) {
    return Work.read(saved, search.columns().size(), conditions.history());
  }

  /** Keep what is under way; false if there is nothing to keep. */
  private boolean keep(Work now, boolean before) {
    boolean done = matcher.isDone(now);
    if (!done) {
      work.update(now.write());
    } else if (before) {
      work.clear();
    }
    return !done;
  }

  /** Be called when a key next needs it; it has one timer at most. */
  private void call(Waiting known, long watermark) {
    long before = known.timer;
    long next = calls.next(known, watermark);
    if (next == before) {
      return;
    }
    if (before != Matcher.NEVER) {
      getHandle().deleteTimer(before);
    }
    if (next != Matcher.NEVER) {
      getHandle().registerTimer(next);
    }
    known.timer = next;
  }

  private long millis(UnsafeRow row) {
    return Math.floorDiv(row.getLong(search.time()), 1000L);
  }
}
