package org.headrace.json;

import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;

/** What reads numbers of each type. */
final class Numbers {
  /** Up to here a double has every whole number, and every power of ten below. */
  private static final long WHOLE = 1L << 53;

  private static final double[] POWERS = new double[23];
  private static final long[] TENS = new long[19];

  static {
    long ten = 1;
    for (int i = 0; i < TENS.length; i++, ten *= 10) {
      TENS[i] = ten;
    }
    for (int i = 0; i < POWERS.length; i++) {
      POWERS[i] = Double.parseDouble("1e" + i);
    }
  }

  private Numbers() {}

  /** Return what reads values of a type, or null if only Spark does. */
  static Plain of(DataType type) {
    if (type.equals(DataTypes.LongType)) {
      return line -> isWhole(line) ? (Object) line.unscaled() : Plain.NOT;
    }
    if (type.equals(DataTypes.IntegerType)) {
      return line -> within(line, Integer.MIN_VALUE, Integer.MAX_VALUE) ? (Object) (int) line.unscaled() : Plain.NOT;
    }
    if (type.equals(DataTypes.ShortType)) {
      return line -> within(line, Short.MIN_VALUE, Short.MAX_VALUE) ? (Object) (short) line.unscaled() : Plain.NOT;
    }
    if (type.equals(DataTypes.ByteType)) {
      return line -> within(line, Byte.MIN_VALUE, Byte.MAX_VALUE) ? (Object) (byte) line.unscaled() : Plain.NOT;
    }
    return type.equals(DataTypes.DoubleType) ? Numbers::real : null;
  }

  static Plain decimal(DecimalType type) {
    return line -> decimal(line, type.precision(), type.scale());
  }

  private static boolean isWhole(Line line) {
    return line.number() && line.isExact() && line.isWhole();
  }

  private static boolean within(Line line, long least, long most) {
    return isWhole(line) && line.unscaled() >= least && line.unscaled() <= most;
  }

  /** A whole number that a double has, divided by a power of ten that it has, is rounded once: as the standard says. */
  private static Object real(Line line) {
    if (!line.number() || line.isNegativeZero()) {
      return Plain.NOT;
    }
    if (line.isExact() && Math.abs(line.unscaled()) <= WHOLE) {
      return line.unscaled() / POWERS[line.decimals()];
    }
    return line.isExact() || !line.isWhole() ? Double.parseDouble(line.written()) : Plain.NOT;
  }

  private static Object decimal(Line line, int precision, int scale) {
    if (!line.number() || !line.isExact() || line.decimals() > scale) {
      return Plain.NOT;
    }
    int more = scale - line.decimals();
    long unscaled = line.unscaled();
    if (more >= TENS.length || Math.abs(unscaled) > Long.MAX_VALUE / TENS[more]) {
      return Plain.NOT;
    }
    unscaled *= TENS[more];
    boolean fits = Math.abs(unscaled) < TENS[Math.min(precision, TENS.length - 1)];
    return fits ? new Decimal().set(unscaled, precision, scale) : Plain.NOT;
  }
}
