package org.headrace.json;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonFactoryBuilder;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.json.JsonReadFeature;
import java.io.IOException;
import java.math.BigDecimal;
import java.util.regex.Pattern;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Finds numbers such as 1e999999999 where a decimal is wanted. Spark writes them out in full, which takes hours: one
 * message would stop a job for good.
 */
final class Exponents {
  /** What a text must have somewhere: an exponent, or what one can hide behind. */
  private static final Pattern SUSPECT = Pattern.compile("[0-9.][eE]|\\\\u|[^\\x00-\\x7f]");

  private static final int MOST = 10_000;
  private static final JsonFactory FACTORY = lenient();
  private final StructType columns;
  private final boolean hasDecimal;

  Exponents(StructType columns) {
    this.columns = columns;
    hasDecimal = columns.existsRecursively(each -> each instanceof DecimalType);
  }

  /** Read on wherever Spark would, whatever its options are. */
  private static JsonFactory lenient() {
    JsonFactoryBuilder builder = new JsonFactoryBuilder();
    for (JsonReadFeature each : JsonReadFeature.values()) {
      builder.enable(each);
    }
    return builder.build();
  }

  /** Say whether a text has such a number. */
  boolean hugeIn(UTF8String given) {
    if (!hasDecimal) {
      return false;
    }
    String text = given.toString();
    if (!SUSPECT.matcher(text).find()) {
      return false;
    }
    try (JsonParser parser = FACTORY.createParser(text)) {
      return parser.nextToken() == JsonToken.START_OBJECT && hugeIn(parser, columns);
    } catch (IOException error) {
      return false; // it is not JSON from here on, so Spark reads no further either
    }
  }

  /** Read the value that the parser stands at; type is null where nobody wants it. */
  private static boolean hugeIn(JsonParser parser, DataType type) throws IOException {
    JsonToken token = parser.currentToken();
    if (token == JsonToken.START_OBJECT && (type instanceof StructType || type instanceof MapType)) {
      while (parser.nextToken() == JsonToken.FIELD_NAME) {
        DataType inner = type instanceof MapType map ? map.valueType() : field((StructType) type, parser.currentName());
        parser.nextToken();
        if (hugeIn(parser, inner)) {
          return true;
        }
      }
      return false;
    }
    if (token == JsonToken.START_ARRAY && type instanceof ArrayType array) {
      for (JsonToken next = parser.nextToken(); next != null && next != JsonToken.END_ARRAY; next = parser.nextToken()) {
        if (hugeIn(parser, array.elementType())) {
          return true;
        }
      }
      return false;
    }
    if (type instanceof DecimalType && token != null && token.isScalarValue()) {
      return isHuge(parser.getText());
    }
    parser.skipChildren();
    return false;
  }

  private static DataType field(StructType type, String name) {
    return type.getFieldIndex(name).isDefined() ? type.apply(name).dataType() : null;
  }

  /** Say whether a number, read as Spark reads it, has very many digits before or behind the point. */
  private static boolean isHuge(String written) {
    try {
      BigDecimal number = new BigDecimal(written.replace(",", ""));
      return number.signum() != 0 && Math.abs((long) number.scale()) > MOST;
    } catch (NumberFormatException error) {
      return false;
    }
  }
}
