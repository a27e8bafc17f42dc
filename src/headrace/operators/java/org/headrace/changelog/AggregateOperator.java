package org.headrace.changelog;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BasePredicate;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction;
import org.apache.spark.sql.catalyst.expressions.aggregate.Average;
import org.apache.spark.sql.catalyst.expressions.aggregate.Max;
import org.apache.spark.sql.catalyst.expressions.aggregate.Min;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.ValueState;
import org.apache.spark.sql.types.DataType;
import org.headrace.rows.Bytes;
import org.headrace.rows.Evaluation;
import org.headrace.rows.Expressions;
import org.headrace.rows.Scala;
import org.headrace.rows.Unpack;

/** Groups by key: the row of a group is withdrawn and published anew when a batch has changed it. */
final class AggregateOperator extends Operator {
  private static final long serialVersionUID = 1L;
  private final List<Attribute> input;
  private final List<DataType> keys;
  private final List<AggregateExpression> functions;
  private final boolean grows;
  private final boolean always;
  private transient ValueState<byte[]> group;
  private transient MapState<byte[], Long> values;
  private transient List<Accumulator> accumulators;
  private transient List<BasePredicate> filters;
  private transient UnsafeProjection results;
  private transient UnsafeProjection published;
  private transient long rows;
  private transient byte[] last;

  /**
   * @param keys the types of the key's columns
   * @param grows whether no row ever goes
   * @param always whether there is a row for no input at all, as without GROUP BY
   */
  AggregateOperator(
      List<Attribute> input,
      List<DataType> keys,
      List<AggregateExpression> functions,
      boolean grows,
      boolean always,
      Duration remembered) {
    super(remembered);
    this.input = new ArrayList<>(input);
    this.keys = new ArrayList<>(keys);
    this.functions = new ArrayList<>(functions);
    this.grows = grows;
    this.always = always;
  }

  @Override
  void open() {
    group = getHandle().getValueState("group", Encoders.BINARY(), TTLConfig.NONE());
    values = getHandle().getMapState("values", Encoders.BINARY(), Encoders.LONG(), TTLConfig.NONE());
    accumulators = new ArrayList<>();
    filters = new ArrayList<>();
    for (AggregateExpression each : functions) {
      accumulators.add(accumulator(each, accumulators.size()));
      filters.add(each.filter().isDefined() ? Expressions.predicate(each.filter().get(), input) : null);
    }
    List<DataType> types = functions.stream().map(AggregateExpression::dataType).toList();
    results = Expressions.rows(types);
    List<DataType> both = new ArrayList<>(keys);
    both.addAll(types);
    published = Expressions.rows(both);
  }

  private Accumulator accumulator(AggregateExpression expression, int number) {
    AggregateFunction function = expression.aggregateFunction();
    boolean extreme = function instanceof Min || function instanceof Max;
    Accumulator counted = invertible(function);
    if (counted != null && expression.isDistinct()) {
      return new Distinct(counted, Expressions.arguments(function, input), set(number));
    }
    if (counted != null) {
      return counted;
    }
    if (grows && (!expression.isDistinct() || extreme)) {
      return new Growing(new Evaluation(function, input));
    }
    if (extreme) {
      return new Extreme(Scala.<Expression>list(function.children()).get(0), input, function instanceof Max, set(number));
    }
    return new Recomputed(function, input, expression.isDistinct(), set(number));
  }

  private Accumulator invertible(AggregateFunction function) {
    List<Expression> bound = Expressions.allBound(Scala.<Expression>list(function.children()), input);
    if (function instanceof org.apache.spark.sql.catalyst.expressions.aggregate.Count) {
      return new Count(bound);
    }
    boolean mean = function instanceof Average;
    boolean sum = function instanceof org.apache.spark.sql.catalyst.expressions.aggregate.Sum;
    if ((mean || sum) && Sum.takes(bound.get(0).dataType())) {
      return new Sum(bound.get(0), function.dataType(), mean, function.prettyName().startsWith("try_"));
    }
    return null;
  }

  private Multiset set(int number) {
    return new Multiset(values, number);
  }

  @Override
  Changes take(byte[] key, scala.collection.Iterator<Row> given, boolean again) {
    Changes batch = gather(given);
    load();
    byte[] before = again ? null : last;
    for (Map.Entry<Bytes, long[]> each : batch.sorted()) {
      InternalRow row = Unpack.row(each.getKey().value(), input.size());
      long weight = each.getValue()[0];
      rows = counted(rows, weight);
      for (int i = 0; i < accumulators.size(); i++) {
        if (filters.get(i) == null || filters.get(i).eval(row)) {
          accumulators.get(i).add(row, weight);
        }
      }
    }
    Changes changes = new Changes();
    last = rows > 0 || always ? result() : null;
    if (!Arrays.equals(before, last)) {
      publish(changes, key, before, -1);
      publish(changes, key, last, 1);
    }
    save();
    return changes;
  }

  @Override
  boolean expire(byte[] key, Changes changes) {
    load();
    publish(changes, key, last, -1);
    if (grows) {
      last = null;
      save();
    }
    return last != null;
  }

  private byte[] result() {
    Object[] row = new Object[accumulators.size()];
    for (int i = 0; i < row.length; i++) {
      row[i] = accumulators.get(i).result();
    }
    return results.apply(new GenericInternalRow(row)).copy().getBytes();
  }

  private void publish(Changes changes, byte[] key, byte[] result, long weight) {
    if (result != null) {
      JoinedRow row = new JoinedRow(Unpack.key(key, keys.size()), Unpack.row(result, functions.size()));
      changes.add(published.apply(row).copy().getBytes(), weight);
    }
  }

  private void load() {
    byte[] saved = group.get();
    rows = 0;
    last = null;
    try {
      if (saved == null) {
        accumulators.forEach(Accumulator::reset);
        return;
      }
      DataInputStream in = new DataInputStream(new ByteArrayInputStream(saved));
      rows = in.readLong();
      for (Accumulator each : accumulators) {
        each.read(in);
      }
      last = in.readAllBytes();
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  private void save() {
    if (last == null) {
      group.clear();
      values.clear();
      return;
    }
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (DataOutputStream out = new DataOutputStream(bytes)) {
      out.writeLong(rows);
      for (Accumulator each : accumulators) {
        each.write(out);
      }
      out.write(last);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
    group.update(bytes.toByteArray());
  }
}
