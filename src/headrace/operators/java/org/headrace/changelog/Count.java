package org.headrace.changelog;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;

/** How many rows have no NULL among some values. */
final class Count implements Accumulator {
  private final List<Expression> values;
  private long count;

  Count(List<Expression> values) {
    this.values = values.stream().filter(Expression::nullable).toList();
  }

  @Override
  public void reset() {
    count = 0;
  }

  @Override
  public void add(InternalRow row, long weight) {
    for (Expression value : values) {
      if (value.eval(row) == null) {
        return;
      }
    }
    count += weight;
  }

  @Override
  public Object result() {
    return count;
  }

  @Override
  public void write(DataOutput out) throws IOException {
    out.writeLong(count);
  }

  @Override
  public void read(DataInput in) throws IOException {
    count = in.readLong();
  }
}
