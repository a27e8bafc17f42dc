package org.headrace.changelog;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.DenseRank;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.Rank;
import org.apache.spark.sql.catalyst.expressions.RowNumber;
import org.apache.spark.sql.catalyst.expressions.WindowExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.plans.logical.WindowGroupLimit;
import org.apache.spark.sql.catalyst.util.UnsafeRowUtils;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.types.DataTypes;
import org.headrace.rows.Scala;
import org.headrace.rows.Trees;

/** The pieces that streaming plans are put together from. */
final class Plans {
  private static final Set<String> ROW_BY_ROW =
      Set.of(
          "SubqueryAlias", "ResolvedHint", "ArrowEvalPython", "BatchEvalPython",
          "RepartitionByExpression", "RebalancePartitions", "Repartition");

  private Plans() {}

  /**
   * One input of an operator.
   *
   * @param side which one it is
   */
  record Input(
      LogicalPlan plan,
      List<? extends Expression> key,
      List<? extends Expression> row,
      Expression weight,
      Expression side) {
    Input(
        LogicalPlan plan, List<? extends Expression> key, List<? extends Expression> row, Expression weight, int side) {
      this(plan, key, row, weight, new Literal(side, DataTypes.IntegerType));
    }
  }

  static boolean keepsRows(LogicalPlan node) {
    return ROW_BY_ROW.contains(node.nodeName());
  }

  @SuppressWarnings("unchecked")
  static <T> List<T> list(Object seq) {
    return Scala.list((scala.collection.Seq<T>) seq);
  }

  static Rel projected(LogicalPlan below, List<NamedExpression> list, Expression weight, boolean grows) {
    Attribute carried = Trees.column("__weight", DataTypes.LongType);
    List<NamedExpression> all = new ArrayList<>(list);
    all.add(Trees.alias(weight, carried));
    List<Attribute> columns = new ArrayList<>(list.stream().map(NamedExpression::toAttribute).toList());
    return new Rel(new Project(Scala.seq(all), below), columns, carried, grows);
  }

  /** Return a relation with exactly some of its columns, in order, the weight last. */
  static Rel shaped(Rel rel, List<Attribute> columns) {
    return projected(rel.plan(), new ArrayList<>(columns), rel.weight(), rel.grows());
  }

  /** Return one row that comes with the first batch and never again. */
  static Rel seed(Session session, List<Attribute> columns, List<Expression> values, long weight) {
    List<NamedExpression> list = new ArrayList<>();
    for (int i = 0; i < columns.size(); i++) {
      list.add(Trees.alias(values.get(i), columns.get(i)));
    }
    return projected(Trees.analyzed(session.seed()), list, Trees.number(weight), true);
  }

  /** Raise if values that are to be told apart are equal although their bytes differ. */
  static void checkDistinct(AggregateExpression expression) {
    for (Expression value : Scala.<Expression>list(expression.aggregateFunction().children())) {
      if (expression.isDistinct() && !UnsafeRowUtils.isBinaryStable(value.dataType())) {
        throw new UnsupportedOperationException("DISTINCT over a collation that takes different texts for equal");
      }
    }
  }

  static Cut cut(WindowGroupLimit limit) {
    Expression function = limit.rankLikeFunction();
    Cut.By by =
        function instanceof RowNumber
            ? Cut.By.ROW_NUMBER
            : function instanceof Rank ? Cut.By.RANK : Cut.By.DENSE_RANK;
    return new Cut(by, 0, limit.limit());
  }

  /** Say whether a window function does not need rows that stand behind its own. */
  static boolean looksBack(WindowExpression expression) {
    Expression function = expression.windowFunction();
    return function instanceof RowNumber || function instanceof Rank || function instanceof DenseRank;
  }

  /** Return what an operator gives for its inputs, under the names and identities of some columns; what forgets withdraws. */
  static Rel operated(
      Session session, List<Input> inputs, Operator operator, List<Attribute> columns, boolean grows) {
    List<LogicalPlan> parts = new ArrayList<>();
    for (Input input : inputs) {
      for (Expression part : input.key()) {
        if (!UnsafeRowUtils.isBinaryStable(part.dataType())) {
          throw new UnsupportedOperationException("a key whose collation takes different texts for equal");
        }
      }
      List<NamedExpression> list = new ArrayList<>();
      list.add(Trees.alias(Trees.key(input.key()), Trees.column("key", DataTypes.BinaryType)));
      list.add(Trees.alias(input.side(), Trees.column("side", DataTypes.IntegerType)));
      list.add(Trees.alias(Trees.packed(input.row()), Trees.column("row", DataTypes.BinaryType)));
      list.add(Trees.alias(input.weight(), Trees.column("weight", DataTypes.LongType)));
      parts.add(new Project(Scala.seq(list), input.plan()));
    }
    LogicalPlan all = parts.size() == 1 ? parts.get(0) : new Union(Scala.seq(parts), false, false);
    Dataset<Row> given = session.dataset(all);
    TimeMode time = operator.forgets() ? TimeMode.ProcessingTime() : TimeMode.None();
    Dataset<Row> made =
        given
            .groupBy("key")
            .as(Encoders.BINARY(), Encoders.row(Operator.IN))
            .transformWithState(operator, time, OutputMode.Append(), Encoders.row(Operator.OUT));
    LogicalPlan plan = Trees.analyzed(made);
    List<Attribute> output = Scala.list(plan.output());
    return projected(plan, Trees.unpacked(output.get(0), columns), output.get(1), grows && !operator.forgets());
  }
}
