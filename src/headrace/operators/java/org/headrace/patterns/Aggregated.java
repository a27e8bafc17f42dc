package org.headrace.patterns;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BasePredicate;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.headrace.rows.Expressions;
import org.headrace.rows.Scala;

/** An expression over aggregates of some rows of a match, such as Spark's optimiser makes of one aggregate. */
final class Aggregated {
  private final List<OneAggregate> parts = new ArrayList<>();
  private final Expression result;
  private final GenericInternalRow results;
  private final BasePredicate filter;

  /** @param filter which rows count; null if all do */
  Aggregated(Expression expression, Expression filter, List<Attribute> input) {
    result = split(expression, input);
    this.filter = filter == null ? null : Expressions.predicate(filter, input);
    results = new GenericInternalRow(parts.size());
  }

  /** Return the expression with a place for the result of each aggregate. */
  private Expression split(Expression expression, List<Attribute> input) {
    if (expression instanceof AggregateExpression aggregate) {
      parts.add(new OneAggregate(aggregate, input));
      return new BoundReference(parts.size() - 1, aggregate.dataType(), true);
    }
    List<Expression> children = Scala.list(expression.children());
    return expression.withNewChildren(Scala.seq(children.stream().map(each -> split(each, input)).toList()));
  }

  /** Say whether what it has seen fits into small buffers that can be copied; if not, rows are shown to it anew. */
  boolean isCopied() {
    return parts.stream().allMatch(OneAggregate::isCopied);
  }

  Object[] initial() {
    return parts.stream().map(OneAggregate::initial).toArray();
  }

  Object[] after(Object[] buffers, InternalRow row) {
    if (!takes(row)) {
      return buffers;
    }
    Object[] now = new Object[buffers.length];
    for (int i = 0; i < now.length; i++) {
      now[i] = parts.get(i).after((Object[]) buffers[i], row);
    }
    return now;
  }

  Object result(Object[] buffers) {
    for (int i = 0; i < buffers.length; i++) {
      results.update(i, parts.get(i).result((Object[]) buffers[i]));
    }
    return result.eval(results);
  }

  void reset() {
    parts.forEach(OneAggregate::reset);
  }

  void update(InternalRow row) {
    if (takes(row)) {
      parts.forEach(each -> each.update(row));
    }
  }

  private boolean takes(InternalRow row) {
    return filter == null || filter.eval(row);
  }

  Object result() {
    for (int i = 0; i < parts.size(); i++) {
      results.update(i, parts.get(i).result());
    }
    return result.eval(results);
  }
}
