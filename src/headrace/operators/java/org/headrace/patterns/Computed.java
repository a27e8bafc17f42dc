package org.headrace.patterns;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.headrace.rows.Expressions;
import org.headrace.rows.Scala;

/**
 * The columns of a DataFrame as Spark has optimised them, each as one expression over the columns it began with.
 *
 * @param values the expressions
 * @param input the columns that they read
 */
record Computed(List<Expression> values, List<Attribute> input) {
  static Computed of(Dataset<Row> rows) {
    LogicalPlan plan = ((org.apache.spark.sql.classic.Dataset<Row>) rows).queryExecution().optimizedPlan();
    List<NamedExpression> listed = listed(plan);
    if (listed == null) {
      throw refused(plan);
    }
    List<Expression> values = listed.stream().map(Computed::value).toList();
    LogicalPlan below = plan.children().head();
    // what an expression reads twice, as BETWEEN does, Spark computes once, in a step of its own
    while (below instanceof Project project) {
      Map<ExprId, Expression> known = new HashMap<>();
      Scala.<NamedExpression>list(project.projectList()).forEach(each -> known.put(each.exprId(), value(each)));
      values = values.stream().map(each -> Expressions.replaced(each, known)).toList();
      below = project.child();
    }
    if (!below.children().isEmpty()) {
      throw refused(below);
    }
    List<Attribute> input = Scala.list(below.output());
    List<ExprId> there = input.stream().map(Attribute::exprId).toList();
    for (Expression each : values) {
      List<Attribute> read = Scala.list(each.references().toSeq());
      if (!read.stream().allMatch(column -> there.contains(column.exprId()))) {
        throw new UnsupportedOperationException(each.sql());
      }
    }
    return new Computed(values, input);
  }

  private static List<NamedExpression> listed(LogicalPlan plan) {
    return plan instanceof Project project
        ? Scala.list(project.projectList())
        : plan instanceof Aggregate aggregate ? Scala.list(aggregate.aggregateExpressions()) : null;
  }

  private static Expression value(NamedExpression named) {
    return named instanceof Alias alias ? alias.child() : (Expression) named;
  }

  private static UnsupportedOperationException refused(LogicalPlan plan) {
    return new UnsupportedOperationException("several steps, of which one is " + plan.nodeName());
  }
}
