package org.headrace.changelog;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Ascending$;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.types.DataTypes;
import org.headrace.rows.Expressions;
import org.headrace.rows.Scala;
import org.headrace.rows.Trees;

/** What is written into a keyed table goes in, the rows that come and go come out. */
final class Table {
  private Table() {}

  static Dataset<Row> of(
      Session session, Dataset<Row> written, List<String> key, List<String> columns, List<String> order, String removed) {
    LogicalPlan plan = Trees.analyzed(written);
    List<Attribute> all = Scala.list(plan.output());
    List<Expression> keys = new ArrayList<>();
    key.forEach(name -> keys.add(Expressions.normalized(named(all, name))));
    List<Attribute> kept = columns.stream().map(name -> named(all, name)).toList();
    List<Attribute> input = new ArrayList<>(kept);
    List<SortOrder> sorting = new ArrayList<>();
    for (String name : order) {
      input.add(named(all, name));
      sorting.add(
          new SortOrder(named(all, name), Ascending$.MODULE$, Ascending$.MODULE$.defaultNullOrdering(), Scala.seq()));
    }
    Expression side =
        new If(
            named(all, removed),
            new Literal(UpsertOperator.REMOVED, DataTypes.IntegerType),
            new Literal(UpsertOperator.WRITTEN, DataTypes.IntegerType));
    Operator operator = new UpsertOperator(input, kept, sorting);
    Rel rel = Plans.operated(session, List.of(new Plans.Input(plan, keys, input, Trees.number(1), side)), operator, kept, false);
    List<NamedExpression> fresh = new ArrayList<>(rel.columns());
    return session.dataset(Plans.projected(rel.plan(), fresh, rel.weight(), false).plan());
  }

  private static Attribute named(List<Attribute> all, String name) {
    return all.stream()
        .filter(each -> each.name().equals(name))
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException("no column " + name));
  }
}
