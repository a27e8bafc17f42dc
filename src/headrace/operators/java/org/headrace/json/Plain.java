package org.headrace.json;

import java.nio.charset.StandardCharsets;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** Reads values of one type that are written the usual way; what is not is left to Spark's own reader. */
interface Plain {
  /** What is returned for a value that is not plain. */
  Object NOT = new Object();

  byte[] TRUE = "true".getBytes(StandardCharsets.ISO_8859_1);
  byte[] FALSE = "false".getBytes(StandardCharsets.ISO_8859_1);
  byte[] NULL = "null".getBytes(StandardCharsets.ISO_8859_1);

  /** Read a value that is there: not white space, and no null. */
  Object read(Line line);

  /** Read a value or a null. */
  default Object value(Line line) {
    if (line.peek() == 'n') {
      return line.literal(NULL) ? null : NOT;
    }
    return read(line);
  }

  /** Return what reads values of a type, or null if only Spark does. */
  static Plain of(DataType type, boolean utc) {
    if (type.equals(DataTypes.StringType)) {
      return Plain::string;
    }
    if (type.equals(DataTypes.BooleanType)) {
      return Plain::bool;
    }
    if (type.equals(DataTypes.TimestampType)) {
      return line -> Times.timestamp(line, utc);
    }
    if (type.equals(DataTypes.DateType)) {
      return Times::date;
    }
    if (type instanceof StructType struct) {
      return struct(struct, struct.size(), utc);
    }
    if (type instanceof ArrayType array) {
      Plain element = of(array.elementType(), utc);
      return element == null ? null : new PlainArray(element);
    }
    return type instanceof DecimalType decimal ? Numbers.decimal(decimal) : Numbers.of(type);
  }

  /** Return what reads objects into rows of so many columns, or null if only Spark does. */
  static PlainObject struct(StructType type, int columns, boolean utc) {
    Plain[] fields = new Plain[type.size()];
    for (int i = 0; i < fields.length; i++) {
      StructField field = type.apply(i);
      fields[i] = of(field.dataType(), utc);
      if (fields[i] == null) {
        return null;
      }
    }
    return new PlainObject(type.fieldNames(), fields, columns);
  }

  private static Object string(Line line) {
    UTF8String text = line.string();
    return text == null ? NOT : text;
  }

  private static Object bool(Line line) {
    if (line.literal(TRUE)) {
      return true;
    }
    return line.literal(FALSE) ? false : NOT;
  }
}
