package org.headrace.changelog;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;

/** An aggregate that sees each combination of values once, as long as some row has it. */
final class Distinct implements Accumulator {
  private final Accumulator inner;
  private final UnsafeProjection projection;
  private final Multiset values;

  Distinct(Accumulator inner, UnsafeProjection projection, Multiset values) {
    this.inner = inner;
    this.projection = projection;
    this.values = values;
  }

  @Override
  public void reset() {
    inner.reset();
  }

  @Override
  public void add(InternalRow row, long weight) {
    long before = values.change(projection.apply(row).copy().getBytes(), weight);
    boolean was = before > 0;
    boolean is = before + weight > 0;
    if (was != is) {
      inner.add(row, is ? 1 : -1);
    }
  }

  @Override
  public Object result() {
    return inner.result();
  }

  @Override
  public void write(DataOutput out) throws IOException {
    inner.write(out);
  }

  @Override
  public void read(DataInput in) throws IOException {
    inner.read(in);
  }
}
