package org.headrace.patterns;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BasePredicate;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.DeclarativeAggregate;
import org.headrace.rows.Bytes;
import org.headrace.rows.Evaluation;
import org.headrace.rows.Expressions;

/** One aggregate function over rows that are shown to it, with its FILTER and DISTINCT. */
final class OneAggregate {
  private final Evaluation evaluation;
  private final BasePredicate filter;
  private final UnsafeProjection arguments;
  private final boolean copied;
  private final Set<Bytes> seen = new HashSet<>();

  OneAggregate(AggregateExpression expression, List<Attribute> input) {
    evaluation = new Evaluation(expression.aggregateFunction(), input);
    filter = expression.filter().isDefined() ? Expressions.predicate(expression.filter().get(), input) : null;
    arguments = expression.isDistinct() ? Expressions.arguments(expression.aggregateFunction(), input) : null;
    copied = expression.aggregateFunction() instanceof DeclarativeAggregate && !expression.isDistinct();
  }

  boolean isCopied() {
    return copied;
  }

  Object[] initial() {
    evaluation.reset();
    return evaluation.values();
  }

  Object[] after(Object[] buffer, InternalRow row) {
    if (!takes(row)) {
      return buffer;
    }
    evaluation.restore(buffer);
    evaluation.update(row);
    return evaluation.values();
  }

  Object result(Object[] buffer) {
    evaluation.restore(buffer);
    return evaluation.result();
  }

  void reset() {
    seen.clear();
    evaluation.reset();
  }

  void update(InternalRow row) {
    if (takes(row) && (arguments == null || seen.add(new Bytes(arguments.apply(row).copy().getBytes())))) {
      evaluation.update(row);
    }
  }

  Object result() {
    return evaluation.result();
  }

  private boolean takes(InternalRow row) {
    return filter == null || filter.eval(row);
  }
}
