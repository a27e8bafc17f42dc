package org.headrace.changelog;

import java.time.Duration;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.streaming.ExpiredTimerInfo;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * A stateful operator: packed rows of one key go in batch by batch, packed rows with weights come out.
 *
 * <p>Where there is a time to live, a key that nothing has come for so long withdraws all that it has published. Rows
 * that can never be withdrawn are forgotten then. Others are kept out of sight, because their withdrawal must find
 * them; the key publishes its answer again when something comes for it. So nothing downstream is ever out of step.
 */
abstract class Operator extends StatefulProcessor<byte[], Row, Row> {
  private static final long serialVersionUID = 1L;
  static final StructType IN =
      new StructType()
          .add("key", DataTypes.BinaryType)
          .add("side", DataTypes.IntegerType)
          .add("row", DataTypes.BinaryType)
          .add("weight", DataTypes.LongType);
  static final StructType OUT =
      new StructType().add("row", DataTypes.BinaryType).add("weight", DataTypes.LongType);

  /** How long a key that is not touched stays; null is for ever. */
  private final Duration remembered;

  private transient ValueState<Long> touched;
  private transient ValueState<Boolean> hidden;

  Operator(Duration remembered) {
    this.remembered = remembered;
  }

  final boolean forgets() {
    return remembered != null;
  }

  /** Open the state; called once, before anything else. */
  abstract void open();

  /**
   * Take in a batch of a key and return what it changes.
   *
   * @param again whether all that the key had published was withdrawn, and is to be published again
   */
  abstract Changes take(byte[] key, scala.collection.Iterator<Row> given, boolean again);

  /** Withdraw all that a key has published, forget what can be forgotten, and say whether anything is left. */
  abstract boolean expire(byte[] key, Changes changes);

  @Override
  public final void init(OutputMode mode, TimeMode time) {
    if (forgets()) {
      touched = getHandle().getValueState("touched", Encoders.LONG(), TTLConfig.NONE());
      hidden = getHandle().getValueState("hidden", Encoders.BOOLEAN(), TTLConfig.NONE());
    }
    open();
  }

  @Override
  public final scala.collection.Iterator<Row> handleInputRows(
      byte[] key, scala.collection.Iterator<Row> given, TimerValues timers) {
    if (!forgets()) {
      return take(key, given, false).rows();
    }
    long now = timers.getCurrentProcessingTimeInMs();
    if (!touched.exists()) {
      getHandle().registerTimer(now + remembered.toMillis());
    }
    touched.update(now);
    boolean again = hidden.exists();
    hidden.clear();
    return take(key, given, again).rows();
  }

  /** A timer is set when a key is first touched, and again when it finds that the key was touched since. */
  @Override
  public final scala.collection.Iterator<Row> handleExpiredTimer(
      byte[] key, TimerValues timers, ExpiredTimerInfo expired) {
    Changes changes = new Changes();
    long due = touched.get() + remembered.toMillis();
    if (due > timers.getCurrentProcessingTimeInMs()) {
      getHandle().registerTimer(due);
      return changes.rows();
    }
    touched.clear();
    if (expire(key, changes)) {
      hidden.update(true);
    }
    return changes.rows();
  }

  static byte[] row(Row in) {
    return in.getAs(2);
  }

  /** Return the changes of one side, what cancels left out. */
  static Changes gather(scala.collection.Iterator<Row> rows) {
    Changes changes = new Changes();
    while (rows.hasNext()) {
      Row in = rows.next();
      changes.add(row(in), in.getLong(3));
    }
    return changes;
  }

  /** Return a count after a change. */
  static long counted(long before, long change) {
    long after = before + change;
    if (after < 0) {
      throw new IllegalStateException("a row is withdrawn that is not there");
    }
    return after;
  }
}
