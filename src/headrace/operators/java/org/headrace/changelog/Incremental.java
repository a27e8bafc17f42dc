package org.headrace.changelog;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Generator;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.ScalarSubquery;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.expressions.WindowExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys;
import org.apache.spark.sql.catalyst.planning.PhysicalAggregation;
import org.apache.spark.sql.catalyst.plans.ExistenceJoin;
import org.apache.spark.sql.catalyst.plans.JoinType;
import org.apache.spark.sql.catalyst.plans.LeftOuter$;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Expand;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Generate;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.JoinHint;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Offset;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Sort;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.plans.logical.Window;
import org.apache.spark.sql.catalyst.plans.logical.WindowGroupLimit;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.headrace.rows.Expressions;
import org.headrace.rows.Scala;
import org.headrace.rows.Trees;
import scala.Tuple4;
import scala.Tuple8;

/**
 * The plan of a query over tables goes in, as Spark has analysed and optimised it; the streaming plan that keeps its
 * answer current comes out. Spark's own nodes do what needs no memory, our operators the rest.
 */
public final class Incremental {
  private final Session session;
  private final StandIns standIns;
  private final Duration remembered;

  /**
   * @param standIns what stands in the plan for streams and tables
   * @param remembered how long what is not touched is remembered; null is for ever
   */
  Incremental(Session session, StandIns standIns, Duration remembered) {
    this.session = session;
    this.standIns = standIns;
    this.remembered = remembered;
  }

  Rel of(LogicalPlan plan) {
    Rel rel = node(plan);
    List<Attribute> wanted = Scala.list(plan.output());
    List<Attribute> given = rel.columns();
    boolean same =
        wanted.size() == given.size()
            && rel.plan().output().last().exprId().equals(rel.weight().exprId())
            && rel.plan().output().size() == given.size() + 1;
    for (int i = 0; same && i < wanted.size(); i++) {
      same = wanted.get(i).exprId().equals(given.get(i).exprId());
    }
    return same ? rel : Plans.shaped(rel, wanted);
  }

  private Rel node(LogicalPlan plan) {
    if (plan instanceof LogicalRDD leaf) {
      return standIns.rows(leaf);
    } else if (plan instanceof Project project) {
      return projected(Scala.list(project.projectList()), of(project.child()));
    } else if (plan instanceof Filter filter) {
      return filter(filter);
    } else if (plan instanceof Aggregate aggregate) {
      return aggregate(aggregate);
    } else if (plan instanceof Join join) {
      return join(join);
    } else if (plan instanceof Union union) {
      return union(union);
    } else if (plan instanceof Window window) {
      return window(window);
    } else if (plan instanceof Sort sort) {
      return of(sort.child());
    } else if (plan instanceof GlobalLimit || plan instanceof Offset) {
      return limit(plan);
    } else if (plan instanceof LocalLimit local) {
      return of(local.child()); // a global one above does what is asked for
    } else if (plan instanceof WindowGroupLimit group) {
      return of(group.child());
    } else if (plan instanceof Expand expand) {
      return expand(expand);
    } else if (plan instanceof Generate generate) {
      return generate(generate);
    } else if (plan instanceof LocalRelation constants) {
      return remaining(constants(constants));
    } else if (plan instanceof OneRowRelation) {
      return remaining(Plans.seed(session, List.of(), List.of(), 1));
    } else if (Plans.keepsRows(plan)) {
      refuseSubqueries(plan);
      Rel below = of(plan.children().head());
      LogicalPlan above = plan.withNewChildren(Scala.seq(below.plan()));
      return new Rel(above, Scala.list(plan.output()), below.weight(), below.grows());
    }
    throw new UnsupportedOperationException(plan.nodeName());
  }

  /** Constants come once and never again, so they must not be forgotten as other rows are that only come. */
  private Rel remaining(Rel rel) {
    return new Rel(rel.plan(), rel.columns(), rel.weight(), rel.grows() && remembered == null);
  }

  private void refuseSubqueries(LogicalPlan plan) {
    if (Scala.<Expression>list(plan.expressions()).stream().anyMatch(standIns::asksStream)) {
      throw new UnsupportedOperationException("a subquery in " + plan.nodeName());
    }
  }

  private Rel projected(List<NamedExpression> list, Rel below) {
    List<Expression> plain = new ArrayList<>();
    Rel with = lookUp(list.stream().map(each -> (Expression) each).toList(), plain, below);
    List<NamedExpression> named = plain.stream().map(each -> (NamedExpression) each).toList();
    return Plans.projected(with.plan(), named, with.weight(), with.grows());
  }

  private Rel filter(Filter filter) {
    Looked looked = lookedUp(filter.condition(), of(filter.child()));
    Rel below = looked.rel();
    return new Rel(
        new Filter(looked.expression(), below.plan()), below.columns(), below.weight(), below.grows());
  }

  /** An expression whose subqueries have become columns of a relation. */
  private record Looked(Expression expression, Rel rel) {}

  /** Let the subqueries of expressions become columns; return the relation that has them, and put the rest into a list. */
  private <E extends Expression> Rel lookUp(List<? extends Expression> expressions, List<E> plain, Rel rel) {
    for (Expression each : expressions) {
      Looked looked = lookedUp(each, rel);
      rel = looked.rel();
      @SuppressWarnings("unchecked")
      E same = (E) looked.expression();
      plain.add(same);
    }
    return rel;
  }

  private Looked lookedUp(Expression expression, Rel rel) {
    if (expression instanceof ScalarSubquery subquery) {
      if (!subquery.plan().maxRows().isDefined() || ((Number) subquery.plan().maxRows().get()).longValue() > 1) {
        throw new UnsupportedOperationException("a subquery that may give several rows as one value");
      }
      return standIns.isStatic(subquery.plan()) ? constant(subquery, rel) : kept(subquery, rel);
    }
    if (expression instanceof SubqueryExpression && standIns.asksStream(expression)) {
      throw new UnsupportedOperationException("a subquery as " + expression.nodeName());
    }
    List<Expression> children = new ArrayList<>();
    boolean changed = false;
    for (Expression child : Scala.<Expression>list(expression.children())) {
      Looked looked = lookedUp(child, rel);
      rel = looked.rel();
      changed |= looked.expression() != child;
      children.add(looked.expression());
    }
    return new Looked(changed ? expression.withNewChildren(Scala.seq(children)) : expression, rel);
  }

  private Looked kept(ScalarSubquery subquery, Rel rel) {
    Rel asked = of(subquery.plan());
    Attribute value = Trees.column("value", subquery.dataType()); // the same subquery may be looked up twice
    List<NamedExpression> list = List.of(Trees.alias(asked.columns().get(0), value));
    Rel one = Plans.projected(asked.plan(), list, asked.weight(), asked.grows());
    Rel both = joined(JoinOperator.Kind.LEFT, rel, one, List.of(), List.of(), null);
    return new Looked(value, both);
  }

  /** A value that never changes stands beside each row. */
  private Looked constant(ScalarSubquery subquery, Rel rel) {
    Attribute value = Trees.column("value", subquery.dataType());
    Attribute asked = Scala.<Attribute>list(subquery.plan().output()).get(0);
    List<NamedExpression> list = List.of(Trees.alias(asked, value));
    LogicalPlan table = new Project(Scala.seq(list), subquery.plan());
    LogicalPlan plan = new Join(rel.plan(), table, LeftOuter$.MODULE$, scala.Option.empty(), JoinHint.NONE());
    List<Attribute> columns = new ArrayList<>(rel.columns());
    columns.add(value);
    Rel both = Plans.shaped(new Rel(plan, columns, rel.weight(), rel.grows()), columns);
    return new Looked(value, both);
  }

  private Rel union(Union union) {
    List<LogicalPlan> parts = new ArrayList<>();
    boolean grows = true;
    Attribute weight = null;
    for (LogicalPlan child : Scala.<LogicalPlan>list(union.children())) {
      Rel part = of(child);
      parts.add(part.plan());
      grows &= part.grows();
      weight = weight == null ? part.weight() : weight;
    }
    LogicalPlan all = new Union(Scala.seq(parts), false, false);
    return new Rel(all, Scala.list(union.output()), weight, grows);
  }

  private Rel expand(Expand expand) {
    refuseSubqueries(expand);
    Rel below = of(expand.child());
    List<scala.collection.immutable.Seq<Expression>> projections = new ArrayList<>();
    for (scala.collection.immutable.Seq<Expression> each :
        Scala.<scala.collection.immutable.Seq<Expression>>list(expand.projections())) {
      List<Expression> with = Scala.list(each);
      with.add(below.weight());
      projections.add(Scala.seq(with));
    }
    Attribute weight = below.weight().newInstance();
    List<Attribute> columns = Scala.list(expand.output());
    List<Attribute> output = new ArrayList<>(columns);
    output.add(weight);
    LogicalPlan plan = new Expand(Scala.seq(projections), Scala.seq(output), below.plan());
    return new Rel(plan, columns, weight, below.grows());
  }

  private Rel generate(Generate generate) {
    Looked looked = lookedUp((Expression) generate.generator(), of(generate.child()));
    Rel below = looked.rel();
    Rel shaped = Plans.shaped(below, below.columns()); // what was looked up stands behind the child's own columns
    LogicalPlan plan =
        new Generate(
            (Generator) looked.expression(),
            generate.unrequiredChildIndex(),
            generate.outer(),
            generate.qualifier(),
            generate.generatorOutput(),
            shaped.plan());
    return new Rel(plan, Scala.list(generate.output()), shaped.weight(), below.grows());
  }

  private Rel constants(LocalRelation relation) {
    List<Attribute> columns = Scala.list(relation.output());
    List<Rel> rows = new ArrayList<>();
    for (org.apache.spark.sql.catalyst.InternalRow row :
        Scala.<org.apache.spark.sql.catalyst.InternalRow>list(relation.data())) {
      List<Expression> values = new ArrayList<>();
      for (int i = 0; i < columns.size(); i++) {
        DataType type = columns.get(i).dataType();
        values.add(new Literal(Expressions.value(row, i, type), type));
      }
      rows.add(Plans.seed(session, columns, values, 1));
    }
    if (rows.isEmpty()) {
      List<Expression> nulls = new ArrayList<>();
      columns.forEach(each -> nulls.add(new Literal(null, each.dataType())));
      Rel none = Plans.seed(session, columns, nulls, 0);
      LogicalPlan plan = new Filter(new Literal(false, DataTypes.BooleanType), none.plan());
      return new Rel(plan, columns, none.weight(), true);
    }
    LogicalPlan all = new Union(Scala.seq(rows.stream().map(Rel::plan).toList()), false, false);
    return rows.size() == 1 ? rows.get(0) : new Rel(all, columns, rows.get(0).weight(), true);
  }

  private Rel aggregate(Aggregate aggregate) {
    Tuple4<?, ?, ?, ?> parts = (Tuple4<?, ?, ?, ?>) PhysicalAggregation.unapply(aggregate).get();
    List<NamedExpression> grouping = Plans.list(parts._1());
    List<AggregateExpression> functions = new ArrayList<>();
    List<NamedExpression> results = Plans.list(parts._3());
    Rel below = lookUp(Plans.<Expression>list(parts._2()), functions, of((LogicalPlan) parts._4()));
    functions.forEach(Plans::checkDistinct);
    List<Attribute> used = new ArrayList<>();
    for (Attribute column : below.columns()) {
      if (functions.stream().anyMatch(each -> each.references().contains(column))) {
        used.add(column);
      }
    }
    List<Expression> keys = new ArrayList<>();
    List<DataType> types = new ArrayList<>();
    List<Attribute> columns = new ArrayList<>();
    for (NamedExpression each : grouping) {
      Looked looked = lookedUp(each instanceof Alias alias ? alias.child() : (Expression) each, below);
      below = looked.rel();
      keys.add(Expressions.normalized(looked.expression()));
      types.add(looked.expression().dataType());
      columns.add(each.toAttribute());
    }
    functions.forEach(each -> columns.add(each.resultAttribute()));
    boolean always = grouping.isEmpty();
    List<Plans.Input> inputs = new ArrayList<>();
    inputs.add(new Plans.Input(below.plan(), keys, used, below.weight(), 0));
    if (always) {
      List<Expression> nulls = new ArrayList<>();
      used.forEach(each -> nulls.add(new Literal(null, each.dataType())));
      Rel seed = Plans.seed(session, used, nulls, 0);
      inputs.add(new Plans.Input(seed.plan(), List.of(), seed.columns(), seed.weight(), 0));
    }
    Operator operator = new AggregateOperator(used, types, functions, below.grows(), always, remembered);
    boolean grows = below.grows() && functions.isEmpty() && !always;
    Rel grouped = Plans.operated(session, inputs, operator, columns, grows);
    return projected(results, grouped);
  }

  /** Join rows that come and go with a table that never changes: Spark does that row by row. */
  private Rel joinTable(Join join, boolean tableOnTheRight) {
    Rel rows = of(tableOnTheRight ? join.left() : join.right());
    scala.Option<Expression> condition = join.condition();
    if (condition.isDefined()) {
      Looked looked = lookedUp(condition.get(), rows);
      rows = looked.rel();
      condition = scala.Option.apply(looked.expression());
    }
    LogicalPlan left = tableOnTheRight ? rows.plan() : join.left();
    LogicalPlan right = tableOnTheRight ? join.right() : rows.plan();
    LogicalPlan plan = new Join(left, right, join.joinType(), condition, join.hint());
    return new Rel(plan, Scala.list(join.output()), rows.weight(), rows.grows());
  }

  private Rel join(Join join) {
    if (standIns.isStatic(join.right()) || standIns.isStatic(join.left())) {
      return joinTable(join, standIns.isStatic(join.right()));
    }
    Rel left = of(join.left());
    Rel right = of(join.right());
    JoinOperator.Kind kind = kind(join.joinType());
    List<Expression> leftKeys = List.of();
    List<Expression> rightKeys = List.of();
    Expression condition = join.condition().isDefined() ? join.condition().get() : null;
    scala.Option<?> found = ExtractEquiJoinKeys.unapply(join);
    if (found.isDefined()) {
      Tuple8<?, ?, ?, ?, ?, ?, ?, ?> parts = (Tuple8<?, ?, ?, ?, ?, ?, ?, ?>) found.get();
      leftKeys = Plans.list(parts._2());
      rightKeys = Plans.list(parts._3());
      scala.Option<?> other = (scala.Option<?>) parts._4();
      condition = other.isDefined() ? (Expression) other.get() : null;
    }
    List<Expression> leftPlain = new ArrayList<>();
    List<Expression> rightPlain = new ArrayList<>();
    left = lookUp(leftKeys, leftPlain, left);
    right = lookUp(rightKeys, rightPlain, right);
    if (condition != null) {
      Looked looked = lookedUp(condition, left);
      condition = looked.expression();
      left = looked.rel();
    }
    Rel both = joined(kind, left, right, leftPlain, rightPlain, condition);
    if (join.joinType() instanceof ExistenceJoin existence) {
      List<NamedExpression> list = new ArrayList<>();
      left.columns().forEach(each -> list.add((NamedExpression) each));
      list.add(Trees.alias(both.columns().get(left.columns().size()), existence.exists()));
      return Plans.projected(both.plan(), list, both.weight(), false);
    }
    return both;
  }

  private static JoinOperator.Kind kind(JoinType type) {
    return type instanceof ExistenceJoin
        ? JoinOperator.Kind.EXISTENCE
        : switch (type.sql()) {
          case "INNER", "CROSS" -> JoinOperator.Kind.INNER;
          case "LEFT OUTER" -> JoinOperator.Kind.LEFT;
          case "RIGHT OUTER" -> JoinOperator.Kind.RIGHT;
          case "FULL OUTER" -> JoinOperator.Kind.FULL;
          case "LEFT SEMI" -> JoinOperator.Kind.SEMI;
          case "LEFT ANTI" -> JoinOperator.Kind.ANTI;
          default -> throw new UnsupportedOperationException(type.sql() + " JOIN");
        };
  }

  private Rel joined(
      JoinOperator.Kind kind,
      Rel left,
      Rel right,
      List<Expression> leftKeys,
      List<Expression> rightKeys,
      Expression condition) {
    List<Plans.Input> inputs =
        List.of(
            new Plans.Input(left.plan(), normalized(leftKeys), left.columns(), left.weight(), 0),
            new Plans.Input(right.plan(), normalized(rightKeys), right.columns(), right.weight(), 1));
    Operator operator =
        new JoinOperator(
            kind,
            leftKeys.size(),
            left.columns(),
            right.columns(),
            condition,
            left.grows(),
            right.grows(),
            remembered);
    List<Attribute> columns = new ArrayList<>(left.columns());
    if (kind.pairs()) {
      columns.addAll(right.columns());
    } else if (kind == JoinOperator.Kind.EXISTENCE) {
      columns.add(Trees.column("exists", DataTypes.BooleanType));
    }
    boolean grows =
        left.grows() && right.grows() && (kind == JoinOperator.Kind.INNER || kind == JoinOperator.Kind.SEMI);
    return Plans.operated(session, inputs, operator, columns, grows);
  }

  private static List<Expression> normalized(List<Expression> keys) {
    return keys.stream().map(Expressions::normalized).toList();
  }

  private Rel window(Window window) {
    List<Expression> asked = new ArrayList<>();
    List<Attribute> given = new ArrayList<>();
    for (NamedExpression each : Scala.<NamedExpression>list(window.windowExpressions())) {
      WindowExpression function = (WindowExpression) ((Alias) each).child();
      String refusal = Ranked.refusal(function);
      if (refusal != null) {
        throw new UnsupportedOperationException(refusal);
      }
      asked.add(function);
      given.add(each.toAttribute());
    }
    Cut cut = window.child() instanceof WindowGroupLimit limit ? Plans.cut(limit) : Cut.ALL;
    List<WindowExpression> functions = new ArrayList<>();
    List<Expression> keys = new ArrayList<>();
    List<SortOrder> order = new ArrayList<>();
    Rel below = lookUp(asked, functions, of(window.child()));
    below = lookUp(Scala.<Expression>list(window.partitionSpec()), keys, below);
    below = lookUp(Scala.<SortOrder>list(window.orderSpec()), order, below);
    List<Attribute> columns = new ArrayList<>(below.columns());
    columns.addAll(given);
    return ranked(below, normalized(keys), order, functions, cut, columns);
  }

  private Rel ranked(
      Rel below,
      List<Expression> keys,
      List<SortOrder> order,
      List<WindowExpression> functions,
      Cut cut,
      List<Attribute> columns) {
    List<Plans.Input> inputs = List.of(new Plans.Input(below.plan(), keys, below.columns(), below.weight(), 0));
    boolean trims = cut.by() != Cut.By.NONE && functions.stream().allMatch(Plans::looksBack);
    Operator operator =
        new WindowOperator(below.columns(), order, functions, cut, below.grows(), trims, remembered);
    return Plans.operated(session, inputs, operator, columns, false);
  }

  /** Spark may have put projections, and limits of subqueries, between a limit and the order that it goes by. */
  private Rel limit(LogicalPlan plan) {
    Deque<LogicalPlan> above = new ArrayDeque<>();
    LogicalPlan below = plan;
    while (below instanceof GlobalLimit
        || below instanceof LocalLimit
        || below instanceof Offset
        || below instanceof Project) {
      above.push(below);
      below = below.children().head();
    }
    int first = 0;
    int limit = Integer.MAX_VALUE;
    for (LogicalPlan each : above) {
      if (each instanceof GlobalLimit global) {
        limit = Math.min(limit, ((Number) global.limitExpr().eval(null)).intValue());
      } else if (each instanceof Offset offset) {
        int left = ((Number) offset.offsetExpr().eval(null)).intValue();
        first += left;
        limit = limit == Integer.MAX_VALUE ? limit : Math.max(0, limit - left);
      }
    }
    List<SortOrder> order = below instanceof Sort sort ? Scala.list(sort.order()) : List.of();
    LogicalPlan inner = below instanceof Sort sort ? sort.child() : below;
    Cut cut = new Cut(Cut.By.ROW_NUMBER, first, limit);
    List<SortOrder> plain = new ArrayList<>();
    Rel all = lookUp(order, plain, of(inner));
    Rel rel = ranked(all, List.of(), plain, List.of(), cut, all.columns());
    for (LogicalPlan each : above) {
      rel = each instanceof Project project ? projected(Scala.list(project.projectList()), rel) : rel;
    }
    return rel;
  }
}
