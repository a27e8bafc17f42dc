package org.headrace.changelog;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.types.DataTypes;
import org.headrace.rows.Scala;
import org.headrace.rows.Trees;

/** What Python talks to: stand-ins are told what they stand for, then queries over them are made incremental. */
public final class Session {
  private final org.apache.spark.sql.classic.SparkSession spark;
  private final Dataset<Row> seed;
  private final Map<Integer, StandIns.Source> sources = new HashMap<>();

  /** @param seed a stream that gives one row, once */
  public Session(SparkSession spark, Dataset<Row> seed) {
    this.spark = (org.apache.spark.sql.classic.SparkSession) spark;
    this.seed = seed;
  }

  Dataset<Row> seed() {
    return seed;
  }

  Dataset<Row> dataset(LogicalPlan plan) {
    return org.apache.spark.sql.classic.Dataset.ofRows(spark, plan);
  }

  /** Say what an empty DataFrame stands for: a stream of rows, with their weight last if they can go again. */
  public void define(Dataset<Row> standIn, Dataset<Row> rows, boolean weighted) {
    LogicalRDD leaf = (LogicalRDD) Trees.analyzed(standIn);
    sources.put(leaf.rdd().id(), new StandIns.Source(rows, weighted));
  }

  /** Return the rows of a keyed table as they come and go, from what is written into it. */
  public Dataset<Row> table(Dataset<Row> written, List<String> key, List<String> columns, List<String> order, String removed) {
    return Table.of(this, written, key, columns, order, removed);
  }

  /** Return rows with their bytes as one more column: equal rows have equal bytes. */
  public Dataset<Row> withBytes(Dataset<Row> rows, List<String> columns, String name) {
    LogicalPlan plan = Trees.analyzed(rows);
    List<Attribute> all = Scala.list(plan.output());
    List<Attribute> packed = all.stream().filter(each -> columns.contains(each.name())).toList();
    List<NamedExpression> list = new ArrayList<>(all);
    list.add(Trees.alias(Trees.packed(packed), Trees.column(name, DataTypes.BinaryType)));
    return dataset(new Project(Scala.seq(list), plan));
  }

  /** Return the changes of a query's answer, with their weight as the last column. */
  public Dataset<Row> incremental(Dataset<Row> query, Long rememberedMillis) {
    LogicalPlan plan = ((org.apache.spark.sql.classic.Dataset<Row>) query).queryExecution().optimizedPlan();
    Duration remembered = rememberedMillis == null ? null : Duration.ofMillis(rememberedMillis);
    Rel rel = new Incremental(this, new StandIns(sources), remembered).of(plan);
    return dataset(Plans.shaped(rel, rel.columns()).plan());
  }
}
