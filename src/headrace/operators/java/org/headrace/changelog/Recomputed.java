package org.headrace.changelog;

import java.io.DataInput;
import java.io.DataOutput;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction;
import org.headrace.rows.Bytes;
import org.headrace.rows.Evaluation;
import org.headrace.rows.Expressions;
import org.headrace.rows.Unpack;

/** Any aggregate of Spark where rows come and go: all values are remembered, and it is computed anew from them. */
final class Recomputed implements Accumulator {
  private final Evaluation evaluation;
  private final UnsafeProjection projection;
  private final Multiset values;
  private final int width;
  private final UnsafeProjection distinct;

  Recomputed(AggregateFunction function, List<Attribute> input, boolean distinct, Multiset values) {
    List<Attribute> used = input.stream().filter(function.references()::contains).toList();
    this.evaluation = new Evaluation(function, used);
    this.projection = Expressions.projection(used, input);
    this.width = used.size();
    this.values = values;
    this.distinct = distinct ? Expressions.arguments(function, used) : null;
  }

  @Override
  public void reset() {}

  @Override
  public void add(InternalRow row, long weight) {
    values.change(projection.apply(row).copy().getBytes(), weight);
  }

  @Override
  public Object result() {
    evaluation.reset();
    Set<Bytes> seen = new HashSet<>();
    values.each(
        (bytes, count) -> {
          InternalRow row = Unpack.row(bytes, width);
          boolean known = distinct != null && !seen.add(new Bytes(distinct.apply(row).copy().getBytes()));
          for (long i = 0; i < (distinct == null ? count : known ? 0 : 1); i++) {
            evaluation.update(row);
          }
        });
    return evaluation.result();
  }

  @Override
  public void write(DataOutput out) {}

  @Override
  public void read(DataInput in) {}
}
