package org.headrace.changelog;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.types.DataType;
import org.headrace.rows.Expressions;
import org.headrace.rows.Unpack;

/** The least or the greatest value, with all others remembered: when it goes, the next one takes its place. */
final class Extreme implements Accumulator {
  private final Expression value;
  private final DataType type;
  private final int sign;
  private final UnsafeProjection projection;
  private final scala.math.Ordering<Object> ordering;
  private final Multiset values;
  private byte[] best;
  private boolean gone;

  Extreme(Expression value, List<Attribute> input, boolean greatest, Multiset values) {
    this.value = Expressions.bound(value, input);
    this.type = value.dataType();
    this.sign = greatest ? 1 : -1;
    this.projection = Expressions.projection(List.of(value), input);
    this.ordering = Expressions.ordering(type);
    this.values = values;
  }

  @Override
  public void reset() {
    best = null;
    gone = false;
  }

  @Override
  public void add(InternalRow row, long weight) {
    if (value.eval(row) == null) {
      return;
    }
    byte[] bytes = projection.apply(row).copy().getBytes();
    long before = values.change(bytes, weight);
    if (weight > 0) {
      take(bytes);
    } else if (before + weight <= 0 && Arrays.equals(bytes, best)) {
      gone = true;
    }
  }

  private void take(byte[] bytes) {
    if (best == null || sign * ordering.compare(of(bytes), of(best)) > 0) {
      best = bytes;
    }
  }

  private Object of(byte[] bytes) {
    return Unpack.row(bytes, 1).get(0, type);
  }

  @Override
  public Object result() {
    if (gone) {
      reset();
      values.each((bytes, count) -> take(bytes));
    }
    return best == null ? null : of(best);
  }

  @Override
  public void write(DataOutput out) throws IOException {
    out.writeInt(best == null ? -1 : best.length);
    if (best != null) {
      out.write(best);
    }
  }

  @Override
  public void read(DataInput in) throws IOException {
    int length = in.readInt();
    best = length < 0 ? null : new byte[length];
    gone = false;
    if (best != null) {
      in.readFully(best);
    }
  }
}
