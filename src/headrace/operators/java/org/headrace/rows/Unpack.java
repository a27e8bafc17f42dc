package org.headrace.rows;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/** The bytes of a row go in, the row comes out as a struct. */
public final class Unpack extends Expression implements Serializable {
  private static final long serialVersionUID = 1L;
  private final Expression child;
  private final StructType type;

  public Unpack(Expression child, StructType type) {
    this.child = child;
    this.type = type;
  }

  @Override
  public Seq<Expression> children() {
    return Scala.seq(child);
  }

  @Override
  public DataType dataType() {
    return type;
  }

  @Override
  public boolean nullable() {
    return false;
  }

  @Override
  public Object eval(InternalRow input) {
    return unpack(child.eval(input));
  }

  /** Return the row that bytes are of; public because generated code calls it. */
  public InternalRow unpack(Object bytes) {
    return row((byte[]) bytes, type.size());
  }

  /** Return the row that bytes are of, without a copy. */
  public static UnsafeRow row(byte[] bytes, int fields) {
    UnsafeRow row = new UnsafeRow(fields);
    row.pointTo(bytes, bytes.length);
    return row;
  }

  /** Return the row that the bytes of a key are of, without a copy. */
  public static UnsafeRow key(byte[] bytes, int fields) {
    UnsafeRow row = new UnsafeRow(fields);
    row.pointTo(bytes, Platform.BYTE_ARRAY_OFFSET + Pack.HASH_SIZE, bytes.length - Pack.HASH_SIZE);
    return row;
  }

  @Override
  public ExprCode doGenCode(CodegenContext context, ExprCode code) {
    return Generated.call(context, code, child.genCode(context), this, InternalRow.class.getName(), "unpack");
  }

  @Override
  public Expression withNewChildrenInternal(IndexedSeq<Expression> children) {
    return new Unpack(children.head(), type);
  }

  @Override
  public Object productElement(int n) {
    return n == 0 ? child : type;
  }

  @Override
  public int productArity() {
    return 2;
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof Unpack;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Unpack that && child.equals(that.child) && type.equals(that.type);
  }

  @Override
  public int hashCode() {
    return child.hashCode() * 31 + type.hashCode();
  }
}
