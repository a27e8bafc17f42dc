package org.headrace.changelog;

import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.CumeDist;
import org.apache.spark.sql.catalyst.expressions.CurrentRow$;
import org.apache.spark.sql.catalyst.expressions.DenseRank;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.FrameLessOffsetWindowFunction;
import org.apache.spark.sql.catalyst.expressions.Lag;
import org.apache.spark.sql.catalyst.expressions.NTile;
import org.apache.spark.sql.catalyst.expressions.NthValue;
import org.apache.spark.sql.catalyst.expressions.PercentRank;
import org.apache.spark.sql.catalyst.expressions.Rank;
import org.apache.spark.sql.catalyst.expressions.RowFrame$;
import org.apache.spark.sql.catalyst.expressions.RowNumber;
import org.apache.spark.sql.catalyst.expressions.SpecifiedWindowFrame;
import org.apache.spark.sql.catalyst.expressions.UnboundedFollowing$;
import org.apache.spark.sql.catalyst.expressions.UnboundedPreceding$;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.WindowExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.headrace.rows.Expressions;

/** A window function: rows in order go in, its value for each of the first of them comes out. */
interface Ranked {
  Object[] over(Peers peers, int wanted);

  /** Return why a window function cannot be kept current, or null if it can. */
  static String refusal(WindowExpression expression) {
    Expression function = expression.windowFunction();
    if (function instanceof AggregateExpression || function instanceof NthValue) {
      SpecifiedWindowFrame frame = (SpecifiedWindowFrame) expression.windowSpec().frameSpecification();
      boolean distance = frame.frameType() != RowFrame$.MODULE$ && !(named(frame.lower()) && named(frame.upper()));
      if (distance) {
        return "a RANGE frame with a distance";
      }
      boolean distinct = function instanceof AggregateExpression aggregate && aggregate.isDistinct();
      return distinct ? "DISTINCT over a window" : null;
    }
    if (function instanceof FrameLessOffsetWindowFunction offset) {
      return offset.ignoreNulls() ? "IGNORE NULLS over a window" : null;
    }
    boolean known =
        function instanceof RowNumber
            || function instanceof Rank
            || function instanceof DenseRank
            || function instanceof PercentRank
            || function instanceof CumeDist
            || function instanceof NTile;
    return known ? null : "the window function " + function.prettyName();
  }

  private static boolean named(Expression bound) {
    return bound == UnboundedPreceding$.MODULE$
        || bound == UnboundedFollowing$.MODULE$
        || bound == CurrentRow$.MODULE$;
  }

  static Ranked of(WindowExpression expression, List<Attribute> input) {
    Expression function = expression.windowFunction();
    if (expression.windowSpec().frameSpecification() instanceof SpecifiedWindowFrame frame) {
      if (function instanceof AggregateExpression aggregate) {
        Expression filter = aggregate.filter().isDefined() ? aggregate.filter().get() : null;
        return new Framed(aggregate.aggregateFunction(), filter, frame, input);
      }
      if (function instanceof NthValue nth) {
        return new Framed(nth, null, frame, input);
      }
    }
    if (function instanceof FrameLessOffsetWindowFunction offset) {
      return neighbour(offset, input);
    }
    if (function instanceof NTile tile) {
      int buckets = ((Number) tile.buckets().eval(null)).intValue();
      return each((peers, i) -> bucket(i, peers.size(), buckets));
    }
    if (function instanceof Rank) {
      return each((peers, i) -> peers.begin[i] + 1);
    }
    if (function instanceof PercentRank) {
      return each((peers, i) -> peers.size() < 2 ? 0.0 : peers.begin[i] / (peers.size() - 1.0));
    }
    if (function instanceof CumeDist) {
      return each((peers, i) -> (double) peers.end[i] / peers.size());
    }
    return function instanceof DenseRank ? Ranked::dense : each((peers, i) -> i + 1);
  }

  /** The value of one row. */
  interface One {
    Object at(Peers peers, int position);
  }

  private static Ranked each(One one) {
    return (peers, wanted) -> {
      Object[] values = new Object[wanted];
      for (int i = 0; i < wanted; i++) {
        values[i] = one.at(peers, i);
      }
      return values;
    };
  }

  private static Object[] dense(Peers peers, int wanted) {
    Object[] values = new Object[wanted];
    int rank = 0;
    for (int i = 0; i < wanted; i++) {
      rank += peers.begin[i] == i ? 1 : 0;
      values[i] = rank;
    }
    return values;
  }

  private static int bucket(int position, int size, int buckets) {
    int small = size / buckets;
    int larger = size % buckets;
    int inLarger = larger * (small + 1);
    return position < inLarger ? position / (small + 1) + 1 : larger + (position - inLarger) / small + 1;
  }

  private static Ranked neighbour(FrameLessOffsetWindowFunction function, List<Attribute> input) {
    Expression value = Expressions.bound(function.input(), input);
    Expression otherwise = Expressions.bound(function.productElement(2) instanceof Expression e ? e : null, input);
    int distance = ((Number) ((Expression) function.productElement(1)).eval(null)).intValue();
    int step = function instanceof Lag ? -distance : distance;
    return each(
        (peers, i) -> {
          int at = i + step;
          UnsafeRow here = peers.rows.get(i);
          return at < 0 || at >= peers.size() ? otherwise.eval(here) : value.eval(peers.rows.get(at));
        });
  }
}
