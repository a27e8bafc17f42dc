package org.headrace.rows;

import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BasePredicate;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InterpretedOrdering;
import org.apache.spark.sql.catalyst.expressions.Predicate;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.optimizer.NormalizeFloatingNumbers$;
import org.apache.spark.sql.catalyst.types.PhysicalDataType$;
import org.apache.spark.sql.types.DataType;

/** Expressions of Spark, made ready to be evaluated over the rows of an operator. */
public final class Expressions {
  private Expressions() {}

  /** Return an expression whose columns are read by their position in the input. */
  @SuppressWarnings("unchecked")
  public static <E extends Expression> E bound(E expression, List<Attribute> input) {
    if (expression instanceof AttributeReference column) {
      for (int i = 0; i < input.size(); i++) {
        if (input.get(i).exprId().equals(column.exprId())) {
          return (E) new BoundReference(i, column.dataType(), input.get(i).nullable());
        }
      }
      throw new IllegalStateException("no column " + column + " in " + input);
    }
    List<Expression> children = Scala.list(expression.children());
    return (E) expression.withNewChildren(Scala.seq(allBound(children, input)));
  }

  /** Return an expression with others in the place of some of its columns. */
  public static Expression replaced(Expression expression, Map<ExprId, Expression> known) {
    if (expression instanceof AttributeReference column) {
      return known.getOrDefault(column.exprId(), column);
    }
    List<Expression> children = Scala.list(expression.children());
    return children.isEmpty()
        ? expression
        : expression.withNewChildren(Scala.seq(children.stream().map(each -> replaced(each, known)).toList()));
  }

  public static List<Expression> allBound(List<? extends Expression> expressions, List<Attribute> input) {
    return expressions.stream().<Expression>map(each -> bound(each, input)).toList();
  }

  public static BasePredicate predicate(Expression condition, List<Attribute> input) {
    return Predicate.create(condition, Scala.seq(input));
  }

  public static UnsafeProjection projection(List<? extends Expression> expressions, List<Attribute> input) {
    return UnsafeProjection.create(Scala.<Expression>seq(expressions), Scala.seq(input));
  }

  /** Return what DISTINCT tells rows apart by: the arguments of a function, equal numbers with equal bytes. */
  public static UnsafeProjection arguments(Expression function, List<Attribute> input) {
    List<Expression> arguments = Scala.list(function.children());
    return projection(arguments.stream().map(Expressions::normalized).toList(), input);
  }

  public static UnsafeProjection rows(List<DataType> types) {
    return UnsafeProjection.create(types.toArray(DataType[]::new));
  }

  public static InterpretedOrdering ordering(List<SortOrder> order, List<Attribute> input) {
    return new InterpretedOrdering(Scala.seq(order.stream().map(each -> bound(each, input)).toList()));
  }

  public static scala.math.Ordering<Object> ordering(DataType type) {
    return PhysicalDataType$.MODULE$.ordering(type);
  }

  public static Object value(InternalRow row, int position, DataType type) {
    return row.isNullAt(position) ? null : row.get(position, type);
  }

  /** Return a key in which equal numbers have equal bytes: there is one zero and one NaN. */
  public static Expression normalized(Expression key) {
    return NormalizeFloatingNumbers$.MODULE$.normalize(key);
  }
}
