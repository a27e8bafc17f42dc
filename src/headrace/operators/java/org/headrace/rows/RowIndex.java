package org.headrace.rows;

import java.io.Serializable;
import org.apache.spark.rdd.InputFileBlockHolder;
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
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/**
 * The number of a row within its task, where rows of one file come in the order in which they stand there; or within
 * the block of a file that it was read from, which begins at the file's start unless the file is large.
 */
public final class RowIndex extends Expression implements Serializable {
  private static final long serialVersionUID = 1L;
  private final boolean ofBlock;
  private long next;
  private transient Object file;
  private transient long start;

  private RowIndex(boolean ofBlock) {
    this.ofBlock = ofBlock;
  }

  /** Return the number within the task as a column. */
  public static Column column() {
    return ExpressionUtils$.MODULE$.column(new RowIndex(false));
  }

  /** Return the number within the block of a file as a column. */
  public static Column ofBlock() {
    return ExpressionUtils$.MODULE$.column(new RowIndex(true));
  }

  /** Return the next number; public because generated code calls it. */
  public long next() {
    if (ofBlock) {
      Object now = InputFileBlockHolder.getInputFilePath();
      long from = InputFileBlockHolder.getStartOffset();
      if (start != from || !now.equals(file)) {
        file = now;
        start = from;
        next = 0;
      }
    }
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
