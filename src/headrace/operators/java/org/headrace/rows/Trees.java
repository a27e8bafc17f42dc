package org.headrace.rows;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.CreateNamedStruct;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;

/** The columns and expressions that plans of Spark are put together from. */
public final class Trees {
  private Trees() {}

  public static LogicalPlan analyzed(Dataset<Row> rows) {
    return ((org.apache.spark.sql.classic.Dataset<Row>) rows).queryExecution().analyzed();
  }

  public static Literal number(long value) {
    return new Literal(value, DataTypes.LongType);
  }

  public static Attribute column(String name, DataType type) {
    return new AttributeReference(
        name, type, true, Metadata.empty(), NamedExpression$.MODULE$.newExprId(), Scala.seq());
  }

  /** Return an expression under the name and the identity of a column. */
  public static Alias alias(Expression value, NamedExpression as) {
    return new Alias(value, as.name(), as.exprId(), Scala.seq(), Option.empty(), Scala.seq());
  }

  public static StructType type(List<Attribute> columns) {
    StructType type = new StructType();
    for (Attribute each : columns) {
      type = type.add(each.name(), each.dataType(), true);
    }
    return type;
  }

  /** Return the bytes of a row. */
  public static Expression packed(List<? extends Expression> values) {
    return new Pack(struct(values), false);
  }

  /** Return the bytes of a key. */
  public static Expression key(List<? extends Expression> values) {
    return new Pack(struct(values), true);
  }

  private static Expression struct(List<? extends Expression> values) {
    List<Expression> parts = new ArrayList<>();
    for (int i = 0; i < values.size(); i++) {
      parts.add(new Literal(UTF8String.fromString("c" + i), DataTypes.StringType));
      parts.add(values.get(i));
    }
    return new CreateNamedStruct(Scala.seq(parts));
  }

  /** Return the columns of packed rows. */
  public static List<NamedExpression> unpacked(Expression bytes, List<Attribute> columns) {
    Expression row = new Unpack(bytes, type(columns));
    List<NamedExpression> list = new ArrayList<>();
    for (int i = 0; i < columns.size(); i++) {
      Option<String> name = Option.apply(columns.get(i).name());
      list.add(alias(new GetStructField(row, i, name), columns.get(i)));
    }
    return list;
  }
}
