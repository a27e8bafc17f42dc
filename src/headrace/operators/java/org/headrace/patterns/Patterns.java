package org.headrace.patterns;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Ascending$;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Descending$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NullsFirst$;
import org.apache.spark.sql.catalyst.expressions.NullsLast$;
import org.apache.spark.sql.catalyst.expressions.SortDirection;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.util.LongAccumulator;
import org.headrace.rows.Expressions;
import org.headrace.rows.Scala;
import org.headrace.rows.Trees;

/** What Python talks to: a stream and the description of a pattern go in, the stream of its matches comes out. */
public final class Patterns {
  private final Map<String, Object> told;
  private final LogicalPlan plan;
  private final List<Attribute> columns;

  private Patterns(Dataset<Row> rows, Map<String, Object> told) {
    this.told = told;
    plan = Trees.analyzed(rows);
    columns = Scala.list(plan.output());
  }

  /**
   * Return the matches in a stream.
   *
   * @param rows the columns that the pattern needs, computed, and last a number that says who came first
   * @param expressions the conditions of the variables, then the measures, over an empty DataFrame of the slots
   * @param late counts the rows that came behind the watermark
   * @param aggregates one DataFrame for each aggregate, over an empty DataFrame of the columns and the variable
   * @param filters for each aggregate the condition on its rows, over the same DataFrame; null where it has none
   */
  public static Dataset<Row> search(
      SparkSession spark,
      Dataset<Row> rows,
      Map<String, Object> told,
      Dataset<Row> expressions,
      List<Dataset<Row>> aggregates,
      List<Dataset<Row>> filters,
      LongAccumulator late) {
    Patterns patterns = new Patterns(rows, told);
    Search search = patterns.search(expressions, aggregates, filters);
    return patterns.operated((org.apache.spark.sql.classic.SparkSession) spark, new PatternOperator(search, late));
  }

  private Search search(Dataset<Row> expressions, List<Dataset<Row>> aggregates, List<Dataset<Row>> filters) {
    Computed computed = Computed.of(expressions);
    List<Expression> all = computed.values().subList(0, computed.values().size() - 1);
    List<String> variables = get("variables");
    List<Integer> defined = get("defined");
    List<Expression> conditions = new ArrayList<>();
    for (int i = 0; i < variables.size(); i++) {
      int at = defined.indexOf(i);
      conditions.add(at < 0 ? null : all.get(at));
    }
    List<Expression> given = new ArrayList<>();
    List<String> before = get("before");
    List<String> after = get("after");
    before.forEach(name -> given.add(named(name)));
    given.addAll(all.subList(defined.size(), all.size()));
    after.forEach(name -> given.add(named(name)));
    List<List<Integer>> slots = get("slots");
    List<List<Integer>> program = get("program");
    List<Integer> skipTo = get("skip_to");
    boolean[] skipped = new boolean[variables.size()];
    skipTo.forEach(each -> skipped[each] = true);
    List<Expression> aggregated = new ArrayList<>();
    List<Attribute> shown = new ArrayList<>();
    for (Dataset<Row> each : aggregates) {
      Computed aggregate = Computed.of(each);
      aggregated.add(aggregate.values().get(0));
      shown = aggregate.input();
    }
    List<Expression> counted = new ArrayList<>();
    filters.forEach(each -> counted.add(each == null ? null : Computed.of(each).values().get(0)));
    String time = get("time");
    List<String> partition = get("partition");
    List<SearchPlace.Column> key =
        partition.stream()
            .map(this::named)
            .map(each -> new SearchPlace.Column(each.name(), columns.indexOf(each), each.dataType()))
            .toList();
    return new Search(
        new SearchPlace(get("name"), key),
        new Program(program),
        new ArrayList<>(variables),
        columns,
        time == null ? -1 : columns.indexOf(named(time)),
        get("arrival"),
        order(),
        slots.stream().map(each -> Slot.read(each, variables.size())).toList(),
        computed.input(),
        aggregated,
        counted,
        shown,
        conditions,
        given,
        before.size(),
        all.size() - defined.size(),
        Search.Shown.valueOf(get("shown")),
        Search.Skip.valueOf(get("skip")),
        skipped,
        ((Number) get("within")).longValue(),
        get("timeouts"),
        ((Number) get("limit")).intValue(),
        get("ended_at") == null ? Matcher.NEVER : ((Number) get("ended_at")).longValue(),
        get("whole"),
        get("judged"),
        get("gathered"));
  }

  private List<SortOrder> order() {
    List<SortOrder> order = new ArrayList<>();
    List<List<Object>> terms = get("order");
    for (List<Object> term : terms) {
      SortDirection direction = term.get(1).equals(true) ? Descending$.MODULE$ : Ascending$.MODULE$;
      order.add(
          new SortOrder(
              named((String) term.get(0)),
              direction,
              term.get(2).equals(true) ? NullsFirst$.MODULE$ : NullsLast$.MODULE$,
              Scala.seq()));
    }
    return order;
  }

  private List<String> names() {
    List<String> names = new ArrayList<>(this.<List<String>>get("before"));
    names.addAll(get("measures"));
    names.addAll(get("after"));
    return names;
  }

  private Dataset<Row> operated(org.apache.spark.sql.classic.SparkSession spark, PatternOperator operator) {
    List<Expression> key = new ArrayList<>();
    this.<List<String>>get("partition").forEach(name -> key.add(Expressions.normalized(named(name))));
    List<NamedExpression> list = new ArrayList<>();
    list.add(Trees.alias(Trees.key(key), Trees.column("key", DataTypes.BinaryType)));
    list.add(Trees.alias(Trees.packed(columns), Trees.column("row", DataTypes.BinaryType)));
    boolean timed = get("timed");
    Dataset<Row> given = org.apache.spark.sql.classic.Dataset.ofRows(spark, new Project(Scala.seq(list), plan));
    boolean gathered = get("gathered");
    Dataset<Row> made =
        (gathered ? given.mapPartitions(new Gathering(), Encoders.row(PatternOperator.IN)) : given)
            .groupBy("key")
            .as(Encoders.BINARY(), Encoders.row(PatternOperator.IN))
            .transformWithState(
                operator,
                timed ? TimeMode.EventTime() : TimeMode.None(),
                OutputMode.Append(),
                Encoders.row(PatternOperator.OUT));
    LogicalPlan output = Trees.analyzed(made);
    List<Attribute> results = new ArrayList<>();
    List<String> names = names();
    for (int i = 0; i < names.size(); i++) {
      results.add(Trees.column(names.get(i), operator.given(i)));
    }
    List<NamedExpression> unpacked = Trees.unpacked((Expression) output.output().head(), results);
    return org.apache.spark.sql.classic.Dataset.ofRows(spark, new Project(Scala.seq(unpacked), output));
  }

  private Attribute named(String name) {
    return columns.stream()
        .filter(each -> each.name().equals(name))
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException("no column " + name));
  }

  @SuppressWarnings("unchecked")
  private <T> T get(String name) {
    return (T) told.get(name);
  }
}
