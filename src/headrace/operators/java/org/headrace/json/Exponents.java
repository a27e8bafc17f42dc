package org.headrace.json;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonFactoryBuilder;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.json.JsonReadFeature;
import java.io.IOException;
import java.util.HashSet;
import java.util.Set;
import java.util.regex.Pattern;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Finds numbers such as 1e999999999 where a decimal is wanted. Spark writes them out in full, which takes hours: one
 * message would stop a job for good.
 */
final class Exponents {
  private static final Pattern SUSPECT = Pattern.compile("[0-9.][eE][-+]?[0-9]{5}");
  private static final Pattern HUGE = Pattern.compile("[-+]?[0-9.]+[eE][-+]?0*[1-9][0-9]{4,}");
  private static final JsonFactory FACTORY = lenient();

  /** The names under which decimals stand. */
  private final Set<String> names = new HashSet<>();

  /** A map has any name. */
  private boolean anyName;

  Exponents(StructType columns) {
    gather(columns, null);
  }

  /** Read on wherever Spark would, whatever its options are. */
  private static JsonFactory lenient() {
    JsonFactoryBuilder builder = new JsonFactoryBuilder();
    for (JsonReadFeature each : JsonReadFeature.values()) {
      builder.enable(each);
    }
    return builder.build();
  }

  private void gather(DataType type, String name) {
    if (type instanceof StructType struct) {
      for (StructField field : struct.fields()) {
        gather(field.dataType(), field.name());
      }
    } else if (type instanceof ArrayType array) {
      gather(array.elementType(), name);
    } else if (type instanceof MapType map) {
      anyName |= holdsDecimal(map.valueType());
      gather(map.valueType(), name);
    } else if (type instanceof DecimalType) {
      names.add(name);
    }
  }

  private static boolean holdsDecimal(DataType type) {
    return type.existsRecursively(each -> each instanceof DecimalType);
  }

  /** Say whether a text has such a number. */
  boolean hugeIn(UTF8String given) {
    if (names.isEmpty()) {
      return false;
    }
    String text = given.toString();
    if (!SUSPECT.matcher(text).find()) {
      return false;
    }
    try (JsonParser parser = FACTORY.createParser(text)) {
      String name = null;
      for (JsonToken token = parser.nextToken(); token != null; token = parser.nextToken()) {
        if (token == JsonToken.FIELD_NAME) {
          name = parser.currentName();
        } else if (token.isScalarValue() && (anyName || names.contains(name))) {
          if (HUGE.matcher(parser.getText().trim()).matches()) {
            return true;
          }
        }
      }
    } catch (IOException error) {
      return false; // it is not JSON from here on, so Spark reads no further either
    }
    return false;
  }
}
