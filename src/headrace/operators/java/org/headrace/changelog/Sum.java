package org.headrace.changelog;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.RoundingMode;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;

/**
 * A sum or a mean, exact whatever comes and goes: doubles are added as the decimals that they are, so neither the order
 * of rows nor a row that goes again can leave a trace in the last digit.
 */
final class Sum implements Accumulator {
  private final Expression value;
  private final DataType type;
  private final boolean mean;
  private final boolean lenient;
  private long count;
  private long whole;
  private BigDecimal exact;
  private long positive;
  private long negative;
  private long notNumbers;

  /** @param lenient whether what does not fit gives NULL instead of an error */
  Sum(Expression value, DataType type, boolean mean, boolean lenient) {
    this.value = value;
    this.type = type;
    this.mean = mean;
    this.lenient = lenient;
    reset();
  }

  /** Say whether values of a type are summed here. */
  static boolean takes(DataType type) {
    return type instanceof DecimalType
        || type == DataTypes.ByteType
        || type == DataTypes.ShortType
        || type == DataTypes.IntegerType
        || type == DataTypes.LongType
        || type == DataTypes.FloatType
        || type == DataTypes.DoubleType;
  }

  @Override
  public void reset() {
    count = 0;
    whole = 0;
    exact = BigDecimal.ZERO;
    positive = 0;
    negative = 0;
    notNumbers = 0;
  }

  @Override
  public void add(InternalRow row, long weight) {
    Object given = value.eval(row);
    if (given == null) {
      return;
    }
    count += weight;
    if (given instanceof Double || given instanceof Float) {
      addDouble(((Number) given).doubleValue(), weight);
    } else if (given instanceof Decimal decimal) {
      addExact(decimal.toJavaBigDecimal(), weight);
    } else {
      addWhole(((Number) given).longValue(), weight);
    }
  }

  private void addDouble(double number, long weight) {
    if (Double.isNaN(number)) {
      notNumbers += weight;
    } else if (Double.isInfinite(number)) {
      if (number > 0) {
        positive += weight;
      } else {
        negative += weight;
      }
    } else {
      addExact(new BigDecimal(number), weight);
    }
  }

  private void addExact(BigDecimal number, long weight) {
    BigDecimal product = weight == 1 ? number : number.multiply(BigDecimal.valueOf(weight));
    exact = exact.add(product);
  }

  private void addWhole(long number, long weight) {
    long product = number * weight;
    long sum = whole + product;
    boolean overflows =
        Math.multiplyHigh(number, weight) != product >> 63 || ((whole ^ sum) & (product ^ sum)) < 0;
    if (overflows) {
      addExact(BigDecimal.valueOf(number), weight);
    } else {
      whole = sum;
    }
  }

  @Override
  public Object result() {
    if (count == 0) {
      return null;
    }
    if (notNumbers > 0 || (positive > 0 && negative > 0)) {
      return Double.NaN;
    }
    if (positive > 0 || negative > 0) {
      return positive > 0 ? Double.POSITIVE_INFINITY : Double.NEGATIVE_INFINITY;
    }
    BigDecimal sum = whole == 0 ? exact : exact.add(BigDecimal.valueOf(whole));
    if (type instanceof DecimalType wanted) {
      return decimal(sum, wanted);
    }
    if (type == DataTypes.DoubleType) {
      return mean ? sum.doubleValue() / count : sum.doubleValue();
    }
    return integer(sum);
  }

  private Object decimal(BigDecimal sum, DecimalType wanted) {
    BigDecimal scaled =
        mean
            ? sum.divide(BigDecimal.valueOf(count), wanted.scale(), RoundingMode.HALF_UP)
            : sum.setScale(wanted.scale(), RoundingMode.HALF_UP);
    if (scaled.precision() > wanted.precision()) {
      return overflow();
    }
    return Decimal.apply(scaled, wanted.precision(), wanted.scale());
  }

  private Object integer(BigDecimal sum) {
    BigInteger number = sum.toBigInteger();
    return number.bitLength() > 63 ? overflow() : (Object) number.longValue();
  }

  private Object overflow() {
    if (lenient) {
      return null;
    }
    throw new ArithmeticException("a sum does not fit into " + type.sql() + "; try_sum gives NULL instead");
  }

  @Override
  public void write(DataOutput out) throws IOException {
    out.writeLong(count);
    out.writeLong(whole);
    out.writeLong(positive);
    out.writeLong(negative);
    out.writeLong(notNumbers);
    BigDecimal stripped = exact.stripTrailingZeros();
    byte[] digits = stripped.unscaledValue().toByteArray();
    out.writeInt(stripped.scale());
    out.writeInt(digits.length);
    out.write(digits);
  }

  @Override
  public void read(DataInput in) throws IOException {
    count = in.readLong();
    whole = in.readLong();
    positive = in.readLong();
    negative = in.readLong();
    notNumbers = in.readLong();
    int scale = in.readInt();
    byte[] digits = new byte[in.readInt()];
    in.readFully(digits);
    exact = new BigDecimal(new BigInteger(digits), scale);
  }
}
