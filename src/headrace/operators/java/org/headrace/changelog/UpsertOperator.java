package org.headrace.changelog;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.InterpretedOrdering;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.ValueState;
import org.headrace.rows.Expressions;
import org.headrace.rows.Unpack;

/** Keeps the last row of each key, for ever: what is written replaces what was there, side 1 removes it. */
final class UpsertOperator extends Operator {
  private static final long serialVersionUID = 1L;
  static final int WRITTEN = 0;
  static final int REMOVED = 1;
  private final List<Attribute> input;
  private final List<Attribute> columns;
  private final List<SortOrder> order;
  private transient ValueState<byte[]> last;
  private transient InterpretedOrdering ordering;
  private transient UnsafeProjection kept;

  /**
   * @param input what comes: the columns of the table, and those that say in which order rows were written
   * @param columns the columns of the table
   */
  UpsertOperator(List<Attribute> input, List<Attribute> columns, List<SortOrder> order) {
    super(null);
    this.input = new ArrayList<>(input);
    this.columns = new ArrayList<>(columns);
    this.order = new ArrayList<>(order);
  }

  @Override
  void open() {
    last = getHandle().getValueState("last", Encoders.BINARY(), TTLConfig.NONE());
    ordering = Expressions.ordering(order, input);
    kept = Expressions.projection(columns, input);
  }

  @Override
  Changes take(byte[] key, scala.collection.Iterator<Row> given, boolean again) {
    Row latest = null;
    InternalRow newest = null;
    while (given.hasNext()) {
      Row each = given.next();
      InternalRow row = Unpack.row(row(each), input.size());
      if (newest == null || ordering.compare(row, newest) >= 0) {
        latest = each;
        newest = row;
      }
    }
    Changes changes = new Changes();
    if (latest == null) {
      return changes;
    }
    byte[] before = last.get();
    byte[] after = latest.getInt(1) == REMOVED ? null : kept.apply(newest).copy().getBytes();
    if (!Arrays.equals(before, after)) {
      if (before != null) {
        changes.add(before, -1);
      }
      if (after != null) {
        changes.add(after, 1);
        last.update(after);
      } else {
        last.clear();
      }
    }
    return changes;
  }

  @Override
  boolean expire(byte[] key, Changes changes) {
    throw new IllegalStateException("a table has no time to live");
  }
}
