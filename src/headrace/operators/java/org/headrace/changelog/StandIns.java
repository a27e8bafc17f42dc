package org.headrace.changelog;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.execution.LogicalRDD;
import org.headrace.rows.Scala;
import org.headrace.rows.Trees;

/**
 * The empty tables that stand in a plan for streams and keyed tables, and what each stands for.
 *
 * @param sources by the number of the stand-in's RDD
 */
record StandIns(Map<Integer, Source> sources) {
  /** What a stand-in stands for: rows that only come, unless they have a weight as their last column. */
  record Source(Dataset<Row> rows, boolean weighted) {}

  /** Return the rows that a stand-in stands for, under the names of its columns. */
  Rel rows(LogicalRDD leaf) {
    Source source = sources.get(leaf.rdd().id());
    LogicalPlan rows = Trees.analyzed(source.rows());
    List<Attribute> given = Scala.list(rows.output());
    List<Attribute> wanted = Scala.list(leaf.output());
    List<NamedExpression> list = new ArrayList<>();
    for (int i = 0; i < wanted.size(); i++) {
      list.add(Trees.alias(given.get(i), wanted.get(i)));
    }
    Expression weight = source.weighted() ? given.get(wanted.size()) : Trees.number(1);
    return Plans.projected(rows, list, weight, !source.weighted());
  }

  /** Say whether a plan gives the same rows for ever: nothing in it stands for a stream. */
  boolean isStatic(LogicalPlan plan) {
    return !(plan instanceof LocalRelation) && !(plan instanceof OneRowRelation) && !standsForStream(plan);
  }

  private boolean standsForStream(LogicalPlan plan) {
    if (plan instanceof LogicalRDD rows && sources.containsKey(rows.rdd().id())) {
      return true;
    }
    return Scala.<LogicalPlan>list(plan.children()).stream().anyMatch(this::standsForStream)
        || Scala.<Expression>list(plan.expressions()).stream().anyMatch(this::asksStream);
  }

  /** Say whether a subquery of an expression reads what stands for a stream. */
  boolean asksStream(Expression expression) {
    return (expression instanceof SubqueryExpression subquery && standsForStream(subquery.plan()))
        || Scala.<Expression>list(expression.children()).stream().anyMatch(this::asksStream);
  }
}
