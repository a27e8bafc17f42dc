package org.headrace.changelog;

import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BasePredicate;
import org.apache.spark.sql.catalyst.expressions.CurrentRow$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.RowFrame$;
import org.apache.spark.sql.catalyst.expressions.SpecifiedWindowFrame;
import org.apache.spark.sql.catalyst.expressions.UnboundedFollowing$;
import org.apache.spark.sql.catalyst.expressions.UnboundedPreceding$;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction;
import org.headrace.rows.Evaluation;
import org.headrace.rows.Expressions;

/** An aggregate over a frame of rows around each row. */
final class Framed implements Ranked {
  private final Evaluation evaluation;
  private final BasePredicate filter;
  private final boolean byRows;
  private final Expression lower;
  private final Expression upper;

  Framed(AggregateFunction function, Expression filter, SpecifiedWindowFrame frame, List<Attribute> input) {
    evaluation = new Evaluation(function, input);
    this.filter = filter == null ? null : Expressions.predicate(filter, input);
    byRows = frame.frameType() == RowFrame$.MODULE$;
    lower = frame.lower();
    upper = frame.upper();
  }

  @Override
  public Object[] over(Peers peers, int wanted) {
    Object[] values = new Object[wanted];
    evaluation.reset();
    int from = 0;
    int until = 0;
    for (int i = 0; i < wanted; i++) {
      int first = Math.min(peers.size(), Math.max(0, first(peers, i)));
      int end = Math.min(peers.size(), Math.max(first, end(peers, i)));
      if (first != from || end < until) {
        evaluation.reset();
        from = first;
        until = first;
      }
      for (; until < end; until++) {
        UnsafeRow row = peers.rows.get(until);
        if (filter == null || filter.eval(row)) {
          evaluation.update(row);
        }
      }
      values[i] = evaluation.result();
    }
    return values;
  }

  private int first(Peers peers, int position) {
    if (lower == UnboundedPreceding$.MODULE$) {
      return 0;
    }
    if (lower == CurrentRow$.MODULE$) {
      return byRows ? position : peers.begin[position];
    }
    return position + distance(lower);
  }

  private int end(Peers peers, int position) {
    if (upper == UnboundedFollowing$.MODULE$) {
      return peers.size();
    }
    if (upper == CurrentRow$.MODULE$) {
      return byRows ? position + 1 : peers.end[position];
    }
    return position + distance(upper) + 1;
  }

  private static int distance(Expression bound) {
    return ((Number) bound.eval(null)).intValue();
  }
}
