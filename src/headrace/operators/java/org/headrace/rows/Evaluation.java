package org.headrace.rows;

import java.util.List;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.catalyst.expressions.MutableProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction;
import org.apache.spark.sql.catalyst.expressions.aggregate.DeclarativeAggregate;
import org.apache.spark.sql.catalyst.expressions.aggregate.ImperativeAggregate;
import org.apache.spark.sql.catalyst.expressions.aggregate.TypedImperativeAggregate;
import org.apache.spark.sql.types.DataType;

/** Any aggregate of Spark over rows that are shown to it one after the other. */
public final class Evaluation {
  private final GenericInternalRow buffer;
  private final List<DataType> types;
  private final UnsafeProjection saving;
  private final List<Expression> initial;
  private final MutableProjection updating;
  private final Expression evaluated;
  private final ImperativeAggregate imperative;
  private final JoinedRow joined = new JoinedRow();

  public Evaluation(AggregateFunction function, List<Attribute> input) {
    List<Attribute> columns = Scala.<Attribute>list(function.aggBufferAttributes());
    buffer = new GenericInternalRow(columns.size());
    types = columns.stream().map(Attribute::dataType).toList();
    saving = Expressions.rows(types);
    if (function instanceof DeclarativeAggregate declarative) {
      List<Attribute> both = Stream.concat(columns.stream(), input.stream()).toList();
      initial = Scala.list(declarative.initialValues());
      updating = MutableProjection.create(declarative.updateExpressions(), Scala.seq(both));
      evaluated = Expressions.bound(declarative.evaluateExpression(), columns);
      imperative = null;
    } else {
      ImperativeAggregate placed =
          ((ImperativeAggregate) function).withNewMutableAggBufferOffset(0).withNewInputAggBufferOffset(0);
      imperative = Expressions.bound(placed, input);
      initial = null;
      updating = null;
      evaluated = null;
    }
    reset();
  }

  public void reset() {
    if (imperative != null) {
      imperative.initialize(buffer);
      return;
    }
    for (int i = 0; i < types.size(); i++) {
      buffer.update(i, initial.get(i).eval(null));
    }
  }

  public void update(InternalRow row) {
    if (imperative != null) {
      imperative.update(buffer, row);
    } else {
      updating.target(buffer).apply(joined.apply(buffer, row));
    }
  }

  public Object result() {
    return imperative != null ? imperative.eval(buffer) : evaluated.eval(buffer);
  }

  /** Return a copy of the buffer, for aggregates whose buffer holds plain values. */
  public Object[] values() {
    return buffer.values().clone();
  }

  public void restore(Object[] values) {
    System.arraycopy(values, 0, buffer.values(), 0, values.length);
  }

  public byte[] save() {
    if (imperative instanceof TypedImperativeAggregate<?> typed) {
      GenericInternalRow copy = new GenericInternalRow(buffer.values().clone());
      typed.serializeAggregateBufferInPlace(copy);
      return saving.apply(copy).copy().getBytes();
    }
    return saving.apply(buffer).copy().getBytes();
  }

  public void load(byte[] saved) {
    InternalRow row = Unpack.row(saved, types.size());
    if (imperative instanceof TypedImperativeAggregate<?> typed) {
      buffer.update(0, typed.deserialize(row.getBinary(0)));
      return;
    }
    for (int i = 0; i < types.size(); i++) {
      buffer.update(i, Expressions.value(row, i, types.get(i)));
    }
  }
}
