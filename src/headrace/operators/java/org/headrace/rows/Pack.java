package org.headrace.rows;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.CreateNamedStruct;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.XXH64;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.catalyst.expressions.codegen.GenerateUnsafeProjection$;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/**
 * A struct goes in, the bytes of its row come out: equal rows give equal bytes, so bytes can be keys. A key has the hash
 * of its row in front: Spark sorts keys by their first eight bytes, which are the same in all rows without nulls.
 */
public final class Pack extends Expression implements Serializable {
  private static final long serialVersionUID = 1L;
  /** How many bytes stand before the row in a key. */
  static final int HASH_SIZE = 8;

  private static final long SEED = 42L;
  private final Expression child;
  private final boolean key;
  private transient UnsafeProjection projection;

  public Pack(Expression child, boolean key) {
    this.child = child;
    this.key = key;
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
      return bytes(row);
    }
    if (projection == null) {
      projection = UnsafeProjection.create((StructType) child.dataType());
    }
    return bytes(projection.apply((InternalRow) struct));
  }

  private byte[] bytes(UnsafeRow row) {
    int size = row.getSizeInBytes();
    int before = key ? HASH_SIZE : 0;
    byte[] bytes = new byte[before + size];
    Platform.copyMemory(
        row.getBaseObject(), row.getBaseOffset(), bytes, Platform.BYTE_ARRAY_OFFSET + before, size);
    if (key) {
      long hash = XXH64.hashUnsafeWords(bytes, Platform.BYTE_ARRAY_OFFSET + before, size, SEED);
      Platform.putLong(bytes, Platform.BYTE_ARRAY_OFFSET, hash);
    }
    return bytes;
  }

  /** Return the hash that a key begins with. */
  public static long hash(byte[] key) {
    return Platform.getLong(key, Platform.BYTE_ARRAY_OFFSET);
  }

  @Override
  public ExprCode doGenCode(CodegenContext context, ExprCode code) {
    if (child instanceof CreateNamedStruct struct) { // the values go into a row without being boxed in a struct first
      ExprCode row = GenerateUnsafeProjection$.MODULE$.createCode(context, struct.valExprs(), false);
      return Generated.call(context, code, row, this, "byte[]", "pack");
    }
    return Generated.call(context, code, child.genCode(context), this, "byte[]", "pack");
  }

  @Override
  public Expression withNewChildrenInternal(IndexedSeq<Expression> children) {
    return new Pack(children.head(), key);
  }

  @Override
  public Object productElement(int n) {
    return n == 0 ? child : key;
  }

  @Override
  public int productArity() {
    return 2;
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof Pack;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Pack that && child.equals(that.child) && key == that.key;
  }

  @Override
  public int hashCode() {
    return child.hashCode() * 31 + (key ? 1 : 0);
  }
}
