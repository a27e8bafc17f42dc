package org.headrace.changelog;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.CreateNamedStruct;
import org.apache.spark.sql.catalyst.expressions.DenseRank;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.Rank;
import org.apache.spark.sql.catalyst.expressions.RowNumber;
import org.apache.spark.sql.catalyst.expressions.WindowExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.plans.logical.WindowGroupLimit;
import org.apache.spark.sql.catalyst.util.UnsafeRowUtils;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;

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

  static LogicalPlan analyzed(Dataset<Row> rows) {
    return ((org.apache.spark.sql.classic.Dataset<Row>) rows).queryExecution().analyzed();
  }

  static Literal number(long value) {
    return new Literal(value, DataTypes.LongType);
  }

  static Attribute column(String name, DataType type) {
    return new AttributeReference(
        name, type, true, Metadata.empty(), NamedExpression$.MODULE$.newExprId(), Scala.seq());
  }

  /** Return an expression under the name and the identity of a column. */
  static Alias alias(Expression value, NamedExpression as) {
    return new Alias(value, as.name(), as.exprId(), Scala.seq(), Option.empty(), Scala.seq());
  }

  static Rel projected(LogicalPlan below, List<NamedExpression> list, Expression weight, boolean grows) {
    Attribute carried = column("__weight", DataTypes.LongType);
    List<NamedExpression> all = new ArrayList<>(list);
    all.add(alias(weight, carried));
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
      list.add(alias(values.get(i), columns.get(i)));
    }
    return projected(analyzed(session.seed()), list, number(weight), true);
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

  /** Return what an operator gives for its inputs, under the names and identities of some columns. */
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
      list.add(alias(packed(input.key()), column("key", DataTypes.BinaryType)));
      list.add(alias(input.side(), column("side", DataTypes.IntegerType)));
      list.add(alias(packed(input.row()), column("row", DataTypes.BinaryType)));
      list.add(alias(input.weight(), column("weight", DataTypes.LongType)));
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
    LogicalPlan plan = analyzed(made);
    List<Attribute> output = Scala.list(plan.output());
    Expression row = new Unpack(output.get(0), type(columns));
    List<NamedExpression> list = new ArrayList<>();
    for (int i = 0; i < columns.size(); i++) {
      Option<String> name = Option.apply(columns.get(i).name());
      list.add(alias(new GetStructField(row, i, name), columns.get(i)));
    }
    return projected(plan, list, output.get(1), grows);
  }

  private static StructType type(List<Attribute> columns) {
    StructType type = new StructType();
    for (Attribute each : columns) {
      type = type.add(each.name(), each.dataType(), true);
    }
    return type;
  }

  static Expression packed(List<? extends Expression> values) {
    List<Expression> parts = new ArrayList<>();
    for (int i = 0; i < values.size(); i++) {
      parts.add(new Literal(UTF8String.fromString("c" + i), DataTypes.StringType));
      parts.add(values.get(i));
    }
    return new Pack(new CreateNamedStruct(Scala.seq(parts)));
  }
}
