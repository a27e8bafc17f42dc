package org.headrace.rows;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/** A struct goes in, the bytes of its row come out: equal rows give equal bytes, so bytes can be keys. */
public final class Pack extends Expression implements Serializable {
  private static final long serialVersionUID = 1L;
  private final Expression child;
  private transient UnsafeProjection projection;

  public Pack(Expression child) {
    this.child = child;
  }

  @Override
  public Seq<Expression> children() {
    return Scala.seq(child);
  }

  @Override
  public DataType dataType() {
    return DataTypes.BinaryType;
  }

  @Override
  public boolean nullable() {
    return false;
  }

  @Override
  public Object eval(InternalRow input) {
    return pack(child.eval(input));
  }

  /** Return the bytes of a struct; public because generated code calls it. */
  public byte[] pack(Object struct) {
    if (struct instanceof UnsafeRow row) {
      return row.copy().getBytes();
    }
    if (projection == null) {
      projection = UnsafeProjection.create((StructType) child.dataType());
    }
    return projection.apply((InternalRow) struct).copy().getBytes();
  }

  @Override
  public ExprCode doGenCode(CodegenContext context, ExprCode code) {
    return Generated.call(context, code, child, this, "byte[]", "pack");
  }

  @Override
  public Expression withNewChildrenInternal(IndexedSeq<Expression> children) {
    return new Pack(children.head());
  }

  @Override
  public Object productElement(int n) {
    return child;
  }

  @Override
  public int productArity() {
    return 1;
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof Pack;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Pack that && child.equals(that.child);
  }

  @Override
  public int hashCode() {
    return child.hashCode() * 31 + 1;
  }
}
