package org.headrace.late;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.types.DataTypes;
import org.headrace.rows.Scala;
import org.headrace.rows.Trees;

/** What Python talks to: a stream goes in, its rows behind the watermark come out, each with that watermark. */
public final class LateRows {
  private LateRows() {}

  /**
   * Return the rows that came too late.
   *
   * @param rows first any number that spreads the rows, then their time in milliseconds, then the columns to keep
   * @return the columns that were kept, then the watermark in milliseconds
   */
  public static Dataset<Row> of(SparkSession spark, Dataset<Row> rows) {
    var session = (org.apache.spark.sql.classic.SparkSession) spark;
    LogicalPlan plan = Trees.analyzed(rows);
    List<Attribute> columns = Scala.list(plan.output());
    List<Attribute> kept = columns.subList(2, columns.size());
    List<NamedExpression> list = new ArrayList<>();
    list.add(Trees.alias(Trees.key(columns.subList(0, 1)), Trees.column("key", DataTypes.BinaryType)));
    list.add(Trees.alias(columns.get(1), Trees.column("at", DataTypes.LongType)));
    list.add(Trees.alias(Trees.packed(kept), Trees.column("row", DataTypes.BinaryType)));
    Dataset<Row> given = org.apache.spark.sql.classic.Dataset.ofRows(session, new Project(Scala.seq(list), plan));
    Dataset<Row> made =
        given
            .groupBy("key")
            .as(Encoders.BINARY(), Encoders.row(LateOperator.IN))
            .transformWithState(
                new LateOperator(), TimeMode.EventTime(), OutputMode.Append(), Encoders.row(LateOperator.OUT));
    LogicalPlan output = Trees.analyzed(made);
    List<Attribute> found = Scala.list(output.output());
    List<Attribute> results = new ArrayList<>();
    kept.forEach(each -> results.add(Trees.column(each.name(), each.dataType())));
    List<NamedExpression> unpacked = Trees.unpacked((Expression) found.get(0), results);
    unpacked.add(found.get(1));
    return org.apache.spark.sql.classic.Dataset.ofRows(session, new Project(Scala.seq(unpacked), output));
  }
}
