package org.headrace.json;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.classic.ExpressionUtils$;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.headrace.rows.Generated;
import org.headrace.rows.Scala;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/**
 * A JSON text goes in, the row that it is comes out, as Spark's reader of JSON files has it, with a last column for a text
 * that is none. Texts as nearly all writers write them are read here, several times faster; all others by Spark.
 *
 * <p>It counts as not deterministic, so that Spark computes it once for a row and not for each column of it.
 */
public final class JsonRecord extends Expression implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final int LONGEST = 1_000_000;
  private static final String LEGACY = "LEGACY";

  private final Expression text;
  private final StructType columns;
  private final StructType type;
  private final String corrupt;
  private final HashMap<String, String> options;
  private final String zone;
  private final boolean usual;
  private transient SparkJson spark;
  private transient Line line;
  private transient PlainObject plain;
  private transient Exponents exponents;

  private JsonRecord(
      Expression text, StructType columns, String corrupt, HashMap<String, String> options, String zone) {
    this.text = text;
    this.columns = columns;
    this.corrupt = corrupt;
    this.options = options;
    this.zone = zone;
    type = columns.add(corrupt, DataTypes.StringType, true).asNullable(); // a text may lack anything
    usual = !options.containsKey("timestampFormat") && !LEGACY.equals(SQLConf.get().legacyTimeParserPolicy().toString());
  }

  /**
   * Return the rows of texts as a column.
   *
   * @param columns in Spark's own notation
   * @param corrupt the name of the last column
   * @param options of Spark's reader
   * @param zone of times that name none
   */
  public static Column column(Column text, String columns, String corrupt, Map<String, String> options, String zone) {
    Expression read = ExpressionUtils$.MODULE$.expression(text);
    StructType type = StructType.fromDDL(columns);
    return ExpressionUtils$.MODULE$.column(new JsonRecord(read, type, corrupt, new HashMap<>(options), zone));
  }

  /** Return those of the texts that are read here, and not by Spark. */
  public static List<String> plain(List<String> texts, String columns, String zone) {
    PlainObject reader = reader(StructType.fromDDL(columns), zone);
    if (reader == null) {
      return List.of();
    }
    Line line = new Line();
    List<String> plain = new ArrayList<>();
    for (String text : texts) {
      line.of(UTF8String.fromString(text));
      if (reader.read(line) != Plain.NOT && line.isRead()) {
        plain.add(text);
      }
    }
    return plain;
  }

  /** Return what reads plain texts, or null where the types are such that only Spark can. */
  private static PlainObject reader(StructType columns, String zone) {
    return Plain.struct(columns, columns.size() + 1, zone.equals("UTC"));
  }

  /** Return the row of a text; public because generated code calls it. */
  public InternalRow read(UTF8String given) {
    if (given == null) {
      return corrupt(UTF8String.EMPTY_UTF8);
    }
    if (line == null) {
      line = new Line();
      plain = usual ? reader(columns, zone) : null;
      exponents = new Exponents(columns);
      spark = new SparkJson(type, corrupt, options, zone);
    }
    if (plain != null && given.numBytes() <= LONGEST) {
      line.of(given);
      Object row = plain.read(line);
      if (row != Plain.NOT && line.isRead()) {
        return (InternalRow) row;
      }
    }
    InternalRow row = exponents.hugeIn(given) ? null : spark.read(given);
    return row == null ? corrupt(given) : row;
  }

  private InternalRow corrupt(UTF8String given) {
    Object[] values = new Object[type.size()];
    values[values.length - 1] = given;
    return new GenericInternalRow(values);
  }

  @Override
  public Object eval(InternalRow input) {
    return read((UTF8String) text.eval(input));
  }

  @Override
  public ExprCode doGenCode(CodegenContext context, ExprCode code) {
    return Generated.call(context, code, text.genCode(context), this, InternalRow.class.getName(), "read");
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
  public boolean stateful() {
    return true;
  }

  @Override
  public Seq<Expression> children() {
    return Scala.seq(text);
  }

  @Override
  public Expression withNewChildrenInternal(IndexedSeq<Expression> children) {
    return new JsonRecord(children.head(), columns, corrupt, options, zone);
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
  public Object productElement(int n) {
    return n == 0 ? text : columns;
  }

  @Override
  public int productArity() {
    return 2;
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof JsonRecord;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof JsonRecord that
        && text.equals(that.text)
        && columns.equals(that.columns)
        && corrupt.equals(that.corrupt)
        && options.equals(that.options)
        && zone.equals(that.zone);
  }

  @Override
  public int hashCode() {
    return Objects.hash(text, columns, corrupt, options, zone);
  }
}
