package org.headrace.changelog;

import java.io.Serializable;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeBlock;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.catalyst.expressions.codegen.FalseLiteral$;
import org.apache.spark.sql.classic.ExpressionUtils$;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.headrace.rows.Scala;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/** The number of a row within its task: rows of one file come in the order in which they stand there. */
public final class RowIndex extends Expression implements Serializable {
  private static final long serialVersionUID = 1L;
  private long next;

  /** Return the expression as a column. */
  public static Column column() {
    return ExpressionUtils$.MODULE$.column(new RowIndex());
  }

  /** Return the next number; public because generated code calls it. */
  public long next() {
    return next++;
  }

  @Override
  public boolean deterministic() {
    return false;
  }

  @Override
  public boolean foldable() {
    return false;
  }

  @Override
  public Object eval(InternalRow input) {
    return next();
  }

  @Override
  public ExprCode doGenCode(CodegenContext context, ExprCode code) {
    String self = context.addReferenceObj("rowIndex", this, RowIndex.class.getName());
    String line = "\nlong " + code.value() + " = " + self + ".next();\n";
    return code.copy(new CodeBlock(Scala.seq(line), Scala.seq()), FalseLiteral$.MODULE$, code.value());
  }

  @Override
  public Seq<Expression> children() {
    return Scala.seq();
  }

  @Override
  public Expression withNewChildrenInternal(IndexedSeq<Expression> children) {
    return this;
  }

  @Override
  public DataType dataType() {
    return DataTypes.LongType;
  }

  @Override
  public boolean nullable() {
    return false;
  }

  @Override
  public Object productElement(int n) {
    throw new IndexOutOfBoundsException(n);
  }

  @Override
  public int productArity() {
    return 0;
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof RowIndex;
  }
}
